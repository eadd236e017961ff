import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snellen.core.runner import run_map, task_key
from snellen.digest import digest_bytes
from snellen.errors import SnellenError
from snellen.store.objects import ObjectStore


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def store(tmp_path):
    return ObjectStore(tmp_path / "objects")


def test_results_are_stored_under_their_keys_and_receipts_come_in_the_order_of_the_specs(store):
    specs = [{"n": 3}, {"n": 1}, {"n": 2}]

    receipts = run_map("runner_calls:square", specs, store=store, code_id="1")

    assert [receipt.spec for receipt in receipts] == specs
    assert [receipt.state for receipt in receipts] == ["ok", "ok", "ok"]
    assert [receipt.attempt for receipt in receipts] == [1, 1, 1]
    contents = [json.loads(store.get(receipt.key)) for receipt in receipts]
    assert contents == [[None, {"n": 3}, 9], [None, {"n": 1}, 1], [None, {"n": 2}, 4]]
    assert receipts[0].digest == digest_bytes(b'[null, {"n": 3}, 9]')
    assert sorted(receipt.key for receipt in receipts) == list(store.keys())


def test_what_is_in_the_store_is_not_computed_again(store, tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    settings = {"setup": "runner_calls:folder", "setup_spec": str(log), "code_id": "1"}
    first = run_map("runner_calls:logged", [1, 2], store=store, **settings)
    second = run_map("runner_calls:logged", [1, 2, 3], store=store, **settings)

    assert begun(log) == ["1", "2", "3"]
    assert [receipt.attempt for receipt in second] == [0, 0, 1]
    assert [receipt.digest for receipt in second[:2]] == [receipt.digest for receipt in first]


def test_a_context_that_has_moved_is_the_same_by_its_digest(store, tmp_path):
    def run(place, digest):
        (receipt,) = run_map(
            "runner_calls:square",
            [{"n": 1}],
            setup="runner_calls:folder",
            setup_spec=place,
            setup_digest=digest,
            store=store,
            code_id="1",
        )
        return receipt

    assert run("/here", "d1").attempt == 1
    assert run("/there", "d1").attempt == 0
    assert run("/there", "d2").attempt == 1
    assert json.loads(store.get(run("/there", "d2").key))[0] == "/there"


def test_a_damaged_object_is_computed_again(store):
    (receipt,) = run_map("runner_calls:echo", ["a"], store=store, code_id="1")
    path = store.root / receipt.key[:2] / receipt.key
    path.write_bytes(path.read_bytes()[:-1])

    (again,) = run_map("runner_calls:echo", ["a"], store=store, code_id="1")

    assert again.attempt == 1
    assert store.get(receipt.key) == b'"a"'


def test_the_setup_runs_only_when_there_is_something_to_do(store):
    run_map("runner_calls:echo", [], setup="runner_calls:broken_setup", store=store, code_id="1")
    with pytest.raises(OSError, match="no recordings in x"):
        run_map(
            "runner_calls:echo",
            ["a"],
            setup="runner_calls:broken_setup",
            setup_spec="x",
            store=store,
            code_id="1",
        )


def test_equal_specs_are_computed_once_and_both_get_the_receipt(store):
    heard = []

    receipts = run_map(
        "runner_calls:echo", [1, 2, 1], store=store, code_id="1", on_receipt=heard.append
    )

    assert [receipt.spec for receipt in receipts] == [1, 2, 1]
    assert [receipt.spec for receipt in heard] == [1, 2]


@pytest.mark.parametrize("field", ["call", "spec", "setup", "setup_spec", "code_id"])
def test_every_part_of_what_was_asked_is_in_the_key(field):
    asked = {"call": "m:f", "spec": 1, "setup": "m:s", "setup_spec": 2, "code_id": "3"}
    other = asked | {field: "other"}

    assert task_key(**asked) == task_key(**asked)
    assert task_key(**asked) != task_key(**other)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_call_sees_the_spec_as_its_canonical_json_whoever_runs_it(store, workers):
    spec = {"b": (1, 0.1 + 0.2), "a": 2**100, "c": "Épée"}

    (receipt,) = run_map("runner_calls:echo", [spec], store=store, workers=workers, code_id="1")

    assert receipt.message is None
    assert json.loads(store.get(receipt.key)) == {"a": 2**100, "b": [1, 0.3], "c": "Épée"}
    assert receipt.spec == {"a": 2**100, "b": [1, 0.3], "c": "Épée"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_call_that_fails_is_named_and_the_others_are_done(store, workers):
    specs = ["raise", "fine", "memory", "text"]

    receipts = run_map("runner_calls:trouble", specs, store=store, workers=workers, code_id="1")

    assert [receipt.state for receipt in receipts] == ["error", "ok", "error", "error"]
    assert [receipt.digest is None for receipt in receipts] == [True, False, True, True]
    assert "ValueError in runner_calls.py" in receipts[0].message
    assert receipts[0].message.endswith("no such frame")
    assert "MemoryError" in receipts[2].message
    assert receipts[3].message.endswith("str instead of bytes")
    assert list(store.keys()) == [receipts[1].key]


def test_a_failed_task_is_tried_again_by_the_next_call(store):
    run_map("runner_calls:trouble", ["raise"], store=store, code_id="1")
    (receipt,) = run_map("runner_calls:trouble", ["raise"], store=store, code_id="1")

    assert (receipt.state, receipt.attempt) == ("error", 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_map_with_one_clear_error(store, workers):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(SnellenError, match=r"cannot write .*free some space and start again"):
            run_map(
                "runner_calls:large",
                [10, 100_000, 20],
                store=store,
                workers=workers,
                code_id="1",
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.damaged() == ()
    assert list(store.root.rglob("*.tmp")) == []

    receipts = run_map("runner_calls:large", [10, 100_000, 20], store=store, code_id="1")

    assert [len(store.get(receipt.key)) for receipt in receipts] == [10, 100_000, 20]


def test_a_store_that_cannot_be_written_still_gives_what_it_holds(store, monkeypatch):
    run_map("runner_calls:echo", ["a"], store=store, code_id="1")

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", refuse)
    (receipt,) = run_map("runner_calls:echo", ["a"], store=store, code_id="1")

    assert receipt.attempt == 0
    with pytest.raises(SnellenError, match=r"cannot write .*Read-only file system"):
        run_map("runner_calls:echo", ["b"], store=store, code_id="1")


def test_everything_runs_on_one_thread(store):
    (alone,) = run_map("runner_calls:threads", [1], store=store, code_id="1")
    (pooled,) = run_map(
        "runner_calls:threads", [1], store=store, workers=1, timeout_s=60, code_id="2"
    )

    assert set(json.loads(store.get(alone.key))) == {1}
    assert set(json.loads(store.get(pooled.key))) == {1}


def test_the_environment_is_as_before_when_work_in_this_process_is_done(store, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)

    run_map("runner_calls:echo", [1], store=store, code_id="1")

    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "MKL_NUM_THREADS" not in os.environ


def test_many_workers_compute_the_same_bytes_as_one(tmp_path):
    found = {}
    for workers in (1, 2, 3):
        store = ObjectStore(tmp_path / str(workers))
        receipts = run_map("runner_calls:gram", range(6), store=store, workers=workers, code_id="1")
        found[workers] = [(receipt.key, receipt.digest) for receipt in receipts]

    assert found[1] == found[2] == found[3]


@given(
    specs=st.lists(st.integers(0, 50), max_size=8),
    stored=st.lists(st.integers(0, 50), max_size=8),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_was_stored_before_the_receipts_are_the_same(
    tmp_path_factory, calls, specs, stored
):
    fresh = ObjectStore(tmp_path_factory.mktemp("fresh"))
    used = ObjectStore(tmp_path_factory.mktemp("used"))
    run_map("runner_calls:echo", stored, store=used, code_id="1")

    a = run_map("runner_calls:echo", specs, store=fresh, code_id="1")
    b = run_map("runner_calls:echo", specs, store=used, code_id="1")

    assert [(x.key, x.spec, x.state, x.digest) for x in a] == [
        (x.key, x.spec, x.state, x.digest) for x in b
    ]


def begun(log):
    return sorted(line for path in log.iterdir() for line in path.read_text().split())

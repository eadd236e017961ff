import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snellen.core.runner import run_map
from snellen.core.runner.pool import FAILED_STARTS
from snellen.errors import SnellenError
from snellen.store.objects import ObjectStore

HERE = Path(__file__).parent
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def store(tmp_path):
    return ObjectStore(tmp_path / "objects")


@posix
def test_what_kills_or_hangs_its_process_is_named_and_the_others_are_done(store):
    specs = ["a", "segfault", "b", "hang", "c", "exit", "d", "raise"]

    receipts = run_map(
        "runner_calls:trouble", specs, store=store, workers=2, timeout_s=1.5, code_id="1"
    )

    assert [(receipt.spec, receipt.state, receipt.attempt) for receipt in receipts] == [
        ("a", "ok", 1),
        ("segfault", "crashed", 2),
        ("b", "ok", 1),
        ("hang", "timeout", 1),
        ("c", "ok", 1),
        ("exit", "crashed", 2),
        ("d", "ok", 1),
        ("raise", "error", 1),
    ]
    messages = {receipt.spec: receipt.message for receipt in receipts}
    assert messages["segfault"] == "its process ended, killed by SIGSEGV"
    assert messages["exit"] == "its process ended, exit code 7"
    assert messages["hang"] == "longer than 1.5 s"
    assert len(list(store.keys())) == 4


def test_the_work_goes_on_after_a_task_that_hangs(store):
    receipts = run_map(
        "runner_calls:trouble", ["hang", "a", "b"], store=store, timeout_s=1.0, code_id="1"
    )

    assert [receipt.state for receipt in receipts] == ["timeout", "ok", "ok"]


@posix
def test_no_worker_outlives_its_driver_even_in_the_middle_of_a_long_task(tmp_path):
    driver = start(tmp_path / "objects", tmp_path, 2, 2, call="waiting")
    deadline = time.monotonic() + 30
    while len(workers_of(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    pids = workers_of(tmp_path)
    assert [alive(pid) for pid in pids] == [True, True]

    kill_driver(driver)

    assert_gone_within_two_seconds(pids)


@posix
def test_a_task_whose_process_was_killed_gets_a_second_try(store, tmp_path):
    (receipt,) = run_map(
        "runner_calls:dies_once",
        [1],
        setup="runner_calls:folder",
        setup_spec=str(tmp_path),
        store=store,
        workers=2,
        code_id="1",
    )

    assert (receipt.state, receipt.attempt) == ("ok", 2)
    assert store.get(receipt.key) == b"second try"


def test_a_setup_that_fails_ends_the_map_with_its_reason(store):
    with pytest.raises(SnellenError, match="broken_setup failed: OSError: no recordings in x"):
        run_map(
            "runner_calls:echo",
            [1],
            setup="runner_calls:broken_setup",
            setup_spec="x",
            store=store,
            workers=2,
            code_id="1",
        )


def test_a_worker_that_dies_at_every_start_ends_the_map(store):
    with pytest.raises(SnellenError, match=f"no worker can start: exit code 3, {FAILED_STARTS}"):
        run_map(
            "runner_calls:echo",
            [1],
            setup="runner_calls:dying_setup",
            store=store,
            workers=2,
            code_id="1",
        )


def test_what_the_work_prints_does_not_reach_the_driver(store, capfd):
    (receipt,) = run_map("runner_calls:chatter", [1], store=store, workers=2, code_id="1")

    assert receipt.state == "ok"
    assert store.get(receipt.key) == b"nothing to read"
    seen = capfd.readouterr()
    assert seen.out == ""
    assert '{"type": "Outcome", "state": "ok"}' in seen.err


def test_an_error_of_the_listener_ends_the_workers(store, tmp_path):
    log = tmp_path / "log"
    log.mkdir()

    def stop(receipt):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run_map(
            "runner_calls:logged",
            range(200),
            setup="runner_calls:folder",
            setup_spec=str(log),
            store=store,
            workers=2,
            code_id="1",
            on_receipt=stop,
        )

    assert [pid for pid in workers_of(log) if alive(pid)] == []
    assert store.damaged() == ()


@posix
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_workers_and_the_next_run_goes_on(tmp_path, workers):
    log = tmp_path / "log"
    log.mkdir()
    driver = start(tmp_path / "objects", log, 200, workers)
    read_keys(driver, 5)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    _, said = driver.communicate(timeout=10)

    assert driver.returncode == -signal.SIGINT
    assert said.count(b"\nKeyboardInterrupt") == 1  # the workers end without a word
    assert [pid for pid in workers_of(log) if alive(pid)] == []
    store = ObjectStore(tmp_path / "objects")
    done = len(list(store.keys()))
    assert 5 <= done < 200
    assert store.damaged() == ()

    receipts = run_map(
        "runner_calls:logged",
        range(200),
        setup="runner_calls:folder",
        setup_spec=str(log),
        store=store,
        code_id="chaos",
    )

    assert sum(receipt.attempt == 0 for receipt in receipts) == done
    assert {receipt.state for receipt in receipts} == {"ok"}


@posix
@pytest.mark.slow
def test_whatever_is_killed_all_is_done_with_little_done_twice(tmp_path):
    tasks, workers, kills = 300, 2, 4
    log = tmp_path / "log"
    log.mkdir()
    driver = start(tmp_path / "objects", log, tasks, workers)
    for _ in range(2):
        read_keys(driver, 50)
        kill_one(log)
    read_keys(driver, 50)
    kill_driver(driver)
    assert_gone_within_two_seconds(workers_of(log))

    driver = start(tmp_path / "objects", log, tasks, workers)
    read_keys(driver, 170)
    for _ in range(2):
        read_keys(driver, 40)
        kill_one(log)
    driver.communicate(timeout=60)
    assert driver.returncode == 0

    begun = [line for path in log.iterdir() for line in path.read_text().split()]
    assert set(begun) == {str(n) for n in range(tasks)}
    assert len(begun) - tasks <= workers * (kills + 1)
    store = ObjectStore(tmp_path / "objects")
    assert store.damaged() == ()
    assert list(store.root.rglob("*.tmp")) == []
    calm = ObjectStore(tmp_path / "calm")
    undisturbed = run_map(
        "runner_calls:logged",
        range(tasks),
        setup="runner_calls:folder",
        setup_spec=str(log),
        store=calm,
        code_id="chaos",
    )
    assert list(store.keys()) == list(calm.keys())
    assert [store.digest(x.key) for x in undisturbed] == [x.digest for x in undisturbed]


def start(store, log, tasks, workers, call="logged"):
    """A driver in a process of its own."""
    return subprocess.Popen(
        [
            sys.executable,
            str(HERE / "runner_driver.py"),
            call,
            store,
            log,
            str(tasks),
            str(workers),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def read_keys(driver, count):
    for _ in range(count):
        assert driver.stdout.readline()


def kill_one(log):
    pid = next(pid for pid in workers_of(log) if alive(pid))
    os.kill(pid, signal.SIGKILL)


def workers_of(log):
    return sorted(int(path.name) for path in log.iterdir() if path.name.isdigit())


def kill_driver(driver):
    driver.kill()
    driver.wait()
    driver.stdout.close()
    driver.stderr.close()


def assert_gone_within_two_seconds(pids):
    deadline = time.monotonic() + 2
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def alive(pid):
    """Whether a process runs: one that is dead but not yet buried by its parent does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"

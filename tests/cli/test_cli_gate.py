"""``snellen gate`` from files to files: a run, outside answers, and every refusal."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.core.split import TEST, VALIDATION
from snellen.core.split_file import read_split
from snellen.errors import Leak, SnellenError
from snellen.tasks.isolated.data import read
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder

SMALL = Settings(
    signers=4,
    sessions=1,
    signs=4,
    takes=3,
    similar_pairs=1,
    test_signers=1,
    leaky_clusters=2,
    near_duplicates=1,
    near_leaks=1,
    exact_duplicates=1,
    exact_leaks=1,
)


def quick(*words):
    """Run a verb in this process; its code, its output, and the error it was meant to raise."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, SnellenError):
        return (
            (1 if isinstance(result.exception, Leak) else 2),
            result.output,
            str(result.exception),
        )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output, ""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate") / "data"
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, folder)
    return folder


@pytest.fixture(scope="module")
def run(data):
    folder = data.parent / "run"
    words = ("--models", "majority", "--protocols", "random,signer", "--workers", "1")
    assert quick("run", "isolated", data, "-o", folder, *words)[0] == 0
    return folder


@pytest.fixture(scope="module")
def split(data):
    path = data.parent / "signer.json"
    assert quick("split", "isolated", data, "--protocol", "signer", "-o", path)[0] == 0
    return path


@pytest.fixture(scope="module")
def corpus(data):
    return read(data).corpus


def write_answers(path, corpus, split, role, confidence):
    """Right answers to all clips of a role, each in every round in which it has it."""
    frozen = read_split(split, corpus)
    lines = [
        f"{k},{corpus.items[at]},1,{corpus.labels[at]},{confidence}"
        for k in range(frozen.rounds)
        for at in frozen.positions(k, role)
    ]
    path.write_text("\n".join(["round,item,rank,label,confidence", *lines]), encoding="utf-8")
    return len(lines)


def test_a_run_s_gate_is_stored_beside_it_as_json_csv_and_picture(run):
    code, out, _ = quick("gate", run, "--threshold", "0.2")

    assert code == 0
    folder = run / "studies" / "signer"
    stored = json.loads((folder / "gate.json").read_bytes())
    assert stored["format"] == "snellen-gate/1"
    assert (stored["protocol"], stored["threshold"]) == ("signer", 0.2)
    assert {(x["tuned_on"], x["applied_to"]) for x in stored["applied"]} == {
        (a, b) for a in ("random", "signer") for b in ("random", "signer")
    }
    for name in ("threshold_sweep.csv", "threshold_sweep.png", "gate_transfer.csv"):
        assert (folder / name).stat().st_size > 0
    assert "Confidence gate, signer" in out


def test_the_gate_in_json_is_the_same_twice(run):
    one, two = (quick("gate", run, "--json", "--protocol", "random")[1] for _ in range(2))

    assert one == two
    assert json.loads(one)["protocol"] == "random"


def test_outside_answers_to_validation_clips_get_thresholds_and_no_claim_about_test(
    data, split, corpus, tmp_path
):
    answers = tmp_path / "mine.csv"
    n = write_answers(answers, corpus, split, VALIDATION, 0.8)
    words = ("gate", "--answers", answers, "--data", data, "--split", split)

    code, out, _ = quick(*words, "--target", "0.9", "--json")
    found = json.loads(out)

    assert code == 0
    assert found["models"] == ["mine"]
    assert found["sweeps"][0]["clips"] == n
    assert found["applied"] == []
    floor = next(x for x in found["choices"] if x["rule"] == "floor")
    assert floor["threshold"]["value"] == 0.0
    assert "there are no answers to any" in " ".join(quick(*words)[1].split())


def test_outside_answers_to_test_clips_are_refused_as_a_leak(data, split, corpus, tmp_path):
    answers = tmp_path / "mine.csv"
    write_answers(answers, corpus, split, TEST, 0.8)

    code, _, error = quick("gate", "--answers", answers, "--data", data, "--split", split)

    assert code == 1
    assert "48 test clips" in error


def test_a_promise_that_test_clips_break_ends_with_1(run, monkeypatch):
    from snellen.core.gate import GateStudy

    monkeypatch.setattr(GateStudy, "missed", property(lambda study: study.applied[:1]))

    assert quick("gate", run)[0] == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "neither a run alone"),
        (("RUN", "--answers", "x.csv"), "neither a run alone"),
        (("--answers", "x.csv"), "RUN, or --answers with --data and --split"),
        (("RUN", "--target", "0.9,high"), "'high'"),
        (("RUN", "--target", "0.9,0.9"), "'0.9' twice"),
        (("RUN", "--target", "1"), "above 0 and below 1"),
        (("RUN", "--threshold", "2"), "threshold: 2.0; allowed: 0 to 1"),
        (("RUN", "--protocol", "sitting"), "one of: random, signer"),
        (("RUN", "--models", "lad"), "majority"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(run, words, named):
    code, _, error = quick("gate", *(run if word == "RUN" else word for word in words))

    assert code == 2
    assert named in error

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.errors import SnellenError
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


def snellen(*words):
    """Run the program as a user does; its output, its complaints and its exit code."""
    command = [sys.executable, "-c", "from snellen.cli import main; main()", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def quick(*words):
    """Run a verb in this process, which spares a second; errors on purpose become code 2."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, SnellenError):
        return 2, result.output, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output, ""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "data"
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, folder)
    return folder


def test_help_names_every_verb():
    code, out, _ = snellen("--help")

    assert code == 0
    for verb in (
        "audit",
        "split",
        "train",
        "predict",
        "score",
        "verify",
        "compare",
        "report",
        "run",
        "demo",
    ):
        assert f" {verb} " in out


def test_an_unknown_task_is_named_with_those_there_are(data):
    code, _, error = snellen("audit", "isloated", data)

    assert code == 2
    assert "'isloated'" in error
    assert "isolated" in error
    assert "Traceback" not in error


def test_a_leaking_official_split_makes_the_audit_exit_with_1(data):
    code, out, _ = quick("audit", "isolated", data)

    assert code == 1
    assert "Split official" in out


def test_a_split_that_keeps_signers_apart_audits_with_0(data):
    assert quick("audit", "isolated", data, "--protocol", "signer")[0] == 0
    assert quick("audit", "isolated", data, "--protocol", "random")[0] == 1


def test_the_audit_in_json_is_the_same_twice_and_can_be_read(data):
    one, two = (quick("audit", "isolated", data, "--json")[1] for _ in range(2))

    assert one == two
    assert json.loads(one)["corpus"]["clips"] == 48


@pytest.mark.train
def test_every_step_is_its_own_verb_from_files_to_files(data, tmp_path):
    split, models = tmp_path / "signer.json", tmp_path / "models"
    answers, card = tmp_path / "answers.parquet", tmp_path / "card.json"

    assert quick("split", "isolated", data, "--protocol", "signer", "-o", split)[0] == 0
    made = quick("train", "isolated", data, "--split", split, "--model", "lda", "-o", models)
    assert made[0] == 0
    given = ("predict", "isolated", data, "--models", models, "--split", split, "-o", answers)
    assert quick(*given)[0] == 0
    scored = quick("score", "isolated", answers, "--data", data, "--split", split, "-o", card)
    assert scored[0] == 0
    checked = ("verify", card, "--answers", answers, "--data", data, "--split", split)
    assert quick(*checked)[0] == 0

    assert json.loads(card.read_bytes())["model"] == "lda"


@pytest.mark.train
def test_a_model_refuses_to_answer_what_it_was_trained_on(data, tmp_path):
    split, models = tmp_path / "signer.json", tmp_path / "models"
    quick("split", "isolated", data, "--protocol", "signer", "-o", split)
    quick("train", "isolated", data, "--split", split, "--model", "majority", "-o", models)

    code, _, error = quick(
        "predict", "isolated", data, "--models", models, "-o", tmp_path / "a.csv"
    )

    assert code == 2
    assert "trained on" in error


def test_answers_of_any_model_can_be_scored_from_a_csv(data, tmp_path):
    split, answers, card = (tmp_path / name for name in ("s.json", "mine.csv", "card.json"))
    quick("split", "isolated", data, "--protocol", "random", "--folds", 3, "-o", split)
    clips = [line.split(",") for line in (data / "clips.csv").read_text().splitlines()]
    head = clips[0]
    rows = [(row[head.index("clip_id")], row[head.index("label")]) for row in clips[1:]]
    answers.write_text("clip_id,label\n" + "".join(f"{c},{x}\n" for c, x in rows[:-5]))

    code, out, _ = quick("score", "isolated", answers, "--data", data, "--split", split, "-o", card)

    assert code == 1  # a random split leaks
    assert "5 missing" in out
    scores = json.loads(card.read_bytes())["scores"]
    accuracy = next(x for x in scores if x["measure"] == "accuracy")
    assert accuracy["cell"]["value"] == pytest.approx(43 / 48)


def test_a_label_that_does_not_exist_is_named_with_clip_and_row(data, tmp_path):
    split, answers = tmp_path / "s.json", tmp_path / "mine.csv"
    quick("split", "isolated", data, "--protocol", "random", "--folds", 3, "-o", split)
    item = (data / "clips.csv").read_text().splitlines()[1].split(",")[0]
    answers.write_text(f"clip_id,label\n{item},<b>nothing</b>\n")

    code, _, error = quick(
        "score", "isolated", answers, "--data", data, "--split", split, "-o", tmp_path / "c.json"
    )

    assert code == 2
    assert f"unknown label '<b>nothing</b>' for '{item}'" in error
    assert not (tmp_path / "c.json").exists()


def test_a_split_of_other_clips_is_refused_with_every_fault(data, tmp_path):
    split = tmp_path / "s.json"
    quick("split", "isolated", data, "--protocol", "random", "--folds", 3, "-o", split)
    plain = json.loads(split.read_bytes())
    gone = plain["items"].pop()
    plain["rounds"][0]["test"].append(plain["rounds"][1]["test"][0])
    split.write_text(json.dumps(plain))

    code, _, error = quick("audit", "isolated", data, "--split", split)

    assert code == 2
    assert f"1 clips left out: '{gone}'" in error
    assert "clips tested in two rounds" in error


BROKEN = {
    "nothing in it": lambda path: None,
    "no clips": lambda path: (path / "clips.csv").write_text("clip_id,label\n"),
    "an id twice": lambda path: (path / "clips.csv").write_text("clip_id,label\na,x\na,y\n"),
    "latin-1": lambda path: (path / "clips.csv").write_bytes(b"clip_id,label\na,caf\xe9\n"),
    "truncated npz": lambda path: (path / "isl_kinect30.npz").write_bytes(b"PK\x03\x04garbage"),
    "a path that escapes": lambda path: (path / "clips.csv").write_text(
        "clip_id,label,path\na,x,../../../etc/passwd\n"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("verb", ["audit", "run"])
def test_broken_data_gives_a_message_code_2_and_nothing_half_written(name, verb, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    BROKEN[name](folder)
    words = [verb, "isolated", folder]
    if verb == "run":
        words += ["-o", tmp_path / "run"]

    code, _, error = quick(*words)

    assert code == 2
    assert "allowed" in error
    assert not (tmp_path / "run").exists()


def test_an_empty_zip_is_no_recording(tmp_path):
    with zipfile.ZipFile(tmp_path / "auslan_uci.npz", "w"):
        pass

    code, _, error = quick("audit", "isolated", tmp_path)

    assert code == 2
    assert "auslan_uci.npz" in error


def test_a_run_that_is_not_there_says_so(tmp_path):
    code, _, error = quick("verify", tmp_path)

    assert code == 2
    assert "no run in" in error


@pytest.mark.train
@pytest.mark.slow
def test_the_demo_finds_exactly_what_it_planted(tmp_path):
    code, out, error = snellen("demo", "-o", tmp_path / "demo", "--workers", 2)

    assert code == 0, error
    assert " NO " not in out
    assert out.count(" yes ") == 7
    assert out.count("report: ") == 1
    assert out.splitlines()[-1].startswith("report: ")
    page = Path(tmp_path / "demo" / "report.html")
    assert page.exists()

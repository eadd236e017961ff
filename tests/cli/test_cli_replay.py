"""``snellen replay`` on a small run: what it stores, and that offline is what the run scored."""

import csv
import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.errors import BadInput
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder

pytestmark = pytest.mark.train
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


def invoke(*words, env=None):
    return CliRunner(env=env).invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with recordings and a finished run of two models."""
    root = tmp_path_factory.mktemp("replay")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, root / "data")
    words = ("--models", "majority,lda", "--protocols", "signer", "--workers", "1")
    result = invoke("run", "isolated", root / "data", "-o", root / "run", *words)
    assert result.exit_code == 0, result.output
    return root


@pytest.fixture(scope="module")
def replayed(root):
    # A copy: what the other tests store in the run does not reach it, whatever their order.
    shutil.copytree(root / "run", root / "all")
    result = invoke("replay", root / "all", root / "data", "--frames", 10, "--seed", 3)
    assert result.exit_code == 0, result.output
    return result.stdout


def stored(root):
    return json.loads((root / "all/studies/signer/replay.json").read_text())


def test_it_is_stored_beside_the_run_and_shown(root, replayed):
    folder = root / "all" / "studies" / "signer"

    assert {path.name for path in folder.iterdir()} >= {
        "replay.json",
        "live_replay.csv",
        "live_replay.png",
        "live_replay_in_a_row.csv",
        "live_replay_settings.csv",
    }
    assert "Live replay" in replayed
    with (folder / "live_replay.csv").open(encoding="utf-8") as file:
        found = {(row["model"], row["setting"]) for row in csv.DictReader(file)}
    assert ("lda", "last-10") in found
    assert ("majority", "document") in found


def test_offline_is_the_accuracy_of_the_runs_own_card(root, replayed):
    for row in stored(root)["rows"]:
        card = json.loads((root / "all/cards/signer" / f"{row['model']}.json").read_text())
        scored = next(
            score["cell"]["value"]
            for score in card["scores"]
            if (score["measure"], score["slice"]) == ("accuracy", "all")
        )
        assert row["offline"]["value"] == pytest.approx(scored)


def test_the_same_seed_gives_the_same_bytes(root, replayed):
    result = invoke("replay", root / "all", root / "data", "--frames", 10, "--seed", 3, "--json")

    assert result.stdout_bytes == (root / "all/studies/signer/replay.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "gate"), [((), 0.6), (("--threshold", "0.25"), 0.25)], ids=["environment", "option"]
)
def test_the_gate_is_the_options_or_the_environments(root, words, gate):
    result = invoke(
        *("replay", root / "run", root / "data", "--settings", "default", "--models", "lda"),
        *("--clips", 2, "--json", *words),
        env={"SNELLEN_CONFIDENCE_THRESHOLD": "0.6"},
    )

    found = json.loads(result.stdout)
    assert [setting["threshold"] for setting in found["settings"]] == [gate]
    assert found["clips"] < found["of_clips"]


def test_an_unknown_setting_names_all_there_are(root):
    result = invoke("replay", root / "run", root / "data", "--settings", "default,fast")

    assert isinstance(result.exception, BadInput)
    assert "no setting 'fast'" in str(result.exception)
    assert "document" in str(result.exception)


def test_rounds_are_numbers(root):
    result = invoke("replay", root / "run", root / "data", "--rounds", "0,last")

    assert isinstance(result.exception, BadInput)
    assert "'last'" in str(result.exception)


def test_one_round_is_the_clips_of_one_signer(root):
    words = ("--rounds", 1, "--settings", "default", "--models", "lda", "--json")
    found = json.loads(invoke("replay", root / "run", root / "data", *words).stdout)

    assert (found["rounds"], found["of_rounds"]) == ([1], 4)
    assert found["rows"][0]["live"]["groups"] == 1

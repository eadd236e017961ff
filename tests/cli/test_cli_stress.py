"""``snellen stress`` on a small run: what it stores, and that clean is what the run scored."""

import csv
import json

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
CHOSEN = "left_hand_missing,mask_missing"


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with recordings and a finished run of two models."""
    root = tmp_path_factory.mktemp("stress")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, root / "data")
    words = ("--models", "majority,lda", "--protocols", "signer", "--workers", "1")
    result = invoke("run", "isolated", root / "data", "-o", root / "run", *words)
    assert result.exit_code == 0, result.output
    return root


@pytest.fixture(scope="module")
def stressed(root):
    words = ("--conditions", CHOSEN, "--no-curves", "--seed", 3)
    result = invoke("stress", root / "run", root / "data", *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(folder, name):
    with (folder / name).open(encoding="utf-8") as file:
        return {(row["model"], row["condition"]): row for row in csv.DictReader(file)}


def test_it_is_stored_beside_the_run_and_shown(root, stressed):
    folder = root / "run" / "studies" / "signer"

    assert {path.name for path in folder.iterdir()} >= {
        "stress.json",
        "robustness_results.csv",
        "robustness_results.png",
    }
    assert "left hand removed" in stressed
    assert "presence mask zeroed" in stressed


def test_clean_is_the_accuracy_of_the_runs_own_card(root, stressed):
    found = rows(root / "run" / "studies" / "signer", "robustness_results.csv")

    for model in ("majority", "lda"):
        card = json.loads((root / "run" / "cards" / "signer" / f"{model}.json").read_text())
        scored = next(
            score["cell"]["value"]
            for score in card["scores"]
            if (score["measure"], score["slice"]) == ("accuracy", "all")
        )
        assert float(found[model, "clean"]["accuracy"]) == pytest.approx(scored)
    assert found["lda", "left_hand_missing"]["state"] == "measured"
    assert found["majority", "left_hand_missing"]["state"] == "no-op"


def test_the_same_seed_gives_the_same_bytes(root, stressed):
    words = ("--conditions", CHOSEN, "--no-curves", "--seed", 3, "--json")
    result = invoke("stress", root / "run", root / "data", *words)

    assert result.stdout_bytes == (root / "run/studies/signer/stress.json").read_bytes()


def test_strict_figures_do_not_take_the_place_of_the_others(root, stressed):
    folder = root / "run" / "studies" / "signer"
    before = (folder / "robustness_results.csv").read_bytes()

    words = ("--conditions", CHOSEN, "--no-curves", "--strict", "--models", "lda")
    result = invoke("stress", root / "run", root / "data", *words)

    assert result.exit_code == 0
    assert (folder / "robustness_results.csv").read_bytes() == before
    assert json.loads((folder / "stress-strict.json").read_text())["strict"] is True
    strict = rows(folder, "robustness_results_strict.csv")
    assert {row["strict"] for row in strict.values()} == {"yes"}


def test_an_unknown_condition_names_all_there_are(root):
    result = invoke("stress", root / "run", root / "data", "--conditions", "fog")

    assert isinstance(result.exception, BadInput)
    assert "no condition 'fog'" in str(result.exception)
    assert "subsample_2x" in str(result.exception)


def test_the_help_lists_the_conditions():
    assert "both_hands_missing" in invoke("stress", "--help").stdout

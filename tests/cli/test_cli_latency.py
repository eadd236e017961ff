"""``snellen latency`` on a small run: what it stores and what it says."""

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


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with recordings and a finished run of two models."""
    root = tmp_path_factory.mktemp("latency")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, root / "data")
    words = ("--models", "majority,lda", "--protocols", "signer", "--workers", "1")
    result = invoke("run", "isolated", root / "data", "-o", root / "run", *words)
    assert result.exit_code == 0, result.output
    return root


def test_latency_is_stored_beside_the_run_and_shown(root):
    result = invoke("latency", root / "run", root / "data")

    assert result.exit_code == 0, result.output
    folder = root / "run" / "studies" / "signer"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"latency.json", "latency.csv", "latency_stages.csv", "latency_throughput.csv"}
    assert (folder / "latency_comparison.png").read_bytes()[:4] == b"\x89PNG"
    with (folder / "latency.csv").open(encoding="utf-8") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"majority", "lda"}
    assert float(rows["lda"]["min_ms"]) <= float(rows["lda"]["p50_ms"])
    assert float(rows["lda"]["p50_ms"]) <= float(rows["lda"]["p95_ms"])
    assert "majority" in result.stdout


def test_the_first_model_named_is_what_the_others_are_compared_with(root):
    result = invoke("latency", root / "run", root / "data", "--models", "lda,majority", "--json")

    found = json.loads(result.stdout)
    assert [one["model"] for one in found["models"]] == ["lda", "majority"]
    assert found["models"][0]["against_first"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["format"] == "snellen-latency/1"


def test_a_model_that_the_run_does_not_have_is_named(root):
    result = invoke("latency", root / "run", root / "data", "--models", "gru")

    assert isinstance(result.exception, BadInput)
    assert "'gru'" in str(result.exception)

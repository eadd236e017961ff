"""``snellen export``: what it writes, and what it will not write."""

import numpy as np
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.errors import BadInput
from snellen.tasks.isolated.model.majority import Majority
from snellen.tasks.isolated.model.neural.network import network
from snellen.tasks.isolated.model_file import ModelCard, save_round, write_model_card
from snellen.tasks.isolated.onnx_file import read_onnx
from snellen.tasks.isolated.training import Trained

pytest.importorskip("onnx", reason="onnx not installed: the [onnx] extra")


def gru():
    rng = np.random.default_rng(0)
    shapes = {
        "rnn1.kernel": (6, 12),
        "rnn1.recurrent": (4, 12),
        "rnn1.bias": (2, 12),
        "rnn2.kernel": (4, 9),
        "rnn2.recurrent": (3, 9),
        "rnn2.bias": (2, 9),
        "dense.kernel": (3, 7),
        "dense.bias": (7,),
        "out.kernel": (7, 2),
        "out.bias": (2,),
    }
    arrays = {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    said = {"trained": np.ones(2, bool), "rates": np.zeros(1), "frames": np.array([5])}
    return network("gru", arrays | said)


def trained_folder(path, model, fitted):
    saved = save_round(path, 0, Trained(fitted, 0.9))
    card = ModelCard(
        model=model,
        seed=42,
        recipe="r",
        regime="snellen",
        training="t",
        layout="toy",
        preprocessing="p",
        prepared_by="snellen-1",
        frames=5,
        vocabulary=("no", "yes"),
        data="d",
        recordings="f",
        split="s",
        protocol="signer",
        rounds=(saved,),
    )
    write_model_card(path, card)
    return path


def invoke(*words):
    return CliRunner().invoke(app, ["export", *map(str, words)])


def test_a_network_is_exported_and_what_was_not_said_is_said_to_be_so(tmp_path):
    folder = trained_folder(tmp_path / "gru", "gru", gru())

    result = invoke(folder, "-o", tmp_path / "gru.onnx")

    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("gru.onnx: gru, round 0, 2 labels, licence not stated\n")
    said = read_onnx(tmp_path / "gru.onnx").metadata
    assert (said.threshold, said.licence, said.temperature) == (0.7, "not stated", 0.9)


def test_threshold_and_licence_are_those_that_were_given(tmp_path):
    folder = trained_folder(tmp_path / "gru", "gru", gru())
    words = ("--threshold", "0.55", "--licence", "CC-BY-4.0")

    result = invoke(folder, "-o", tmp_path / "gru.onnx", *words)

    assert result.exit_code == 0, result.output
    said = read_onnx(tmp_path / "gru.onnx").metadata
    assert (said.threshold, said.licence) == (0.55, "CC-BY-4.0")


def test_a_file_that_is_not_called_onnx_is_not_written(tmp_path):
    folder = trained_folder(tmp_path / "gru", "gru", gru())

    result = invoke(folder, "-o", tmp_path / "gru.pt")

    assert isinstance(result.exception, BadInput)
    assert "one ending in .onnx" in str(result.exception)
    assert not (tmp_path / "gru.pt").exists()


def test_a_model_that_is_no_network_says_which_models_are(tmp_path):
    folder = trained_folder(tmp_path, "majority", Majority(np.array([1, 2])))

    result = invoke(folder, "-o", tmp_path / "x.onnx")

    assert isinstance(result.exception, BadInput)
    assert "majority, which has no ONNX form" in str(result.exception)
    assert "lstm, gru, gru_mha, landolt" in str(result.exception)

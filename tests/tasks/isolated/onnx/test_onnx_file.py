import json
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from snellen.errors import BadInput
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.align import Prepared, prepare, settings_of
from snellen.tasks.isolated.model import TrainingData, landolt_rocket, rocket
from snellen.tasks.isolated.model.majority import Majority
from snellen.tasks.isolated.model.neural.network import network
from snellen.tasks.isolated.model_file import ModelCard, save_round, write_model_card
from snellen.tasks.isolated.onnx_file import export_bytes, export_model, read_onnx
from snellen.tasks.isolated.onnx_metadata import metadata_from_text, metadata_to_text
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder
from snellen.tasks.isolated.training import Trained

onnx = pytest.importorskip("onnx", reason="onnx not installed: the [onnx] extra")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime not installed: the [onnx] extra")

RECURRENT = ("lstm", "gru", "gru_mha")


@pytest.fixture
def exported(tmp_path, weights, metadata):
    """Write a network of a kind and say where."""

    def write(kind="gru", said=metadata):
        path = tmp_path / f"{kind}.onnx"
        path.write_bytes(export_bytes(kind, weights(kind), said))
        return path

    return write


@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("temperature", [None, 0.5, 2.0])
def test_an_exported_file_answers_as_the_trained_round(
    kind, temperature, exported, weights, metadata, clips
):
    path = exported(kind, replace(metadata, temperature=temperature))
    expected = Trained(network(kind, weights(kind)), temperature).log_probabilities(*clips)

    logs = read_onnx(path).log_probabilities(*clips)

    assert logs.dtype == np.float64
    np.testing.assert_allclose(np.exp(logs), np.exp(expected), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(np.isneginf(logs), [[False, False, True]] * len(logs))


@pytest.mark.train
def test_a_network_pooled_with_minirocket_is_one_file_that_its_own_reader_accepts(
    tmp_path, weights, metadata
):
    rng = np.random.default_rng(4)
    labels = np.arange(24) % 3
    waves = np.sin(np.arange(64) * (1 + labels[:, None]) / 4)[:, :, None]
    values = (waves + 0.3 * rng.standard_normal((24, 64, 6))).astype(np.float32)
    mask = np.ones((24, 64, 2), bool)
    ridge = rocket.fit(TrainingData(values, mask, labels, 3), seed=0)
    longer = {"frames": np.array([64]), "places.table": np.zeros((32, 8), np.float32)}
    net = weights("landolt") | longer | {"trained": np.ones(3, bool)}
    pooled = landolt_rocket.from_arrays(
        {f"landolt.{name}": array for name, array in net.items()}
        | {f"rocket.{name}": array for name, array in ridge.arrays().items()}
        | {"pool": np.array([0.1, 6.0])}
    )
    path = tmp_path / "pooled.onnx"
    said = replace(metadata, frames=64, settings=None)
    path.write_bytes(export_bytes("landolt_rocket", pooled.arrays(), said))

    logs = read_onnx(path).log_probabilities(values, mask)

    expected = Trained(pooled, metadata.temperature).log_probabilities(values, mask)
    np.testing.assert_allclose(np.exp(logs), np.exp(expected), rtol=0, atol=1e-5)
    assert (logs.argmax(axis=1) == labels).mean() > 0.9


def test_an_exported_file_needs_nothing_but_a_runtime(exported, clips):
    values, mask = clips
    session = runtime.InferenceSession(exported().read_bytes())

    (shares,) = session.run(["probabilities"], {"values": values, "mask": mask.astype("f4")})

    assert shares.shape == (70, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert (shares[:, 2] == 0).all()


def test_what_an_exported_file_says_of_itself_is_what_was_said(exported, metadata):
    assert read_onnx(exported()).metadata == metadata


def test_anybody_can_read_the_metadata(exported):
    model = onnx.load(exported())
    said = {entry.key: entry.value for entry in model.metadata_props}

    assert said["format"] == "snellen-onnx/1"
    assert json.loads(said["labels"]) == ["no", "thank you", "yes"]
    assert said["layout"] == "toy"
    assert json.loads(said["threshold"]) == 0.7
    assert said["licence"] == "not stated"


def test_the_same_network_gives_the_same_bytes(weights, metadata):
    assert export_bytes("gru", weights("gru"), metadata) == export_bytes(
        "gru", weights("gru"), metadata
    )


def test_what_cannot_be_fed_is_a_fault_of_file_and_clips(exported, clips):
    values, mask = clips
    model = read_onnx(exported())

    with pytest.raises(BadInput, match=r"gru\.onnx: .*values .*Got: 4 Expected: 6"):
        model.log_probabilities(values[:, :, :4], mask)


def test_weights_that_overflow_are_named_when_they_answer(tmp_path, weights, metadata, clips):
    huge = weights("gru")
    huge["out.kernel"] = np.full_like(huge["out.kernel"], 3e38)
    path = tmp_path / "huge.onnx"
    path.write_bytes(export_bytes("gru", huge, metadata))

    with pytest.raises(BadInput, match=r"huge\.onnx: answers that are no shares of 3 labels"):
        read_onnx(path).log_probabilities(*clips)


BAD_ENTRIES = [
    ("format", "somebody-else/3", "somebody-else/3"),
    ("labels", '["no", "yes", "yes"]', "'yes' twice"),
    ("labels", "[]", "no label"),
    ("labels", '["' + "x" * 129 + '"]', "a longer label"),
    ("labels", '["no", 3]', "Expected `str`, got `int`"),
    ("labels", "no, yes", "Expecting value"),
    ("frames", "0", "0"),
    ("frames", "5.5", "Expected `int`"),
    ("temperature", "0", "0.0"),
    ("temperature", "-1.5", "-1.5"),
    ("threshold", "1.01", "1.01"),
    ("fingerprint", "0" * 64, "not the digest of the settings"),
]


@pytest.mark.parametrize(("field", "text", "seen"), BAD_ENTRIES)
def test_an_impossible_entry_is_named(field, text, seen, metadata):
    entries = metadata_to_text(metadata) | {field: text}

    with pytest.raises(BadInput) as raised:
        metadata_from_text(entries, "a.onnx")

    (fault,) = raised.value.faults
    assert (fault.where, fault.field) == ("a.onnx", field)
    assert seen in fault.seen


def test_all_faults_of_the_metadata_are_named_at_once(metadata):
    entries = metadata_to_text(metadata) | {"frames": "0", "colour": "blue"}
    del entries["licence"], entries["split"]

    with pytest.raises(BadInput) as raised:
        metadata_from_text(entries, "a.onnx")

    assert {fault.field for fault in raised.value.faults} == {
        "colour",
        "split",
        "licence",
        "frames",
    }


@pytest.fixture(scope="module")
def corpus():
    settings = Settings(
        signers=3,
        sessions=1,
        signs=3,
        takes=2,
        similar_pairs=1,
        test_signers=1,
        leaky_clusters=0,
        near_duplicates=0,
        near_leaks=0,
        exact_duplicates=0,
        exact_leaks=0,
    )
    return make_corpus(settings, np.random.default_rng(5))


@pytest.fixture
def folder(tmp_path, corpus, weights):
    """A folder as snellen train leaves it, with a GRU that reads the corpus."""
    prepared = prepare(corpus.keypoints, frames=5)
    arrays = weights("gru")
    channels = prepared.values.shape[2]
    rng = np.random.default_rng(1)
    arrays["rnn1.kernel"] = rng.standard_normal((channels, 12)).astype(np.float32)
    save_folder(tmp_path / "gru", "gru", prepared, Trained(network("gru", arrays), 0.8))
    return tmp_path / "gru"


def save_folder(path, model, prepared, trained):
    saved = save_round(path, 0, trained)
    card = ModelCard(
        model=model,
        seed=42,
        recipe="r",
        regime="snellen",
        training="t",
        layout=str(prepared.settings["layout"]),
        preprocessing=prepared.fingerprint,
        prepared_by="snellen-1",
        frames=5,
        vocabulary=("no", "thank you", "yes"),
        data="other recordings",
        recordings="other arrays",
        split="s",
        protocol="signer",
        rounds=(saved,),
    )
    write_model_card(path, card)


def test_a_trained_round_is_exported_with_all_that_is_known_of_it(folder, tmp_path, corpus):
    output = tmp_path / "model.onnx"

    written = export_model(folder, 0, output=output, threshold=0.6, licence="CC0-1.0")

    said = read_onnx(output).metadata
    assert said == written
    assert (said.model, said.round, said.seed, said.licence) == ("gru", 0, 42, "CC0-1.0")
    assert (said.temperature, said.threshold) == (0.8, 0.6)
    assert said.fingerprint == prepare(corpus.keypoints, frames=5).fingerprint
    assert said.settings is None  # the corpus brings a layout of its own


def test_the_recipe_of_a_layout_with_a_name_is_exported_with_the_model(tmp_path, weights):
    settings = settings_of(layout_by_name("kinect-12"), frames=5)
    prepared = Prepared((), np.zeros((0, 5, 6)), np.zeros((0, 5, 2)), settings)
    save_folder(tmp_path, "gru", prepared, Trained(network("gru", weights("gru")), None))

    said = export_model(tmp_path, 0, output=tmp_path / "x.onnx", threshold=0.7, licence="none")

    assert said.settings == settings
    assert "left_wrist" in said.settings["points"]


@pytest.mark.parametrize(("round_", "threshold", "seen"), [(3, 0.7, "no round 3"), (0, 7, "7")])
def test_what_cannot_be_exported_is_said_and_nothing_is_written(
    folder, tmp_path, round_, threshold, seen
):
    with pytest.raises(BadInput, match=seen):
        export_model(
            folder, round_, output=tmp_path / "x.onnx", threshold=threshold, licence="not stated"
        )

    assert not (tmp_path / "x.onnx").exists()


def test_a_model_that_is_no_network_has_no_onnx_form(tmp_path, corpus):
    prepared = prepare(corpus.keypoints, frames=5)
    save_folder(tmp_path, "majority", prepared, Trained(Majority(np.array([1, 2, 3])), None))

    with pytest.raises(BadInput, match="majority, which has no ONNX form; allowed: one of the net"):
        export_model(tmp_path, 0, output=tmp_path / "x.onnx", threshold=0.7, licence="not stated")


WITHOUT_FRAMEWORKS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("keras", "jax", "tensorflow", "torch", "sklearn", "aeon"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from snellen.cli import main
main()
"""


@pytest.mark.parametrize("exports", [False, True], ids=["folder", "onnx"])
def test_predicting_needs_no_training_framework(exports, folder, tmp_path, corpus):
    data, models = tmp_path / "data", folder
    write_folder(corpus.corpus, corpus.keypoints, data)
    if exports:
        models = tmp_path / "model.onnx"
        export_model(folder, 0, output=models, threshold=0.7, licence="not stated")
    words = ["predict", "isolated", data, "--models", models, "-o", tmp_path / "answers.parquet"]

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FRAMEWORKS, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0
    answers = pq.read_table(tmp_path / "answers.parquet")
    assert set(answers.column("item").to_pylist()) == set(corpus.corpus.items)
    assert set(answers.column("label").to_pylist()) == {"no", "thank you", "yes"}

import hashlib
import io
import json

import numpy as np
import pytest

from snellen.core.corpus import make_corpus
from snellen.core.split import TEST, TRAIN, Split
from snellen.errors import BadInput, Mismatch
from snellen.tasks.isolated.model.lda import ShrinkageLda
from snellen.tasks.isolated.model.majority import Majority
from snellen.tasks.isolated.model_file import (
    ModelCard,
    load_round,
    read_model_card,
    save_round,
    write_model_card,
)
from snellen.tasks.isolated.training import Trained
from snellen.tasks.isolated.verbs.models import _require_same_split

VALUES = np.zeros((2, 16, 3), np.float32)
MASK = np.ones((2, 16, 1), bool)
# Simple features: 14 for each channel and one for each point.
WIDTH = 14 * 3 + 1


def lda():
    return ShrinkageLda(
        np.zeros(WIDTH, np.float32),
        np.ones(WIDTH, np.float32),
        np.zeros((WIDTH, 2)),
        np.zeros(2),
        np.ones(2, bool),
    )


def card_of(saved, model="majority"):
    return ModelCard(
        model=model,
        seed=0,
        recipe="r",
        regime="snellen",
        training="t",
        layout="l",
        preprocessing="p",
        prepared_by="snellen-1",
        frames=16,
        vocabulary=("no", "yes"),
        data="d",
        recordings="f",
        split="s",
        protocol="random",
        rounds=(saved,),
    )


@pytest.fixture
def folder(tmp_path):
    saved = save_round(tmp_path, 0, Trained(Majority(np.array([1, 3])), 2.0))
    write_model_card(tmp_path, card_of(saved))
    return tmp_path


def edited(folder, edit):
    plain = json.loads((folder / "model.json").read_bytes())
    edit(plain)
    (folder / "model.json").write_text(json.dumps(plain))


def with_arrays(folder, model, **arrays):
    """A round of these arrays, vouched for by model.json as somebody with an editor would."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    (folder / "round-00.npz").write_bytes(buffer.getvalue())

    def vouch(plain):
        plain["model"] = model
        plain["rounds"][0]["sha256"] = hashlib.sha256(buffer.getvalue()).hexdigest()
        plain["rounds"][0]["arrays"] = sorted(arrays)

    edited(folder, vouch)


def test_a_model_comes_back_as_it_was_saved(folder):
    card = read_model_card(folder)

    found = load_round(folder, card, 0)

    assert found.temperature == 2.0
    np.testing.assert_allclose(
        np.exp(found.model.log_probabilities(VALUES, MASK)), [[0.25, 0.75]] * 2
    )


FORGED = {
    "format": (lambda x: x.update(format="snellen-model/9"), "format: 'snellen-model/9'"),
    "task": (lambda x: x.update(task="emotion"), "task: 'emotion'"),
    "unknown field": (lambda x: x.update(code="rm"), "unknown field `code`"),
    "unknown field of a round": (
        lambda x: x["rounds"][0].update(code="rm"),
        "unknown field `code`",
    ),
    "label twice": (lambda x: x.update(vocabulary=["no", "no"]), "'no' twice"),
    "no label": (lambda x: x.update(vocabulary=[]), "vocabulary: no label"),
    "temperature 0": (lambda x: x["rounds"][0].update(temperature=0.0), "temperature: 0.0"),
    "temperature below 0": (lambda x: x["rounds"][0].update(temperature=-1.5), "-1.5"),
    "round twice": (lambda x: x["rounds"].append(x["rounds"][0]), "round 0 twice"),
    "file elsewhere": (lambda x: x["rounds"][0].update(file="../x.npz"), "'../x.npz'"),
    "array twice": (lambda x: x["rounds"][0].update(arrays=["counts"] * 2), "'counts' twice"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_card_that_is_not_one_is_refused_with_its_name_and_field(folder, name):
    edit, said = FORGED[name]
    edited(folder, edit)

    with pytest.raises(BadInput, match=r"model\.json") as caught:
        read_model_card(folder)
    assert said in str(caught.value)


def test_every_fault_of_a_card_is_named_at_once(folder):
    edited(folder, lambda x: x.update(task="emotion", vocabulary=["no", "no"]))

    with pytest.raises(BadInput) as caught:
        read_model_card(folder)
    assert [fault.field for fault in caught.value.faults] == ["task", "vocabulary"]


ARRAYS = {
    "a name the model does not know": ("majority", {"count": np.array([1, 3])}),
    "another number of classes": ("majority", {"counts": np.array([1, 2, 3])}),
    "a single number": ("majority", {"counts": np.array(1)}),
    "nothing counted": ("majority", {"counts": np.array([0, 0])}),
    "less than nothing": ("majority", {"counts": np.array([-1, 3])}),
    "no number": ("majority", {"counts": np.array([1, np.nan])}),
    "text": ("majority", {"counts": np.array(["1", "3"])}),
    "weights of other features": ("lda", lda().arrays() | {"weights": np.zeros((5, 2))}),
    "weights of other classes": ("lda", lda().arrays() | {"weights": np.zeros((WIDTH, 3))}),
    "an array too few": ("lda", {"mean": np.zeros(WIDTH)}),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_make_no_model_are_bad_input_that_names_the_file(folder, name):
    model, arrays = ARRAYS[name]
    with_arrays(folder, model, **arrays)

    with pytest.raises(BadInput, match=r"round-00\.npz"):
        load_round(folder, read_model_card(folder), 0).log_probabilities(VALUES, MASK)


def test_arrays_the_card_names_but_the_file_lacks_are_bad_input(folder):
    edited(folder, lambda x: x["rounds"][0].update(arrays=["counts", "more"]))

    with pytest.raises(BadInput, match="more"):
        load_round(folder, read_model_card(folder), 0)


def test_a_model_of_other_words_may_not_answer_the_split(folder):
    corpus = make_corpus("c", ["a", "b"], ["no", "maybe"])
    frozen = Split("random", None, 0, ("a", "b"), np.array([[TRAIN, TEST]]), {})

    with pytest.raises(Mismatch) as caught:
        _require_same_split(read_model_card(folder), frozen, corpus)
    assert set(caught.value.fields) == {"split", "data", "vocabulary"}

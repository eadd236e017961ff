"""What a run hands to its workers: arrays on disk, and the digest that names them."""

import dataclasses
import io
import tracemalloc

import numpy as np
import pytest

from snellen.errors import SnellenError
from snellen.tasks.isolated import rounds
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.regime import REFERENCE, SNELLEN

VALUES = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
PREPARED = Prepared(("a", "b", "c"), VALUES, VALUES[..., :1] > 5, {"name": "toy"})
LABELS = np.array([0, 1, -1])


def written(folder, prepared=PREPARED, labels=LABELS, vocabulary=("no", "yes"), regime=SNELLEN):
    return rounds.write_context(folder, prepared, labels, vocabulary, {}, regime)


def test_a_context_is_read_back_as_it_was_written(tmp_path):
    written(tmp_path)

    context = rounds.open_context({"folder": str(tmp_path)})

    assert context.prepared.items == PREPARED.items
    np.testing.assert_array_equal(context.prepared.values, PREPARED.values)
    np.testing.assert_array_equal(context.prepared.mask, PREPARED.mask)
    assert context.prepared.digest == PREPARED.digest
    assert context.labels.tolist() == [0, 1, -1]
    assert context.vocabulary == ("no", "yes")
    assert context.regime == SNELLEN


def test_arrays_are_the_bytes_that_numpy_would_save(tmp_path):
    swapped = dataclasses.replace(PREPARED, values=np.asfortranarray(VALUES))
    written(tmp_path, swapped)
    expected = io.BytesIO()
    np.save(expected, VALUES)

    assert (tmp_path / "values.npy").read_bytes() == expected.getvalue()


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": np.array([1, 1, -1])},
        {"vocabulary": ("no", "maybe")},
        {"prepared": dataclasses.replace(PREPARED, items=("a", "c", "b"))},
        {"prepared": dataclasses.replace(PREPARED, values=VALUES + 1)},
        {"regime": REFERENCE},
    ],
    ids=["labels", "vocabulary", "items", "values", "regime"],
)
def test_whatever_a_model_learns_from_is_in_the_digest(tmp_path, changed):
    assert written(tmp_path) == written(tmp_path)
    assert written(tmp_path, **changed) != written(tmp_path)


def test_large_arrays_are_not_copied_on_their_way_to_the_disk(tmp_path):
    values = np.zeros((64, 64, 512), np.float32)
    large = Prepared(("a",) * 64, values, np.zeros((64, 64, 1), bool), {})
    tracemalloc.start()
    try:
        rounds.write_context(tmp_path, large, np.zeros(64, np.int64), ("no",), {}, SNELLEN)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < values.nbytes / 4


def test_a_full_disk_is_said(tmp_path):
    resource = pytest.importorskip("resource")
    large = dataclasses.replace(PREPARED, values=np.zeros((3, 64, 512), np.float32))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(SnellenError, match=r"cannot write .*values\.npy: .*free some space"):
            written(tmp_path, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

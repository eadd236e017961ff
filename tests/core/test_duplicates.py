"""Equal and nearly equal recordings, on plain arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core import duplicates
from snellen.core.duplicates import exact_duplicates, near_pairs


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def random_directions(n, d, seed=0):
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


def test_contents_that_occur_once_are_no_duplicates():
    assert exact_duplicates(["a", "b", "c"]) == ()


def test_equal_contents_are_listed_together_in_order():
    assert exact_duplicates(["b", "a", "b", "a", "b"]) == ((0, 2, 4), (1, 3))


def test_pairs_and_counts_of_four_clips_by_hand():
    # Clips 0 and 1 point the same way, 2 is perpendicular, 3 is of another class.
    found = near_pairs(unit([[1, 0], [2, 0], [0, 1], [0, -1]]), np.array([0, 0, 0, 1]))

    assert found.pairs.tolist() == [[0, 1]]
    assert (found.within_pairs, found.between_pairs) == (3, 3)
    assert found.within_median == 0.0
    assert found.between_above == 0
    assert found.threshold == 0.95


def test_a_pair_of_different_classes_raises_the_threshold_above_itself():
    # cos 0.97 between the classes, 0.96 within: the pair within is no evidence of a copy.
    angle = np.arccos([0.97, 0.96])
    vectors = unit(
        [[1, 0], [np.cos(angle[0]), np.sin(angle[0])], [np.cos(angle[1]), -np.sin(angle[1])]]
    )

    found = near_pairs(vectors, np.array([0, 1, 0]))

    assert found.pairs.tolist() == []
    assert found.threshold == pytest.approx(0.9701, abs=1e-4)
    assert found.between_above == 0


def test_two_people_are_never_copies_of_each_other_but_set_the_base_rate():
    angle = np.arccos(0.97)
    vectors = unit([[1, 0], [np.cos(angle), np.sin(angle)]])
    classes = np.array([0, 0])

    assert near_pairs(vectors, classes).pairs.tolist() == [[0, 1]]
    apart = near_pairs(vectors, classes, signers=np.array([0, 1]))
    assert apart.pairs.tolist() == []
    assert (apart.within_pairs, apart.between_pairs, apart.within_median) == (0, 1, None)


def test_a_clip_without_a_label_forms_no_pair():
    found = near_pairs(unit([[1, 0], [1, 0], [1, 0]]), np.array([-1, 0, -1]))

    assert found.pairs.tolist() == []
    assert (found.within_pairs, found.between_pairs) == (0, 0)


def test_a_clip_that_does_not_move_resembles_nothing():
    found = near_pairs(np.zeros((2, 3), np.float32), np.array([0, 0]))

    assert found.pairs.tolist() == []
    assert found.within_median == 0.0


@given(st.integers(0, 60), st.integers(1, 4), st.integers(1, 3), st.integers(0, 100))
def test_blocks_give_what_the_full_matrix_gives(n, classes, signers, seed):
    rng = np.random.default_rng(seed)
    vectors = unit(rng.normal(size=(n, 3)))
    label, who = rng.integers(-1, classes, n), rng.integers(0, signers, n)
    cosine = np.floor((vectors @ vectors.T + 1) * 10_000).clip(0, 20_000)
    a, b = np.triu_indices(n, 1)
    known = (label[a] >= 0) & (label[b] >= 0)
    alike = known & (label[a] == label[b]) & (who[a] == who[b])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "BLOCK", 7)
        found = near_pairs(vectors, label, who)

    at = round((found.threshold + 1) * 10_000)
    expected = [[i, j] for i, j, ok in zip(a, b, alike, strict=True) if ok and cosine[i, j] >= at]
    assert found.pairs.tolist() == expected
    assert found.within_pairs == alike.sum()
    assert found.between_pairs == (known & ~alike).sum()
    assert found.between_above == (cosine[a, b][known & ~alike] >= at).sum() == 0


def test_no_more_than_one_in_a_million_of_the_other_pairs_passes():
    # 1,500 clips of 1,500 classes: 1,124,250 pairs of different classes, of which 1 may pass.
    vectors = random_directions(1500, 40)
    vectors[1], vectors[3] = vectors[0], vectors[2]

    found = near_pairs(vectors, np.arange(1500))

    assert found.between_pairs == 1_124_250
    assert found.between_above == 0  # both planted pairs have cosine 1: neither may pass
    vectors[3] = random_directions(1, 40, seed=9)[0]
    assert near_pairs(vectors, np.arange(1500)).between_above == 1

"""Counts and shares of classes, by hand and beside scikit-learn."""

import numpy as np
import pytest

from snellen.metrics import classify
from snellen.metrics.ratio import divide, weighted_mean, weighted_sum

# Four clips of class 0, three of class 1, one of class 2; class 3 is never the truth.
TRUTH = np.array([0, 0, 0, 0, 1, 1, 1, 2])
ANSWER = np.array([0, 0, 1, -1, 1, 3, 0, -1])
TABLE = [
    [2, 1, 0, 0, 1],
    [1, 1, 0, 1, 0],
    [0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0],
]


def counted():
    return classify.class_counts(classify.confusion(TRUTH, ANSWER, 4))


def test_confusion_has_truth_in_rows_and_no_answer_in_the_last_column():
    table = classify.confusion(TRUTH, ANSWER, 4)

    assert table.tolist() == TABLE
    assert table.dtype == np.int64


def test_confusion_of_no_clips_is_all_zero():
    nothing = np.array([], dtype=int)

    assert classify.confusion(nothing, nothing, 2).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert classify.confusion(nothing, nothing, 2, np.ones((5, 0))).shape == (5, 2, 3)


def test_confusion_counts_across_chunks(monkeypatch):
    monkeypatch.setattr(classify, "ROWS", 3)

    assert classify.confusion(TRUTH, ANSWER, 4).tolist() == TABLE


def test_confusion_leaves_its_inputs_alone_whatever_their_integer_type():
    truth, answer = TRUTH.astype(np.int8), ANSWER.astype(np.int16)

    assert classify.confusion(truth, answer, 4).tolist() == TABLE
    assert truth.tolist() == TRUTH.tolist()
    assert answer.tolist() == ANSWER.tolist()


@pytest.mark.parametrize("weight", [None, np.ones(2)])
@pytest.mark.parametrize(
    ("truth", "answer"), [([0, -1], [0, 0]), ([0, 4], [0, 0]), ([0, 0], [0, 4]), ([0, 0], [-2, 0])]
)
def test_confusion_refuses_a_class_outside_the_vocabulary(truth, answer, weight):
    with pytest.raises(ValueError, match=r".*"):
        classify.confusion(np.array(truth), np.array(answer), 4, weight)


def test_a_stray_answer_is_named_with_what_is_allowed():
    with pytest.raises(ValueError, match=r"answer 0\.\.7; allowed: -1\.\.3"):
        classify.confusion(np.array([0, 0]), np.array([0, 7]), 4)


def test_class_figures_counted_by_hand():
    counts = counted()

    assert counts.support.tolist() == [4, 3, 1, 0]
    assert counts.predicted.tolist() == [3, 2, 0, 1]
    assert counts.correct.tolist() == [2, 1, 0, 0]
    assert classify.precision(counts).tolist() == [2 / 3, 1 / 2, None, 0.0]
    assert classify.recall(counts).tolist() == [2 / 4, 1 / 3, 0.0, None]
    assert classify.f1(counts).tolist() == [4 / 7, 2 / 5, 0.0, 0.0]


def test_accuracy_counts_a_missing_answer_as_wrong():
    assert classify.accuracy(TRUTH, ANSWER).item() == 3 / 8


def test_nothing_is_right_for_a_clip_out_of_vocabulary_not_even_silence():
    truth, ranked = np.array([-1, -1, 0]), np.array([[-1, -1], [0, -1], [1, 0]])

    assert classify.accuracy(truth, ranked[:, 0]).item() == 0
    assert classify.top_k(truth, ranked, 2).item() == 1 / 3


def test_top_k_takes_fewer_ranks_as_they_are():
    truth, ranked = np.array([0, 1, 2]), np.array([[0, 1], [0, 1], [0, 1]])

    assert [classify.top_k(truth, ranked, k).item() for k in (1, 2, 5)] == [1 / 3, 2 / 3, 2 / 3]


def test_macro_figures_depend_on_the_label_set_as_counted_by_hand():
    counts = counted()

    assert classify.macro_recall(counts, "support").item() == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert classify.macro_recall(counts, "union").item() == pytest.approx((1 / 2 + 1 / 3) / 4)
    assert classify.macro_precision(counts).item() == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert classify.macro_f1(counts).item() == pytest.approx((4 / 7 + 2 / 5) / 3)
    assert classify.balanced_accuracy(counts).item() == pytest.approx((1 / 2 + 1 / 3) / 3)


def test_weighted_figures_count_classes_by_their_clips():
    counts = counted()

    assert classify.weighted_precision(counts).item() == pytest.approx((4 * 2 / 3 + 3 / 2) / 8)
    assert classify.weighted_recall(counts).item() == pytest.approx(3 / 8)
    assert classify.weighted_f1(counts).item() == pytest.approx((4 * 4 / 7 + 3 * 2 / 5) / 8)


@pytest.mark.parametrize(
    ("over", "expected"), [("union", 5 / 9), ("support", 5 / 6), ("vocabulary", 1 / 3)]
)
def test_a_class_absent_from_the_test_set_changes_macro_f1_by_the_label_set(over, expected):
    counts = classify.class_counts(
        classify.confusion(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]), 5)
    )

    assert classify.macro_f1(counts, over).item() == pytest.approx(expected)


@pytest.mark.train
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees(seed, weighted):
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        precision_recall_fscore_support,
    )

    rng = np.random.default_rng(seed)
    n, n_classes = 60, 7
    truth = rng.integers(0, n_classes - 1, n)  # the last class has no clip
    answer = np.where(rng.random(n) < 0.5, truth, rng.integers(-1, n_classes, n))
    weight = rng.integers(0, 4, n) if weighted else None
    labels = np.arange(n_classes)
    settings = {"labels": labels, "zero_division": 0, "sample_weight": weight}
    table = classify.confusion(truth, answer, n_classes, weight)
    counts = classify.class_counts(table)

    everything = confusion_matrix(truth, answer, labels=[*labels, -1], sample_weight=weight)
    np.testing.assert_array_equal(table, everything[:-1])
    assert classify.accuracy(truth, answer, weight).item() == pytest.approx(
        accuracy_score(truth, answer, sample_weight=weight)
    )
    each = precision_recall_fscore_support(truth, answer, average=None, **settings)
    for function, expected in zip(
        (classify.precision, classify.recall, classify.f1), each[:3], strict=True
    ):
        np.testing.assert_allclose(function(counts).value, expected)
    np.testing.assert_array_equal(counts.support, each[3])
    for average, named in (("macro", classify.macro), ("weighted", classify.weighted)):
        expected = precision_recall_fscore_support(truth, answer, average=average, **settings)
        over = ("vocabulary",) if average == "macro" else ()
        for function, value in zip(
            (classify.precision, classify.recall, classify.f1), expected[:3], strict=True
        ):
            assert named(function(counts), counts, *over).item() == pytest.approx(value)
    present = np.flatnonzero(counts.support > 0)
    expected = precision_recall_fscore_support(
        truth, answer, average="macro", **{**settings, "labels": present}
    )
    assert classify.macro_f1(counts).item() == pytest.approx(expected[2])


def test_a_quotient_by_zero_is_undefined_in_any_shape():
    ratio = divide(np.ones((2, 3)), np.array([[1.0], [0.0]]))

    assert ratio.defined.tolist() == [[True] * 3, [False] * 3]
    assert ratio.value.tolist() == [[1.0] * 3, [0.0] * 3]


def test_sums_and_means_by_weight():
    values, weight = np.array([1.0, 3.0]), np.array([[1, 1], [3, 1], [0, 0]])

    assert weighted_sum(values).item() == 4
    assert weighted_sum(values, weight).tolist() == [4, 6, 0]
    assert weighted_mean(values, weight).tolist() == [2.0, 1.5, None]

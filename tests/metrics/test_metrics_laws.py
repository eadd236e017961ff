"""What every metric promises: weights are repetitions, order and names do not matter."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.metrics import calibration, classify, selective
from snellen.metrics.ratio import Ratio

CLASSES = 4
THRESHOLDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class Rows:
    truth: np.ndarray
    ranked: np.ndarray
    confidence: np.ndarray

    @property
    def answer(self):
        return self.ranked[:, 0]

    @property
    def correct(self):
        return self.truth == self.answer

    def take(self, order):
        return Rows(self.truth[order], self.ranked[order], self.confidence[order])

    def renamed(self, names):
        ranked = np.where(self.ranked < 0, -1, names[self.ranked])
        return Rows(names[self.truth], ranked, self.confidence)


def counts(rows, weight):
    return classify.class_counts(classify.confusion(rows.truth, rows.answer, CLASSES, weight))


def of_counts(function, *settings_):
    return lambda rows, weight: function(counts(rows, weight), *settings_)


def of_confidence(function, *settings_):
    return lambda rows, weight: function(rows.confidence, rows.correct, *settings_, weight=weight)


def swept(rows, weight):
    answered = rows.answer >= 0
    return selective.sweep(rows.confidence, rows.correct, THRESHOLDS, answered, weight)[1:]


PER_CLASS = {
    "precision": of_counts(classify.precision),
    "recall": of_counts(classify.recall),
    "f1": of_counts(classify.f1),
    "support": lambda rows, weight: counts(rows, weight).support,
    "predicted": lambda rows, weight: counts(rows, weight).predicted,
    "correct": lambda rows, weight: counts(rows, weight).correct,
}
SHARES = {
    "accuracy": lambda rows, weight: classify.accuracy(rows.truth, rows.answer, weight),
    "top_1": lambda rows, weight: classify.top_k(rows.truth, rows.ranked, 1, weight),
    "top_2": lambda rows, weight: classify.top_k(rows.truth, rows.ranked, 2, weight),
    "balanced_accuracy": of_counts(classify.balanced_accuracy),
    "weighted_precision": of_counts(classify.weighted_precision),
    "weighted_recall": of_counts(classify.weighted_recall),
    "weighted_f1": of_counts(classify.weighted_f1),
    **{
        f"{function.__name__} over {over}": of_counts(function, over)
        for function in (classify.macro_precision, classify.macro_recall, classify.macro_f1)
        for over in ("support", "union", "vocabulary")
    },
    "aurc": of_confidence(selective.aurc),
    "excess_aurc": of_confidence(selective.excess_aurc),
    "accuracy_at_coverage": of_confidence(selective.accuracy_at_coverage, 0.5),
    "coverage_at_accuracy": of_confidence(selective.coverage_at_accuracy, 0.6),
    "ece": of_confidence(calibration.ece, 4),
    "brier": of_confidence(calibration.brier),
}
TABLES = {
    "confusion": lambda rows, weight: classify.confusion(rows.truth, rows.answer, CLASSES, weight),
    "sweep": swept,
    "reliability": lambda rows, weight: calibration.reliability(
        rows.confidence, rows.correct, 4, weight
    )[1:],
}
METRICS = {**SHARES, **PER_CLASS, **TABLES}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@st.composite
def some_rows(draw, max_size=12):
    n = draw(st.integers(1, max_size))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Rows(
        truth=seed.integers(0, CLASSES, n),
        ranked=seed.integers(-1, CLASSES, (n, 2)),
        confidence=seed.integers(0, 6, n) / 5,
    )


def draw_weights(data, shape):
    seed = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    return seed.integers(0, 4, shape)


def arrays(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def assert_same(result, other):
    for a, b in zip(arrays(result), arrays(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@every_metric
@given(rows=some_rows(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_weight_two_is_the_row_twice_and_weight_zero_the_row_gone(metric, rows, data):
    weight = draw_weights(data, len(rows.truth))
    repeated = rows.take(np.repeat(np.arange(len(weight)), weight))

    assert_same(metric(rows, weight), metric(repeated, None))


@every_metric
@given(rows=some_rows(), data=st.data())
@settings(max_examples=20, deadline=None)
def test_many_weights_at_once_are_one_at_a_time(metric, rows, data):
    weight = draw_weights(data, (2, 3, len(rows.truth)))
    at_once = arrays(metric(rows, weight))

    for index in np.ndindex(2, 3):
        assert_same(tuple(x[index] for x in at_once), tuple(arrays(metric(rows, weight[index]))))


@every_metric
@given(rows=some_rows(), data=st.data())
@settings(max_examples=20, deadline=None)
def test_the_order_of_rows_does_not_matter(metric, rows, data):
    order = np.array(data.draw(st.permutations(range(len(rows.truth)))))
    weight = draw_weights(data, len(rows.truth))

    assert_same(metric(rows, weight), metric(rows.take(order), weight[order]))


@every_metric
@given(rows=some_rows())
@settings(max_examples=20, deadline=None)
def test_no_weights_are_weights_of_one(metric, rows):
    assert_same(metric(rows, None), metric(rows, np.ones(len(rows.truth))))


@pytest.mark.parametrize("metric", SHARES.values(), ids=SHARES)
@given(rows=some_rows(), names=st.permutations(range(CLASSES)))
@settings(max_examples=20, deadline=None)
def test_the_names_of_classes_do_not_matter(metric, rows, names):
    assert_same(metric(rows, None), metric(rows.renamed(np.array(names)), None))


@pytest.mark.parametrize("metric", PER_CLASS.values(), ids=PER_CLASS)
@given(rows=some_rows(), names=st.permutations(range(CLASSES)))
@settings(max_examples=20, deadline=None)
def test_figures_of_classes_move_with_their_names(metric, rows, names):
    names = np.array(names)
    moved = tuple(x[..., names] for x in arrays(metric(rows.renamed(names), None)))

    assert_same(metric(rows, None), moved)


@pytest.mark.parametrize("metric", SHARES.values(), ids=SHARES)
@given(rows=some_rows(), data=st.data())
@settings(max_examples=20, deadline=None)
def test_a_share_lies_between_0_and_1_and_is_a_plain_0_where_undefined(metric, rows, data):
    figure = metric(rows, draw_weights(data, (3, len(rows.truth))))

    assert isinstance(figure, Ratio)
    assert figure.value.shape == figure.defined.shape == (3,)
    assert (figure.value >= 0).all()
    assert (figure.value <= 1).all()
    assert (figure.value[~figure.defined] == 0).all()


@pytest.mark.parametrize("metric", SHARES.values(), ids=SHARES)
def test_a_share_of_nothing_is_undefined_not_zero(metric):
    rows = Rows(np.array([0, 1]), np.array([[0, 1], [1, -1]]), np.array([0.5, 1.0]))

    assert metric(rows, np.zeros(2)).item() is None
    assert metric(rows.take(np.array([], dtype=int)), None).item() is None


@given(rows=some_rows(max_size=30), data=st.data())
@settings(max_examples=50, deadline=None)
def test_weighted_recall_is_accuracy_and_top_1_at_most_top_2(rows, data):
    weight = draw_weights(data, (2, len(rows.truth)))

    assert_same(SHARES["weighted_recall"](rows, weight), SHARES["accuracy"](rows, weight))
    assert_same(SHARES["top_1"](rows, weight), SHARES["accuracy"](rows, weight))
    assert (SHARES["top_1"](rows, weight).value <= SHARES["top_2"](rows, weight).value).all()


@given(rows=some_rows(max_size=30), data=st.data())
@settings(max_examples=30, deadline=None)
def test_whole_weights_give_whole_counts(rows, data):
    weight = draw_weights(data, len(rows.truth)) * 2**40 + 1
    table = classify.confusion(rows.truth, rows.answer, CLASSES, weight)
    expected = np.zeros((CLASSES, CLASSES + 1), dtype=int)
    for t, a, w in zip(rows.truth, rows.answer, weight, strict=True):
        expected[t, a] += w  # -1 is the last column

    np.testing.assert_array_equal(table, expected)

"""Thresholds, risk and coverage: the gate table, ties, and every order by brute force."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from snellen.metrics import selective

# The gate table of the isolated-signs document: of 152 clips, at each threshold.
GATE = {0.50: (122, 101), 0.60: (101, 84), 0.70: (88, 75), 0.75: (82, 71), 0.85: (67, 59)}
GATE[0.95] = (18, 18)
CLIPS = 152


def gate_clips():
    """Clips that give the gate table, each confidence as low as its threshold allows."""
    steps = [(0.0, CLIPS, 105), *((t, *counts) for t, counts in GATE.items())]
    confidence, correct = [], []
    for (threshold, answered, right), (_, fewer, fewer_right) in zip(
        steps, [*steps[1:], (1.0, 0, 0)], strict=True
    ):
        n, good = answered - fewer, right - fewer_right
        confidence += [threshold] * n
        correct += [True] * good + [False] * (n - good)
    order = np.random.default_rng(0).permutation(CLIPS)
    return np.array(confidence)[order], np.array(correct)[order]


@pytest.mark.parametrize("stored", [np.float64, np.float32])
def test_the_gate_table_comes_out_to_four_digits(stored):
    confidence, correct = gate_clips()
    table = selective.sweep(confidence.astype(stored), correct, np.array(list(GATE)))

    assert list(zip(table.answered.tolist(), table.right.tolist(), strict=True)) == list(
        GATE.values()
    )
    assert table.coverage.value.round(3).tolist() == [0.803, 0.664, 0.579, 0.539, 0.441, 0.118]
    assert table.selective_accuracy.value.round(4).tolist() == [
        0.8279, 0.8317, 0.8523, 0.8659, 0.8806, 1.0,
    ]  # fmt: skip
    assert table.pessimistic_accuracy.value.round(4).tolist() == [
        0.6645, 0.5526, 0.4934, 0.4671, 0.3882, 0.1184,
    ]  # fmt: skip
    assert table.floor.value[[2, 5]].round(3).tolist() == [0.775, 0.847]


def test_a_confidence_equal_to_the_threshold_is_answered_however_it_is_stored():
    for text in ("0.1", "0.3", "0.6", "0.7", "0.9"):
        narrow, wide = np.float32(text), float(text)
        for confidence in (narrow, float(narrow), wide):
            table = selective.sweep(np.array([confidence]), np.array([True]), np.array([wide]))
            assert table.answered.tolist() == [1]

    summed = selective.sweep(np.array([0.3]), np.array([True]), np.array([0.1 + 0.2]))
    assert summed.answered.tolist() == [1]


def test_a_confidence_just_below_the_threshold_is_not_answered():
    table = selective.sweep(np.array([0.699999]), np.array([True]), np.array([0.7]))

    assert table.answered.tolist() == [0]
    assert table.selective_accuracy.tolist() == [None]
    assert table.floor.tolist() == [None]


def test_a_clip_without_answer_is_not_answered_at_threshold_zero_but_stays_in_the_whole():
    table = selective.sweep(
        np.array([0.0, 0.0, 0.8]),
        np.array([False, True, True]),
        np.array([0.0, 0.5]),
        answered=np.array([False, True, True]),
    )

    assert table.answered.tolist() == [2, 1]
    assert table.right.tolist() == [2, 1]
    assert table.total.item() == 3
    assert table.pessimistic_accuracy.tolist() == [2 / 3, 1 / 3]


@pytest.mark.parametrize(("k", "n"), [(0, 7), (1, 7), (75, 88), (18, 18), (3, 4)])
def test_the_floor_is_the_exact_one_sided_bound(k, n):
    expected = binomtest(k, n, alternative="greater").proportion_ci(0.95, method="exact").low

    assert selective.share_floor(np.array(k), np.array(n)).item() == pytest.approx(expected)


def test_the_curve_enters_ties_whole_and_from_the_top():
    curve = selective.risk_coverage(
        np.array([0.2, 0.9, 0.2, 0.5]), np.array([False, True, True, True])
    )

    assert curve.threshold == pytest.approx([0.9, 0.5, 0.2])
    assert curve.answered.tolist() == [1, 2, 4]
    assert curve.right.tolist() == [1, 2, 3]


def mean_over_all_orders(confidence, correct):
    """AURC in exact fractions: the mean over every order that keeps the confidences sorted."""
    n = len(confidence)
    total, orders = Fraction(0), 0
    for order in permutations(range(n)):
        ranked = [confidence[i] for i in order]
        if ranked != sorted(ranked, reverse=True):
            continue
        wrong, area = 0, Fraction(0)
        for k, i in enumerate(order, start=1):
            wrong += not correct[i]
            area += Fraction(wrong, k)
        total += area / n
        orders += 1
    return total / orders


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_aurc_is_the_mean_over_all_orders_of_ties(clips):
    confidence, correct = zip(*clips, strict=True)
    expected = mean_over_all_orders(confidence, correct)

    assert selective.aurc(np.array(confidence), np.array(correct)).item() == pytest.approx(
        float(expected), abs=1e-14
    )


def test_aurc_by_hand():
    # Risks 0/1, 1/2, 2/3, then a tie of two with one error: 2.5/4 and 3/5.
    area = selective.aurc(
        np.array([0.9, 0.8, 0.7, 0.6, 0.6]), np.array([True, False, False, True, False])
    )

    assert area.item() == pytest.approx((0 + 1 / 2 + 2 / 3 + 2.5 / 4 + 3 / 5) / 5)


def test_all_tied_gives_the_error_rate_and_all_right_gives_zero():
    correct = np.array([True, False, True, False, True])

    assert selective.aurc(np.full(5, 0.5), correct).item() == pytest.approx(2 / 5)
    assert selective.aurc(np.arange(5) / 5, np.ones(5, bool)).item() == 0


def test_excess_is_zero_for_the_best_order_and_largest_for_the_worst():
    correct = np.array([True, True, False])
    best = np.array([0.9, 0.8, 0.1])
    # Worst order: risks 1, 1/2, 1/3; best order: 0, 0, 1/3.
    worst = np.array([0.2, 0.3, 0.9])

    assert selective.excess_aurc(best, correct).item() == 0
    assert selective.excess_aurc(worst, correct).item() == pytest.approx((1 + 1 / 2) / 3)


def test_accuracy_at_coverage_answers_a_tie_whole():
    confidence = np.array([0.9, 0.6, 0.6, 0.1])
    correct = np.array([True, True, False, False])
    at = [selective.accuracy_at_coverage(confidence, correct, c).item() for c in (0.25, 0.5, 1)]

    assert at == pytest.approx([1, 2 / 3, 1 / 2])


def test_coverage_at_accuracy_takes_the_largest_coverage_that_holds_it():
    confidence = np.array([0.9, 0.8, 0.7, 0.1])
    correct = np.array([False, True, True, False])
    at = [selective.coverage_at_accuracy(confidence, correct, a).item() for a in (0.5, 0.6, 0.9)]

    assert at == [1.0, 0.75, 0.0]

"""Prediction sets: the rank that is taken, sets counted by hand, and the promise by simulation."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.metrics import conformal


@pytest.mark.parametrize(
    ("n", "alpha", "rank"),
    [(9, 0.1, 9), (10, 0.1, 10), (18, 0.1, 18), (19, 0.1, 18), (152, 0.1, 138), (19, 0.05, 19)],
)
def test_the_limit_is_the_score_of_the_rank_counted_by_hand(n, alpha, rank):
    scores = np.random.default_rng(0).permutation(np.arange(1, n + 1)) / 1000

    assert conformal.conformal_limit(scores, alpha) == rank / 1000


def test_too_few_clips_rule_nothing_out():
    assert conformal.conformal_limit(np.zeros(8), 0.1) == float("inf")
    assert conformal.conformal_limit(np.zeros(0), 0.1) == float("inf")


@pytest.mark.parametrize(("alpha", "fewest"), [(0.1, 9), (0.05, 19), (0.2, 4), (0.3, 3)])
def test_the_fewest_clips_are_just_enough(alpha, fewest):
    assert conformal.fewest_clips(alpha) == fewest
    assert conformal.conformal_limit(np.zeros(fewest), alpha) == 0
    assert conformal.conformal_limit(np.zeros(fewest - 1), alpha) == float("inf")


@given(st.integers(1, 400), st.integers(1, 99))
def test_the_rank_is_exact_whatever_floats_make_of_it(n, percent):
    limit = conformal.conformal_limit(np.arange(1, n + 1).astype(float), percent / 100)
    rank = ceil((n + 1) * (1 - Fraction(percent, 100)))

    assert limit == (rank if rank <= n else float("inf"))


def test_a_truth_below_the_stored_ranks_is_as_strange_as_can_be():
    ranked = np.array([[4, 2], [4, 2], [-1, -1]])
    confidence = np.array([[0.5, 0.25], [0.5, 0.25], [0.0, 0.0]])

    scores = conformal.truth_scores(np.array([2, 7, 4]), ranked, confidence)

    assert scores.tolist() == [0.75, 1.0, 1.0]


def test_a_label_as_strange_as_the_limit_is_in_the_set_and_no_answer_never_is():
    ranked = np.array([[0, 1, 2], [0, -1, -1]])
    confidence = np.array([[0.5, 0.25, 0.125], [1.0, 0.0, 0.0]])

    sets = conformal.prediction_sets(ranked, confidence, np.array([0.75, np.inf]))

    assert sets.tolist() == [[True, True, False], [True, False, False]]


def test_each_clip_has_its_own_limit():
    ranked, confidence = np.zeros((2, 1), int), np.full((2, 1), 0.5)

    sets = conformal.prediction_sets(ranked, confidence, np.array([0.5, 0.25]))

    assert sets.tolist() == [[True], [False]]


def test_sets_of_exchangeable_clips_hold_the_truth_as_often_as_promised():
    rng, trials, alpha = np.random.default_rng(20261130), 400, 0.1
    covered, asked = 0, 0
    for _ in range(trials):
        probability = rng.dirichlet(np.full(5, 0.6), size=60)
        truth = np.array([rng.choice(5, p=row) for row in probability])
        ranked = np.argsort(-probability, axis=1)
        confidence = np.take_along_axis(probability, ranked, axis=1)
        scores = conformal.truth_scores(truth[:39], ranked[:39], confidence[:39])
        limit = np.full(21, conformal.conformal_limit(scores, alpha))
        sets = conformal.prediction_sets(ranked[39:], confidence[39:], limit)
        covered += int((sets & (ranked[39:] == truth[39:, np.newaxis])).sum())
        asked += 21

    # 36 of 40: the rank k = ceil(40 * 0.9) covers with probability k / (n + 1) exactly.
    # Clips of a trial share its limit, which adds var(Beta(36, 4)) to the binomial variance.
    error = np.sqrt(0.9 * 0.1 / asked + 36 * 4 / (40**2 * 41) / trials)
    assert abs(covered / asked - 0.9) < 3 * error

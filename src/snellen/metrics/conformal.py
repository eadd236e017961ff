"""Which answers cannot be ruled out? Prediction sets by split-conformal calibration.

*Conventions*: ``ranked`` (n, ranks) class numbers, best first, -1 for none;
``confidence`` (n, ranks) their probabilities; ``truth`` (n,). The score of a
label is 1 - its probability, and a label is in the set when its score is at
most the limit. Only ranked labels are known: a truth that is not among them
has score 1, and no set is said to hold it, so coverage is never flattered.

The promise, that sets hold the truth with probability 1 - ``alpha`` at least,
is kept for clips exchangeable with those calibrated on: other clips of the same
people, not new people. Source: Vovk and others 2005; Lei and others 2018.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

__all__ = ["conformal_limit", "fewest_clips", "prediction_sets", "truth_scores"]


def truth_scores(truth: np.ndarray, ranked: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """How strange each true label looked: 1 - its probability, 1 where it was not ranked.

    >>> ranked, confidence = np.array([[0, 1], [0, 1]]), np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> truth_scores(np.array([1, 2]), ranked, confidence).tolist()
    [0.75, 1.0]
    """
    hit = (ranked == truth[:, np.newaxis]) & (ranked >= 0)
    scores: np.ndarray = np.where(hit, 1 - confidence, 1.0).min(axis=1, initial=1.0)
    return scores


def conformal_limit(scores: np.ndarray, alpha: float) -> float:
    """The k-th smallest of n scores, k = ceil((n + 1)(1 - ``alpha``)); infinite where k > n.

    The one more than n is what makes the promise hold for few clips: without it
    coverage falls short by about 1/n. Infinite means that so few clips can rule out nothing.

    >>> conformal_limit(np.arange(1, 20) / 20, 0.1)
    0.9
    >>> conformal_limit(np.arange(1, 9) / 20, 0.1)
    inf
    """
    n = len(scores)
    k = ceil((n + 1) * (1 - _exact(alpha)))
    return float(np.sort(scores)[k - 1]) if k <= n else float("inf")


def fewest_clips(alpha: float) -> int:
    """How many clips it takes before anything can be ruled out.

    >>> fewest_clips(0.1), fewest_clips(0.05)
    (9, 19)
    """
    return ceil(1 / _exact(alpha)) - 1


def prediction_sets(ranked: np.ndarray, confidence: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Which ranked labels are in the set of each clip: booleans (n, ranks).

    Args:
        ranked: (n, ranks).
        confidence: (n, ranks).
        limit: (n,) from :func:`conformal_limit`, each clip's own.

    >>> ranked, confidence = np.array([[3, 1], [2, -1]]), np.array([[0.75, 0.25], [0.5, 0.0]])
    >>> prediction_sets(ranked, confidence, np.array([0.5, np.inf])).tolist()
    [[True, False], [True, False]]
    """
    inside: np.ndarray = (ranked >= 0) & (1 - confidence <= limit[:, np.newaxis])
    return inside


def _exact(alpha: float) -> Fraction:
    # As it is written: in floats, 20 * (1 - 0.1) may come out above 18.
    return Fraction(repr(float(alpha)))

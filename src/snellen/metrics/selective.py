"""What does a model gain by keeping quiet when it is unsure?

*Conventions*: ``confidence`` (n,) of the answer, ``correct`` (n,) whether it is
right. A clip without an answer stays in: confidence 0, not correct (and, in a
sweep, not ``answered``). ``weight`` is (..., n) or None and counts rows.

A threshold is met by a confidence *equal to or above* it. Both are compared as
float32, the precision in which answers are stored, so that a stored 0.7 meets
the threshold 0.7. Answers of equal confidence are tied: no threshold can part
them, and no figure here depends on the order in which they stand in a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, digamma

from snellen.metrics.ratio import Ratio, divide

__all__ = [
    "Coverage",
    "accuracy_at_coverage",
    "aurc",
    "coverage_at_accuracy",
    "excess_aurc",
    "risk_coverage",
    "share_floor",
    "sweep",
]


class Coverage(NamedTuple):
    """Counts at thresholds (T,): ``answered`` and ``right`` (..., T) out of ``total`` (...)."""

    threshold: np.ndarray
    answered: np.ndarray
    right: np.ndarray
    total: np.ndarray

    @property
    def coverage(self) -> Ratio:
        """Answered out of all clips."""
        return divide(self.answered, self.total[..., np.newaxis])

    @property
    def selective_accuracy(self) -> Ratio:
        """Right out of the answered clips; undefined where none is answered."""
        return divide(self.right, self.answered)

    @property
    def pessimistic_accuracy(self) -> Ratio:
        """Right out of all clips: keeping quiet counts as wrong."""
        return divide(self.right, self.total[..., np.newaxis])

    @property
    def floor(self) -> Ratio:
        """What selective accuracy is at least, see :func:`share_floor`."""
        return share_floor(self.right, self.answered)


def share_floor(right: np.ndarray, answered: np.ndarray, level: float = 0.95) -> Ratio:
    """One-sided Clopper-Pearson lower bound of a share; undefined where nothing is answered.

    The largest share that would give this many right or more with probability
    1 - ``level``. It assumes independent clips; with groups it is too high.
    Source: Clopper and Pearson 1934.

    >>> share_floor(np.array([75, 18, 0]), np.array([88, 18, 5])).value.round(3).tolist()
    [0.775, 0.847, 0.0]
    """
    k, n = np.asarray(right, dtype=np.float64), np.asarray(answered, dtype=np.float64)
    some = k > 0
    bound = betaincinv(np.where(some, k, 1), np.maximum(n - k, 0) + 1, 1 - level)
    return Ratio(np.where(some, bound, 0.0), n > 0)


def sweep(
    confidence: np.ndarray,
    correct: np.ndarray,
    thresholds: np.ndarray,
    answered: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Coverage:
    """Count answered and right clips at each threshold, in the order given.

    Args:
        confidence: (n,).
        correct: (n,) booleans.
        thresholds: (T,), each met by confidences equal to or above it.
        answered: (n,) booleans, False where there is no answer at any threshold;
            None where all have one.
        weight: (..., n) or None.

    >>> at = sweep(np.array([0.9, 0.7, 0.6]), np.array([True, False, True]), np.array([0.7, 0.8]))
    >>> at.answered.tolist(), at.right.tolist(), at.total.item()
    ([2, 1], [1, 1], 3)
    """
    stored, limits = _as_stored(confidence), _as_stored(thresholds)
    order = np.argsort(-stored, kind="stable")
    meeting = np.searchsorted(-stored[order], -limits, side="right")
    row = np.ones(len(stored), np.int64) if weight is None else np.asarray(weight, np.float64)
    given = row if answered is None else row * answered
    return Coverage(
        threshold=np.asarray(thresholds, dtype=np.float64),
        answered=_prefix(given[..., order], meeting),
        right=_prefix((given * correct)[..., order], meeting),
        total=np.asarray(row.sum(axis=-1)),
    )


def _as_stored(confidence: np.ndarray) -> np.ndarray:
    return np.asarray(confidence).astype(np.float32)


def _prefix(counts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sums over the first ``lengths`` rows of the last axis."""
    start = np.zeros((*counts.shape[:-1], 1), dtype=counts.dtype)
    sums: np.ndarray = np.concatenate([start, np.cumsum(counts, axis=-1)], axis=-1)
    return sums[..., lengths]


def risk_coverage(
    confidence: np.ndarray, correct: np.ndarray, weight: np.ndarray | None = None
) -> Coverage:
    """The risk-coverage curve: the sweep at every confidence that occurs, highest first.

    Tied answers enter together. Risk is 1 - ``selective_accuracy``.
    Source: El-Yaniv and Wiener 2010.

    >>> curve = risk_coverage(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]))
    >>> curve.answered.tolist(), curve.right.tolist()
    ([1, 3], [1, 2])
    """
    return sweep(confidence, correct, np.unique(_as_stored(confidence))[::-1], None, weight)


def aurc(confidence: np.ndarray, correct: np.ndarray, weight: np.ndarray | None = None) -> Ratio:
    """Area under the risk-coverage curve: mean over k of the expected risk of the k surest answers.

    Tied answers share every order of theirs exactly. Within a tie of ``a``
    answers with ``e`` errors, after ``N`` answers with ``E`` errors, the k-th
    risk is ``(E + (k-N) e/a) / k``; summed over k it is
    ``e + (E - N e/a) (H(N+a) - H(N))`` with harmonic numbers H. Undefined without
    clips. Weights count rows: scaled weights (say, summing to 1) are another
    data set. Source: Geifman and El-Yaniv 2019 (AURC); ties: mean over all orders.

    >>> aurc(np.array([0.9, 0.8, 0.7]), np.array([True, False, False])).value.round(4).item()
    0.3889
    >>> aurc(np.array([0.5, 0.5]), np.array([True, False])).item()
    0.5
    """
    curve = risk_coverage(confidence, correct, weight)
    after = curve.answered.astype(np.float64)
    wrong_after = after - curve.right
    before, wrong_before = _shifted(after), _shifted(wrong_after)
    wrong = wrong_after - wrong_before
    error_rate = divide(wrong, after - before).value  # an empty tie adds nothing: 0 is right
    areas = wrong + (wrong_before - before * error_rate) * (_harmonic(after) - _harmonic(before))
    return divide(areas.sum(axis=-1), curve.total)


def excess_aurc(
    confidence: np.ndarray, correct: np.ndarray, weight: np.ndarray | None = None
) -> Ratio:
    """AURC above that of the best possible order, all right answers before all wrong ones.

    0 for a perfect order, whatever the accuracy. Undefined without clips.
    Source: Geifman, Uziel and El-Yaniv 2019.

    >>> excess_aurc(np.array([0.9, 0.8]), np.array([True, False])).item()
    0.0
    >>> excess_aurc(np.array([0.8, 0.9]), np.array([True, False])).item()
    0.5
    """
    area = aurc(confidence, correct, weight)
    best = aurc(np.asarray(correct, dtype=np.float64), correct, weight)
    # Below zero only by rounding: no order beats the best one.
    return Ratio(np.maximum(area.value - best.value, 0.0), area.defined)


def _shifted(cumulative: np.ndarray) -> np.ndarray:
    """The running count before each tie."""
    start = np.zeros((*cumulative.shape[:-1], 1))
    return np.concatenate([start, cumulative[..., :-1]], axis=-1)


def _harmonic(n: np.ndarray) -> np.ndarray:
    """Harmonic numbers less Euler's constant, which cancels in every difference."""
    return np.asarray(digamma(n + 1))


def accuracy_at_coverage(
    confidence: np.ndarray,
    correct: np.ndarray,
    coverage: float,
    weight: np.ndarray | None = None,
) -> Ratio:
    """Selective accuracy at the highest threshold that answers at least this share of clips.

    A tie is answered whole, so coverage may be larger than asked for. Undefined without clips.

    >>> accuracy_at_coverage(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), 0.5).item()
    0.5
    """
    curve = risk_coverage(confidence, correct, weight)
    at = curve.selective_accuracy
    enough = at.defined & (curve.coverage.value >= coverage)
    first = enough & (np.cumsum(enough, axis=-1) == 1)
    return Ratio((at.value * first).sum(axis=-1), first.any(axis=-1))


def coverage_at_accuracy(
    confidence: np.ndarray,
    correct: np.ndarray,
    accuracy: float,
    weight: np.ndarray | None = None,
) -> Ratio:
    """The largest share of clips a threshold can answer with at least this selective accuracy.

    0 where no threshold reaches it: then only silence would do. Chosen on the
    clips it is measured on, it is optimistic; choose on validation clips.

    >>> coverage_at_accuracy(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), 0.66).item()
    1.0
    """
    curve = risk_coverage(confidence, correct, weight)
    good = curve.selective_accuracy.defined & (curve.selective_accuracy.value >= accuracy)
    best = np.where(good, curve.coverage.value, 0.0).max(axis=-1, initial=0.0)
    return Ratio(best, curve.total > 0)

"""Does a confidence of 0.8 mean right in eight of ten?

*Conventions*: ``confidence`` (n,) in [0, 1] of the top answer, ``correct`` (n,)
whether it is right; clips without an answer are left out by weight 0.
``weight`` is (..., n) or None. Bins are equally wide and closed above,
(low, high], and the first also holds 0. As in :mod:`snellen.metrics.selective`
a confidence is placed by its float32, the precision in which it is stored.

An expected calibration error means nothing without :func:`ece_null`, the error
that a perfectly calibrated model would show on as few clips.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from snellen.metrics.ratio import Ratio, divide, weighted_mean, weighted_sum

__all__ = ["NullBand", "Reliability", "brier", "ece", "ece_null", "reliability"]

# Simulated labels held at a time.
LABELS = 1 << 21


class Reliability(NamedTuple):
    """Sums for each bin: ``edges`` (B+1,); ``n``, ``confidence_sum``, ``correct_sum`` (..., B)."""

    edges: np.ndarray
    n: np.ndarray
    confidence_sum: np.ndarray
    correct_sum: np.ndarray

    @property
    def confidence(self) -> Ratio:
        """Mean confidence in each bin; undefined in an empty one."""
        return divide(self.confidence_sum, self.n)

    @property
    def accuracy(self) -> Ratio:
        """Share of right answers in each bin; undefined in an empty one."""
        return divide(self.correct_sum, self.n)


class NullBand(NamedTuple):
    """ECE of a perfectly calibrated model with the same confidences: mean and 95th percentile."""

    mean: float
    high: float


def reliability(
    confidence: np.ndarray,
    correct: np.ndarray,
    n_bins: int = 10,
    weight: np.ndarray | None = None,
) -> Reliability:
    """Counts, mean confidence and accuracy in equally wide bins.

    >>> table = reliability(np.array([0.0, 0.5, 0.95]), np.array([False, True, True]), n_bins=2)
    >>> table.n.tolist(), table.accuracy.tolist()
    ([2.0, 1.0], [0.5, 1.0])
    """
    member = _bin_members(confidence, n_bins)
    columns = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    return Reliability(
        edges=np.linspace(0, 1, n_bins + 1),
        n=weighted_sum(member, weight),
        confidence_sum=weighted_sum(member * columns[0][:, np.newaxis], weight),
        correct_sum=weighted_sum(member * columns[1][:, np.newaxis], weight),
    )


def _bin_members(confidence: np.ndarray, n_bins: int) -> np.ndarray:
    """(n, B), 1 in the bin of each row."""
    edges = np.linspace(0, 1, n_bins + 1).astype(np.float32)
    stored = np.asarray(confidence).astype(np.float32)
    bins = np.maximum(np.searchsorted(edges, stored, side="left") - 1, 0)
    return np.asarray(bins[:, np.newaxis] == np.arange(n_bins), dtype=np.float64)


def ece(
    confidence: np.ndarray,
    correct: np.ndarray,
    n_bins: int = 10,
    weight: np.ndarray | None = None,
) -> Ratio:
    """Expected calibration error: gaps between confidence and accuracy of the bins, by their size.

    An empty bin adds nothing. Undefined without clips. The last bin is closed,
    so a confidence of 1 has no bin of its own. Source: Naeini and others 2015.

    >>> ece(np.array([0.95, 1.0]), np.array([True, False])).value.round(3).item()
    0.475
    """
    table = reliability(confidence, correct, n_bins, weight)
    gaps = np.abs(table.correct_sum - table.confidence_sum)
    return divide(gaps.sum(axis=-1), table.n.sum(axis=-1))


def ece_null(
    confidence: np.ndarray,
    rng: np.random.Generator,
    n_bins: int = 10,
    replicates: int = 1000,
) -> NullBand:
    """The ECE that chance alone gives: right answers drawn with exactly the stated confidence.

    Args:
        confidence: (n,) with n > 0.
        rng: draws the labels; the band depends on it only by Monte-Carlo error.
        n_bins: as in :func:`ece`.
        replicates: simulated sets of labels.

    >>> ece_null(np.array([0.0, 1.0]), np.random.default_rng(0))
    NullBand(mean=0.0, high=0.0)
    """
    confidence = np.asarray(confidence, np.float64)
    member = _bin_members(confidence, n_bins)
    errors = np.empty(replicates)
    step = max(1, LABELS // len(confidence))
    for start in range(0, replicates, step):
        part = errors[start : start + step]
        right = rng.random((len(part), len(confidence))) < confidence
        part[:] = np.abs((right - confidence) @ member).sum(axis=-1) / len(confidence)
    return NullBand(mean=float(errors.mean()), high=float(np.quantile(errors, 0.95)))


def brier(confidence: np.ndarray, correct: np.ndarray, weight: np.ndarray | None = None) -> Ratio:
    """Mean squared distance of the top answer's confidence from 1 if right, 0 if wrong.

    Source: Brier 1950, for the top answer alone (0..1, not 0..2).

    >>> brier(np.array([1.0, 0.5]), np.array([True, False])).item()
    0.125
    """
    gap = np.asarray(confidence, np.float64) - np.asarray(correct, np.float64)
    return weighted_mean(gap**2, weight)

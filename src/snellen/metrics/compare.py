"""Is one model better than another on the same clips, or was it luck?

*Conventions*: ``correct_a`` and ``correct_b`` (n,) booleans for the same clips in
the same order; differences are A minus B. ``groups`` (n,) are the independent
groups, or None. p-values are two-sided and test "no difference".

With groups the test flips the sign of a whole group's difference
(:func:`sign_flip`); without, :func:`mcnemar`. Several tests of one family are
corrected together by :func:`holm`. A test that finds nothing should say what it
could have found: :func:`smallest_gap`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

from snellen.metrics.intervals import Interval, caveat, spread

__all__ = [
    "SignFlip",
    "discordant",
    "holm",
    "mcnemar",
    "mcnemar_power",
    "paired_difference",
    "sign_flip",
    "smallest_gap",
]

EXACT_GROUPS = 16

# Signs held at a time.
SIGNS = 1 << 21


class SignFlip(NamedTuple):
    """A p-value, whether all flips were counted, and the smallest p these groups allow."""

    p: float
    exact: bool
    smallest_p: float
    method: str


def discordant(correct_a: np.ndarray, correct_b: np.ndarray) -> tuple[int, int]:
    """Clips only A gets right, and clips only B gets right.

    >>> discordant(np.array([True, True, False]), np.array([False, True, True]))
    (1, 1)
    """
    a, b = np.asarray(correct_a, dtype=bool), np.asarray(correct_b, dtype=bool)
    return int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))


def mcnemar(b: int, c: int) -> float:
    """Exact McNemar test of ``b`` clips only A gets right against ``c`` only B gets right.

    Twice the probability that a fair coin thrown b + c times shows the rarer
    side at most min(b, c) times, at most 1; 1 without discordant clips. It
    assumes independent clips. Source: McNemar 1947; exact form.

    >>> round(mcnemar(40, 23), 6), mcnemar(7, 7), mcnemar(0, 0)
    (0.042957, 1.0, 1.0)
    """
    return min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5)))


def sign_flip(
    correct_a: np.ndarray,
    correct_b: np.ndarray,
    groups: np.ndarray,
    rng: np.random.Generator,
    replicates: int = 9999,
) -> SignFlip:
    """Group sign-flip permutation test of the difference between two models.

    Were the models alike, each group could as well have favoured the other one:
    p is the share of sign patterns whose summed difference is at least as large
    as the one seen. Groups without a difference change no sum and are left
    out. Up to 16 others: all patterns, exactly; more: random ones,
    p = (c + 1) / (``replicates`` + 1). Source: Fisher 1935; Phipson and Smyth 2010.

    >>> a, b = np.array([True] * 6), np.array([False] * 6)
    >>> test = sign_flip(a, b, np.array(list("uvwxyz")), np.random.default_rng(0))
    >>> test.p, test.exact
    (0.03125, True)
    """
    gap = np.asarray(correct_a, dtype=np.int64) - np.asarray(correct_b, dtype=np.int64)
    names, member = np.unique(groups, return_inverse=True)
    sums = np.zeros(len(names), dtype=np.int64)
    np.add.at(sums, member, gap)
    size, seen = np.abs(sums[sums != 0]), abs(int(gap.sum()))
    if len(size) <= EXACT_GROUPS:
        reached = np.zeros(1, dtype=np.int64)
        for step in size:
            reached = np.concatenate([reached + step, reached - step])
        p = float(np.mean(np.abs(reached) >= seen))
        smallest = min(1.0, 2.0 ** (1 - len(size)))
        method = f"exact sign flips of {len(names)} groups"
    else:
        p = (_flips_reaching(size, seen, rng, replicates) + 1) / (replicates + 1)
        smallest = 1 / (replicates + 1)
        method = f"{replicates} random sign flips of {len(names)} groups"
    return SignFlip(p, len(size) <= EXACT_GROUPS, smallest, method)


def _flips_reaching(size: np.ndarray, seen: int, rng: np.random.Generator, replicates: int) -> int:
    reaching = 0
    step = max(1, SIGNS // len(size))
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        signs = rng.integers(0, 2, size=(rows, len(size))) * 2.0 - 1.0
        reaching += int(np.count_nonzero(np.abs(signs @ size) >= seen))
    return reaching


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction: p-values (m,) that hold for the family as a whole.

    The smallest is multiplied by m, the next by m - 1, and so on; none falls
    below a smaller one before it, none exceeds 1. Source: Holm 1979.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def paired_difference(
    correct_a: np.ndarray, correct_b: np.ndarray, groups: np.ndarray | None
) -> Interval:
    """Accuracy of A minus accuracy of B on the same n > 0 clips, with its interval.

    Bonett and Price: one clip is added to each kind of discordance, so that
    agreement everywhere still leaves a width. With groups, counts shrink to the
    effective n by the design effect of the difference and the quantile is
    Student's t over the groups, as in :func:`~snellen.metrics.intervals.share_interval`.
    Source: Bonett and Price 2012; Fagerland, Lydersen and Laake 2014.

    >>> d = paired_difference(np.array([1, 1, 1, 0]), np.array([1, 0, 0, 0]), None)
    >>> d.value, round(d.low, 3), round(d.high, 3)
    (0.5, -0.263, 0.93)
    """
    n = len(correct_a)
    b, c = discordant(correct_a, correct_b)
    gap = np.asarray(correct_a, dtype=np.float64) - np.asarray(correct_b, dtype=np.float64)
    by = spread(gap, groups)
    if by.groups == 1:
        return Interval((b - c) / n, None, None, n, 1, None, by.basis)
    deff = by.deff or 1.0
    more, less, size = b / deff + 1, c / deff + 1, n / deff + 2
    centre = (more - less) / size
    half = by.quantile * float(np.sqrt(((more + less) / size - centre**2) / size))
    if by.groups is None:
        method = "Bonett-Price, assumes independent clips"
    else:
        method = f"Bonett-Price on effective n, {by.basis}{caveat(by.groups)}"
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    return Interval((b - c) / n, low, high, n, by.groups, by.deff, method)


def mcnemar_power(n: int, discordance: float, gap: float, alpha: float = 0.05) -> float:
    """Probability that :func:`mcnemar` gives p <= ``alpha`` on ``n`` independent clips.

    Args:
        n: clips.
        discordance: true share of clips that only one of the two gets right.
        gap: true difference in accuracy, at most ``discordance``.
        alpha: the level of the test.

    The number of discordant clips is binomial, and of these A's share is binomial
    again: both sums are taken in full. 0 where nothing is ever discordant.

    >>> round(mcnemar_power(154, 0.30, 0.10), 2)
    0.58
    """
    return _power(_critical_counts(n, alpha), discordance, gap)


def _power(critical: np.ndarray, discordance: float, gap: float) -> float:
    """As :func:`mcnemar_power`, for 0..n discordant clips with these critical counts."""
    if discordance == 0:
        return 0.0
    n = len(critical) - 1
    m = np.arange(n + 1)
    log_chance = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    chance = np.exp(log_chance + xlogy(m, discordance) + xlog1py(n - m, -discordance))
    lean = (1 + gap / discordance) / 2
    some = critical >= 0
    k, of = np.where(some, critical, 0), np.maximum(m, 1)
    rejected = bdtr(k, of, lean) + bdtrc(of - k - 1, of, lean)
    return float(chance @ np.where(some, rejected, 0.0))


def _critical_counts(n: int, alpha: float) -> np.ndarray:
    """For each number of discordant clips 0..n the largest count that rejects, -1 for none."""
    critical = np.full(n + 1, -1)
    k = -1
    for m in range(1, n + 1):
        # The critical count never falls, and rises by at most one with each clip.
        if 2 * bdtr(k + 1, m, 0.5) <= alpha:
            k += 1
        critical[m] = k
    return critical


def smallest_gap(
    n: int, discordance: float, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The smallest true difference that :func:`mcnemar` finds with this power, to 1e-4, rounded up.

    None where even a difference as large as the discordance would be missed.

    >>> smallest_gap(154, 0.30)
    0.1268
    >>> smallest_gap(5, 1.0) is None
    True
    """
    critical = _critical_counts(n, alpha)
    low, high = 0, int(np.floor(discordance * 1e4))
    if _power(critical, discordance, high / 1e4) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _power(critical, discordance, middle / 1e4) >= power:
            high = middle
        else:
            low = middle
    return high / 1e4

"""How far could chance have moved this figure?

*Conventions*: ``correct`` (n,) booleans or 0/1; ``groups`` (n,) names or numbers
of the independent groups (the signers a split protects, say), or None when
nothing is known, in which case the interval says that it assumes independent
clips. All intervals are two-sided 95 %. Clips of one group resemble each
other, so the plain interval is too narrow: with 154 clips in 10 groups and an
intra-group correlation of .2 it holds the truth 64 times in 100, Wilson on the
effective n 94 times.

Which interval: a share has a closed form (:func:`share_interval`); only a
figure without one, such as macro-F1, is resampled, by whole groups. Where
every resample gives the same figure they know nothing and none is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from snellen.metrics.classify import ClassCounts, class_counts, confusion, macro_f1
from snellen.metrics.ratio import Ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Interval",
    "Spread",
    "bootstrap",
    "bootstrap_interval",
    "caveat",
    "class_figure_interval",
    "macro_f1_interval",
    "resamples",
    "share_interval",
    "spread",
    "wilson",
]

LEVEL = 0.95
FEW_GROUPS = 30
NEAR_EDGE = 0.1
_ONE_GROUP = "no interval: 1 group cannot show how groups differ"

# Numbers held at a time while resampling: bounds memory, changes no result.
NUMBERS = 1 << 21
# Figures in [0, 1] that differ by less are the same figure, summed in another order.
ROUNDING = 1e-12


class Interval(NamedTuple):
    """A figure, its 95 % bounds (None where ``method`` says why), and what they rest on.

    ``groups`` is None where clips were taken as independent; ``deff`` (by how
    much clips count less than independent ones would) where it has no estimate.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    groups: int | None
    deff: float | None
    method: str


class Spread(NamedTuple):
    """What groups do to a mean: how many there are, the design effect, the quantile to use."""

    groups: int | None
    deff: float | None
    quantile: float
    basis: str


def wilson(k: float, n: float, quantile: float | None = None) -> tuple[float, float]:
    """Wilson score interval of ``k`` out of ``n`` > 0; both may be effective, so fractional.

    It stays inside [0, 1] and has width even at 0 and n. ``quantile`` is that of
    the normal distribution (1.96) unless given. Source: Wilson 1927.

    >>> [round(bound, 3) for bound in wilson(119, 154)]
    [0.7, 0.832]
    >>> [round(bound, 3) for bound in wilson(18, 18)]
    [0.824, 1.0]
    """
    z = _quantile(None) if quantile is None else quantile
    share, shrink = k / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    # Exact at the edges, where rounding would leave 1e-17.
    low = 0.0 if k <= 0 else max(0.0, centre - half)
    high = 1.0 if k >= n else min(1.0, centre + half)
    return low, high


def _quantile(groups: int | None) -> float:
    tail = 1 - (1 - LEVEL) / 2
    return float(ndtri(tail) if groups is None else stdtrit(groups - 1, tail))


def spread(values: np.ndarray, groups: np.ndarray | None) -> Spread:
    """Design effect of the groups on the mean of ``values`` (n,), n > 0.

    The variance of the mean as a ratio estimator over groups (each group's sum
    against what its size would give), over that of independent clips, and never
    below 1. No estimate (None) where all values are equal. ``quantile`` is
    Student's t with one degree of freedom less than groups.
    Source: Kish 1965; Rao and Scott 1992.

    >>> s = spread(np.array([1, 1, 1, 0, 0, 0]), np.array(list("aaabbb")))
    >>> s.groups, round(s.deff, 3)
    (2, 6.0)
    """
    if groups is None:
        return Spread(None, 1.0, _quantile(None), "independent clips")
    values = np.asarray(values, dtype=np.float64)
    names, member = np.unique(groups, return_inverse=True)
    n, n_groups = len(values), len(names)
    if n_groups == 1:
        return Spread(1, None, float("inf"), _ONE_GROUP)
    residual = np.bincount(member, values - values.mean())
    grouped = n_groups / (n_groups - 1) * float(residual @ residual) / n**2
    independent = float(values.var()) / n
    deff = max(1.0, grouped / independent) if independent > 0 else None
    effect = "no design effect (all alike)" if deff is None else f"design effect {deff:.1f}"
    basis = f"{n_groups} groups, {effect}, t({n_groups - 1})"
    return Spread(n_groups, deff, _quantile(n_groups), basis)


def share_interval(correct: np.ndarray, groups: np.ndarray | None) -> Interval:
    """A share of n > 0 clips with its Wilson interval on the effective n.

    The effective n is n over the design effect, the quantile Student's t over
    the groups. All right or all wrong leave no design effect to estimate: n
    stands. One group gives no interval. ``method`` calls the interval approximate
    below 30 groups and for grouped shares within .1 of 0 or 1. A clip may be right
    in part (the share of seeds that read it): the interval is then a little too wide.

    >>> share_interval(np.array([True, True, False, False]), None).method
    'Wilson, assumes independent clips'
    >>> share_interval(np.array([True, False]), np.array(["a", "a"])).low is None
    True
    """
    n, k = len(correct), float(np.sum(correct))
    by = spread(np.asarray(correct, dtype=np.float64), groups)
    if by.groups == 1:
        return Interval(k / n, None, None, n, 1, None, by.basis)
    deff = by.deff or 1.0
    low, high = wilson(k / deff, n / deff, by.quantile)
    if by.groups is None:
        method = "Wilson, assumes independent clips"
    else:
        method = f"Wilson on effective n, {by.basis}{caveat(by.groups, k / n)}"
    return Interval(k / n, low, high, n, by.groups, by.deff, method)


def caveat(groups: int, share: float | None = None) -> str:
    """What to add to a method's name where grouped intervals are known to fall short.

    >>> caveat(10)
    '; approximate: fewer than 30 groups'
    """
    reasons = []
    if groups < FEW_GROUPS:
        reasons.append(f"fewer than {FEW_GROUPS} groups")
    if share is not None and not NEAR_EDGE <= share <= 1 - NEAR_EDGE:
        reasons.append(f"within {NEAR_EDGE} of 0 or 1")
    return f"; approximate: {', '.join(reasons)}" if reasons else ""


def resamples(
    unit: np.ndarray, replicates: int, rng: np.random.Generator, width: int = 0
) -> Iterator[np.ndarray]:
    """How often each unit is drawn in resamples with replacement: chunks of (m, units), float64.

    Args:
        unit: (draws,) unit number of each thing that can be drawn: ``arange(k)`` draws
            whole groups; the confusion cell of each clip draws clips, counted by cell.
        replicates: rows over all chunks.
        rng: the draws do not depend on the chunks.
        width: numbers a caller will make of each row, so that chunks stay small.
    """
    n, units = len(unit), int(unit.max()) + 1
    step = max(1, NUMBERS // max(n, units, width))
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        drawn = unit[rng.integers(0, n, size=(rows, n))]
        drawn += units * np.arange(rows)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=rows * units)
        yield counts.reshape(rows, units).astype(np.float64)


def bootstrap(
    statistic: Callable[[np.ndarray], Ratio],
    unit: np.ndarray,
    rng: np.random.Generator,
    replicates: int = 2000,
    width: int = 0,
) -> Ratio:
    """A statistic on every resample: (replicates, ...), in constant memory.

    Args:
        statistic: takes unit weights (m, units), gives a ratio (m, ...). Where
            groups have sufficient counts, that is ``weights @ counts``.
        unit: as in :func:`resamples`.
        rng: a generator.
        replicates: how many resamples.
        width: as in :func:`resamples`.
    """
    parts = [statistic(weights) for weights in resamples(unit, replicates, rng, width)]
    return Ratio(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.defined for part in parts]),
    )


def bootstrap_interval(
    metric: Callable[[np.ndarray], Ratio],
    n: int,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    replicates: int = 2000,
    width: int = 0,
) -> Interval:
    """Interval of any metric in [0, 1] that takes row weights, by resampling whole groups.

    Args:
        metric: takes weights (..., n), gives (...), such as
            ``lambda weight: aurc(confidence, correct, weight)``; defined on all clips.
        n: rows.
        groups: (n,) or None.
        rng: a generator.
        replicates: how many resamples.
        width: numbers the metric holds for each row of weights where these are more than n.

    The resamples give the variance, hence an effective n, hence Wilson's interval
    with Student's t over the groups. (Their percentiles do worse: a resample
    repeats clips and so flatters or hurts such figures on its own, and with few
    groups it varies too little.) No interval for one group, or where all
    resamples agree, as at a perfect score: a bootstrap would claim certainty
    there. Resamples in which the metric is 0/0 are left out and counted in
    ``method``.
    """
    member = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    unit = np.arange(int(member.max()) + 1)
    value = float(metric(np.ones(n)).value)
    width = max(n, width)
    drawn = bootstrap(lambda weights: metric(weights[:, member]), unit, rng, replicates, width)
    return _from_resamples(value, drawn, n, None if groups is None else len(unit))


def _from_resamples(value: float, drawn: Ratio, n: int, groups: int | None) -> Interval:
    if groups == 1:
        return Interval(value, None, None, n, 1, None, _ONE_GROUP)
    figures = drawn.value[drawn.defined]
    # Equal figures can have a variance of 1e-33: rounding is no variation.
    if not len(figures) or np.ptp(figures) <= ROUNDING or value in (0.0, 1.0):
        method = "no interval: resampling shows no variation"
        return Interval(value, None, None, n, groups, None, method)
    effective = value * (1 - value) / float(figures.var())
    low, high = wilson(value * effective, effective, _quantile(groups))
    method = f"Wilson on the variance of {len(drawn.value)} resamples"
    if groups is None:
        method += ", assumes independent clips"
    else:
        method += f" of {groups} groups, t({groups - 1}){caveat(groups, value)}"
    lost = len(drawn.value) - len(figures)
    if lost:
        method += f"; undefined in {lost} of them"
    return Interval(value, low, high, n, groups, None, method)


def class_figure_interval(
    metric: Callable[[ClassCounts], Ratio],
    truth: np.ndarray,
    answer: np.ndarray,
    n_classes: int,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    *,
    replicates: int = 2000,
) -> Interval:
    """Interval over resampled groups of a figure of n > 0 clips that follows from class counts.

    As :func:`bootstrap_interval`, but resamples multiply each group's class counts
    instead of its rows; without groups, clips are drawn by confusion cell. All
    right or all wrong: where the figure is 1 or 0 as accuracy is, accuracy's Wilson
    interval is given.

    >>> from snellen.metrics.classify import balanced_accuracy
    >>> truth, rng = np.array([0, 1]), np.random.default_rng(0)
    >>> class_figure_interval(balanced_accuracy, truth, truth, 2, None, rng).method
    'Wilson of accuracy (all right), assumes independent clips'
    """
    value = float(metric(class_counts(confusion(truth, answer, n_classes))).value)
    right = truth == answer
    if value == right.mean() and value in (0.0, 1.0):
        share = share_interval(right, groups)
        word = "right" if value else "wrong"
        method = share.method.replace("Wilson", f"Wilson of accuracy (all {word})", 1)
        return share._replace(method=method)
    per_unit, unit = _class_counts_by_unit(truth, answer, n_classes, groups)

    def statistic(weights: np.ndarray) -> Ratio:
        drawn = (weights @ per_unit).reshape(len(weights), 3, n_classes)
        return metric(ClassCounts(*np.moveaxis(drawn, 1, 0)))

    drawn = bootstrap(statistic, unit, rng, replicates, per_unit.shape[1])
    return _from_resamples(value, drawn, len(truth), None if groups is None else len(per_unit))


def macro_f1_interval(
    truth: np.ndarray,
    answer: np.ndarray,
    n_classes: int,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    *,
    replicates: int = 2000,
) -> Interval:
    """:func:`class_figure_interval` of macro-F1 over the classes with clips.

    >>> rng = np.random.default_rng(0)
    >>> macro_f1_interval(np.array([0, 1]), np.array([0, 1]), 2, None, rng).method
    'Wilson of accuracy (all right), assumes independent clips'
    """
    return class_figure_interval(
        macro_f1, truth, answer, n_classes, groups, rng, replicates=replicates
    )


def _class_counts_by_unit(
    truth: np.ndarray, answer: np.ndarray, n_classes: int, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """(units, 3C) class counts of each group, or of each confusion cell, and what draws them."""
    if groups is None:
        cells, unit = np.unique(truth * (n_classes + 1) + answer + 1, return_inverse=True)
        truth, answer = cells // (n_classes + 1), cells % (n_classes + 1) - 1
        member = np.arange(len(cells))
    else:
        names, member = np.unique(groups, return_inverse=True)
        unit = np.arange(len(names))
    support, predicted, correct = np.zeros((3, int(unit.max()) + 1, n_classes))
    answered, right = answer >= 0, answer == truth
    np.add.at(support, (member, truth), 1)
    np.add.at(predicted, (member[answered], answer[answered]), 1)
    np.add.at(correct, (member[right], truth[right]), 1)
    return np.concatenate([support, predicted, correct], axis=1), unit

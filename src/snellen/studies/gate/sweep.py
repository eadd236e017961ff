"""What every threshold costs and buys on validation clips.

*Conventions*: figures as in :mod:`snellen.core.gate`. Clips of all rounds are swept
together. A clip without an answer is never answered and counts as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from snellen.core.cells import Cell, NotMeasurable, measured
from snellen.core.gate import GatePoint, Sweep
from snellen.core.study import Judged
from snellen.metrics import selective
from snellen.metrics.intervals import bootstrap_interval
from snellen.metrics.ratio import Ratio
from snellen.studies.gate.trial import answered_at, require_validation, share_of

__all__ = ["THRESHOLDS", "sweep_validation"]

THRESHOLDS = tuple(k / 20 for k in range(21))
"""What the sweep shows; those of the reference evaluation are among them."""
REPLICATES = 500
BOOTSTRAP_SEED = 12345


def sweep_validation(tuning: Judged, thresholds: Sequence[float] = THRESHOLDS) -> Sweep:
    """Coverage and accuracy of validation clips at each threshold, lowest first.

    Raises:
        Leak: these are no validation rows.
    """
    require_validation(tuning)
    return Sweep(
        model=tuning.model,
        protocol=tuning.protocol,
        clips=len(tuning.items),
        distinct=len(set(tuning.items)),
        aurc=_resampled(tuning, selective.aurc),
        excess_aurc=_resampled(tuning, selective.excess_aurc),
        points=tuple(_point(tuning, threshold) for threshold in sorted(set(thresholds))),
    )


def _point(tuning: Judged, threshold: float) -> GatePoint:
    met = answered_at(tuning, np.full(len(tuning.items), threshold))
    answered, right = int(met.sum()), int((met & tuning.correct).sum())
    everything = np.ones(len(met), dtype=bool)
    return GatePoint(
        threshold=threshold,
        answered=answered,
        right=right,
        coverage=share_of(met, tuning, everything, "validation clip"),
        uncertain=1 - answered / len(met),
        selective_accuracy=share_of(tuning.correct, tuning, met, "clip answered"),
        pessimistic_accuracy=share_of(met & tuning.correct, tuning, everything, "validation clip"),
        floor=selective.share_floor(np.array(right), np.array(answered)).item(),
    )


def _resampled(rows: Judged, metric: Callable[[np.ndarray, np.ndarray, np.ndarray], Ratio]) -> Cell:
    if not (rows.ranked[:, 0] >= 0).any():
        # All wrong at confidence 0 is a perfect order: of nothing.
        return NotMeasurable(reason="no clip was answered", needed="1 answer", have="0 answers")
    confidence, correct = rows.confidence[:, 0], rows.correct
    groups = None if rows.groups is None else np.array(rows.groups)
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    return measured(
        bootstrap_interval(
            lambda weight: metric(confidence, correct, weight),
            len(correct),
            groups,
            rng,
            replicates=REPLICATES,
        )
    )

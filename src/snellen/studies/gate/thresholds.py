"""One threshold for all answers: chosen on validation clips, tried on others.

*Conventions*: a threshold is met by a confidence at or above it, both as float32
(see :mod:`snellen.metrics.selective`). Infinity is a gate that nothing passes.
Chosen thresholds are hundredths, as a person would write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.cells import Cell, Measured, NotMeasurable
from snellen.core.gate import Applied, Choice, LetThrough, Rule
from snellen.core.study import Judged
from snellen.metrics import selective
from snellen.metrics.ratio import Ratio
from snellen.studies.gate.trial import (
    Trial,
    answered_at,
    require_validation,
    share_of,
    verdict_of,
)

__all__ = [
    "Gate",
    "applied",
    "choice",
    "gates_of",
    "let_through",
    "lowest_thresholds",
]

CANDIDATES = np.arange(101) / 100

METHODS: dict[Rule, str] = {
    "fixed": "chosen beforehand",
    "floor": "lowest hundredth at which the one-sided 95 % Clopper-Pearson floor of selective "
    "accuracy reaches the target on validation",
    "plain": "lowest hundredth at which selective accuracy itself reaches the target on validation",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A rule that gives a threshold; ``level`` is that threshold if fixed, else the target."""

    rule: Rule
    level: float

    @property
    def target(self) -> float | None:
        """The selective accuracy it is to reach; None for a threshold chosen beforehand."""
        return None if self.rule == "fixed" else self.level


def gates_of(targets: Sequence[float], threshold: float) -> tuple[Gate, ...]:
    """The threshold in use, then both ways to choose one for every target."""
    rules: tuple[Rule, Rule] = ("floor", "plain")
    return (Gate("fixed", threshold), *(Gate(rule, x) for x in targets for rule in rules))


def lowest_thresholds(tuning: Judged, gate: Gate, kept: np.ndarray) -> np.ndarray:
    """The threshold of a gate on each set of validation rows; infinite where none reaches it.

    Args:
        tuning: validation rows.
        gate: its rule and target, or its threshold, which needs no rows.
        kept: (sets, rows) booleans.

    Raises:
        Leak: these are no validation rows.
    """
    require_validation(tuning)
    if gate.rule == "fixed":
        return np.full(len(kept), gate.level)
    reached = _reached(tuning, gate, kept)
    good = reached.defined & (reached.value >= gate.level)
    return np.where(good.any(axis=1), CANDIDATES[good.argmax(axis=1)], np.inf)


def _reached(tuning: Judged, gate: Gate, kept: np.ndarray) -> Ratio:
    """What each candidate reaches on each set of rows, (sets, candidates)."""
    counts = selective.sweep(
        tuning.confidence[:, 0], tuning.correct, CANDIDATES, tuning.ranked[:, 0] >= 0, kept
    )
    return counts.floor if gate.rule == "floor" else counts.selective_accuracy


def choice(tuning: Judged, gate: Gate) -> Choice:
    """The threshold that all validation rows of a protocol give, and what it does on them.

    Raises:
        Leak: these are no validation rows.
    """
    everything = np.ones(len(tuning.items), dtype=bool)
    threshold = float(lowest_thresholds(tuning, gate, everything[np.newaxis])[0])
    met = answered_at(tuning, np.full(len(everything), threshold))
    right, answered = np.array((met & tuning.correct).sum()), np.array(met.sum())
    silent = _unreached(tuning, gate) if np.isinf(threshold) else None
    return Choice(
        model=tuning.model,
        protocol=tuning.protocol,
        rule=gate.rule,
        target=gate.target,
        threshold=silent
        or Measured(value=threshold, low=None, high=None, n=len(met), method=METHODS[gate.rule]),
        coverage=silent or share_of(met, tuning, everything, "validation clip"),
        selective_accuracy=silent or share_of(tuning.correct, tuning, met, "clip answered"),
        floor=selective.share_floor(right, answered).item(),
    )


def _unreached(tuning: Judged, gate: Gate) -> NotMeasurable:
    """Why validation gives no threshold: what is asked for and the most there is."""
    reached = _reached(tuning, gate, np.ones((1, len(tuning.items))))
    best = reached.value[reached.defined].max(initial=0.0)
    what = "a floor" if gate.rule == "floor" else "a selective accuracy"
    return NotMeasurable(
        reason=f"no threshold reaches the target on {len(tuning.items)} validation clips",
        needed=f"{what} of {gate.level:g}",
        have=f"{best:.3f} at most",
    )


def applied(trial: Trial, gate: Gate) -> Applied:
    """A gate tuned on one protocol's validation clips, on another's test clips."""
    tuning, tried = trial.tuning, trial.tried
    each = lowest_thresholds(tuning, gate, trial.kept)
    used = each[np.isfinite(each)]
    met = answered_at(tried, each[trial.round_of])
    everything = np.ones(len(met), dtype=bool)
    silent = None if len(used) else _unreached(tuning, gate)
    accuracy = silent or share_of(tried.correct, tried, met, "clip answered")
    return Applied(
        model=tuning.model,
        tuned_on=tuning.protocol,
        applied_to=tried.protocol,
        rule=gate.rule,
        target=gate.target,
        lowest=float(used.min()) if len(used) else None,
        highest=float(used.max()) if len(used) else None,
        coverage=silent or share_of(met, tried, everything, "test clip"),
        selective_accuracy=accuracy,
        verdict=verdict_of(accuracy, gate.target),
    )


def let_through(trial: Trial, gate: Gate) -> LetThrough:
    """How many clips that show no sign of the vocabulary a gate answers."""
    tuning, tried = trial.tuning, trial.tried
    each = lowest_thresholds(tuning, gate, trial.kept)
    met = answered_at(tried, each[trial.round_of])
    share: Cell = share_of(met, tried, np.ones(len(met), dtype=bool), "clip out of vocabulary")
    return LetThrough(
        model=tuning.model,
        protocol=tried.protocol,
        rule=gate.rule,
        target=gate.target,
        threshold=gate.level if gate.rule == "fixed" else None,
        share=_unreached(tuning, gate) if np.isinf(each).all() else share,
    )

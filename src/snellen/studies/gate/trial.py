"""Clips to choose on, clips to try on, and why they are never the same.

*Conventions*: ``tuning`` are validation rows, ``tried`` test or out-of-vocabulary
rows of any protocol. In ``kept`` (rounds, tuning rows) a row of tuning counts for
every round of the trial but the one that tests its clip. A threshold is met by a
confidence at or above it, both as float32 (see :mod:`snellen.metrics.selective`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snellen.core.cells import Cell, Measured, NotMeasurable, measured
from snellen.core.gate import Verdict
from snellen.core.study import Judged
from snellen.errors import Leak
from snellen.metrics.intervals import share_interval

__all__ = [
    "OUTSIDE",
    "TEST",
    "VALIDATION",
    "Trial",
    "answered_at",
    "require_validation",
    "share_of",
    "verdict_of",
]

VALIDATION, TEST, OUTSIDE = "validation", "test", "out of vocabulary"
NAMED = 5


def require_validation(rows: Judged) -> None:
    """Refuse to choose anything on clips that are there to be tested.

    Raises:
        Leak: these are no validation rows.
    """
    if rows.role != VALIDATION:
        shown = ", ".join(repr(item) for item in rows.items[:NAMED])
        raise Leak(
            f"{rows.model}, {rows.protocol}: a gate may not be tuned on {rows.role} clips "
            f"({len(rows.items)}, such as {shown}); validation clips alone choose it"
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows of ``tried``, and which rows of ``tuning`` may choose for each round of theirs.

    ``round_of`` points from every row of ``tried`` into the first axis of ``kept``.
    """

    tuning: Judged
    tried: Judged
    kept: np.ndarray
    round_of: np.ndarray

    @classmethod
    def of(cls, tuning: Judged, tried: Judged, tested: Judged | None) -> Trial:
        """A trial; ``tested`` are the test rows of the protocol of ``tried``, if it has any.

        Raises:
            Leak: ``tuning`` are no validation rows.
        """
        require_validation(tuning)
        rounds, round_of = np.unique(tried.rounds, return_inverse=True)
        tested_in = (
            {} if tested is None else dict(zip(tested.items, tested.rounds.tolist(), strict=True))
        )
        # No round has the number -1.
        at = np.array([tested_in.get(item, -1) for item in tuning.items])
        return cls(tuning, tried, rounds[:, np.newaxis] != at, round_of)


def answered_at(rows: Judged, thresholds: np.ndarray) -> np.ndarray:
    """Which rows are answered, each under its own threshold."""
    surest = rows.confidence[:, 0].astype(np.float32)
    return np.asarray((rows.ranked[:, 0] >= 0) & (surest >= thresholds.astype(np.float32)))


def share_of(hit: np.ndarray, rows: Judged, within: np.ndarray, what: str) -> Cell:
    """The share of hits among the rows ``within``, with its interval over their groups."""
    if not within.any():
        return NotMeasurable(reason=f"no {what}", needed="at least 1", have="0")
    groups = None if rows.groups is None else np.array(rows.groups)[within]
    return measured(share_interval(hit[within], groups))


def verdict_of(cell: Cell, target: float | None) -> Verdict:
    """Whether a share meets a target; short of it, whether chance could explain that."""
    if target is None:
        return "no target"
    if not isinstance(cell, Measured):
        return "no gate"
    if cell.value >= target:
        return "meets"
    return "within chance" if cell.high is None or cell.high >= target else "misses"

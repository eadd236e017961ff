"""What a gate study found: thresholds chosen on validation clips, and what they did on others.

*Conventions*: a gate answers when the first answer's confidence is at or above
its threshold, and says UNCERTAIN below it. ``coverage`` is the share of clips
answered, ``selective_accuracy`` the share right among those, ``pessimistic_accuracy``
the share right among all. ``tuned_on`` and ``applied_to`` name protocols: a gate
tuned on validation clips of the first is tried on test clips of the second.
Protocols stand in the order of the ladder, the leakiest first.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from snellen.core.cells import Cell, Measured

__all__ = [
    "SHIPPED_THRESHOLD",
    "Applied",
    "Calibration",
    "Choice",
    "Conformal",
    "GatePoint",
    "GateStudy",
    "LetThrough",
    "Rule",
    "Sweep",
    "Verdict",
]

SHIPPED_THRESHOLD = 0.70
"""Where a gate starts that nobody has tuned: the reference system's, chosen before any sweep."""

Rule = Literal["fixed", "floor", "plain"]
"""How a threshold came about: given beforehand, the lowest on validation whose floor reaches the
target, or the lowest whose selective accuracy does."""

Verdict = Literal["meets", "within chance", "misses", "unknown", "no target", "no gate"]
"""Held against a target: met; missed, with the target inside the interval; missed altogether; or
not to be told, because sets go on below the stored labels."""


class GatePoint(Struct, frozen=True, kw_only=True):
    """Validation clips at one threshold. ``floor`` is None where nothing is answered."""

    threshold: float
    answered: int
    right: int
    coverage: Cell
    uncertain: float
    selective_accuracy: Cell
    pessimistic_accuracy: Cell
    floor: float | None


class Sweep(Struct, frozen=True, kw_only=True):
    """One model's validation clips at every threshold, over all rounds of a protocol.

    ``clips`` counts answers asked for; ``distinct`` the clips behind them, fewer
    where a clip validates in more than one round. AURC is the area under the
    risk-coverage curve, ``excess_aurc`` what of it a perfect order would spare.
    """

    model: str
    protocol: str
    clips: int
    distinct: int
    aurc: Cell
    excess_aurc: Cell
    points: tuple[GatePoint, ...]


class Choice(Struct, frozen=True, kw_only=True):
    """A threshold chosen on validation clips, and what it does on these same clips."""

    model: str
    protocol: str
    rule: Rule
    target: float | None
    threshold: Cell
    coverage: Cell
    selective_accuracy: Cell
    floor: float | None


class Applied(Struct, frozen=True, kw_only=True):
    """A rule tried on test clips.

    For every round the threshold is chosen anew, without the clips that the round
    tests; ``lowest`` and ``highest`` bound those thresholds, None where no round has one.
    """

    model: str
    tuned_on: str
    applied_to: str
    rule: Rule
    target: float | None
    lowest: float | None
    highest: float | None
    coverage: Cell
    selective_accuracy: Cell
    verdict: Verdict


class LetThrough(Struct, frozen=True, kw_only=True):
    """Out-of-vocabulary clips answered, so wrongly, under a protocol's own gate.

    ``threshold`` is None for a rule: each round has its own. ``cell`` counts the share.
    """

    model: str
    protocol: str
    rule: Rule
    target: float | None
    threshold: float | None
    share: Cell


class Conformal(Struct, frozen=True, kw_only=True):
    """Prediction sets calibrated on one protocol, tried on test clips of another.

    ``coverage``: sets that hold the truth. ``singletons``: sets of one label, where
    the gate answers; ``singleton_accuracy``: how many of those are right. ``unbounded``:
    sets that hold every stored label, so that nobody knows where they end.
    ``least_confident`` is the least probability a label needs, over all calibration clips.
    """

    model: str
    tuned_on: str
    applied_to: str
    least_confident: Cell
    coverage: Cell
    singletons: Cell
    singleton_accuracy: Cell
    unbounded: Cell
    verdict: Verdict


class Calibration(Struct, frozen=True, kw_only=True):
    """ECE of one role beside the band of a perfectly calibrated model, None without answers."""

    model: str
    protocol: str
    role: str
    ece: Cell
    null_mean: float | None
    null_high: float | None


class GateStudy(Struct, frozen=True, kw_only=True):
    """The study of one run, or of outside answers to validation clips.

    ``protocol`` is the one a promise is held against; ``shown`` the model whose
    sweep is drawn: the one of lowest AURC on its validation clips. ``depth`` is how
    many ranked labels of a clip are stored.
    """

    format: str = "snellen-gate/1"
    protocol: str
    protocols: tuple[str, ...]
    models: tuple[str, ...]
    shown: str
    threshold: float
    targets: tuple[float, ...]
    alpha: float
    depth: int
    sweeps: tuple[Sweep, ...]
    choices: tuple[Choice, ...]
    applied: tuple[Applied, ...]
    let_through: tuple[LetThrough, ...]
    conformal: tuple[Conformal, ...]
    calibration: tuple[Calibration, ...]

    @property
    def missed(self) -> tuple[Applied, ...]:
        """Targets that validation promised, by its floor, and the same protocol's test missed."""
        return tuple(
            row
            for row in self.applied
            if row.rule == "floor"
            and row.tuned_on == row.applied_to == self.protocol
            and isinstance(row.selective_accuracy, Measured)
            and row.verdict in ("misses", "within chance")
        )

"""What a stress test found: every model under every condition, against itself undisturbed.

*Conventions*: ``delta`` is accuracy under the condition minus accuracy clean on
the same clips, in shares, paired. A condition that changed nothing of what a
model reads is a no-op and has no figures; it is never a measured 0. Clean is
always among the conditions. Intervals are not corrected for their number.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.cells import Cell, Measured, NotApplicable

__all__ = [
    "Curve",
    "Effect",
    "NoOp",
    "Outcome",
    "StressCondition",
    "StressRow",
    "StressStudy",
]


class Effect(Struct, frozen=True, kw_only=True, tag="measured", tag_field="state"):
    """A condition that reached the model.

    ``changed`` counts the scored clips of which the model was fed something
    else than clean; ``below_gate`` is the share of answers under the gate.
    """

    accuracy: Measured
    delta: Cell
    below_gate: Measured
    mean_confidence: float
    changed: int


class NoOp(Struct, frozen=True, kw_only=True, tag="no-op", tag_field="state"):
    """A condition that did not reach the model, and how that is known."""

    reason: str


Outcome = Effect | NoOp | NotApplicable


class StressCondition(Struct, frozen=True, kw_only=True):
    """A condition: ``name`` as in files, ``title`` as it is read, its kind and severity."""

    name: str
    title: str
    kind: str
    severity: float


class Curve(Struct, frozen=True, kw_only=True):
    """One kind of condition from mild to severe; ``unit`` says what severity counts."""

    kind: str
    unit: str
    conditions: tuple[StressCondition, ...]


class StressRow(Struct, frozen=True, kw_only=True):
    """One model under one condition."""

    model: str
    condition: str
    outcome: Outcome


class StressStudy(Struct, frozen=True, kw_only=True):
    """All of it. ``strict``: what the models are fed was disturbed, not the recordings."""

    format: str = "snellen-stress/1"
    corpus: str
    protocol: str
    protects: str | None
    preprocessing: str
    layout: str
    strict: bool
    seed: int
    gate: float
    noise_unit: str
    models: tuple[str, ...]
    conditions: tuple[StressCondition, ...]
    curves: tuple[Curve, ...]
    rows: tuple[StressRow, ...]

    def outcome(self, model: str, condition: str) -> Outcome:
        """What a condition did to a model."""
        for row in self.rows:
            if (row.model, row.condition) == (model, condition):
                return row.outcome
        raise KeyError(f"{model} under {condition}")

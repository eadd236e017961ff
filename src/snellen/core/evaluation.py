"""One protocol of a run in the shape in which evaluations of signs are published.

*Conventions*: one :class:`Evaluation` a protocol; models in the order of the run,
with the rows that every model must beat (chance, majority) among them. Shares
lie in [0, 1], latencies are in milliseconds. Macro recall is balanced accuracy.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.card import LeakMark
from snellen.core.cells import Cell, NotApplicable, NotMeasured
from snellen.core.comparison import Pair
from snellen.core.ladder import Gap

__all__ = ["CHANCE", "MAJORITY", "ClassOfModel", "Evaluation", "ModelRow"]

CHANCE, MAJORITY = "chance", "majority"


class ModelRow(Struct, frozen=True, kw_only=True):
    """One model: its size, what it gets right, and how long one clip takes it."""

    model: str
    parameters: int | NotMeasured | NotApplicable
    accuracy: Cell
    macro_precision: Cell
    macro_recall: Cell
    macro_f1: Cell
    weighted_f1: Cell
    latency_ms: Cell


class ClassOfModel(Struct, frozen=True, kw_only=True):
    """One class as one model reads it."""

    label: str
    model: str
    support: int
    precision: float | None
    recall: Cell
    f1: float | None


class Evaluation(Struct, frozen=True, kw_only=True):
    """All models under one protocol, side by side and against each other.

    ``gaps`` are those of the ladder, leaky minus honest, that this protocol is
    part of; ``pairs`` are Holm-corrected over this protocol.
    """

    format: str = "snellen-evaluation/1"
    task: str
    corpus: str
    corpus_digest: str
    protocol: str
    headline: bool
    protects: str | None
    rounds: int
    test_clips: int
    classes: int
    leaks: tuple[LeakMark, ...]
    models: tuple[ModelRow, ...]
    per_class: tuple[ClassOfModel, ...]
    gaps: tuple[Gap, ...]
    pairs: tuple[Pair, ...]

"""The scorecard: signature, intake, scores and the tables behind every figure.

*Conventions*: JSON with sorted keys, no timestamp, no host name: the same
answers, truth and split give the same bytes on any machine. Shares lie in
[0, 1]. A score that cannot be given is a cell state with its reason.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from snellen.core.answers import Intake
from snellen.core.cells import Cell
from snellen.core.contract import CONTRACT_FIELDS
from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault

__all__ = [
    "Bin",
    "ClassRow",
    "Confused",
    "Confusion",
    "CoveragePoint",
    "LeakMark",
    "Reliability",
    "Score",
    "Scorecard",
    "card_from_json",
    "card_to_json",
    "signature_line",
]

FORMAT = "snellen-card/1"


class Score(Struct, frozen=True, kw_only=True):
    """One figure: which measure, on which slice of the clips, in which state."""

    measure: str
    slice: str
    better: str
    cell: Cell


class ClassRow(Struct, frozen=True, kw_only=True):
    """One class: how many clips, how many right, and recall with its interval."""

    label: str
    support: int
    predicted: int
    correct: int
    precision: float | None
    f1: float | None
    recall: Cell


class Confused(Struct, frozen=True, kw_only=True):
    """One confusion: how often ``truth`` was answered with ``answer`` (None: no answer)."""

    truth: str
    answer: str | None
    count: int


class Confusion(Struct, frozen=True, kw_only=True):
    """Counts, rows truth, columns answer; the last column holds clips without an answer.

    ``order`` lists positions of ``labels`` so that classes taken for each other
    stand side by side; ``top`` holds the most frequent confusions.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    top: tuple[Confused, ...]


class Bin(Struct, frozen=True, kw_only=True):
    """One bin of the reliability table, (low, high] but for the first, which holds 0."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class Reliability(Struct, frozen=True, kw_only=True):
    """ECE beside the band it would have if the model were perfectly calibrated."""

    bins: tuple[Bin, ...]
    ece: Cell
    null_mean: float | None
    null_high: float | None


class CoveragePoint(Struct, frozen=True, kw_only=True):
    """What happens if only answers at or above a confidence are given."""

    threshold: float
    answered: int
    right: int
    coverage: float
    selective_accuracy: float | None
    floor: float | None
    pessimistic_accuracy: float


class LeakMark(Struct, frozen=True, kw_only=True):
    """One way in which this split's test clips are seen in training."""

    level: str
    test_clips_touched: int
    test_clips: int
    sentence: str


class Scorecard(Struct, frozen=True, kw_only=True):
    """Everything measured of one model's answers under one split."""

    format: str = FORMAT
    task: str
    model: str
    protocol: str
    protects: str | None
    signature: tuple[tuple[str, str], ...]
    contract: dict[str, str]
    intake: Intake
    scores: tuple[Score, ...]
    classes: tuple[ClassRow, ...]
    confusion: Confusion
    reliability: Reliability | None
    coverage: tuple[CoveragePoint, ...]
    leaks: tuple[LeakMark, ...]
    silent: tuple[str, ...]

    def score(self, measure: str, slice_: str = "all") -> Cell:
        """The cell of a measure on a slice."""
        for score in self.scores:
            if score.measure == measure and score.slice == slice_:
                return score.cell
        raise KeyError(f"{measure} on {slice_}")


def signature_line(card: Scorecard) -> str:
    """The signature as one line, ``key:value|key:value``, digests cut to 12 digits."""
    return "|".join(
        f"{key}:{value[:12] if len(value) == 64 else value}" for key, value in card.signature
    )


def card_to_json(card: Scorecard) -> bytes:
    """Canonical bytes of a card."""
    return canonical_json(msgspec.to_builtins(card), indent=1)


def card_from_json(data: bytes, where: str) -> Scorecard:
    """A card from bytes; refuses unknown fields, wrong types and other formats."""
    try:
        card = msgspec.json.decode(data, type=Scorecard)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(Fault(where, str(error), f"a {FORMAT} file")) from error
    faults = []
    if card.format != FORMAT:
        faults.append(Fault(where, f"format {card.format!r}", FORMAT, field="format"))
    faults += [
        Fault(where, f"no {name}", ", ".join(CONTRACT_FIELDS), field="contract")
        for name in CONTRACT_FIELDS
        if name not in card.contract
    ]
    if "recipe" not in dict(card.signature):
        faults.append(Fault(where, "no recipe", "a recipe, or 'not stated'", field="signature"))
    if faults:
        raise BadInput(faults)
    return card

"""Answers and outcomes: the tables every task shares, and what is missing from them.

*Conventions*: answers are SPANS rows; a clip-level task uses slot 0 and leaves
start and end null. Rank 1 is the model's answer, ranks 2.. its further
candidates. A null label at rank 1 abstains. Confidence lies in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from snellen.core.corpus import Corpus
from snellen.errors import BadInput, Fault

__all__ = [
    "SPANS",
    "Intake",
    "Ranked",
    "check_answers",
    "in_order",
    "intake_of",
    "ranked_answers",
    "spans",
]

DEEPEST = 5

SPANS = pa.schema(
    [
        pa.field("item", pa.string(), nullable=False),
        pa.field("slot", pa.int32(), nullable=False),
        pa.field("start", pa.float64()),
        pa.field("end", pa.float64()),
        pa.field("rank", pa.int16(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("confidence", pa.float32()),
    ]
)


class Intake(Struct, frozen=True, kw_only=True):
    """What was asked and what came back. Missing and failed score as wrong."""

    expected: int
    answered: int
    abstained: int
    missing: int
    failed: int
    unasked: int


class Ranked(Struct, frozen=True, kw_only=True):
    """Answers of a clip-level task as arrays aligned with the asked items.

    ``labels`` has shape (clips, ranks): index into the vocabulary, -1 for none.
    ``confidence`` has the same shape, 0 where there is no answer or none stated;
    ``has_confidence`` is False when any first answer lacks one.
    """

    labels: np.ndarray
    confidence: np.ndarray
    has_confidence: bool


def spans(
    items: Sequence[str],
    ranks: Sequence[int],
    labels: Sequence[str | None],
    confidence: Sequence[float | None],
) -> pa.Table:
    """A clip-level SPANS table in canonical order: by item, then rank."""
    n = len(items)
    table = pa.table(
        {
            "item": pa.array(items, pa.string()),
            "slot": pa.array(np.zeros(n, np.int32)),
            "start": pa.nulls(n, pa.float64()),
            "end": pa.nulls(n, pa.float64()),
            "rank": pa.array(ranks, pa.int16()),
            "label": pa.array(labels, pa.string()),
            "confidence": pa.array(confidence, pa.float32()),
        },
        schema=SPANS,
    )
    return in_order(table)


def in_order(answers: pa.Table) -> pa.Table:
    """Rows sorted by item, slot, rank, so that input order never matters."""
    keys = [("item", "ascending"), ("slot", "ascending"), ("rank", "ascending")]
    return answers.take(pc.sort_indices(answers, sort_keys=keys)).combine_chunks()


def check_answers(answers: pa.Table, corpus: Corpus, where: str) -> None:
    """Raise one BadInput with every fault: unknown label, duplicate rank, bad confidence."""
    faults: list[Fault] = []
    words = set(corpus.vocabulary)
    seen: set[tuple[str, int]] = set()
    rows = zip(
        answers.column("item").to_pylist(),
        answers.column("rank").to_pylist(),
        answers.column("label").to_pylist(),
        answers.column("confidence").to_pylist(),
        strict=True,
    )
    for row, (item, rank, label, confidence) in enumerate(rows, start=1):
        if label is not None and label not in words:
            near = _nearest(label, corpus.vocabulary)
            faults.append(Fault(where, f"unknown label {label!r} for {item!r}", near, row, "label"))
        if rank < 1:
            faults.append(
                Fault(where, f"rank {rank}", "1 for the answer, 2.. for candidates", row, "rank")
            )
        if (item, rank) in seen:
            faults.append(Fault(where, f"{item!r} has rank {rank} twice", "once", row, "item"))
        seen.add((item, rank))
        if confidence is not None and not 0 <= confidence <= 1:
            faults.append(Fault(where, f"{confidence}", "a number from 0 to 1", row, "confidence"))
    if faults:
        raise BadInput(faults)


def _nearest(label: str, vocabulary: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(label, vocabulary, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"one of the {len(vocabulary)} labels of the corpus{hint}"


def intake_of(answers: pa.Table, asked: Sequence[str], failed: Sequence[str] = ()) -> Intake:
    """Count answered, abstained, missing and unasked clips.

    ``failed`` lists asked clips whose prediction broke; they are not counted as
    missing.
    """
    first = answers.filter(pc.equal(answers.column("rank"), 1))
    label_of = dict(
        zip(first.column("item").to_pylist(), first.column("label").to_pylist(), strict=True)
    )
    wanted = set(asked)
    broken = set(failed) & wanted
    present = (set(label_of) & wanted) - broken
    abstained = sum(1 for item in present if label_of[item] is None)
    everyone = set(answers.column("item").to_pylist())
    return Intake(
        expected=len(wanted),
        answered=len(present) - abstained,
        abstained=abstained,
        missing=len(wanted - present - broken),
        failed=len(broken),
        unasked=len(everyone - wanted),
    )


def ranked_answers(answers: pa.Table, asked: Sequence[str], vocabulary: Sequence[str]) -> Ranked:
    """Answers as arrays aligned with ``asked``; what is missing is -1 with confidence 0."""
    position = {item: k for k, item in enumerate(asked)}
    index = {label: k for k, label in enumerate(vocabulary)}
    ranks = np.asarray(answers.column("rank").to_numpy(), dtype=np.int64)
    # No measure looks deeper, and a file may claim any rank it likes.
    depth = min(int(ranks.max()), DEEPEST) if len(ranks) else 1
    labels = np.full((len(asked), depth), -1, dtype=np.int64)
    confidence = np.zeros((len(asked), depth), dtype=np.float64)
    complete = True
    rows = zip(
        answers.column("item").to_pylist(),
        ranks.tolist(),
        answers.column("label").to_pylist(),
        answers.column("confidence").to_pylist(),
        strict=True,
    )
    for item, rank, label, value in rows:
        at = position.get(item)
        if at is None or rank > depth or label is None:
            # An abstention states no confidence, whatever stands beside it.
            continue
        labels[at, rank - 1] = index[label]
        confidence[at, rank - 1] = 0 if value is None else value
        complete = complete and (value is not None or rank > 1)
    return Ranked(labels=labels, confidence=confidence, has_confidence=complete)

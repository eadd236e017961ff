"""What a card counts, clip by clip, in a table beside it: what a paired comparison needs.

*Conventions*: ``card.json`` has ``card.outcomes.parquet``. One row a scored clip,
sorted by item: its true label, the first answer (null for none) and the group
the split protects (null where it protects none).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from snellen.core.card import Scorecard
from snellen.core.corpus import Corpus
from snellen.errors import BadInput, Fault
from snellen.store.tables import read_table, write_table
from snellen.tasks.isolated.scores import Outcomes

__all__ = ["OUTCOMES", "outcomes_path", "outcomes_table", "read_outcomes", "write_outcomes"]

OUTCOMES = pa.schema(
    [
        pa.field("item", pa.string(), nullable=False),
        pa.field("truth", pa.string(), nullable=False),
        pa.field("answer", pa.string()),
        pa.field("group", pa.string()),
    ]
)


def outcomes_path(card_file: Path) -> Path:
    """Where the outcomes of a card stand."""
    return card_file.with_suffix(".outcomes.parquet")


def outcomes_table(corpus: Corpus, outcomes: Outcomes) -> pa.Table:
    """Outcomes by name instead of by number."""
    words = np.array([*corpus.vocabulary, None], dtype=object)  # an answer of -1 is the last
    groups = [None] * len(outcomes.truth) if outcomes.groups is None else outcomes.groups.tolist()
    columns = {
        "item": [corpus.items[k] for k in outcomes.positions],
        "truth": words[outcomes.truth].tolist(),
        "answer": words[outcomes.answer].tolist(),
        "group": groups,
    }
    return pa.table(columns, schema=OUTCOMES)


def write_outcomes(card_file: Path, outcomes: pa.Table) -> None:
    """Write the outcomes of a card beside it."""
    write_table(outcomes_path(card_file), outcomes)


def read_outcomes(card_file: Path, card: Scorecard) -> pa.Table:
    """Read the outcomes of a card, and hold them against what the card counts.

    Raises:
        BadInput: no such file, damaged, or another card's.
    """
    path = outcomes_path(card_file)
    if not path.exists():
        allowed = "the file that snellen score writes beside a card"
        raise BadInput(Fault(str(path), "no such file", allowed))
    table = read_table(path, OUTCOMES)
    pairs = zip(table.column("truth").to_pylist(), table.column("answer").to_pylist(), strict=True)
    names = [*card.confusion.labels, None]
    counted = {
        (truth, answer): count
        for truth, row in zip(card.confusion.labels, card.confusion.counts, strict=True)
        for answer, count in zip(names, row, strict=True)
        if count
    }
    items = table.column("item").to_pylist()
    if Counter(pairs) != counted or len(set(items)) != len(items):
        seen = "other outcomes than the card counts"
        raise BadInput(Fault(str(path), seen, f"those of {card_file}"))
    return table

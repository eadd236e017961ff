"""Answers to validation clips from a file, so that any model's gate can be set.

*Conventions*: CSV with the columns ``round``, ``item``, ``rank``, ``label`` and
``confidence``, rounds counted from 0 as in the split; rank may be left out where
every answer has rank 1. An empty label abstains. Every validation clip of every
round is asked: one without a row is not answered. Rows in messages are those of
the file, its header being row 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from snellen.core.answers import DEEPEST
from snellen.core.corpus import Corpus
from snellen.core.protocols import protected_groups
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION, Split
from snellen.core.study import Judged
from snellen.errors import BadInput, Fault, Leak
from snellen.store.tables import cleaned, read_csv

__all__ = ["judged_from_file"]

COLUMNS = ("round", "item", "rank", "label", "confidence")
WHOLE = re.compile(r"[0-9]{1,6}")
NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
ROLES = {TRAIN: "training", TEST: "test", UNUSED: "unused"}
NAMED = 5

# A row of the file: its number there and its cells by column.
Row = tuple[int, dict[str, str]]


def judged_from_file(path: Path, corpus: Corpus, split: Split, model: str) -> Judged:
    """Validation rows of a model that nobody here has trained.

    Raises:
        BadInput: with every fault of the file.
        Leak: it answers clips that are no validation clips of their round; they are named.
    """
    rows, faults = _rows(path)
    words = {label: k for k, label in enumerate(corpus.vocabulary)}
    place = {item: k for k, item in enumerate(split.items)}
    first: dict[tuple[int, str, int], int] = {}
    for number, cells in rows:
        wrong = list(_wrong_cells(cells, place, words, split.rounds))
        faults += [Fault(str(path), seen, allowed, number, name) for name, seen, allowed in wrong]
        if wrong:
            continue
        answer = (int(cells["round"]), cells["item"], int(cells["rank"]))
        if answer in first:
            seen = f"{answer[1]!r} has rank {answer[2]} again, first in row {first[answer]}"
            faults.append(Fault(str(path), seen, "one answer of each rank", number))
        first.setdefault(answer, number)
    if not rows and not faults:
        faults.append(Fault(str(path), "no answer", "answers to the split's validation clips"))
    if faults:
        raise BadInput(sorted(faults, key=lambda fault: fault.row or 0))
    _require_validation(rows, split, place, str(path))
    return _judged(rows, corpus, split, words, model)


def _rows(path: Path) -> tuple[list[Row], list[Fault]]:
    file = read_csv(path)
    faults = list(file.faults)
    needed = [name for name in COLUMNS if name != "rank" and name not in file.header]
    strange = [name for name in file.header if name not in COLUMNS]
    faults += [Fault(str(path), "no such column", "needed", 1, name) for name in needed]
    faults += [
        Fault(str(path), "unexpected column", f"only {', '.join(COLUMNS)}", 1, name[:80])
        for name in strange
    ]
    if any(fault.row == 1 for fault in faults):
        return [], faults  # without a sound header every row would be called wrong
    return [
        (number, {"rank": "1"} | dict(zip(file.header, map(cleaned, cells), strict=True)))
        for number, cells in zip(file.numbers, file.cells, strict=True)
    ], faults


def _wrong_cells(
    cells: Mapping[str, str], place: Mapping[str, int], words: Mapping[str, int], rounds: int
) -> Iterable[tuple[str, str, str]]:
    """Each wrong cell of a row: its column, what was seen, what is allowed."""
    if not (WHOLE.fullmatch(cells["round"]) and int(cells["round"]) < rounds):
        yield "round", repr(cells["round"][:80]), f"0 to {rounds - 1}"
    if cells["item"] not in place:
        yield "item", f"unknown clip {cells['item'][:80]!r}", "clips of the split"
    if not (WHOLE.fullmatch(cells["rank"]) and int(cells["rank"]) >= 1):
        yield "rank", repr(cells["rank"][:80]), "1 for the answer, 2.. for further candidates"
    if cells["label"] and cells["label"] not in words:
        yield "label", repr(cells["label"][:80]), f"one of the {len(words)} labels of the corpus"
    stated = cells["confidence"]
    if cells["label"] and not (NUMBER.fullmatch(stated) and float(stated) <= 1):
        yield "confidence", repr(stated[:80]), "a number from 0 to 1: a gate reads nothing else"


def _require_validation(
    rows: Iterable[Row], split: Split, place: Mapping[str, int], where: str
) -> None:
    """Whoever tunes on the clips he will be judged by has measured nothing."""
    wrong: dict[str, list[str]] = {}
    for _, cells in rows:
        role = int(split.roles[int(cells["round"]), place[cells["item"]]])
        if role != VALIDATION:
            clip = f"{cells['item']!r} (round {cells['round']})"
            wrong.setdefault(ROLES[role], []).append(clip)
    if not wrong:
        return
    parts = []
    for kind, clips in sorted(wrong.items()):
        named = list(dict.fromkeys(clips))
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        parts.append(f"  {len(named)} {kind} clips: {', '.join(named[:NAMED])}{more}")
    said = "a gate is set on validation clips alone, each answered in a round it validates"
    raise Leak("\n".join([f"{where}: {said}; this file holds", *parts]))


def _judged(
    rows: Iterable[Row], corpus: Corpus, split: Split, words: Mapping[str, int], model: str
) -> Judged:
    asked = [
        (k, position)
        for k in range(split.rounds)
        for position in split.positions(k, VALIDATION).tolist()
    ]
    at = {(k, split.items[position]): n for n, (k, position) in enumerate(asked)}
    depth = min(DEEPEST, max(int(cells["rank"]) for _, cells in rows))
    ranked = np.full((len(asked), depth), -1, dtype=np.int64)
    confidence = np.zeros((len(asked), depth))
    for _, cells in rows:
        rank = int(cells["rank"])
        if cells["label"] and rank <= depth:
            n = at[int(cells["round"]), cells["item"]]
            ranked[n, rank - 1] = words[cells["label"]]
            confidence[n, rank - 1] = float(cells["confidence"])
    positions = [position for _, position in asked]
    groups = protected_groups(corpus, split)
    return Judged(
        protocol=split.protocol,
        model=model,
        role="validation",
        items=tuple(split.items[position] for position in positions),
        rounds=np.array([k for k, _ in asked]),
        truth=corpus.classes[positions],
        ranked=ranked,
        confidence=confidence,
        groups=None if groups is None else tuple(groups.names[k] for k in positions),
    )

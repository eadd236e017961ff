"""Answers from a file: what a stranger hands in, checked before it is believed.

It answers: which answers does this file hold, and what exactly is wrong with it?

*Conventions*: ``.csv``, ``.json`` (a list of objects) and ``.jsonl`` (one object
a line) hold clip-level answers with the fields ``item`` or ``clip_id``,
``label``, and optionally ``confidence`` and ``rank``. An empty or null label
abstains; an empty or null confidence is unknown; without ranks every answer
has rank 1. Clip names and labels are cleaned as those of a clip table: no outer
blanks, Unicode NFC. ``.parquet`` holds the whole of SPANS, taken as it is. Rows
in messages are those of the file: the header of a CSV file is row 1, lines of
``.jsonl``, entries of a ``.json`` list and rows of a Parquet file count from 1.
The table that comes back is in canonical order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from snellen.core.answers import SPANS, in_order, spans
from snellen.errors import BadInput, Fault
from snellen.limits import MAX_ID_LENGTH, MAX_LABEL_LENGTH
from snellen.store.files import JSON_LIMIT, parse_json, read_json, read_limited
from snellen.store.tables import cleaned, read_csv, read_table

__all__ = ["read_answers"]

LAST_RANK = 32_767
ITEM_NAMES = ("clip_id", "item")
FIELDS = (*ITEM_NAMES, "label", "confidence", "rank")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]{1,9}")

# A row of a file as a mapping from field to value, with the number it has there.
Row = tuple[int, dict[str, Any]]


def read_answers(path: Path) -> pa.Table:
    """The answers in a file, as SPANS.

    Labels are not compared with a vocabulary here: that is
    :func:`snellen.core.answers.check_answers`.

    Raises:
        BadInput: with every fault of the file.
    """
    kind = path.suffix.lower()
    if kind == ".parquet":
        table = read_table(path, SPANS)
        rows = list(enumerate(table.drop_columns(["start", "end"]).to_pylist(), start=1))
        _raise(_row_faults(rows, (*FIELDS, "slot"), str(path)))
        return in_order(table)
    readers = {".csv": _csv_rows, ".json": _json_rows, ".jsonl": _jsonl_rows}
    if kind not in readers:
        allowed = ", ".join([*readers, ".parquet"])
        raise BadInput(Fault(str(path), f"a file named {path.name}", f"one ending in {allowed}"))
    rows, faults = readers[kind](path)
    _raise(sorted(faults + _row_faults(rows, FIELDS, str(path)), key=lambda x: x.row or 0))
    entries = [entry for _, entry in rows]
    return spans(
        [_item(entry) for entry in entries],
        [entry.get("rank", 1) for entry in entries],
        [entry["label"] for entry in entries],
        [entry.get("confidence") for entry in entries],
    )


def _csv_rows(path: Path) -> tuple[list[Row], list[Fault]]:
    file = read_csv(path)
    faults = list(file.faults)
    header = set(file.header)
    faults += [
        Fault(str(path), "unexpected column", f"only {', '.join(FIELDS)}", 1, name)
        for name in sorted(header - set(FIELDS))
    ]
    for names in (ITEM_NAMES, ("label",)):
        if file.header and not header & set(names):
            seen = f"columns {', '.join(file.header)}"[:200]
            faults.append(Fault(str(path), seen, f"a column {' or '.join(names)}", 1))
    if faults and any(fault.row == 1 for fault in faults):
        return [], faults  # without a sound header every row would be called wrong
    return [
        (number, {name: _value(name, cell) for name, cell in zip(file.header, cells, strict=True)})
        for number, cells in zip(file.numbers, file.cells, strict=True)
    ], faults


def _value(name: str, cell: str) -> Any:
    """A CSV cell as JSON would have it; what is no number stays text and is refused later."""
    cell = cleaned(cell)
    if not cell:
        return None
    if name == "confidence" and NUMBER.fullmatch(cell):
        return float(cell)
    if name == "rank" and WHOLE.fullmatch(cell):
        return int(cell)
    return cell


def _json_rows(path: Path) -> tuple[list[Row], list[Fault]]:
    value = read_json(path)
    if not isinstance(value, list):
        return [], [Fault(str(path), type(value).__name__, "a list of objects")]
    return _objects(enumerate(value, start=1), str(path))


def _jsonl_rows(path: Path) -> tuple[list[Row], list[Fault]]:
    values: list[tuple[int, Any]] = []
    faults: list[Fault] = []
    for number, line in enumerate(read_limited(path, JSON_LIMIT).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append((number, parse_json(line, str(path))))
        except BadInput as error:
            faults += [replace(fault, row=number) for fault in error.faults]
    rows, more = _objects(values, str(path))
    return rows, faults + more


def _objects(values: Iterable[tuple[int, Any]], where: str) -> tuple[list[Row], list[Fault]]:
    values = list(values)
    rows = [
        (number, {name: _as_in_a_corpus(name, field) for name, field in value.items()})
        for number, value in values
        if isinstance(value, dict)
    ]
    faults = [
        Fault(where, type(value).__name__, "an object with item and label", number)
        for number, value in values
        if not isinstance(value, dict)
    ]
    return rows, faults


def _as_in_a_corpus(name: str, field: Any) -> Any:
    """A field of JSON; names are compared as those of the clip table are."""
    return cleaned(field) if isinstance(field, str) and name in (*ITEM_NAMES, "label") else field


def _row_faults(rows: list[Row], fields: tuple[str, ...], where: str) -> list[Fault]:
    faults: list[Fault] = []
    first: dict[tuple[Any, ...], int] = {}
    for number, entry in rows:
        wrong = list(_wrong_fields(entry, fields))
        faults += [Fault(where, seen, allowed, number, name) for name, seen, allowed in wrong]
        if wrong:
            continue
        answer = (_item(entry), entry.get("slot", 0), entry.get("rank", 1))
        if answer in first:
            seen = f"{answer[0]!r} has rank {answer[2]} again, first in row {first[answer]}"
            faults.append(Fault(where, seen, "one answer of each rank", number))
        first.setdefault(answer, number)
    return faults


def _wrong_fields(entry: dict[str, Any], fields: tuple[str, ...]) -> Iterable[tuple[str, str, str]]:
    """Each wrong field of a row: its name, what was seen, what is allowed."""
    for name in sorted(entry.keys() - set(fields)):
        yield name[:80], "unexpected field", f"only {', '.join(fields)}"
    named = [name for name in ITEM_NAMES if name in entry]
    if len(named) != 1:
        yield "item", f"{len(named)} names of the clip", "one of item and clip_id"
    for name in named:
        if not _is_name(entry[name], MAX_ID_LENGTH):
            yield name, _shown(entry[name]), f"text of 1 to {MAX_ID_LENGTH} characters"
    if "label" not in entry:
        yield "label", "no label", "text, or null to abstain"
    elif entry["label"] is not None and not _is_name(entry["label"], MAX_LABEL_LENGTH):
        allowed = f"text of 1 to {MAX_LABEL_LENGTH} characters, or null"
        yield "label", _shown(entry["label"]), allowed
    confidence = entry.get("confidence")
    if confidence is not None and not (_is_number(confidence) and 0 <= confidence <= 1):
        yield "confidence", _shown(confidence), "a number from 0 to 1, or null"
    rank = entry.get("rank", 1)
    if not (isinstance(rank, int) and _is_number(rank) and 1 <= rank <= LAST_RANK):
        yield "rank", _shown(rank), "1 for the answer, 2.. for further candidates"


def _item(entry: dict[str, Any]) -> str:
    item: str = entry["item"] if "item" in entry else entry["clip_id"]
    return item


def _is_name(value: object, longest: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= longest


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _raise(faults: list[Fault]) -> None:
    if faults:
        raise BadInput(faults)

"""The rows of ``clips.csv``: one clip each, checked field by field.

*Conventions*: an empty cell is None, never "". A label of None is out of
vocabulary. All faults of all rows are collected.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from snellen.errors import Fault
from snellen.limits import MAX_CLIPS, MAX_ID_LENGTH, MAX_LABEL_LENGTH
from snellen.tasks.isolated.data.tables import Rows

__all__ = ["COLUMNS", "ClipRow", "clip_rows"]

COLUMNS = (
    "clip_id",
    "label",
    "signer",
    "session",
    "number",
    "stream",
    "category",
    "official",
    "path",
    "layout",
)
REQUIRED = ("clip_id", "label")
OFFICIAL = ("train", "val", "test")
# Words of many scripts are written with these two; all other invisible letters are refused.
JOINERS = {0x200C: None, 0x200D: None}


@dataclass(frozen=True, slots=True)
class ClipRow:
    """One clip as its table describes it; ``row`` counts from 1 below the header."""

    row: int
    clip_id: str
    label: str | None
    signer: str | None
    session: str | None
    number: int | None
    stream: str | None
    category: str | None
    official: str | None
    path: str | None
    layout: str | None


def clip_rows(header: Sequence[str], rows: Rows, where: str, faults: list[Fault]) -> list[ClipRow]:
    """The clips of a table; what is wrong is added to ``faults`` and its row left out."""
    faults.extend(_header_faults(header, where))
    if faults:
        return []
    if not 0 < len(rows) <= MAX_CLIPS:
        faults.append(Fault(where, f"{len(rows):,} clips", f"1 to {MAX_CLIPS:,}"))
    first_row: dict[str, int] = {}
    clips = []
    for row, cells in enumerate(rows, start=1):
        found = _cell_faults(cells, where, row)
        clip_id = cells["clip_id"]
        if clip_id in first_row:
            seen = f"{clip_id!r}, which row {first_row[clip_id]} has too"
            found.append(Fault(where, seen, "a name used once", row, "clip_id"))
        first_row.setdefault(clip_id, row)
        faults.extend(found)
        if not found:
            clips.append(_clip(row, cells))
    return clips


def _header_faults(header: Sequence[str], where: str) -> list[Fault]:
    faults = []
    for name in header:
        if name not in COLUMNS:
            near = difflib.get_close_matches(name.lower(), COLUMNS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            allowed = ", ".join(COLUMNS) + hint
            faults.append(Fault(where, f"unknown column {name!r}", allowed, None, "header"))
    faults.extend(
        Fault(where, f"no column {name!r}", "this column", None, "header")
        for name in REQUIRED
        if name not in header
    )
    return faults


def _cell_faults(cells: dict[str, str], where: str, row: int) -> list[Fault]:
    faults = []
    for field, text in cells.items():
        limit = MAX_LABEL_LENGTH if field == "label" else MAX_ID_LENGTH
        if len(text) > limit:
            faults.append(Fault(where, f"{len(text)} characters", f"at most {limit}", row, field))
        elif not text.translate(JOINERS).isprintable():
            faults.append(Fault(where, f"{text!r}", "printable characters", row, field))
    if not cells["clip_id"]:
        faults.append(Fault(where, "an empty name", "a name for each clip", row, "clip_id"))
    official = cells.get("official", "")
    if official and official not in OFFICIAL:
        faults.append(
            Fault(where, f"{official!r}", "train, val, test or empty", row, "official"),
        )
    number = cells.get("number", "")
    if number and not (number.isascii() and number.isdigit() and len(number) <= 18):
        faults.append(
            Fault(where, f"{number!r}", "a whole number, 0 or more, or empty", row, "number"),
        )
    return faults


def _clip(row: int, cells: dict[str, str]) -> ClipRow:
    number = cells.get("number")
    return ClipRow(
        row=row,
        clip_id=cells["clip_id"],
        label=cells["label"] or None,
        signer=cells.get("signer") or None,
        session=cells.get("session") or None,
        number=int(number) if number else None,
        stream=cells.get("stream") or None,
        category=cells.get("category") or None,
        official=cells.get("official") or None,
        path=cells.get("path") or None,
        layout=cells.get("layout") or None,
    )

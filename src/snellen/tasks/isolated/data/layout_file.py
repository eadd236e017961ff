"""``layout.json``: which landmark layout a folder has, and whether its zeros mean missing.

*Conventions*: a layout is named (one of Snellen's own) or described in full. The
file holds one JSON object; unknown and repeated keys are faults.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_LAYOUT_POINTS, MAX_SETTINGS_BYTES
from snellen.signal.keypoints import Block, Layout
from snellen.signal.layouts import LAYOUTS, layout_by_name
from snellen.tasks.isolated.data.tables import read_text

__all__ = ["FolderLayout", "read_layout_file"]

Unit = Literal["metre", "image", "pixel", "sensor"]
UNITS: tuple[str, ...] = get_args(Unit)
Name = Annotated[str, Meta(min_length=1, max_length=64)]


@dataclass(frozen=True, slots=True)
class FolderLayout:
    """A layout and how its folder writes a point that was not detected."""

    layout: Layout
    zeros_are_missing: bool


class BlockEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A run of points that are found or missed together."""

    name: Name
    start: Annotated[int, Meta(ge=0)]
    stop: Annotated[int, Meta(ge=1)]


class LayoutEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A layout of one's own. ``shoulders`` are the names of the left and the right one."""

    name: Name
    points: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=MAX_LAYOUT_POINTS)]
    dims: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=8)]
    unit: Unit
    blocks: tuple[BlockEntry, ...] = ()
    shoulders: tuple[Name, Name] | None = None


class LayoutFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    layout: Name | LayoutEntry
    zeros_are_missing: bool = False


def read_layout_file(path: Path) -> FolderLayout:
    """The layout a folder declares.

    Raises:
        BadInput: not JSON of this form, an unknown name, or blocks that do not fit.
    """
    where = path.name
    text = read_text(path, MAX_SETTINGS_BYTES)
    try:
        # msgspec keeps the last of two equal keys; a reader of the file would not know which.
        json.loads(text, object_pairs_hook=_unrepeated)
        file = msgspec.json.decode(text.encode(), type=LayoutFile)
    except (ValueError, RecursionError) as error:
        raise BadInput(Fault(where, str(error), _allowed(str(error)))) from error
    if isinstance(file.layout, str):
        return FolderLayout(layout_by_name(file.layout, where=where), file.zeros_are_missing)
    faults = _faults(file.layout, where)
    if faults:
        raise BadInput(faults)
    return FolderLayout(_layout(file.layout), file.zeros_are_missing)


def _allowed(error: str) -> str:
    """What may stand at the place that msgspec complains about."""
    if error.endswith("`$.layout.unit`"):
        return f"one of: {', '.join(UNITS)}"
    if "unknown field" in error:
        own = LayoutEntry if error.endswith("`$.layout`") else LayoutFile
        fields = (BlockEntry if ".blocks[" in error else own).__struct_fields__
        return f"fields {', '.join(fields)}"
    return "an object as docs/data-formats.md shows"


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice in one object")
    return found


def _faults(entry: LayoutEntry, where: str) -> list[Fault]:
    faults = []
    if entry.name in {layout.name for layout in LAYOUTS}:
        faults.append(Fault(where, f"{entry.name!r}", "a name Snellen does not use", None, "name"))
    if len(set(entry.points)) != len(entry.points):
        faults.append(Fault(where, "a point twice", "every point once", None, "points"))
    ends = [0, *(block.stop for block in entry.blocks)]
    starts = [*(block.start for block in entry.blocks), len(entry.points)]
    if entry.blocks and (ends != starts or any(b.stop <= b.start for b in entry.blocks)):
        allowed = f"blocks that follow each other from 0 to {len(entry.points)}"
        seen = ", ".join(f"{block.start}:{block.stop}" for block in entry.blocks)
        faults.append(Fault(where, seen, allowed, None, "blocks"))
    faults.extend(
        Fault(where, f"{shoulder!r}", "one of the points", None, "shoulders")
        for shoulder in entry.shoulders or ()
        if shoulder not in entry.points
    )
    return faults


def _layout(entry: LayoutEntry) -> Layout:
    blocks = [Block(block.name, block.start, block.stop) for block in entry.blocks]
    shoulders = None
    if entry.shoulders is not None:
        left, right = entry.shoulders
        shoulders = (entry.points.index(left), entry.points.index(right))
    return Layout(
        name=entry.name,
        points=entry.points,
        dims=entry.dims,
        blocks=tuple(blocks) or (Block("all", 0, len(entry.points)),),
        unit=entry.unit,
        shoulders=shoulders,
    )

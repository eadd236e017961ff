"""A part of a report that any page can show: sentences, tables and figures.

*Conventions*: cells of a table are text as a reader sees it; the CSV behind it
has its own, unrounded rows. A figure is a Vega-Lite body (see ``figures``) with
a sentence that says what it shows to who cannot see it. Names and keys become
file names and are fixed, never made of labels. A title does not name the
protocol; :meth:`Section.heading` adds it where a page shows several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Figure", "Section", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is read, and the CSV rows behind it under ``name``.csv."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    csv_head: tuple[str, ...]
    csv_rows: tuple[tuple[str | int | float, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, written as ``name``.png and drawn into the page as SVG."""

    name: str
    caption: str
    alt: str
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """One study's part of a report: what was asked, what came out, what was not measured.

    ``protocol`` is None where a section is about no single one.
    """

    key: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    not_measured: tuple[str, ...] = ()
    protocol: str | None = None

    @property
    def heading(self) -> str:
        """The title and the protocol it was measured under."""
        return self.title if self.protocol is None else f"{self.title}, {self.protocol}"

"""A section as files: one CSV a table, one PNG a figure.

*Conventions*: names are those of the tables and figures, under the folder given.
Every file is written whole or not at all; text that a spreadsheet would run as
a formula starts with an apostrophe.
"""

from __future__ import annotations

from pathlib import Path

from snellen.report import figures
from snellen.report.section import Figure, Section, Table
from snellen.report.tables import csv_text
from snellen.store.files import safe_name, write_atomic

__all__ = ["figure_png", "table_csv", "write_section"]


def table_csv(table: Table) -> bytes:
    """The unrounded rows behind a table, as CSV."""
    return csv_text(table.csv_head, table.csv_rows).encode("utf-8")


def figure_png(figure: Figure) -> bytes:
    """A figure as a picture on white."""
    return figures.png(figures.framed(figure.spec))


def write_section(folder: Path, section: Section) -> tuple[Path, ...]:
    """Write the tables and figures of a section into a folder; returns their paths."""
    files = {f"{table.name}.csv": table_csv(table) for table in section.tables}
    files |= {f"{figure.name}.png": figure_png(figure) for figure in section.figures}
    for name, data in files.items():
        write_atomic(folder / safe_name(name), data)
    return tuple(folder / name for name in files)

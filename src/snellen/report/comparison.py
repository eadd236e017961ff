"""A comparison of models as a rich table: who is right where, and whether it could be luck."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from snellen.core.cells import Measured
from snellen.core.comparison import Comparison, Pair
from snellen.report import text

__all__ = ["comparison_table"]

CLASSES_SHOWN = 5


def _visible(pair: Pair) -> str:
    """How large a difference would have to be to be seen."""
    cell = pair.smallest_gap
    if isinstance(cell, Measured):
        points = text.percent(cell.value)
        return f"With independent clips, differences from {points} points on are seen."
    return text.words(cell)


def comparison_table(comparison: Comparison) -> Group:
    """One row a pair, then the classes in which they differ most, then how it was tested."""
    table = Table(
        title=Text(text.clean(f"{comparison.a} against {comparison.b}"), style="bold"),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
    )
    for head in ("protocol", "A", "B", "A right", "B right", "A - B, points", "p (Holm)"):
        table.add_column(head, overflow="fold")
    for pair in comparison.pairs:
        table.add_row(
            *(Text(text.clean(name)) for name in (pair.protocol, pair.a, pair.b)),
            f"{text.percent(pair.accuracy_a)} %",
            f"{text.percent(pair.accuracy_b)} %",
            text.short(pair.difference, "difference"),
            text.p_value(pair.p_holm).removeprefix("p = ").removeprefix("p "),
        )
    notes: list[RenderableType] = []
    for pair in comparison.pairs:
        notes += _notes(pair)
    if comparison.allowed:
        fields = ", ".join(sorted(comparison.allowed))
        warning = f"These runs differ in {fields}, which was allowed: read with care."
        notes.insert(0, Text(text.clean(warning), style="bold red"))
    contract = f"contract {comparison.contract[:12]}"
    return Group(table, *notes, Text(contract, style="dim"))


def _notes(pair: Pair) -> list[RenderableType]:
    head = f"{pair.protocol}, {pair.a} against {pair.b}: "
    counts = (
        f"{text.count(pair.only_a)} clips only A gets right, {text.count(pair.only_b)} only B, "
        f"of {text.count(pair.clips)}. {pair.test}. "
    )
    gap = "No difference to find." if pair.only_a + pair.only_b == 0 else _visible(pair)
    lines: list[RenderableType] = [Text(text.clean(head + counts + gap), style="dim")]
    if pair.classes:
        changes = "; ".join(
            f"{row.label} {row.right_a} against {row.right_b} of {row.support}"
            for row in pair.classes[:CLASSES_SHOWN]
        )
        lines.append(Text(text.clean(f"  most changed: {changes}"), style="dim"))
    return lines

"""A comparison of models as a rich table: who is right where, and whether it could be luck."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from snellen.core.cells import Measured
from snellen.core.comparison import Comparison, Pair
from snellen.report import text

__all__ = ["comparison_table", "corrected_p"]

CLASSES_SHOWN = 5
ALPHA = 0.05


def corrected_p(pair: Pair) -> str:
    """The corrected p-value, unless this test could not have rejected anything."""
    if pair.smallest_p > ALPHA:
        return "too few groups"
    return text.p_value(pair.p_holm).removeprefix("p = ").removeprefix("p ")


def _visible(pair: Pair) -> str:
    """How large a difference would have to be to be seen."""
    cell = pair.smallest_gap
    if isinstance(cell, Measured):
        points = text.percent(cell.value)
        return f"With independent clips, differences from {points} points on are seen."
    return text.words(cell)


def comparison_table(comparison: Comparison) -> Group:
    """One row a pair, then the classes in which they differ most, then how it was tested."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    names = [_models(comparison, pair) for pair in comparison.pairs]
    # Two runs are usually compared model by model: one column holds both names.
    width = max(map(len, names), default=1)
    for head in ("protocol", *(("model",) if width == 1 else ("A", "B"))):
        table.add_column(head, overflow="fold")
    for head in ("A, %", "B, %", "A - B, points", "p (Holm)"):
        table.add_column(head, no_wrap=True)
    for pair, models in zip(comparison.pairs, names, strict=True):
        shown = models if len(models) == width else models * width
        table.add_row(
            *(Text(text.clean(name)) for name in (pair.protocol, *shown)),
            text.percent(pair.accuracy_a),
            text.percent(pair.accuracy_b),
            text.short(pair.difference, "difference"),
            corrected_p(pair),
        )
    notes: list[RenderableType] = []
    for pair, models in zip(comparison.pairs, names, strict=True):
        notes += _notes(pair, " against ".join(models))
    if comparison.allowed:
        fields = ", ".join(sorted(comparison.allowed))
        warning = f"These runs differ in {fields}, which was allowed: read with care."
        notes.insert(0, Text(text.clean(warning), style="bold red"))
    contract = f"contract {comparison.contract[:12]}"
    return Group(*_sides(comparison), table, *notes, Text(contract, style="dim"))


def _sides(comparison: Comparison) -> list[Text]:
    """What A and B are, said once so that the table has room for figures."""
    a, b = comparison.a, comparison.b
    lines = [f"A and B: models of {a}"] if a == b else [f"A: {a}", f"B: {b}"]
    return [Text(text.clean(line), style="bold", overflow="fold") for line in lines]


def _models(comparison: Comparison, pair: Pair) -> tuple[str, ...]:
    """The models of a pair without their runs; one name where it is the same."""
    a, b = _model(pair.a, comparison.a), _model(pair.b, comparison.b)
    return (a,) if a == b else (a, b)


def _model(name: str, side: str) -> str:
    # A side is RUN or RUN:MODEL, and a name is RUN:MODEL or, within one run, MODEL.
    return name.rpartition(":")[2] if name == side else name.removeprefix(f"{side}:")


def _notes(pair: Pair, models: str) -> list[RenderableType]:
    head = f"{pair.protocol}, {models}: "
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

"""Evaluations of all protocols side by side, as tables and a figure any page can show.

*Conventions*: evaluations come headline first. Shares are read in percent with
their intervals and written to CSV in [0, 1]; latencies are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snellen.core.cells import Cell, Measured, NotMeasured
from snellen.core.evaluation import Evaluation, ModelRow
from snellen.report import text
from snellen.report.comparison import corrected_p
from snellen.report.evaluation import SHARES
from snellen.report.figures import (
    COLOURS,
    LEGEND,
    SHAPES,
    Spec,
    bounds,
    cycled,
    percent_axis,
)
from snellen.report.section import Figure, Section, Table

__all__ = [
    "evaluation_section",
    "gaps_table",
    "pairs_table",
    "per_class_table",
    "summary_table",
]

LABEL_CHARACTERS = 19
CLASSES_SHOWN = 10

SUMMARY_READ = (
    *("protocol", "model", "params", "accuracy", "macro P", "macro R", "macro F1"),
    *("weighted F1", "latency, ms"),
)
SUMMARY = (
    *("protocol", "model", "params", "accuracy", "accuracy_low", "accuracy_high"),
    *("macro_precision", "macro_recall", "macro_f1", "macro_f1_low", "macro_f1_high"),
    *("weighted_f1", "latency_ms"),
)
PER_CLASS = (
    *("protocol", "class", "model", "support", "precision"),
    *("recall", "recall_low", "recall_high", "f1"),
)
PAIRS = (
    *("protocol", "a", "b", "difference", "low", "high", "p", "p_holm", "smallest_p"),
    *("clips", "only_a", "only_b", "test"),
)


def evaluation_section(found: Sequence[Evaluation]) -> Section:
    """All protocols side by side, what separates them, and what separates the models."""
    headline = found[0]
    return Section(
        key="evaluation",
        title="Evaluation",
        sentences=(_about(headline),),
        tables=(
            summary_table(found),
            per_class_table(found),
            gaps_table(found),
            pairs_table(found),
        ),
        figures=(_comparison_figure(found),),
        not_measured=tuple(_unmeasured(found)),
    )


def _about(headline: Evaluation) -> str:
    return (
        f"{headline.corpus}, {text.count(headline.classes)} classes. Shares in percent "
        "with 95 % intervals; the headline protocol comes first."
    )


def summary_table(found: Sequence[Evaluation]) -> Table:
    """Every model under every protocol, as ``summary_metrics``."""
    rows = [(x, row) for x in found for row in x.models]
    return Table(
        name="summary_metrics",
        caption="Models under each protocol, and what a guess is worth",
        head=SUMMARY_READ,
        rows=tuple(
            (
                x.protocol,
                row.model,
                _parameters(row),
                *(text.short(getattr(row, name)) for name in SHARES),
                _milliseconds(row.latency_ms),
            )
            for x, row in rows
        ),
        csv_head=SUMMARY,
        csv_rows=tuple(
            (
                x.protocol,
                row.model,
                row.parameters if isinstance(row.parameters, int) else text.state(row.parameters),
                *_bounded(row.accuracy),
                _value(row.macro_precision),
                _value(row.macro_recall),
                *_bounded(row.macro_f1),
                _value(row.weighted_f1),
                _value(row.latency_ms),
            )
            for x, row in rows
        ),
    )


def per_class_table(found: Sequence[Evaluation]) -> Table:
    """The classes the headline's best model reads worst; the CSV has all, of every model."""
    headline = found[0]
    models = _best_first(headline)
    recalls = {(row.label, row.model): row.recall for row in headline.per_class}
    supports = {row.label: row.support for row in headline.per_class}
    hardest = sorted(supports, key=lambda x: -_worst_last(recalls[x, models[0]]))[:CLASSES_SHOWN]
    return Table(
        name="per_class_comparison",
        caption=f"Recall under {headline.protocol} of the {len(hardest)} classes that "
        f"{models[0]} reads worst",
        head=("class", "clips", *models),
        rows=tuple(
            (label, text.count(supports[label]), *(text.short(recalls[label, x]) for x in models))
            for label in hardest
        ),
        csv_head=PER_CLASS,
        csv_rows=tuple(
            (
                x.protocol,
                row.label,
                row.model,
                row.support,
                "undefined" if row.precision is None else row.precision,
                *_bounded(row.recall),
                "undefined" if row.f1 is None else row.f1,
            )
            for x in found
            for row in x.per_class
        ),
    )


def gaps_table(found: Sequence[Evaluation]) -> Table:
    """How much the leaky protocol flatters each model."""
    gaps = found[0].gaps
    return Table(
        name="protocol_gaps",
        caption="What the leaky protocol adds, in points of accuracy, paired clip by clip",
        head=("model", "leaky", "honest", "difference"),
        rows=tuple(
            (x.model, x.leaky, x.honest, text.short(x.difference, "difference")) for x in gaps
        ),
        csv_head=("model", "leaky", "honest", "difference", "low", "high"),
        csv_rows=tuple((x.model, x.leaky, x.honest, *_bounded(x.difference)) for x in gaps),
    )


def pairs_table(found: Sequence[Evaluation]) -> Table:
    """Every two models on the same clips, Holm-corrected within a protocol."""
    pairs = [pair for x in found for pair in x.pairs]
    return Table(
        name="paired_tests",
        caption="A minus B in points of accuracy, paired clip by clip, p-values after Holm",
        head=("protocol", "A", "B", "A - B", "p"),
        rows=tuple(
            (x.protocol, x.a, x.b, text.short(x.difference, "difference"), corrected_p(x))
            for x in pairs
        ),
        csv_head=PAIRS,
        csv_rows=tuple(
            (
                *(x.protocol, x.a, x.b, *_bounded(x.difference), x.p, x.p_holm, x.smallest_p),
                *(x.clips, x.only_a, x.only_b, x.test),
            )
            for x in pairs
        ),
    )


def _comparison_figure(found: Sequence[Evaluation]) -> Figure:
    """Accuracy of each model with its interval, one mark a protocol."""
    names = [row.model for row in found[0].models]
    shown = dict(zip(names, text.distinct(names, LABEL_CHARACTERS), strict=True))
    protocols = text.distinct([x.protocol for x in found], 36)
    measured = [
        (protocol, shown[row.model], row.accuracy)
        for x, protocol in zip(found, protocols, strict=True)
        for row in x.models
        if isinstance(row.accuracy, Measured)
    ]
    values = [{"model": x, "protocol": protocol, **bounds(cell)} for protocol, x, cell in measured]
    said = "; ".join(f"{x}, {protocol}: {text.short(cell)}" for protocol, x, cell in measured)
    return Figure(
        name="model_comparison",
        caption="Right, % of test clips, with 95 % intervals",
        alt=f"Accuracy in percent. {said}",
        spec=_dots(values, list(shown.values()), list(protocols)),
    )


def _dots(values: list[Spec], models: list[str], protocols: list[str]) -> Spec:
    who = {"field": "protocol", "type": "nominal", "sort": protocols}
    scale = {"domain": protocols, "range": cycled(COLOURS, protocols)}
    colour = who | {"legend": LEGEND, "scale": scale}
    shape = colour | {"scale": scale | {"range": cycled(SHAPES, protocols)}}
    x = percent_axis("x", "value", "right, %")
    whiskers = {"x": x | {"field": "low"}, "x2": {"field": "high"}, "color": colour}
    return {
        "height": {"step": 12},
        "data": {"values": values},
        "encoding": {
            "y": {
                "field": "model",
                "type": "nominal",
                "sort": models,
                "title": None,
                "scale": {"paddingInner": 0.35},
            },
            "yOffset": who,
        },
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": whiskers},
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"x": x, "color": colour, "shape": shape},
            },
        ],
    }


def _unmeasured(found: Sequence[Evaluation]) -> Iterator[str]:
    """What has no figure, each reason once, with the models it is true of."""
    cells = [
        (row.model, what, cell)
        for x in found
        for row in x.models
        for what, cell in (("params", row.parameters), ("latency", row.latency_ms), *_shares(row))
        if isinstance(cell, NotMeasured)
    ]
    for why in dict.fromkeys(cell for _, _, cell in cells):
        models = dict.fromkeys(model for model, _, cell in cells if cell == why)
        whats = dict.fromkeys(what for _, what, cell in cells if cell == why)
        yield f"{', '.join(whats)} of {', '.join(models)}: {text.reason(why)}"


def _shares(row: ModelRow) -> Iterator[tuple[str, Cell]]:
    for name in SHARES:
        yield text.measure_name(name), getattr(row, name)


def _best_first(evaluation: Evaluation) -> tuple[str, ...]:
    """Models with a row for every class, the most accurate first."""
    real = {row.model for row in evaluation.per_class}
    rows = [row for row in evaluation.models if row.model in real]
    return tuple(x.model for x in sorted(rows, key=lambda x: _worst_last(x.accuracy)))


def _worst_last(cell: Cell) -> float:
    """For sorting only: what has no figure comes after every figure."""
    return -cell.value if isinstance(cell, Measured) else 1.0


def _parameters(row: ModelRow) -> str:
    n = row.parameters
    return text.count(n) if isinstance(n, int) else text.state(n)


def _milliseconds(cell: Cell) -> str:
    return f"{cell.value:.2f}" if isinstance(cell, Measured) else text.state(cell)


def _value(cell: Cell) -> str | float:
    return cell.value if isinstance(cell, Measured) else text.state(cell)


def _bounded(cell: Cell) -> tuple[str | float, str | float, str | float]:
    if not isinstance(cell, Measured):
        state = text.state(cell)
        return (state, state, state)
    low = "no interval" if cell.low is None else cell.low
    high = "no interval" if cell.high is None else cell.high
    return (cell.value, low, high)

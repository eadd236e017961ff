"""The pictures of a report, as Vega-Lite specs and as SVG.

``*_spec`` functions turn what a card or a ladder holds into a plain Vega-Lite
dict; :func:`svg` renders one. Both show what is there and compute nothing but
positions on the page.

*Conventions*: figures are :data:`WIDTH` px wide at their natural size, so that
they can be read on a phone and are scaled up elsewhere. Colours are those of
:data:`DARK`'s left column (Okabe-Ito for categories, each with a shape of its
own; viridis for matrices, in ``matrix``); the page's style sheet replaces them
by the right column in dark mode. Labels enter as data, never as expressions.
The same spec gives the same bytes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.card import ClassRow, CoveragePoint, Reliability
from snellen.core.cells import Measured
from snellen.core.ladder import Ladder
from snellen.report.text import distinct, shorten, spread, state

__all__ = [
    "BLUE",
    "COLOURS",
    "DARK",
    "LEGEND",
    "MUTED",
    "SHAPES",
    "Spec",
    "bounds",
    "coverage_spec",
    "cycled",
    "framed",
    "ladder_spec",
    "percent_axis",
    "png",
    "recall_spec",
    "reliability_spec",
    "svg",
]

WIDTH = 360
PNG_SCALE, PNG_MARGIN = 2, 12
LABEL_CHARACTERS = 19
CURVE_POINTS = 200
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
INK, MUTED, GRID = "#1c2024", "#59626b", "#dfe3e6"
BLUE, VERMILION, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
# Those of Okabe-Ito that stand out from white by 3 to 1. Five colours and six shapes: thirty
# models before a pair repeats.
COLOURS = (BLUE, VERMILION, GREEN, PINK, INK)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DARK = {
    INK: "#e9e9e5",
    MUTED: "#a7b0b8",
    GRID: "#343b42",
    BLUE: "#4ba6e0",
    VERMILION: "#ff8b45",
    GREEN: "#2cc79b",
    PINK: "#e6a3ca",
}

Spec = dict[str, Any]


def svg(spec: Spec, key: str) -> str:
    """Render a spec as an SVG element to be placed in a page.

    ``key`` is unique in the page and becomes part of every id, because the
    renderer numbers ids through the life of the process.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(spec)
    for kind in ("gradient", "clip"):
        found = dict.fromkeys(re.findall(rf'id="({kind}_?\d+)"', drawn))
        for position, name in enumerate(found):
            drawn = re.sub(rf"\b{name}\b", f"{key}-{kind}-{position}", drawn)
    # The page gives one role and one label to the whole figure.
    drawn = re.sub(r' (?:xmlns(?::xlink)?|role|aria-\w+|pointer-events)="[^"]*"', "", drawn)
    return re.sub(r'<path class="(?:back|fore)ground"[^>]*display="none"/>', "", drawn)


def png(spec: Spec) -> bytes:
    """Render a spec as a PNG on white, at twice its natural size."""
    import vl_convert

    padding = {side: room + PNG_MARGIN for side, room in spec["padding"].items()}
    on_white = spec | {"background": "white", "padding": padding}
    drawn: bytes = vl_convert.vegalite_to_png(on_white, scale=PNG_SCALE)
    return drawn


LEGEND = {
    "orient": "top",
    "title": None,
    "columns": 2,
    "columnPadding": 18,
    "symbolSize": 70,
    "offset": 28,
}


def ladder_spec(ladder: Ladder) -> Spec:
    """One line a model, from the leakiest protocol to the strictest, with intervals."""
    names = dict(zip(ladder.models, distinct(ladder.models, LABEL_CHARACTERS), strict=True))
    place = {rung.protocol: k for k, rung in enumerate(ladder.rungs)}
    shift = {model: (k - (len(names) - 1) / 2) * 0.05 for k, model in enumerate(ladder.models)}
    rows = [
        {
            "model": names[cell.model],
            "x": place[cell.protocol] + shift[cell.model],
            # A null breaks the line: nothing is drawn through what has no figure.
            **(bounds(cell.accuracy) if isinstance(cell.accuracy, Measured) else {"value": None}),
        }
        for cell in ladder.cells
    ]
    rungs = [
        {"x": k, "name": "\n".join(textwrap.wrap(shorten(rung.protocol, 36), 12))}
        for k, rung in enumerate(ladder.rungs)
    ]
    domain = [-0.35, len(rungs) - 0.65]
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": domain}}
    who = {
        "field": "model",
        "type": "nominal",
        "sort": list(names.values()),
        "legend": LEGEND,
    }
    colour = who | {"scale": {"domain": list(names.values()), "range": cycled(COLOURS, names)}}
    shape = who | {"scale": {"domain": list(names.values()), "range": cycled(SHAPES, names)}}
    y = percent_axis("y", "value", "right, %")
    layers = [
        {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"y": y, "color": colour}},
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"y": y, "color": colour, "shape": shape},
        },
    ]
    axis = {
        "data": {"values": rungs},
        "mark": {"type": "text", "baseline": "top", "lineBreak": "\n", "fontSize": 12},
        "encoding": {"x": x, "y": {"value": 268}, "text": {"field": "name"}},
    }
    drawn = {"data": {"values": rows}, "encoding": {"x": x}, "layer": layers}
    return framed({"height": 260, "layer": [drawn, axis]})


def recall_spec(rows: Sequence[ClassRow]) -> Spec:
    """One dot a class with its interval, and right of it how many clips were right."""
    names = distinct([row.label for row in rows], LABEL_CHARACTERS)
    values = [
        {
            "label": name,
            "counts": f"{row.correct}/{row.support}",
            **(bounds(row.recall) if isinstance(row.recall, Measured) else {}),
            "state": "" if isinstance(row.recall, Measured) else state(row.recall),
        }
        for name, row in zip(names, rows, strict=True)
    ]
    x = percent_axis("x", "value", "recall, %")
    x["axis"]["orient"] = "top"
    layers = [
        {
            "mark": {"type": "rule", "color": BLUE, "strokeWidth": 1.5},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "color": BLUE, "size": 45, "opacity": 1},
            "encoding": {"x": x},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 6, "color": MUTED},
            "encoding": {"x": {"value": "width"}, "text": {"field": "counts"}},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 4, "color": MUTED},
            "encoding": {"x": {"value": 0}, "text": {"field": "state"}},
        },
    ]
    # Labels of one width, so that the plots of a page share their axis.
    axis = {"minExtent": 136, "maxExtent": 136, "labelLimit": 130, "labelPadding": 8}
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": axis}
    return framed(
        {
            "height": {"step": 17},
            "padding": {"left": 0, "top": 2, "bottom": 2, "right": 52},
            "data": {"values": values},
            "encoding": {"y": y},
            "layer": layers,
        }
    )


def reliability_spec(reliability: Reliability) -> Spec:
    """Confidence against accuracy in each bin, with the number of clips in it."""
    bins = [
        {"confidence": b.confidence, "accuracy": b.accuracy, "n": b.n}
        for b in reliability.bins
        if b.confidence is not None and b.accuracy is not None
    ]
    x = percent_axis("x", "confidence", "confidence, %")
    y = percent_axis("y", "accuracy", "right, %")
    ideal = [{"confidence": 0, "accuracy": 0}, {"confidence": 1, "accuracy": 1}]
    layers = [
        {
            "data": {"values": ideal},
            "mark": {"type": "line", "color": MUTED, "strokeDash": [4, 4], "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {
                "type": "line",
                "color": BLUE,
                "strokeWidth": 1.5,
                "point": {"size": 50, "filled": True, "color": BLUE},
            },
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "text", "dy": -11, "color": MUTED, "fontSize": 11},
            "encoding": {"x": x, "y": y, "text": {"field": "n"}},
        },
    ]
    return framed({"height": 260, "data": {"values": bins}, "layer": layers})


COVERAGE_SERIES = (
    ("selective_accuracy", "right among answered"),
    ("floor", "lower bound of that"),
    ("pessimistic_accuracy", "right among all asked"),
)


def coverage_spec(curve: Sequence[CoveragePoint]) -> Spec:
    """What is right as fewer and fewer clips are answered."""
    values = [
        {"coverage": point.coverage, "share": share, "series": name}
        for point in spread(curve, CURVE_POINTS)
        for field, name in COVERAGE_SERIES
        if (share := getattr(point, field)) is not None
    ]
    names = [name for _, name in COVERAGE_SERIES]
    series = {
        "field": "series",
        "type": "nominal",
        "sort": names,
        "legend": {
            "orient": "top",
            "title": None,
            "columns": 1,
            "offset": 28,
            "symbolType": "stroke",
        },
    }
    colour = series | {"scale": {"domain": names, "range": [BLUE, BLUE, VERMILION]}}
    dash = series | {"scale": {"domain": names, "range": [[1, 0], [2, 2], [6, 3]]}}
    encoding = {
        "x": percent_axis("x", "coverage", "answered, %"),
        "y": percent_axis("y", "share", "right, %"),
        "color": colour,
        "strokeDash": dash,
    }
    mark = {"type": "line", "strokeWidth": 1.75}
    return framed({"height": 210, "data": {"values": values}, "mark": mark, "encoding": encoding})


def bounds(cell: Measured) -> Spec:
    """``value``, ``low`` and ``high`` of a cell; without an interval the whisker has no length."""
    low = cell.value if cell.low is None else cell.low
    high = cell.value if cell.high is None else cell.high
    return {"value": cell.value, "low": low, "high": high}


def percent_axis(channel: str, field: str, title: str) -> Spec:
    """The encoding of a share in [0, 1] along ``channel`` ("x" or "y"), labelled in percent."""
    axis: Spec = {"values": [0, 0.25, 0.5, 0.75, 1], "labelExpr": "100 * datum.value"}
    if channel == "y":
        # Above the axis and upright: easier to read than along it.
        axis |= {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end"}
        axis |= {"titleX": -28, "titleY": -10}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1]},
        "axis": axis,
    }


def cycled(values: Sequence[str], names: Sequence[str] | Spec) -> list[str]:
    """One of ``values`` (colours, shapes) for each name, from the start again where they end."""
    return [values[k % len(values)] for k in range(len(names))]


def framed(body: Mapping[str, Any]) -> Spec:
    """``body`` with the width, fonts and colours of this project's figures; twice is as once."""
    text = {"labelColor": INK, "labelFontSize": 12, "titleColor": MUTED, "titleFontSize": 12}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": WIDTH,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 8},
        "background": None,
        **body,
        "config": {
            "font": FONT,
            "aria": False,
            "view": {"stroke": None},
            # The first colour and those after it, unless a figure says otherwise.
            "mark": {"color": BLUE},
            "range": {"category": list(COLOURS)},
            "axis": text
            | {
                "titleFontWeight": "normal",
                "gridColor": GRID,
                "domain": False,
                "ticks": False,
                "labelPadding": 6,
                "labelLimit": 150,
            },
            "legend": text | {"labelLimit": 150},
            "text": {"color": INK, "fontSize": 11},
        },
    }

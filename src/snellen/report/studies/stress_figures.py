"""The pictures of the stress test: dots by condition, and curves by severity.

*Conventions*: one colour and shape a model, the same in both. What has no
figure (a no-op, a condition that does not apply) is named in its row in place of
a dot, and breaks its line.
Curves stand one above the other in one coordinate system, each in a panel of
height 1 and a distance of :data:`PITCH`, because a page scales single plots only.
"""

from __future__ import annotations

from typing import Any

from snellen.core.stress import Curve, Effect, NoOp, Outcome, StressStudy
from snellen.report.figures import (
    COLOURS,
    LEGEND,
    MUTED,
    SHAPES,
    bounds,
    cycled,
    framed,
    percent_axis,
)
from snellen.report.section import Figure
from snellen.report.text import distinct, state

__all__ = ["degradation_figure", "results_figure"]

LABEL_CHARACTERS = 19
LABEL_PX, WORD_PX = 152, 10
DOT_STEP = 9
BETWEEN_CONDITIONS = 8
PANEL_HEIGHT = 150
# Exact in binary, so that the remainder of a tick is exact too.
PITCH = 1.25

Spec = dict[str, Any]


def results_figure(result: StressStudy, name: str) -> Figure:
    """Accuracy with its interval, a row a condition and a dot a model."""
    names = _names(result)
    titles = [condition.title for condition in result.conditions]
    rows = [
        {
            "condition": condition.title,
            "model": names[model],
            **_figures(result.outcome(model, condition.name)),
        }
        for condition in result.conditions
        for model in result.models
    ]
    y = {
        "field": "condition",
        "type": "nominal",
        "sort": titles,
        "scale": {"domain": titles},
        "title": None,
        # Room for the longest title in whatever font the reader has.
        "axis": {"labelLimit": LABEL_PX, "minExtent": LABEL_PX},
    }
    offset = {"field": "model", "sort": list(names.values())}
    step = DOT_STEP * len(names) + BETWEEN_CONDITIONS
    body = {
        "height": {"step": step, "for": "position"},
        "data": {"values": rows},
        "encoding": {"y": y, "yOffset": offset},
        "layer": _dot_layers(names),
    }
    return Figure(
        name=name,
        caption="Right answers under each condition, with 95 % intervals.",
        alt=f"Dots with intervals: {len(names)} models under {len(titles)} conditions.",
        spec=framed(body),
    )


def _dot_layers(names: dict[str, str]) -> list[Spec]:
    """Whiskers, dots, and words where there is neither."""
    colour, shape = _who(names)
    x = percent_axis("x", "value", "right, %")
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {"x": x, "color": colour, "shape": shape},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": WORD_PX},
            "encoding": {"x": {"value": 0}, "text": {"field": "word"}, "color": colour},
        },
    ]


def degradation_figure(result: StressStudy, name: str) -> Figure:
    """Accuracy by severity with its band, a panel a kind of disturbance."""
    names = _names(result)
    lifts = [(len(result.curves) - 1 - k) * PITCH for k in range(len(result.curves))]
    panels = list(zip(result.curves, lifts, strict=True))
    rows = [row for curve, lift in panels for row in _points(result, curve, names, lift)]
    heads = [{"at": lift + 1, "head": f"{curve.kind}: {curve.unit}"} for curve, lift in panels]
    y = _panel_axis(len(panels))
    x = {
        "field": "severity",
        "type": "quantitative",
        "title": "severity",
        "scale": {"domain": [0, 1]},
        "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]},
    }
    curves = {
        "data": {"values": rows},
        "encoding": {"x": x, "detail": {"field": "panel", "type": "nominal"}},
        "layer": _curve_layers(y, names),
    }
    titles = {
        "data": {"values": heads},
        "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -4, "color": MUTED},
        "encoding": {
            "x": {"value": "width"},
            "y": y | {"field": "at"},
            "text": {"field": "head"},
        },
    }
    kinds = ", ".join(curve.kind for curve in result.curves)
    return Figure(
        name=name,
        caption="Right answers by severity, from clean at 0, with bands of 95 % intervals.",
        alt=f"Curves of {len(names)} models over the severity of {kinds}.",
        spec=framed({"height": PANEL_HEIGHT * len(panels), "layer": [curves, titles]}),
    )


def _curve_layers(y: Spec, names: dict[str, str]) -> list[Spec]:
    """Bands, lines and dots."""
    colour, shape = _who(names)
    return [
        {
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"y": y, "color": colour}},
        {
            "mark": {"type": "point", "filled": True, "size": 35, "opacity": 1},
            "encoding": {"y": y, "color": colour, "shape": shape},
        },
    ]


def _names(result: StressStudy) -> dict[str, str]:
    return dict(zip(result.models, distinct(result.models, LABEL_CHARACTERS), strict=True))


def _who(names: dict[str, str]) -> tuple[Spec, Spec]:
    """The encodings of a model's colour and shape."""
    shown = list(names.values())
    # Bands are pale; their legend is not.
    legend = LEGEND | {"symbolOpacity": 1}
    who = {"field": "model", "type": "nominal", "sort": shown, "legend": legend}
    colour = who | {"scale": {"domain": shown, "range": cycled(COLOURS, names)}}
    return colour, who | {"scale": {"domain": shown, "range": cycled(SHAPES, names)}}


def _points(
    result: StressStudy, curve: Curve, names: dict[str, str], lift: float
) -> list[dict[str, Any]]:
    rows = []
    for model, name in names.items():
        for condition, severity in (
            ("clean", 0.0),
            *((point.name, point.severity) for point in curve.conditions),
        ):
            outcome = result.outcome(model, condition)
            figures = {"value": None, "low": None, "high": None}
            if isinstance(outcome, Effect):
                figures = {key: lift + at for key, at in bounds(outcome.accuracy).items()}
            rows.append({"panel": curve.kind, "model": name, "severity": severity, **figures})
    return rows


def _figures(outcome: Outcome) -> Spec:
    """Where a dot and its whisker stand, or the word in their place."""
    if isinstance(outcome, Effect):
        return bounds(outcome.accuracy) | {"word": ""}
    word = "no-op" if isinstance(outcome, NoOp) else state(outcome)
    return {"value": None, "low": None, "high": None, "word": word}


def _panel_axis(panels: int) -> Spec:
    """Percent from 0 to 100 anew in every panel."""
    ticks = [k * PITCH + share for k in range(panels) for share in (0, 0.25, 0.5, 0.75, 1)]
    axis = percent_axis("y", "value", "right, %")
    axis["scale"] = {"domain": [0, panels * PITCH - (PITCH - 1)]}
    axis["axis"] |= {"values": ticks, "labelExpr": f"100 * (datum.value % {PITCH})"}
    return axis

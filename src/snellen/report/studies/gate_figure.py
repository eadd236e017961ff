"""The picture of a gate study: what a threshold costs and what it buys.

*Conventions*: the model that the study shows, on validation clips of the protocol a
promise is held against. Thresholds run from 0 to 1, shares are in percent.
"""

from __future__ import annotations

from typing import Any

from snellen.core.cells import Measured
from snellen.core.gate import GateStudy, Sweep
from snellen.report.figures import BLUE, VERMILION, bounds, framed, percent_axis
from snellen.report.section import Figure

__all__ = ["sweep_figure"]

SERIES = {"coverage": "answered", "selective_accuracy": "right among the answered"}
NAMES = list(SERIES.values())
# Opaque, else the legend would be as pale as the bands.
LEGEND = {
    "orient": "top",
    "title": None,
    "columns": 1,
    "offset": 28,
    "symbolType": "stroke",
    "symbolOpacity": 1,
}


def sweep_figure(result: GateStudy) -> Figure:
    """Coverage and selective accuracy over thresholds, with their bands."""
    mine = (result.shown, result.protocol)
    sweep = next(x for x in result.sweeps if (x.model, x.protocol) == mine)
    colour = _series([VERMILION, BLUE])
    x = percent_axis("x", "threshold", "threshold")
    x["axis"] |= {"labelExpr": "format(datum.value, '.2f')"}
    y = percent_axis("y", "value", "clips, %")
    layers = [
        {
            "mark": {"type": "area", "opacity": 0.18},
            "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1.75},
            "encoding": {"y": y, "color": colour, "strokeDash": _series([[6, 3], [1, 0]])},
        },
    ]
    body = {"height": 210, "data": {"values": _values(sweep)}, "encoding": {"x": x}}
    who = f"{result.shown}, validation clips of {result.protocol}"
    return Figure(
        name="threshold_sweep",
        caption=f"What a threshold costs and buys: {who}, with 95 % intervals",
        alt=f"Two curves over thresholds from 0 to 1 for {who}: the share answered falls, the "
        "share right among the answered is drawn beside it.",
        spec=framed({**body, "layer": layers}),
    )


def _values(sweep: Sweep) -> list[dict[str, Any]]:
    return [
        {"threshold": point.threshold, "series": name, **bounds(cell)}
        for point in sweep.points
        for field, name in SERIES.items()
        if isinstance(cell := getattr(point, field), Measured)
    ]


def _series(look: list[Any]) -> dict[str, Any]:
    scale = {"domain": NAMES, "range": look}
    return {
        "field": "series",
        "type": "nominal",
        "sort": NAMES,
        "legend": LEGEND,
        "scale": scale,
    }

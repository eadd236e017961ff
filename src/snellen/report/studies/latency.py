"""The latency study as a section: how long a clip takes, where the time goes, how many a second.

*Conventions*: times in milliseconds with three significant digits. Ratios are
against the first model of the run. All sentences are made of the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snellen.core.latency import LatencyStudy, ModelLatency, Ratio
from snellen.report import text
from snellen.report.figures import BLUE, MUTED
from snellen.report.section import Figure, Section, Table

__all__ = ["section"]

LABEL_CHARACTERS = 19
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
CSV_HEAD = (
    "model",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "min_ms",
    "calls",
    "times_first",
    "times_first_low",
    "times_first_high",
    "parameters",
    "file_bytes",
    "load_ms",
    "memory_mib",
)
NOT_COUNTED = "not counted"
NOT_MEASURED = "not measured"


def section(result: LatencyStudy) -> Section:
    """What a clip costs each model, in sentences, tables and a figure."""
    unknown = [one.model for one in result.models if one.memory_mib is None]
    return Section(
        key="latency",
        title="Latency",
        sentences=tuple(_sentences(result)),
        tables=(_calls(result), _stages(result), _throughput(result)),
        figures=(_figure(result),),
        not_measured=(
            (f"Memory of {', '.join(unknown)}: this system does not say what a process holds.",)
            if unknown
            else ()
        ),
    )


def _sentences(result: LatencyStudy) -> Iterator[str]:
    first = result.models[0]
    yield (
        f"Each model answered {text.counted(first.call.calls, 'single clip')} of "
        f"{result.frames} frames on one thread, the models taking turns in one process on a "
        f"machine of {text.counted(result.cores, 'core')}. Milliseconds are of that machine; "
        "what carries over to another are the ratios."
    )
    fastest = min(result.models, key=lambda one: one.call.p50)
    slowest = max(result.models, key=lambda one: one.call.p50)
    if fastest.model != slowest.model:
        yield (
            f"Half of the calls took at most {_digits(fastest.call.p50)} ms with {fastest.model}, "
            f"the fastest, and {_digits(slowest.call.p50)} ms with {slowest.model}, the slowest."
        )
    total = result.read_ms + result.prepare.p50 + slowest.call.p50
    yield (
        f"Reading a clip from disk took {_digits(result.read_ms)} ms and preparing it "
        f"{_digits(result.prepare.p50)} ms: with {slowest.model} the model itself is "
        f"{text.percent(slowest.call.p50 / total)} % of the time of a clip. Finding the landmarks "
        "in a video, which comes before all this, is no part of it."
    )


def _calls(result: LatencyStudy) -> Table:
    return Table(
        name="latency",
        caption="One clip, in ms, and what a trained round takes on disk and in memory",
        head=(
            "model",
            "p50",
            "p95",
            "p99",
            "min",
            "times the first",
            "parameters",
            "on disk, MB",
            "loading, ms",
            "memory, MiB",
        ),
        rows=tuple(_call_row(one) for one in result.models),
        csv_head=CSV_HEAD,
        csv_rows=tuple(
            (
                one.model,
                one.call.p50,
                one.call.p95,
                one.call.p99,
                one.call.min,
                one.call.calls,
                one.against_first.value,
                one.against_first.low,
                one.against_first.high,
                NOT_COUNTED if one.parameters is None else one.parameters,
                one.file_bytes,
                one.load_ms,
                NOT_MEASURED if one.memory_mib is None else one.memory_mib,
            )
            for one in result.models
        ),
    )


def _call_row(one: ModelLatency) -> tuple[str, ...]:
    return (
        one.model,
        *(_digits(x) for x in (one.call.p50, one.call.p95, one.call.p99, one.call.min)),
        _times(one.against_first),
        NOT_COUNTED if one.parameters is None else text.count(one.parameters),
        _digits(one.file_bytes / 1e6),
        _digits(one.load_ms),
        NOT_MEASURED if one.memory_mib is None else f"{one.memory_mib:.1f}",
    )


def _stages(result: LatencyStudy) -> Table:
    prepare = result.prepare.p50
    return Table(
        name="latency_stages",
        caption="Where the time of one clip goes, in ms (reading: mean; the rest: p50)",
        head=("model", "reading", "preparing", "model call", "together"),
        rows=tuple(
            (
                one.model,
                *(_digits(x) for x in _parts(result, one)),
                _digits(sum(_parts(result, one))),
            )
            for one in result.models
        ),
        csv_head=("model", "read_ms", "prepare_ms", "model_ms", "prepare_p95_ms"),
        csv_rows=tuple(
            (one.model, result.read_ms, prepare, one.call.p50, result.prepare.p95)
            for one in result.models
        ),
    )


def _parts(result: LatencyStudy, one: ModelLatency) -> tuple[float, float, float]:
    return (result.read_ms, result.prepare.p50, one.call.p50)


def _throughput(result: LatencyStudy) -> Table:
    batches = [rate.batch for rate in result.models[0].throughput]
    return Table(
        name="latency_throughput",
        caption="Clips a second on one thread, by how many are answered in one call",
        head=("model", *(f"{text.count(batch)} at once" for batch in batches)),
        rows=tuple(
            (one.model, *(text.count(round(rate.clips_per_second)) for rate in one.throughput))
            for one in result.models
        ),
        csv_head=("model", "batch", "clips_per_second"),
        csv_rows=tuple(
            (one.model, rate.batch, rate.clips_per_second)
            for one in result.models
            for rate in one.throughput
        ),
    )


def _figure(result: LatencyStudy) -> Figure:
    names = text.distinct([one.model for one in result.models], LABEL_CHARACTERS)
    rows = [
        {
            "model": name,
            "p50": one.call.p50,
            "low": one.call.min,
            "high": one.call.p95,
            "said": _digits(one.call.p50),
        }
        for name, one in zip(names, result.models, strict=True)
    ]
    # Models may be a hundred times apart, and a dot needs no zero.
    x: dict[str, Any] = {
        "field": "p50",
        "type": "quantitative",
        "title": "ms for one clip (log scale)",
        "scale": {"type": "log", "nice": True},
        "axis": {"values": TICKS},
    }
    y = {"field": "model", "type": "nominal", "sort": list(names), "title": None}
    layers = [
        {
            "mark": {"type": "rule", "color": BLUE, "strokeWidth": 1.5},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "color": BLUE, "size": 60, "opacity": 1},
            "encoding": {"x": x},
        },
        {
            "mark": {"type": "text", "dy": -11, "color": MUTED},
            "encoding": {"x": x, "text": {"field": "said"}},
        },
    ]
    fastest = min(result.models, key=lambda one: one.call.p50)
    return Figure(
        name="latency_comparison",
        caption="Time for one clip on one thread: dot p50, line from the shortest call to p95",
        alt=f"{text.counted(len(names), 'model')}; the fastest is {fastest.model} with "
        f"{_digits(fastest.call.p50)} ms for half of its calls.",
        spec={
            "height": {"step": 34},
            "data": {"values": rows},
            "encoding": {"y": y},
            "layer": layers,
        },
    )


def _digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return text.count(round(value))
    digits = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def _times(ratio: Ratio) -> str:
    return f"{_digits(ratio.value)} ({_digits(ratio.low)} to {_digits(ratio.high)})"

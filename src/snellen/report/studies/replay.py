"""Live replay as a section: what the live path costs a model that reads whole clips well.

*Conventions*: figures in percent, changes in points from the same model's answers
to the whole clips, behind the same gate where live has one. All sentences are made
of the result. A loss is certain where its 95 % interval lies below 0; the best
model is the one most accurate offline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snellen.core.cells import Cell, Measured
from snellen.core.replay import ReplayRow, ReplaySetting, ReplayStudy
from snellen.report import text
from snellen.report.figures import (
    COLOURS,
    LEGEND,
    SHAPES,
    bounds,
    cycled,
    framed,
    percent_axis,
)
from snellen.report.section import Figure, Section, Table

__all__ = ["section"]

LABEL_CHARACTERS = 19
DOT_STEP = 12
BETWEEN_SETTINGS = 10
WIDTHS = "shoulder widths"
Spec = dict[str, Any]
SHARES = (
    "offline",
    "ungated",
    "ungated_delta",
    "gated",
    "live",
    "gated_delta",
    "live_delta",
)
STREAMED = ("streamed", "streamed_delta")
CSV_HEAD = (
    "model",
    "setting",
    *(f"{name}{end}" for name in (*SHARES, *STREAMED) for end in ("", "_low", "_high")),
    "committed",
    "uncertain",
    "unasked",
    "answers",
    "captions",
    "first_caption_frames",
    "streamed_captions",
    "streamed_delay_frames",
    "n",
    "note",
)


def section(result: ReplayStudy) -> Section:
    """Live beside offline, in sentences, tables and a figure."""
    return Section(
        key="replay",
        title="Live replay",
        sentences=tuple(_sentences(result)),
        tables=(_alone(result), _captions(result), _streamed(result), _settings(result)),
        figures=(_figure(result),),
        not_measured=tuple(_not_measured(result)),
    )


def _alone(result: ReplayStudy) -> Table:
    return Table(
        name="live_replay",
        caption=f"{text.counted(result.clips, 'clip')}, each shown alone: right in %, changes "
        "from offline in points [95 % interval]",
        head=(
            "model",
            "setting",
            "offline, no gate",
            "last answer, no gate",
            "change",
            "offline behind the gate",
            "live",
            "change",
        ),
        rows=tuple(
            (
                row.model,
                row.setting,
                text.estimate(row.offline),
                text.estimate(row.ungated),
                text.short(row.ungated_delta, "difference"),
                text.estimate(row.gated),
                text.estimate(row.live),
                text.short(row.gated_delta, "difference"),
            )
            for row in result.rows
        ),
        csv_head=CSV_HEAD,
        csv_rows=tuple(_csv_row(row) for row in result.rows),
    )


def _captions(result: ReplayStudy) -> Table:
    head = (
        "model",
        "setting",
        "with a caption, %",
        "uncertain, %",
        "never asked, %",
        "answers a clip",
        "frames to the first caption",
    )
    rows = tuple(
        (
            row.model,
            row.setting,
            text.percent(row.committed),
            text.percent(row.uncertain),
            text.percent(row.unasked),
            f"{row.answers:.1f}",
            _frames(row.first_caption),
        )
        for row in result.rows
    )
    return Table(
        name="live_replay_captions",
        caption="What the clips got, each shown alone",
        head=head,
        rows=rows,
        csv_head=head,
        csv_rows=rows,
    )


def _csv_row(row: ReplayRow) -> tuple[str | int | float, ...]:
    cells = (
        *(getattr(row, name) for name in SHARES),
        row.streamed.accuracy,
        row.streamed.delta,
    )
    return (
        row.model,
        row.setting,
        *(value for cell in cells for value in _with_bounds(cell)),
        row.committed,
        row.uncertain,
        row.unasked,
        row.answers,
        row.captions,
        _value(row.first_caption),
        row.streamed.captions,
        _value(row.streamed.delay),
        row.live.n,
        row.live.method,
    )


def _with_bounds(cell: Cell) -> tuple[str | float, ...]:
    if not isinstance(cell, Measured):
        return (text.state(cell),) * 3
    if cell.low is None or cell.high is None:
        return (cell.value, "no interval", "no interval")
    return (cell.value, cell.low, cell.high)


def _value(cell: Cell) -> str | float:
    return cell.value if isinstance(cell, Measured) else text.state(cell)


def _frames(cell: Cell) -> str:
    return f"{cell.value:g}" if isinstance(cell, Measured) else text.state(cell)


def _streamed(result: ReplayStudy) -> Table:
    head = (
        "model",
        "setting",
        "live in a row, %",
        "change from offline behind the gate, points",
        "captions a clip",
        "frames from the end of the clip to its caption",
    )
    rows = tuple(
        (
            row.model,
            row.setting,
            text.estimate(row.streamed.accuracy),
            text.short(row.streamed.delta, "difference"),
            f"{row.streamed.captions:.2f}",
            _frames(row.streamed.delay),
        )
        for row in result.rows
    )
    return Table(
        name="live_replay_in_a_row",
        caption=f"The same clips, up to {text.count(result.stream)} in a row, the last frame of "
        f"each held for {text.count(result.pause)} frames",
        head=head,
        rows=rows,
        csv_head=head,
        csv_rows=rows,
    )


def _settings(result: ReplayStudy) -> Table:
    head = ("setting", "window", "asked", "gate, %", "votes", "hands rest")
    rows = tuple(
        (
            setting.name,
            _window(setting),
            _stride(setting),
            text.percent(setting.threshold),
            _vote(setting),
            _rest(setting, result.movement_unit),
        )
        for setting in result.settings
    )
    return Table(
        name="live_replay_settings",
        caption="The live settings that were replayed",
        head=head,
        rows=rows,
        csv_head=head,
        csv_rows=rows,
    )


def _window(setting: ReplaySetting) -> str:
    least = f"at least {text.count(setting.fewest)}"
    if setting.window == "movement":
        return f"from the first movement to rest, {least}, at most {setting.frames} frames"
    if setting.seconds is not None:
        return f"the last {setting.seconds:g} seconds, {least} frames"
    return f"the last {text.count(setting.frames)} frames, {least}"


def _stride(setting: ReplaySetting) -> str:
    if setting.every is None:
        return "when the hands rest"
    return "every frame" if setting.every == 1 else f"every {setting.every} frames"


def _vote(setting: ReplaySetting) -> str:
    won = text.counted(setting.stable, "answer")
    return f"{setting.votes} of the last {setting.ballots}, {won} in a row"


def _rest(setting: ReplaySetting, unit: str) -> str:
    return (
        f"seen in under {text.percent(setting.hand_presence)} % of {setting.look_back} frames, "
        f"or moving under {setting.hand_motion:g} {unit} a frame"
    )


def _sentences(result: ReplayStudy) -> Iterator[str]:
    best = max(result.rows, key=lambda row: row.offline.value).model
    some = f"{text.count(result.clips)} of {text.counted(result.of_clips, 'test clip')}"
    every = text.counted(result.clips, "test clip")
    rounds = ""
    if len(result.rounds) < result.of_rounds:
        rounds = f" in {len(result.rounds)} of {text.counted(result.of_rounds, 'round')}"
    yield (
        f"{every if result.clips == result.of_clips else some} of {result.corpus} went frame by "
        f"frame through the live path under the protocol {result.protocol}{rounds}, each read by "
        f"a model that was not trained on it. The models learnt whole clips, brought to "
        f"{text.count(result.trained_frames)} frames; half of the recordings are longer than "
        f"{result.median_frames:g} frames."
    )
    yield (
        "Live, the caption that stands when the clip is over counts, and a clip without one is "
        "wrong; that it was right at some time before counts nowhere. It is compared with the "
        "answer to the whole clip behind the same gate. The last answer without gate and votes "
        "shows what the window alone costs."
    )
    for setting in result.settings:
        row = _row(result, best, setting.name)
        yield (
            f"{setting.name} ({_window(setting)}): the window alone changes {best} by "
            f"{text.short(row.ungated_delta, 'difference')} points. Behind the gate it reads "
            f"{text.percent(row.gated.value)} % offline and {text.percent(row.live.value)} % live, "
            f"a change of {text.short(row.gated_delta, 'difference')}, and with clips in a row of "
            f"{text.short(row.streamed.delta, 'difference')}."
        )
    yield from _gaps(result)


def _row(result: ReplayStudy, model: str, setting: str) -> ReplayRow:
    return next(row for row in result.rows if (row.model, row.setting) == (model, setting))


def _gaps(result: ReplayStudy) -> Iterator[str]:
    """For how many models each setting loses signs for certain, clips alone and in a row."""
    models = {row.model for row in result.rows}
    for setting in result.settings:
        rows = [row for row in result.rows if row.setting == setting.name]
        window = sum(_loss(row.ungated_delta) for row in rows)
        in_a_row = sum(_loss(row.streamed.delta) for row in rows)
        yield (
            f"Certain losses under {setting.name}: by the window alone for {text.count(window)}, "
            f"with clips in a row for {text.count(in_a_row)} of "
            f"{text.counted(len(models), 'model')}."
        )


def _loss(delta: Cell) -> bool:
    """Whether a loss can be told from 0, in points as they are shown."""
    return (
        isinstance(delta, Measured)
        and delta.high is not None
        and text.points(delta.high).startswith("-")
    )


def _not_measured(result: ReplayStudy) -> Iterator[str]:
    yield (
        "the camera and its landmark detector: recordings are replayed, with no frame late or lost"
    )
    yield (
        f"time: recordings have no clock, seconds are frames at {result.frame_rate:g} a second; "
        "snellen latency measures how long an answer takes"
    )
    yield "captions while nobody signs: pauses hold still, and no recording shows a person at rest"
    yield (
        "how people go from one sign to the next: clips in a row jump from one recording to another"
    )
    if result.movement_unit != WIDTHS:
        yield f"which bound tells rest here: it was set in {WIDTHS}, and this layout has none"
    if len(result.rounds) < result.of_rounds:
        yield f"{text.counted(result.of_rounds - len(result.rounds), 'round')} left out"
    if result.clips < result.of_clips:
        yield f"{text.counted(result.of_clips - result.clips, 'test clip')} that were not drawn"


def _figure(result: ReplayStudy) -> Figure:
    """A row a setting: live with its interval, the last answer hollow, offline as a tick."""
    models = tuple(dict.fromkeys(row.model for row in result.rows))
    names = dict(zip(models, text.distinct(models, LABEL_CHARACTERS), strict=True))
    shown = list(names.values())
    order = [setting.name for setting in result.settings]
    rows = [
        {
            "setting": row.setting,
            "model": names[row.model],
            **bounds(row.live),
            "ungated": row.ungated.value,
            "offline": row.offline.value,
        }
        for row in result.rows
    ]
    settings = {"field": "setting", "type": "nominal", "sort": order, "title": None}
    place = {
        "y": settings | {"scale": {"domain": order}},
        "yOffset": {"field": "model", "sort": shown},
    }
    spec = framed(
        {
            "height": {"step": DOT_STEP * len(names) + BETWEEN_SETTINGS, "for": "position"},
            "data": {"values": rows},
            "encoding": place,
            "layer": _marks(shown),
        }
    )
    return Figure(
        name="live_replay",
        caption="Right live, with 95 % intervals (filled), by the last answer without gate and "
        "votes (hollow), and offline without a gate (upright line).",
        alt=f"Dots with intervals: {text.counted(len(names), 'model')} under "
        f"{text.counted(len(order), 'live setting')}, beside the same models offline.",
        spec=spec,
    )


def _marks(shown: list[str]) -> list[Spec]:
    who = {"field": "model", "type": "nominal", "sort": shown, "legend": LEGEND}
    colour = who | {"scale": {"domain": shown, "range": cycled(COLOURS, shown)}}
    shape = who | {"scale": {"domain": shown, "range": cycled(SHAPES, shown)}}
    x = percent_axis("x", "value", "right, %")
    point = {"type": "point", "size": 45, "opacity": 1}
    marks = (
        (
            {"type": "rule", "strokeWidth": 1.5},
            {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        ),
        (
            {"type": "tick", "thickness": 2, "size": DOT_STEP, "opacity": 1},
            {"x": x | {"field": "offline"}},
        ),
        (
            point | {"filled": False, "strokeWidth": 1.5},
            {"x": x | {"field": "ungated"}, "shape": shape},
        ),
        (point | {"filled": True}, {"x": x, "shape": shape}),
    )
    return [{"mark": mark, "encoding": encoding | {"color": colour}} for mark, encoding in marks]

"""The live path as one pure step: a frame comes in, a caption comes out.

Four pieces, each a function of what it is given and nothing else (no clock, no
globals, no model of its own)::

    frame -> seen()    the buffer: which frames make a window, and do the hands rest?
          -> answer    passed in: what the model reads in that window
          -> decided() the confidence gate, the votes, the caption
    step() is the three in a row; finish() is the end of the recording.

A window is either the ``last`` frames, whatever they show, or a ``movement``:
from the moment the hands begin to move until they rest, so that a model that was
trained on whole signs is shown whole signs.

A caption is ``CONFIDENT`` (a sign was read), ``PENDING`` (not enough seen, or the
votes are not settled), ``UNCERTAIN`` (the best label stays below the gate) or
``IDLE`` (the hands rest, or are out of sight). A sign that stays on screen is
``new`` once: the same label again is announced only after a rest.

*Conventions*: a frame is values (points, dims) with presence (points,), as
recorded, before any preprocessing; a window is values (frames, points, dims) with
presence (frames, points). ``answer`` gives log-probabilities (classes,). Labels are
positions in the vocabulary. Movement is the way of the hand that moved more, a
frame, in shoulder widths of the frames looked at; a layout without shoulders has
its own unit. A hand out of sight has not stood still: it has no way at all. Times
are seconds on any clock that only runs forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from snellen.live.settings import LiveSettings
from snellen.signal.hands import hands_of
from snellen.signal.keypoints import Layout

__all__ = [
    "Answer",
    "Body",
    "Buffer",
    "Caption",
    "LiveState",
    "Reading",
    "Sight",
    "Status",
    "Votes",
    "decided",
    "finish",
    "finished",
    "reading_of",
    "seen",
    "start",
    "step",
]

Status = Literal["CONFIDENT", "PENDING", "UNCERTAIN", "IDLE"]
Answer = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Body:
    """Where a layout has its hands and shoulders, and which dimensions were measured."""

    hands: tuple[np.ndarray, ...]
    shoulders: tuple[int, int] | None
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The frames held; ``unasked`` counts those since the last question."""

    body: Body
    values: np.ndarray
    present: np.ndarray
    times: np.ndarray
    unasked: int = 0
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What the buffer makes of a frame: do the hands rest, and what is to be answered now?

    ``window`` is None where nothing is asked; ``final`` marks a movement that is over.
    """

    idle: bool
    window: tuple[np.ndarray, np.ndarray] | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The best label of one answer."""

    label: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Caption:
    """What stands on screen; the label is to be trusted where the status is ``CONFIDENT``."""

    status: Status
    label: int | None = None
    confidence: float | None = None
    new: bool = False


@dataclass(frozen=True, slots=True)
class Votes:
    """The latest readings (None below the gate), who wins how long, and what was said last."""

    ballots: tuple[Reading | None, ...] = ()
    winner: int | None = None
    won: int = 0
    said: int | None = None
    caption: Caption = Caption("PENDING")


@dataclass(frozen=True, slots=True)
class LiveState:
    """All that the live path remembers; every step makes a new one."""

    buffer: Buffer
    votes: Votes = field(default_factory=Votes)


def start(layout: Layout) -> LiveState:
    """Nothing seen and nothing said."""
    hands = tuple(hands_of(layout).values())
    # The depth of a picture is a network's guess, and a noisy one.
    dims = tuple(d for d, name in enumerate(layout.dims) if layout.unit != "image" or name != "z")
    points = len(layout.points)
    buffer = Buffer(
        Body(hands, layout.shoulders, dims),
        np.zeros((0, points, len(layout.dims)), dtype=np.float32),
        np.zeros((0, points), dtype=bool),
        np.zeros(0),
    )
    return LiveState(buffer)


def step(
    state: LiveState,
    values: np.ndarray,
    present: np.ndarray,
    time_s: float,
    settings: LiveSettings,
    answer: Answer,
) -> tuple[LiveState, Caption]:
    """Take in one frame and say what now stands on screen."""
    buffer, sight = seen(state.buffer, values, present, time_s, settings)
    votes = decided(state.votes, sight, _asked(sight, answer), settings)
    return LiveState(buffer, votes), votes.caption


def finish(state: LiveState, settings: LiveSettings, answer: Answer) -> tuple[LiveState, Caption]:
    """The recording ends: what was not asked about yet is asked now."""
    buffer, sight = finished(state.buffer, settings)
    votes = decided(state.votes, sight, _asked(sight, answer), settings)
    return LiveState(buffer, votes), votes.caption


def _asked(sight: Sight, answer: Answer) -> Reading | None:
    return None if sight.window is None else reading_of(answer(*sight.window))


def reading_of(log_probabilities: np.ndarray) -> Reading:
    """The best label of one answer; the first of equals."""
    best = int(np.argmax(log_probabilities))
    return Reading(best, float(np.exp(log_probabilities[best])))


def seen(
    buffer: Buffer, values: np.ndarray, present: np.ndarray, time_s: float, settings: LiveSettings
) -> tuple[Buffer, Sight]:
    """The buffer with one more frame, and what it asks."""
    grown = replace(
        buffer,
        values=np.concatenate([buffer.values, values[None]]),
        present=np.concatenate([buffer.present, present[None]]),
        times=np.append(buffer.times, time_s),
        unasked=buffer.unasked + 1,
    )
    act = _last if settings.window == "last" else _movement
    return act(grown, settings)


def finished(buffer: Buffer, settings: LiveSettings) -> tuple[Buffer, Sight]:
    """An emptied buffer, and the last question of the recording, if one is left.

    A movement that is cut off by the end of the recording is over; the last frames
    are asked about if they are not those of the last question.
    """
    empty = _from(buffer, len(buffer.values))
    window = (buffer.values, buffer.present)
    if settings.window == "movement":
        if buffer.moving and len(buffer.values) >= settings.fewest:
            return replace(empty, moving=False), Sight(idle=False, window=window, final=True)
        return replace(empty, moving=False), Sight(idle=not buffer.moving)
    idle = not _active(buffer, settings)
    left = len(buffer.values) >= settings.fewest and buffer.unasked > 0 and not idle
    return empty, Sight(idle=idle, window=window if left else None)


def _last(buffer: Buffer, settings: LiveSettings) -> tuple[Buffer, Sight]:
    """The latest frames, asked every so often while the hands move."""
    buffer = _from(buffer, _too_old(buffer, settings))
    if not _active(buffer, settings):
        return buffer, Sight(idle=True)
    return _maybe_asked(buffer, settings)


def _movement(buffer: Buffer, settings: LiveSettings) -> tuple[Buffer, Sight]:
    """The frames since the hands began to move, until they rest or the window is full."""
    rest = replace(_from(buffer, len(buffer.values) - settings.look_back), moving=False)
    if not _active(buffer, settings):
        over = _moved_in(buffer, settings)[1] if buffer.moving else 0
        if over < settings.fewest:
            return rest, Sight(idle=True)
        window = (buffer.values[:over], buffer.present[:over])
        return rest, Sight(idle=True, window=window, final=True)
    if not buffer.moving:
        buffer = replace(_from(buffer, _moved_in(buffer, settings)[0]), moving=True)
    if _too_old(buffer, settings) or len(buffer.values) == settings.frames:
        full = (buffer.values, buffer.present)
        # The hands still move: what follows begins with the frames looked back on.
        return rest, Sight(idle=False, window=full, final=True)
    return _maybe_asked(buffer, settings)


def _maybe_asked(buffer: Buffer, settings: LiveSettings) -> tuple[Buffer, Sight]:
    enough = len(buffer.values) >= settings.fewest
    if not enough or settings.every is None or buffer.unasked < settings.every:
        return buffer, Sight(idle=False)
    return replace(buffer, unasked=0), Sight(idle=False, window=(buffer.values, buffer.present))


def _from(buffer: Buffer, first: int) -> Buffer:
    """The buffer without the frames before ``first``."""
    first = max(first, 0)
    return replace(
        buffer,
        values=buffer.values[first:],
        present=buffer.present[first:],
        times=buffer.times[first:],
    )


def _too_old(buffer: Buffer, settings: LiveSettings) -> int:
    """How many of the oldest frames a window may no longer hold."""
    over = max(len(buffer.times) - settings.frames, 0)
    if settings.seconds is not None:
        over = max(over, int(np.sum(buffer.times < buffer.times[-1] - settings.seconds)))
    return over


def _active(buffer: Buffer, settings: LiveSettings) -> bool:
    """Whether the hands are in sight and move, over the frames looked back on."""
    values = buffer.values[-settings.look_back :]
    present = buffer.present[-settings.look_back :]
    hands = np.concatenate(buffer.body.hands)
    if len(values) == 0 or present[:, hands].any(axis=1).mean() < settings.hand_presence:
        return False
    ways, known = _ways(buffer.body, values, present)
    return bool(known.any()) and float(ways[known].mean()) >= settings.hand_motion


def _moved_in(buffer: Buffer, settings: LiveSettings) -> tuple[int, int]:
    """First frame that a movement led to, and one past the last; (0, 0) where nothing moved."""
    ways, known = _ways(buffer.body, buffer.values, buffer.present)
    moved = np.flatnonzero(known & (ways >= settings.hand_motion)) + 1
    return (int(moved[0]), int(moved[-1]) + 1) if len(moved) else (0, 0)


def _ways(body: Body, values: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Way of the hand that moved more between frames (frames - 1,), and where it is known."""
    unit = _shoulder_width(body, values, present)
    longest, known = np.zeros(len(values) - 1), np.zeros(len(values) - 1, dtype=bool)
    if unit is None:
        return longest, known
    for hand in body.hands:
        both = present[1:, hand] & present[:-1, hand]
        steps = np.diff(values[:, hand][..., body.dims], axis=0)
        total = (np.linalg.norm(steps, axis=-1) * both).sum(axis=1)
        count = both.sum(axis=1)
        longest = np.maximum(longest, total / np.maximum(count, 1) / unit)
        known |= count > 0
    return longest, known


def _shoulder_width(body: Body, values: np.ndarray, present: np.ndarray) -> float | None:
    """The unit of movement: None where the layout has shoulders and the frames show none."""
    if body.shoulders is None:
        return 1.0
    left, right = body.shoulders
    shown = present[:, left] & present[:, right]
    if not shown.any():
        return None
    across = values[shown, left][:, body.dims] - values[shown, right][:, body.dims]
    width = float(np.median(np.linalg.norm(across, axis=-1)))
    return width if width > 0 else None


def decided(votes: Votes, sight: Sight, reading: Reading | None, settings: LiveSettings) -> Votes:
    """The votes after a frame; ``votes.caption`` is what stands on screen."""
    if reading is None:
        return _unasked(votes, sight)
    if reading.confidence < settings.threshold:
        below = Caption("UNCERTAIN", reading.label, reading.confidence)
        return Votes(_kept(votes, None, settings), said=votes.said, caption=below)
    ballots = _kept(votes, reading, settings)
    winner = reading.label if sight.final else _winner(ballots, settings.votes)
    won = 0 if winner is None else votes.won + 1 if winner == votes.winner else 1
    if winner is None or not (sight.final or won >= settings.stable):
        pending = Caption("PENDING", reading.label, reading.confidence)
        return Votes(ballots, winner, won, votes.said, pending)
    confidence = next(x.confidence for x in reversed(ballots) if x and x.label == winner)
    caption = Caption("CONFIDENT", winner, confidence, new=winner != votes.said)
    return Votes(ballots, winner, won, winner, caption)


def _unasked(votes: Votes, sight: Sight) -> Votes:
    if sight.idle:
        return Votes(caption=Caption("IDLE"))
    if votes.caption.status == "IDLE":
        return Votes()
    return replace(votes, caption=replace(votes.caption, new=False))


def _kept(
    votes: Votes, reading: Reading | None, settings: LiveSettings
) -> tuple[Reading | None, ...]:
    return (*votes.ballots, reading)[-settings.ballots :]


def _winner(ballots: tuple[Reading | None, ...], needed: int) -> int | None:
    """The label with most votes if they are enough; the latest of equals."""
    labels = [ballot.label for ballot in reversed(ballots) if ballot is not None]
    best = max(labels, key=labels.count, default=None)
    return best if best is not None and labels.count(best) >= needed else None

"""What a replay found: the accuracy of a model live, beside its own offline.

*Conventions*: accuracies are shares of the same clips; deltas are in shares,
paired. ``live`` is the caption that stands when the clip is over: the last
CONFIDENT one; a clip without one is wrong, not left out. ``gated`` is offline
behind the same gate: the answer to the whole clip, wrong where it is held back;
``gated_delta`` is live minus that. ``ungated`` is the last answer the model gave
to the clip, whatever its confidence; ``ungated_delta`` is that minus offline: what
the window costs, before gate and votes do. That a caption was right at some time
during a clip counts nowhere. Frames are the recording's own.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.cells import Cell, Measured

__all__ = ["ReplayRow", "ReplaySetting", "ReplayStudy", "Streamed"]


class ReplaySetting(Struct, frozen=True, kw_only=True):
    """How the live path was set; fields as in ``live.loop.LiveSettings``."""

    name: str
    window: str
    frames: int
    seconds: float | None
    fewest: int
    every: int | None
    threshold: float
    ballots: int
    votes: int
    stable: int
    look_back: int
    hand_presence: float
    hand_motion: float


class Streamed(Struct, frozen=True, kw_only=True):
    """Clips of one group in a row, each with a pause after it, the buffer never emptied.

    A caption belongs to the clip that was shown last. ``delta`` is live in a row minus
    offline behind the same gate. ``captions`` is how many
    captions were announced a clip, of which one at most can be right; ``delay``
    is the median of frames from the end of a clip to the caption that stands.
    """

    accuracy: Measured
    delta: Cell
    captions: float
    delay: Cell


class ReplayRow(Struct, frozen=True, kw_only=True):
    """One model under one setting.

    ``live_delta`` is live minus offline without a gate.
    ``committed``, ``uncertain`` and ``unasked`` add up to 1: clips with a
    CONFIDENT caption; clips that were answered but got none; clips the model was
    never asked about, because the hands were taken to rest or the window never
    filled. ``answers`` is how often the model was asked a clip. ``first_caption``
    is the median of frames from the beginning of a clip to its first CONFIDENT
    caption, over the clips that have one.
    """

    model: str
    setting: str
    offline: Measured
    ungated: Measured
    ungated_delta: Cell
    gated: Measured
    live: Measured
    gated_delta: Cell
    live_delta: Cell
    committed: float
    uncertain: float
    unasked: float
    answers: float
    captions: float
    first_caption: Cell
    streamed: Streamed


class ReplayStudy(Struct, frozen=True, kw_only=True):
    """All models under all settings, on the same test clips.

    ``clips`` of the ``of_clips`` test clips of ``rounds`` were replayed. A stream holds ``stream``
    clips of one group, each followed by ``pause`` frames that hold its last one.
    Seconds are frames over ``frame_rate``, which recordings do not state.
    """

    format: str = "snellen-replay/1"
    corpus: str
    protocol: str
    protects: str | None
    preprocessing: str
    trained_frames: int
    frame_rate: float
    movement_unit: str
    pause: int
    stream: int
    seed: int
    rounds: tuple[int, ...]
    of_rounds: int
    clips: int
    of_clips: int
    median_frames: float
    settings: tuple[ReplaySetting, ...]
    rows: tuple[ReplayRow, ...]

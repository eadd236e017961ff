"""How a stream of frames becomes captions: windows, gates and votes, by name.

``DOCUMENT`` is the reference system's setting. That its buffer must be full before
a model is asked, that its gate measures the hand that moves more, and that
stability counts answers rather than frames of video, is our reading of it.
``DEFAULT`` shows a model what it was trained on, whole signs; how it was chosen is
told in ``docs/live-replay.md``.

*Conventions*: as in ``live.loop``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from snellen.core.gate import SHIPPED_THRESHOLD

__all__ = ["DEFAULT", "DOCUMENT", "SETTINGS", "TWO_SECONDS", "LiveSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """How a stream of frames becomes captions.

    Attributes:
        name: what reports call it.
        window: the ``last`` frames, or a ``movement`` from its beginning to rest.
        frames: most frames of a window.
        seconds: longest window; None where ``frames`` alone bounds it.
        fewest: frames a window needs before it is answered.
        every: frames between two answers; None answers a movement only when it is over.
        threshold: confidence an answer needs.
        ballots: latest answers that vote.
        votes: votes a label needs among them.
        stable: answers in a row for which a label must have won.
        look_back: latest frames in which the hands must be seen and move.
        hand_presence: least share of those frames that show a hand.
        hand_motion: least movement in them.
    """

    name: str
    window: Literal["last", "movement"]
    frames: int
    seconds: float | None = None
    fewest: int
    every: int | None
    threshold: float = SHIPPED_THRESHOLD
    ballots: int = 3
    votes: int = 2
    stable: int = 3
    look_back: int
    hand_presence: float = 0.30
    hand_motion: float = 0.01


DOCUMENT = LiveSettings(name="document", window="last", frames=30, fewest=30, every=1, look_back=30)
TWO_SECONDS = LiveSettings(
    name="two-seconds", window="last", frames=120, seconds=2.0, fewest=15, every=5, look_back=30
)
DEFAULT = LiveSettings(
    name="default", window="movement", frames=240, fewest=15, every=None, look_back=15
)
SETTINGS = {setting.name: setting for setting in (DOCUMENT, TWO_SECONDS, DEFAULT)}

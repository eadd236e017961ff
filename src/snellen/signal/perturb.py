"""What can go wrong with recordings, done to them on purpose: the conditions of a stress test.

Two places to do it. :func:`perturbed` works on recordings as the sensor gives
them, so that everything behind it (normalisation, resampling, model) is put to
the test. :func:`perturbed_arrays` works on what a model is fed, after all of
that, as the reference evaluation does; there it is called strict.

=================  ==============================================================
kind               what is done; ``severity``
=================  ==============================================================
dropout            single points of single frames are lost; their share
left hand, ...     all points of a hand (see ``hands``) are lost in every frame
jitter             Gaussian noise on every point seen; its sigma, see below
frame drop         frames are lost, at random, at least one stays; their share.
                   In recordings the rest closes up, in arrays of a fixed length
                   the last frame kept is held
subsample          every second frame is lost, in the same two ways
mask               a model is told that no point was seen; arrays only
=================  ==============================================================

Sigma is in shoulder widths of the clip (the median over its frames; the
corpus's median where a clip never shows both shoulders). Without shoulders, in
a layout or a whole corpus, it is in standard deviations of each channel over
the clip.

*Conventions*: arrays as in ``keypoints``. Missing points stay missing: noise
is never added to them, and a point that is lost is 0 and not present. The same
generator state gives the same draws, whatever the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.signal.hands import SIDES, Side, hands_of
from snellen.signal.keypoints import Keypoints, Layout

__all__ = [
    "CLEAN",
    "CONDITIONS",
    "CURVES",
    "Condition",
    "Kind",
    "condition_of",
    "conditions_by_name",
    "inapplicable",
    "perturbed",
    "perturbed_arrays",
]

Kind = Literal[
    "clean",
    "dropout",
    "left hand",
    "right hand",
    "both hands",
    "jitter",
    "frame drop",
    "subsample",
    "mask",
]
Arrays = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing done to every clip. ``name`` goes into files, ``title`` is read."""

    name: str
    title: str
    kind: Kind
    severity: float = 0.0


def condition_of(kind: Literal["dropout", "jitter", "frame drop"], severity: float) -> Condition:
    """A condition of a kind that has severities.

    >>> condition_of("frame drop", 0.4).name, condition_of("jitter", 0.25).title
    ('frame_drop_40', 'jitter 0.25')
    """
    if kind == "jitter":
        return Condition(f"jitter_{severity:.2f}", f"jitter {severity:.2f}", kind, severity)
    title = "landmark dropout" if kind == "dropout" else kind
    percent = f"{100 * severity:.0f}"
    return Condition(f"{kind.replace(' ', '_')}_{percent}", f"{title} {percent} %", kind, severity)


CLEAN = Condition("clean", "clean", "clean")
CONDITIONS = (
    CLEAN,
    condition_of("dropout", 0.1),
    condition_of("dropout", 0.3),
    Condition("left_hand_missing", "left hand removed", "left hand"),
    Condition("right_hand_missing", "right hand removed", "right hand"),
    Condition("both_hands_missing", "both hands removed", "both hands"),
    condition_of("jitter", 0.10),
    condition_of("jitter", 0.25),
    condition_of("jitter", 0.50),
    condition_of("frame drop", 0.2),
    condition_of("frame drop", 0.4),
    condition_of("frame drop", 0.6),
    Condition("subsample_2x", "every second frame", "subsample"),
    Condition("mask_missing", "presence mask zeroed", "mask"),
)
"""The fourteen conditions of the reference evaluation, in its order."""

CURVES = (
    tuple(condition_of("dropout", share) for share in (0.1, 0.3, 0.5, 0.7, 0.9)),
    tuple(condition_of("jitter", sigma) for sigma in (0.10, 0.25, 0.50, 0.75, 1.0)),
    tuple(condition_of("frame drop", share) for share in (0.2, 0.4, 0.6, 0.8, 0.9)),
)
"""The same as curves: each from mild to severe, with the conditions above among them."""


def conditions_by_name(names: Sequence[str], *, where: str = "conditions") -> tuple[Condition, ...]:
    """The conditions of these names, in the order of :data:`CONDITIONS`.

    Raises:
        BadInput: with every name that is none.
    """
    known = {condition.name for condition in CONDITIONS}
    faults = [
        Fault(where, f"no condition {name!r}", f"any of: {', '.join(c.name for c in CONDITIONS)}")
        for name in names
        if name not in known
    ]
    if faults:
        raise BadInput(faults)
    return tuple(condition for condition in CONDITIONS if condition.name in names)


def inapplicable(condition: Condition, layout: Layout) -> str | None:
    """Why a condition makes no sense for a layout; None where it does.

    >>> from snellen.signal.layouts import layout_by_name
    >>> inapplicable(CONDITIONS[3], layout_by_name("powerglove-8"))
    'layout powerglove-8 has no left hand'
    """
    absent = [side for side in _sides(condition.kind) if side not in hands_of(layout)]
    return f"layout {layout.name} has no {' and no '.join(absent)} hand" if absent else None


def _sides(kind: Kind) -> tuple[Side, ...]:
    if kind == "both hands":
        return SIDES
    return tuple(side for side in SIDES if kind == f"{side} hand")


def perturbed(keypoints: Keypoints, condition: Condition, rng: np.random.Generator) -> Keypoints:
    """Recordings under a condition; items, layout and the order of clips stay.

    Raises:
        ValueError: the mask of what a model is fed is no part of recordings.
    """
    values, present, offsets = keypoints.values, keypoints.present, keypoints.offsets
    kind, severity = condition.kind, condition.severity
    if kind == "mask":
        raise ValueError("the presence mask is zeroed in what a model is fed, not in recordings")
    if kind == "dropout":
        values, present = _without(values, present, _dropped(present, severity, rng))
    elif kind == "jitter":
        values = _jittered(values, present, offsets, severity, _unit(keypoints), rng)
    elif kind in ("frame drop", "subsample"):
        kept = _kept(offsets, condition, rng)
        values, present = values[kept], present[kept]
        ends = np.concatenate([[0], np.cumsum(kept)])
        offsets = ends[offsets].astype(np.int64)
    elif kind != "clean":
        values, present = _without_hands(values, present, kind, hands_of(keypoints.layout))
    return replace(keypoints, values=values, present=present, offsets=offsets)


def perturbed_arrays(
    values: np.ndarray,
    mask: np.ndarray,
    condition: Condition,
    hands: Mapping[Side, np.ndarray],
    rng: np.random.Generator,
    *,
    in_shoulder_widths: bool,
) -> Arrays:
    """What a model is fed under a condition.

    Args:
        values: (clips, frames, points * dims), point-major.
        mask: (clips, frames, points), True where a point was seen.
        condition: any.
        hands: positions of each hand's points along the mask's last axis.
        rng: a generator.
        in_shoulder_widths: whether a shoulder width is 1 in ``values``.

    A point that is 0 in all of its several coordinates counts as missing too:
    recipes without a mask write missing points so.
    """
    clips, frames, points = mask.shape
    offsets = np.arange(clips + 1) * frames
    flat = values.reshape(clips * frames, points, -1)
    seen = mask.reshape(clips * frames, points)
    there = seen & flat.any(axis=2) if flat.shape[2] > 1 else seen
    kind, severity = condition.kind, condition.severity
    if kind == "mask":
        seen = np.zeros_like(seen)
    elif kind == "dropout":
        flat, seen = _without(flat, seen, _dropped(there, severity, rng))
    elif kind == "jitter":
        unit = np.ones((clips, 1, 1)) if in_shoulder_widths else _spread(flat, there, offsets)
        flat = _jittered(flat, there, offsets, severity, unit, rng)
    elif kind in ("frame drop", "subsample"):
        held = _last_kept(_kept(offsets, condition, rng), offsets)
        flat, seen = flat[held], seen[held]
    elif kind != "clean":
        flat, seen = _without_hands(flat, seen, kind, hands)
    return flat.reshape(values.shape), seen.reshape(mask.shape)


def _dropped(present: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Which of the points seen are lost, each with the same chance."""
    return present & (rng.random(present.shape, dtype=np.float32) < share)


def _without(values: np.ndarray, present: np.ndarray, lost: np.ndarray) -> Arrays:
    return np.where(lost[..., None], np.float32(0), values), present & ~lost


def _without_hands(
    values: np.ndarray, present: np.ndarray, kind: Kind, hands: Mapping[Side, np.ndarray]
) -> Arrays:
    lost = np.zeros(present.shape, dtype=bool)
    for side in _sides(kind):
        lost[:, hands[side]] = True
    return _without(values, present, lost)


def _jittered(
    values: np.ndarray,
    present: np.ndarray,
    offsets: np.ndarray,
    sigma: float,
    unit: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Values plus noise of ``sigma`` units; ``unit`` has a row a clip, (clips, 1, 1) or full."""
    noise = rng.standard_normal(values.shape, dtype=np.float32)
    noise *= np.repeat(unit.astype(np.float32) * np.float32(sigma), np.diff(offsets), axis=0)
    return np.where(present[..., None], values + noise, values)


def _unit(keypoints: Keypoints) -> np.ndarray:
    """Shoulder width of each clip (clips, 1, 1), or the spread of its channels."""
    widths = _shoulder_widths(keypoints)
    known = widths > 0
    if not known.any():
        return _spread(keypoints.values, keypoints.present, keypoints.offsets)
    return np.where(known, widths, np.median(widths[known]))[:, None, None]


def _shoulder_widths(keypoints: Keypoints) -> np.ndarray:
    """Median distance of the shoulders over the frames that show both, 0 where none does."""
    layout = keypoints.layout
    widths = np.zeros(len(keypoints))
    if layout.shoulders is None:
        return widths
    left, right = layout.shoulders
    # The depth of a picture is a guess; that of a depth sensor is measured.
    used = len(layout.dims) if layout.unit == "metre" else 2
    for k in range(len(keypoints)):
        values, present = keypoints.clip(k)
        both = values[present[:, left] & present[:, right], :, :used]
        if len(both):
            widths[k] = np.median(np.linalg.norm(both[:, left] - both[:, right], axis=1))
    return widths


def _spread(values: np.ndarray, present: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Standard deviation of each channel over the frames of a clip that show it."""
    seen = present[..., None]
    starts, lengths = offsets[:-1], np.diff(offsets)
    n = np.maximum(np.add.reduceat(seen, starts, axis=0, dtype=np.int64), 1)
    mean = np.add.reduceat(np.where(seen, values, 0), starts, axis=0, dtype=np.float64) / n
    off = np.where(seen, values - np.repeat(mean, lengths, axis=0), 0)
    return np.asarray(np.sqrt(np.add.reduceat(off**2, starts, axis=0) / n))


def _kept(offsets: np.ndarray, condition: Condition, rng: np.random.Generator) -> np.ndarray:
    """Which frames stay: (frames,) booleans, at least one a clip."""
    lengths = np.diff(offsets)
    clip_of = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(clip_of)) - offsets[clip_of]
    if condition.kind == "subsample":
        return np.asarray(place % 2 == 0)
    # Frames in random order within their clip: the first so many of them are lost.
    order = np.lexsort((rng.random(len(clip_of)), clip_of))
    rank = np.empty_like(place)
    rank[order] = place
    lost = np.minimum(np.rint(condition.severity * lengths).astype(np.int64), lengths - 1)
    return np.asarray(rank >= lost[clip_of])


def _last_kept(kept: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """For each frame the last kept one up to it; before the first kept one, that one."""
    frame = np.arange(len(kept))
    clip_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = np.minimum.reduceat(np.where(kept, frame, len(kept)), offsets[:-1])
    last = np.maximum.accumulate(np.where(kept, frame, -1))
    return np.asarray(np.maximum(last, first[clip_of]))

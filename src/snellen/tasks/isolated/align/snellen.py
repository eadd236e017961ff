"""``snellen-1``: our preprocessing, and ``snellen-1-zeros``, the same without imputation or mask.

It fills missing points by straight lines in time (and keeps the
mask), puts the origin at the clip's median mid-shoulder, turns metric
skeletons so that the shoulders face the sensor, divides by the clip's median
shoulder width seen from the front, and resamples the whole clip in time.

*Conventions*: as in the package. A layout without shoulders (a data glove)
keeps its sensor values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from snellen.signal.keypoints import Keypoints, Layout
from snellen.tasks.isolated.align.resample import resampling

__all__ = ["aligned", "points_used", "settings_of"]

# Legs stand still in signing and the 468 face points drown the hands.
BLOCKS_LEFT_OUT = ("face",)
POINTS_LEFT_OUT = ("knee", "ankle", "heel", "foot")
CLIPS_AT_ONCE = 512
SMALLEST_WIDTH = 1e-6


def points_used(layout: Layout) -> np.ndarray:
    """Positions of the points a recogniser sees: all but legs and face mesh."""
    dropped = {
        k
        for block in layout.blocks
        if block.name in BLOCKS_LEFT_OUT
        for k in range(block.start, block.stop)
    }
    dropped |= {
        k for k, name in enumerate(layout.points) if any(part in name for part in POINTS_LEFT_OUT)
    }
    return np.array([k for k in range(len(layout.points)) if k not in dropped], dtype=np.int64)


def settings_of(layout: Layout, *, zeros: bool = False) -> dict[str, object]:
    """What this recipe does to a layout, as plain JSON."""
    return {
        "points": [layout.points[k] for k in points_used(layout)],
        "origin": "clip median mid-shoulder" if layout.shoulders else "none",
        "scale": "clip median shoulder width in the image plane" if layout.shoulders else "none",
        "yaw": "clip median shoulder line" if _turns(layout) else "none",
        "missing": "zeros, no mask" if zeros else "linear in time, mask kept",
    }


def _turns(layout: Layout) -> bool:
    # Only a metric sensor's depth is good enough to turn a body by.
    return layout.shoulders is not None and layout.unit == "metre" and len(layout.dims) == 3


def aligned(
    keypoints: Keypoints, frames: int, *, zeros: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Values (clips, frames, points, dims) and mask (clips, frames, points) of all clips."""
    used = points_used(keypoints.layout)
    n, points, dims = len(keypoints), len(used), len(keypoints.layout.dims)
    values = np.zeros((n, frames, points, dims), dtype=np.float32)
    mask = np.ones((n, frames, points), dtype=bool)
    for first, last in _chunks(n):
        made, seen = _align_chunk(keypoints, first, last, used, frames, zeros=zeros)
        values[first:last] = made
        if not zeros:
            mask[first:last] = seen
    return values, mask


def _chunks(n: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, CLIPS_AT_ONCE):
        yield first, min(first + CLIPS_AT_ONCE, n)


def _align_chunk(
    keypoints: Keypoints, first: int, last: int, used: np.ndarray, frames: int, *, zeros: bool
) -> tuple[np.ndarray, np.ndarray]:
    start, stop = int(keypoints.offsets[first]), int(keypoints.offsets[last])
    offsets = keypoints.offsets[first : last + 1] - start
    present = keypoints.present[start:stop]
    filled = filled_in_time(keypoints.values[start:stop], present, offsets)
    if keypoints.layout.shoulders is not None:
        filled = in_body_frame(filled, present, offsets, keypoints.layout)
    if zeros:
        filled = np.where(present[..., None], filled, 0)
    before, after, share = resampling(offsets, frames)
    chosen = filled[:, used]
    values = chosen[before] * (1 - share)[..., None, None] + chosen[after] * share[..., None, None]
    nearest = np.where(share < 0.5, before, after)
    seen_at_all = np.logical_or.reduceat(present, offsets[:-1], axis=0)[:, used]
    values = np.where(seen_at_all[:, None, :, None], values, 0)
    return values, present[:, used][nearest]


def filled_in_time(values: np.ndarray, present: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Missing points on the straight line between their last and next sighting in the clip.

    Before the first sighting the first is held, after the last the last. A point
    that a clip never shows stays 0.
    """
    if present.all():
        return values
    clip_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    start, stop = offsets[:-1][clip_of][:, None], offsets[1:][clip_of][:, None]
    time = np.arange(len(values))[:, None]
    last_seen = np.maximum.accumulate(np.where(present, time, -1), axis=0)
    far = len(values)
    next_seen = np.minimum.accumulate(np.where(present, time, far)[::-1], axis=0)[::-1]
    has_last, has_next = last_seen >= start, next_seen < stop
    left = np.where(has_last, last_seen, np.where(has_next, next_seen, time))
    right = np.where(has_next, next_seen, left)
    span = np.maximum(right - left, 1)
    share = np.clip((time - left) / span, 0, 1).astype(np.float32)[..., None]
    points = np.arange(values.shape[1])
    return np.asarray(values[left, points] * (1 - share) + values[right, points] * share)


def in_body_frame(
    values: np.ndarray, present: np.ndarray, offsets: np.ndarray, layout: Layout
) -> np.ndarray:
    """Origin, yaw and scale of each clip from the median of its seen shoulders."""
    if layout.shoulders is None:
        return values
    left, right = layout.shoulders
    seen = present[:, left] & present[:, right]
    out = np.empty_like(values)
    for start, stop in pairwise(offsets.tolist()):
        rows = np.flatnonzero(seen[start:stop]) + start
        clip = values[start:stop]
        if len(rows):
            middle = np.median((values[rows, left] + values[rows, right]) / 2, axis=0)
            line = np.median(values[rows, right] - values[rows, left], axis=0)
            out[start:stop] = _framed(clip - middle, line, turn=_turns(layout))
        else:
            # No shoulder was ever seen: the clip's own centre is all there is.
            out[start:stop] = clip - clip.reshape(-1, clip.shape[-1]).mean(axis=0)
    return out


def _framed(clip: np.ndarray, line: np.ndarray, *, turn: bool) -> np.ndarray:
    if turn:
        angle = np.arctan2(line[2], line[0])
        cos, sin = np.cos(angle), np.sin(angle)
        rotation = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]], dtype=np.float32)
        clip = clip @ rotation.T
        line = line @ rotation.T
    width = float(np.hypot(line[0], line[1]))
    return clip / np.float32(width) if width > SMALLEST_WIDTH else clip

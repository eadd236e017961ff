"""``reference``: the reference evaluation's preprocessing, with its faults, as ``strict``.

Per frame, the origin is the mid-shoulder of that frame and the unit its 3-D
shoulder distance (depth included, so depth noise shakes the scale). A missing
point is a zero, which is also the mid-shoulder, a legal place to be. The clip
is then brought to its length by straight lines between frames, across those
zeros too. There is no mask. Kept so that its figures can be compared; see
``snellen`` for what we do instead.

*Conventions*: as in the package; a frame without both shoulders, or with both
in one place, has no unit and is zero as a whole. A layout without shoulders
keeps its sensor values.
"""

from __future__ import annotations

import numpy as np

from snellen.signal.keypoints import Keypoints, Layout
from snellen.tasks.isolated.align.resample import resampling

__all__ = ["aligned", "settings_of"]

# Pose and hands, legs included: 75 landmarks of a holistic body.
BLOCKS_LEFT_OUT = ("face",)
SMALLEST_WIDTH = 1e-6


def points_used(layout: Layout) -> np.ndarray:
    """Positions of the points kept: all but the face mesh."""
    left_out = {
        k
        for block in layout.blocks
        if block.name in BLOCKS_LEFT_OUT
        for k in range(block.start, block.stop)
    }
    return np.array([k for k in range(len(layout.points)) if k not in left_out], dtype=np.int64)


def settings_of(layout: Layout) -> dict[str, object]:
    """What this recipe does to a layout, as plain JSON."""
    body = layout.shoulders is not None
    return {
        "points": [layout.points[k] for k in points_used(layout)],
        "origin": "mid-shoulder of each frame" if body else "none",
        "scale": "3-D shoulder distance of each frame" if body else "none",
        "yaw": "none",
        "missing": "zeros, no mask",
    }


def aligned(keypoints: Keypoints, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (clips, frames, points, dims) and a mask that is True everywhere."""
    framed = in_frame(keypoints.values, keypoints.present, keypoints.layout)
    chosen = framed[:, points_used(keypoints.layout)]
    before, after, share = resampling(keypoints.offsets, frames)
    weight = share[..., None, None]
    values = chosen[before] * (1 - weight) + chosen[after] * weight
    return values.astype(np.float32), np.ones(values.shape[:3], dtype=bool)


def in_frame(values: np.ndarray, present: np.ndarray, layout: Layout) -> np.ndarray:
    """Every frame about its own mid-shoulder, in its own shoulder widths; missing points zero."""
    if layout.shoulders is None:
        return np.where(present[..., None], values, 0).astype(np.float32)
    left, right = layout.shoulders
    middle = (values[:, left] + values[:, right]) / 2
    width = np.linalg.norm(values[:, left] - values[:, right], axis=1)
    usable = present[:, left] & present[:, right] & (width > SMALLEST_WIDTH)
    unit = np.where(usable, width, 1)[:, None, None]
    framed = (values - middle[:, None]) / unit
    return np.where((present & usable[:, None])[..., None], framed, 0).astype(np.float32)

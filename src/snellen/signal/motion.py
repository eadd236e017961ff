"""How a clip moves, as one vector: two takes of a sign, or one take twice?

A signature keeps the movement and drops what makes different signs of one person
look alike: where each point rests (its mean over the clip is subtracted) and how
large and how far away the body is (every vector has length 1). Absent points
contribute nothing: a hand that was not detected neither moves nor stands still.

*Conventions*: signatures are float32 of shape (clips, windows * points * dims), one
row a clip in the order of ``keypoints.items``, each of Euclidean length 1, so that a
dot product is a cosine. A clip without any movement is a row of zeros and resembles
nothing.
"""

from __future__ import annotations

import numpy as np

from snellen.signal.keypoints import Keypoints, Layout

__all__ = ["WINDOWS", "motion_signature"]

WINDOWS = 8
"""Windows over a clip; each is a quarter of it long, so a shift of a frame hardly shows."""
STILL = 1e-6
"""Movement below this share of a clip's largest coordinate is rounding, not movement."""


def motion_signature(keypoints: Keypoints) -> np.ndarray:
    """One unit vector of movement a clip, shape (clips, windows * points * dims).

    Every clip is cut into the same number of overlapping windows of its own duration,
    whatever its frames; in a window the present frames of a point are averaged. A
    window in which a point was never seen holds zeros.
    """
    measured = _measured(keypoints.layout)
    width = WINDOWS * keypoints.present.shape[1] * len(measured)
    signatures = np.zeros((len(keypoints), width), dtype=np.float32)
    for k in range(len(keypoints)):
        values, present = keypoints.clip(k)
        if present.any():
            moved = _moved(values[..., measured].astype(np.float64), present)
            length = float(np.linalg.norm(moved))
            if length > STILL * float(np.abs(values).max()):
                signatures[k] = (moved / length).ravel()
    return signatures


def _measured(layout: Layout) -> list[int]:
    """Dimensions that were measured: the depth of a flat picture is a network's guess."""
    return [d for d, name in enumerate(layout.dims) if layout.unit != "image" or name != "z"]


def _moved(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Each point's way from its own mean in each window, (windows, points, dims)."""
    seen = present.astype(np.float64)
    frames = np.maximum(seen.sum(axis=0), 1)
    rest = (values * seen[..., None]).sum(axis=0) / frames[:, None]
    overlap = _overlap(len(values))
    weight = overlap @ seen
    total = np.einsum("wf,fpd->wpd", overlap, (values - rest) * seen[..., None])
    return np.asarray(total / np.where(weight > 0, weight, 1)[..., None])


def _overlap(frames: int) -> np.ndarray:
    """How much of each frame lies in each window, (windows, frames), in frames.

    Windows are two steps wide, at least one frame, and stay inside the clip.
    """
    half = min(max(frames / WINDOWS, 0.5), frames / 2)
    centre = np.clip((np.arange(WINDOWS) + 0.5) * frames / WINDOWS, half, frames - half)[:, None]
    frame = np.arange(frames)[None, :]
    inside = np.minimum(centre + half, frame + 1) - np.maximum(centre - half, frame)
    return np.asarray(np.clip(inside, 0, None))

"""How a clip moves, as one vector: two takes of one sign, or one take twice?

A signature keeps the movement and drops what would make two different signs by
one person look alike: where each point rests (its mean over the clip is
subtracted) and how large and how far away the body is (the vector has length
1). Absent points contribute nothing, so a hand that was not detected neither
moves nor stands still.

*Conventions*: signatures are float32 of shape (clips, instants * points *
dims), one row a clip in the order of ``keypoints.items``, each of Euclidean
length 1, so that a dot product is a cosine. A clip without any movement is a
row of zeros and resembles nothing.
"""

from __future__ import annotations

import numpy as np

from snellen.signal.keypoints import Keypoints

__all__ = ["INSTANTS", "motion_signature"]

INSTANTS = 16
"""Instants to which every clip is stretched: a sign's strokes survive, jitter does not."""


def motion_signature(keypoints: Keypoints, *, instants: int = INSTANTS) -> np.ndarray:
    """One unit vector of movement a clip, shape (clips, instants * points * dims).

    Each clip is stretched to ``instants`` equal steps of its own duration; within
    a step the present frames of a point are averaged, weighted by their overlap
    with the step. A step in which a point was never seen holds zeros.
    """
    width = instants * keypoints.present.shape[1] * keypoints.values.shape[2]
    signatures = np.zeros((len(keypoints), width), dtype=np.float32)
    for k in range(len(keypoints)):
        values, present = keypoints.clip(k)
        if len(values) > 0:
            signatures[k] = _unit(_stretched(values, present, instants).ravel())
    return signatures


def _stretched(values: np.ndarray, present: np.ndarray, instants: int) -> np.ndarray:
    """Movement about each point's own mean, (instants, points, dims)."""
    seen = present.astype(np.float64)
    rest = (values * seen[..., None]).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)[:, None]
    moved = (values - rest) * seen[..., None]
    overlap = _overlaps(len(values), instants)
    weight = overlap @ seen
    total = np.einsum("tf,fpd->tpd", overlap, moved)
    return np.asarray(total / np.where(weight > 0, weight, 1)[..., None])


def _overlaps(frames: int, instants: int) -> np.ndarray:
    """How much of each frame lies in each step, (instants, frames), rows summing to 1.

    A step shorter than a frame is widened to one frame, so that stretching a
    short clip interpolates between its frames.
    """
    half = max(frames / instants, 1.0) / 2
    centre = np.clip((np.arange(instants) + 0.5) * frames / instants, half, frames - half)
    start, stop = (centre - half)[:, None], (centre + half)[:, None]
    frame = np.arange(frames)[None, :]
    overlap = np.clip(np.minimum(stop, frame + 1) - np.maximum(start, frame), 0, None)
    return np.asarray(overlap / overlap.sum(axis=1, keepdims=True))


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector

"""Simple features of a clip: where each channel is, how far and how fast it goes.

*Conventions*: input as in :mod:`snellen.tasks.isolated.align`; output float32
(clips, features), the same for every clip whatever the others are.
"""

from __future__ import annotations

import numpy as np

__all__ = ["SETTINGS", "simple_features"]

SEGMENTS = 8
SETTINGS = {"segments": SEGMENTS, "statistics": "mean std min max, speed mean std, presence"}


def simple_features(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over eight stretches of time, range and spread, speed, and presence.

    For ``channels`` channels and ``points`` points: 14 * channels + points values.
    """
    clips, frames, channels = values.shape
    edges = np.linspace(0, frames, SEGMENTS + 1).astype(int)[:-1]
    sizes = np.diff([*edges, frames])
    stretches = np.add.reduceat(values, edges, axis=1) / sizes[None, :, None]
    speed = np.diff(values, axis=1)
    parts = [
        stretches.reshape(clips, SEGMENTS * channels),
        values.mean(axis=1),
        values.std(axis=1),
        values.min(axis=1),
        values.max(axis=1),
        np.abs(speed).mean(axis=1),
        speed.std(axis=1),
        mask.mean(axis=1),
    ]
    return np.asarray(np.concatenate(parts, axis=1), dtype=np.float32)

"""Where the frames of a clip of equal length come from.

*Conventions*: clip k owns frames ``offsets[k]:offsets[k + 1]``; results are
(clips, frames).
"""

from __future__ import annotations

import numpy as np

__all__ = ["resampling"]


def resampling(offsets: np.ndarray, frames: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each clip the two source frames and the share of the second, each (clips, frames).

    >>> before, after, share = resampling(np.array([0, 3]), 5)
    >>> before.tolist(), after.tolist(), share.tolist()
    ([[0, 0, 1, 1, 2]], [[1, 1, 2, 2, 2]], [[0.0, 0.5, 0.0, 0.5, 0.0]])
    """
    lengths = np.diff(offsets)
    at = np.linspace(0, 1, frames)[None] * (lengths[:, None] - 1)
    below = np.minimum(np.floor(at).astype(np.int64), lengths[:, None] - 1)
    above = np.minimum(below + 1, lengths[:, None] - 1)
    share = (at - below).astype(np.float32)
    return offsets[:-1, None] + below, offsets[:-1, None] + above, share

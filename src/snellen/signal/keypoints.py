"""Landmark layouts by name, and keypoints that always travel with their presence.

*Conventions*: values are float32 of shape (frames, points, dims), all clips one
after the other; clip k owns frames ``offsets[k]:offsets[k + 1]``. ``present``
has shape (frames, points); a value whose point is absent is 0 and means
nothing. Image coordinates have x to the right and y down; metres are as the
sensor gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snellen.digest import digest_array, digest_json

__all__ = ["Block", "Keypoints", "Layout", "gather"]


@dataclass(frozen=True, slots=True)
class Block:
    """A run of points that a detector finds or misses together, such as a hand."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Which point stands where. ``shoulders`` are (left, right) positions or None.

    ``unit`` is ``metre``, ``image`` (x and y as shares of width and height),
    ``pixel`` or ``sensor`` (whatever a glove gives).
    """

    name: str
    points: tuple[str, ...]
    dims: tuple[str, ...]
    blocks: tuple[Block, ...]
    unit: str
    shoulders: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Keypoints:
    """The recordings of a corpus, ragged, aligned with its sorted items."""

    layout: Layout
    items: tuple[str, ...]
    values: np.ndarray
    present: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def clip(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Values (frames, points, dims) and presence (frames, points) of clip ``k``, as views."""
        start, stop = int(self.offsets[k]), int(self.offsets[k + 1])
        return self.values[start:stop], self.present[start:stop]

    @property
    def lengths(self) -> np.ndarray:
        """Frames of each clip."""
        return np.diff(self.offsets)

    @property
    def digest(self) -> str:
        """Digest of layout, values, presence and clip borders."""
        return digest_json(
            {
                "layout": self.layout.name,
                "values": digest_array(self.values),
                "present": digest_array(self.present),
                "offsets": digest_array(self.offsets),
            }
        )


def gather(
    layout: Layout, items: Sequence[str], clips: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Keypoints:
    """Ragged keypoints from per-clip (values, present) pairs in any order; sorted by item."""
    order = sorted(range(len(items)), key=lambda k: items[k])
    lengths = [len(clips[k][0]) for k in order]
    values = np.concatenate([clips[k][0] for k in order]).astype(np.float32, copy=False)
    present = np.concatenate([clips[k][1] for k in order]).astype(bool, copy=False)
    values[~present] = 0  # in place: the array is ours, and a corpus fills much of the memory
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Keypoints(layout, tuple(items[k] for k in order), values, present, offsets)

"""Which points of a layout are the hands: what moves in a sign, and what can be lost.

*Conventions*: sides are the signer's own; positions are sorted and point into
``layout.points``. A side that the layout does not show has no entry, so asking
for it is asking for nothing rather than for zero points. Points are found by
their names, so layouts of one's own have hands too.

=================  ===========================================================
layout             a hand is
=================  ===========================================================
with hand blocks   the block, and the body's wrist and finger points
pose-33            the body's wrist and finger points
kinect             hand, wrist and elbow: this sensor shows no fingers, and
                   guesses the hand from the forearm
powerglove-8       every channel, right: the glove is worn there
=================  ===========================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from snellen.signal.keypoints import Layout

__all__ = ["SIDES", "Side", "hands_of"]

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
PALM = ("wrist", "hand")
FINGERS = ("thumb", "index", "pinky")
GLOVE = "glove"


def hands_of(layout: Layout) -> Mapping[Side, np.ndarray]:
    """Positions of each hand's points, for the sides the layout has.

    >>> from snellen.signal.layouts import layout_by_name
    >>> kinect = layout_by_name("kinect-12")
    >>> [kinect.points[k] for k in hands_of(kinect)["left"]]
    ['left_elbow', 'left_wrist', 'left_hand']
    >>> sorted(hands_of(layout_by_name("powerglove-8")))
    ['right']
    """
    found = {side: _hand(layout, side) for side in SIDES}
    return {side: at for side, at in found.items() if len(at)}


def _hand(layout: Layout, side: Side) -> np.ndarray:
    inside = {
        k
        for block in layout.blocks
        if block.name == f"{side}_hand" or (block.name == GLOVE and side == "right")
        for k in range(block.start, block.stop)
    }
    names = {name: k for k, name in enumerate(layout.points)}
    parts = [part for part in (*PALM, *FINGERS) if f"{side}_{part}" in names]
    fingers = inside or any(part in FINGERS for part in parts)
    if parts and not fingers and f"{side}_elbow" in names:
        parts.append("elbow")
    inside |= {names[f"{side}_{part}"] for part in parts}
    return np.array(sorted(inside), dtype=np.int64)

"""The landmark layouts Snellen knows by name: which point stands where.

*Conventions*: ``left`` and ``right`` are the signer's, as the detector names
them. Hand points are called ``left_hand_wrist``; ``left_wrist`` is the wrist of
the body. ``image`` units have x and y as shares of the picture's width and
height, so a distance across both needs the picture's aspect ratio.

===================  ======  ====  =======================================================
name                 points  dims  order
===================  ======  ====  =======================================================
holistic-75              75  xyz   pose 33, left hand 21, right hand 21 (225 numbers)
holistic-543            543  xyz   pose 33, face 468, left hand 21, right hand 21
holistic-67-msl          67  xyz   pose 25 (no legs), left hand 21, right hand 21
pose-33                  33  xyz   MediaPipe's body
hands-42                 42  xyz   left hand 21, right hand 21
kinect-20                20  xyz   Kinect v1 skeleton, metres
kinect-12                12  xyz   its upper body
powerglove-8              8  -     position, roll and four finger bends, each one number
===================  ======  ====  =======================================================
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.signal.keypoints import Block, Layout

__all__ = ["LAYOUTS", "from_flat", "layout_by_name"]

POSE = (
    "nose",
    "left_eye_inner",
    "left_eye",
    "left_eye_outer",
    "right_eye_inner",
    "right_eye",
    "right_eye_outer",
    "left_ear",
    "right_ear",
    "mouth_left",
    "mouth_right",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_pinky",
    "right_pinky",
    "left_index",
    "right_index",
    "left_thumb",
    "right_thumb",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
    "left_heel",
    "right_heel",
    "left_foot_index",
    "right_foot_index",
)
HAND = (
    "wrist",
    "thumb_cmc",
    "thumb_mcp",
    "thumb_ip",
    "thumb_tip",
    "index_finger_mcp",
    "index_finger_pip",
    "index_finger_dip",
    "index_finger_tip",
    "middle_finger_mcp",
    "middle_finger_pip",
    "middle_finger_dip",
    "middle_finger_tip",
    "ring_finger_mcp",
    "ring_finger_pip",
    "ring_finger_dip",
    "ring_finger_tip",
    "pinky_mcp",
    "pinky_pip",
    "pinky_dip",
    "pinky_tip",
)
LEFT_HAND = tuple(f"left_hand_{point}" for point in HAND)
RIGHT_HAND = tuple(f"right_hand_{point}" for point in HAND)
FACE = tuple(f"face_{k}" for k in range(468))
KINECT = (
    "head",
    "neck",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hand",
    "right_hand",
    "spine_mid",
    "spine_base",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
    "left_foot",
    "right_foot",
)
GLOVE = ("x", "y", "z", "roll", "thumb", "fore", "index", "ring")
XYZ = ("x", "y", "z")


def _layout(
    name: str,
    parts: Sequence[tuple[str, tuple[str, ...]]],
    *,
    unit: str = "image",
    dims: tuple[str, ...] = XYZ,
) -> Layout:
    """A layout from its blocks in order; the shoulders are found by name."""
    points = tuple(point for _, block in parts for point in block)
    blocks = []
    start = 0
    for block, names in parts:
        blocks.append(Block(block, start, start + len(names)))
        start += len(names)
    shoulders = ("left_shoulder", "right_shoulder")
    found = set(shoulders) <= set(points)
    at = (points.index(shoulders[0]), points.index(shoulders[1])) if found else None
    return Layout(name, points, dims, tuple(blocks), unit, at)


HANDS = (("left_hand", LEFT_HAND), ("right_hand", RIGHT_HAND))

LAYOUTS: tuple[Layout, ...] = (
    _layout("holistic-75", (("pose", POSE), *HANDS)),
    _layout("holistic-543", (("pose", POSE), ("face", FACE), *HANDS)),
    _layout("holistic-67-msl", (("pose", POSE[:25]), *HANDS)),
    _layout("pose-33", (("pose", POSE),)),
    _layout("hands-42", HANDS),
    _layout("kinect-20", (("body", KINECT),), unit="metre"),
    _layout("kinect-12", (("body", KINECT[:12]),), unit="metre"),
    _layout("powerglove-8", (("glove", GLOVE),), unit="sensor", dims=("value",)),
)


def layout_by_name(name: str, *, where: str = "layout") -> Layout:
    """The layout of this name.

    Raises:
        BadInput: no layout is called so; the message names the nearest and all others.

    >>> layout_by_name("holistic-75").blocks[1]
    Block(name='left_hand', start=33, stop=54)
    """
    names = [layout.name for layout in LAYOUTS]
    for layout in LAYOUTS:
        if layout.name == name:
            return layout
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise BadInput(Fault(where, f"unknown layout {name!r}", ", ".join(names) + hint))


def from_flat(values: np.ndarray, layout: Layout) -> np.ndarray:
    """Frames of flat numbers (T, P * D), point by point, as (T, P, D); a view where possible.

    >>> from_flat(np.zeros((4, 225)), layout_by_name("holistic-75")).shape
    (4, 75, 3)
    """
    return values.reshape(len(values), len(layout.points), len(layout.dims))

"""A body with two arms: joint angles in, landmark positions out.

*Conventions*: angles in radians, shape (frames, 2, 6): arm 0 is the left one;
joints in the order of ``JOINTS``. Positions in metres, shape (frames, 12, 3):
x to the right in the picture (the signer's left), y up, z away from the camera.
"""

from __future__ import annotations

import numpy as np

from snellen.signal.keypoints import Block, Layout

__all__ = ["ARMS", "JOINTS", "pose_points", "turn"]

JOINTS = ("azimuth", "elevation", "roll", "elbow", "wrist", "twist")

ARMS = Layout(
    name="arms-12",
    points=(
        "head",
        "neck",
        "left_shoulder",
        "right_shoulder",
        "left_elbow",
        "right_elbow",
        "left_wrist",
        "right_wrist",
        "left_fingers",
        "left_thumb",
        "right_fingers",
        "right_thumb",
    ),
    dims=("x", "y", "z"),
    blocks=(Block("body", 0, 8), Block("left_hand", 8, 10), Block("right_hand", 10, 12)),
    unit="metre",
    shoulders=(2, 3),
)
# An adult of average build; a signer's ``scale`` multiplies all of it.
HEAD_UP, HALF_SHOULDERS, UPPER_ARM, FOREARM, HAND, THUMB = 0.20, 0.18, 0.29, 0.25, 0.17, 0.10
THUMB_SPREAD = 0.7
SIDE = np.array([1.0, -1.0])


def pose_points(angles: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Landmarks of a body standing at the origin, by forward kinematics.

    Args:
        angles: (frames, 2, 6) joint angles.
        scale: (frames,) body size, 1 for the average adult.
    """
    azimuth, elevation, roll, elbow, wrist, twist = np.moveaxis(angles, -1, 0)
    sin, cos = np.sin, np.cos
    upper = _vector(
        SIDE * sin(elevation) * sin(azimuth), -cos(elevation), -sin(elevation) * cos(azimuth)
    )
    lifting = _vector(
        SIDE * cos(elevation) * sin(azimuth), sin(elevation), -cos(elevation) * cos(azimuth)
    )
    inward = _vector(-SIDE * cos(azimuth), 0 * azimuth, -sin(azimuth))
    bending = _mix(lifting, inward, roll)
    across = _mix(inward, -lifting, roll)
    fore = _mix(upper, bending, elbow)
    curling = _mix(bending, -upper, elbow)
    hand = _mix(fore, curling, wrist)
    palm = _mix(across, _mix(curling, -fore, wrist), twist)

    shoulder = np.zeros_like(upper)
    shoulder[..., 0] = SIDE * HALF_SHOULDERS
    elbow_at = shoulder + UPPER_ARM * upper
    wrist_at = elbow_at + FOREARM * fore
    points = np.zeros((len(angles), len(ARMS.points), 3))
    points[:, 0, 1] = HEAD_UP
    points[:, 2:4] = shoulder
    points[:, 4:6] = elbow_at
    points[:, 6:8] = wrist_at
    points[:, 8:12:2] = wrist_at + HAND * hand
    points[:, 9:12:2] = wrist_at + THUMB * _mix(hand, palm, np.full_like(azimuth, THUMB_SPREAD))
    return np.asarray(points * scale[:, None, None])


def turn(points: np.ndarray, yaw: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Points as a camera sees them, turned about y by ``yaw`` and moved by ``shift``, per frame."""
    sin, cos = np.sin(yaw)[:, None], np.cos(yaw)[:, None]
    x, y, z = np.moveaxis(points, -1, 0)
    turned = np.stack([cos * x + sin * z, y, cos * z - sin * x], axis=-1)
    return np.asarray(turned + shift[:, None, :])


def _vector(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack([x, y, z], axis=-1)


def _mix(a: np.ndarray, b: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Direction ``a`` turned towards the orthogonal ``b`` by ``angle``."""
    return np.asarray(np.cos(angle)[..., None] * a + np.sin(angle)[..., None] * b)

"""Reads the UCI Auslan signs: 95 signs, 5 signers, 18 sessions, one data glove.

*Conventions*: eight numbers a frame: x, y, z in 1/128, roll in 1/12 of a turn,
and the bend of thumb, fore, index and ring finger in quarters. Only the right
hand wears the glove. A session is called ``<signer>/<number>``, since numbers
start anew with each signer. The three ``cal-full-*`` calibration gestures are
out of vocabulary: their label is empty and ``note`` holds their name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.signal.arrays import read_npz
from snellen.signal.keypoints import gather
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.data.packed import (
    check_columns,
    check_frames,
    names_of,
    split_clips,
)
from snellen.tasks.isolated.data.recordings import Recordings, recordings

__all__ = ["read"]

COLUMNS = ("length", "sign", "signer", "session", "take")
SENSORS = (("xyz_128", 3, 128), ("roll_12", 1, 12), ("finger_4", 4, 4))
FINGERS = ("thumb", "fore", "index", "ring")
CALIBRATION = "cal-full-"
SILENT = (
    "takes are counted within a session, recordings are not: no recording numbers",
    "there is no published split to audit",
    "the left hand, the face and where the hand points were not recorded",
    "a glove reports no missed detections: how a model copes with them cannot be told",
)


def read(path: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - readers' signature
    """The recordings of ``auslan_uci.npz``.

    Raises:
        BadInput: damaged, or columns, sensors or lengths that do not fit each other.
    """
    where = path.name
    sensors = [name for name, _, _ in SENSORS]
    arrays = read_npz(path, [*COLUMNS, *sensors, "sign_names", "signer_names", "finger_names"])
    check_columns(arrays, COLUMNS, ["sign", "signer"], where)
    _check_sensors(arrays, where)
    values = np.concatenate(
        [
            arrays[name].reshape(-1, width).astype(np.float32) / np.float32(steps)
            for name, width, steps in SENSORS
        ],
        axis=1,
    )[..., None]
    signs, signers = names_of(arrays, "sign"), names_of(arrays, "signer")
    sessions = [
        f"{signer}/{session}"
        for signer, session in zip(signers, arrays["session"].tolist(), strict=True)
    ]
    items = [
        f"{sign}_{session.replace('/', '_')}_{take}"
        for sign, session, take in zip(signs, sessions, arrays["take"].tolist(), strict=True)
    ]
    if len(set(items)) != len(items):
        raise BadInput(Fault(where, "two clips of one sign, session and take", "one"))
    outside = [sign.startswith(CALIBRATION) for sign in signs]
    return recordings(
        "auslan",
        "auslan",
        items,
        [None if out else sign for sign, out in zip(signs, outside, strict=True)],
        columns={
            "signer": signers,
            "session": sessions,
            "note": [sign if out else None for sign, out in zip(signs, outside, strict=True)],
        },
        silent=SILENT,
        keypoints=gather(
            layout_by_name("powerglove-8"), items, split_clips(values, arrays["length"])
        ),
    )


def _check_sensors(arrays: Mapping[str, np.ndarray], where: str) -> None:
    faults = []
    for name, width, _ in SENSORS:
        sensor = arrays[name]
        wanted = (len(arrays["xyz_128"]),) if width == 1 else (len(arrays["xyz_128"]), width)
        if sensor.dtype.kind != "i" or sensor.shape != wanted:
            seen = f"{sensor.dtype} of shape {sensor.shape}"
            faults.append(Fault(where, seen, f"integers of shape {wanted}", None, name))
    fingers = tuple(str(name) for name in arrays["finger_names"].ravel())
    if fingers != FINGERS:
        seen = ", ".join(fingers)
        faults.append(Fault(where, seen, ", ".join(FINGERS), None, "finger_names"))
    if faults:
        raise BadInput(faults)
    check_frames(arrays["length"], arrays["xyz_128"], where)

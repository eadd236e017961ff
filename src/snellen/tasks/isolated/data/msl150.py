"""Reads the MSL-150 demonstration set: Mexican signs of one signer, MediaPipe Holistic.

*Conventions*: 226 numbers a frame in this order: 25 body points of x, y, z and
visibility, left hand 21 x 3, right hand 21 x 3. (The set's own description names
the hands first; the numbers say otherwise: only at this place does every fourth
value lie in 0..1, and each hand's wrist lies on that wrist of the body.)

Visibility is dropped: it is the detector's opinion, not a position. What was not
detected is written as zeros, always a whole hand or the whole body: those points
are missing here. Clips shorter than 30 frames are filled up with frames of
nothing but zeros at the end; these are no recording and are cut off.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_CLIPS
from snellen.signal.arrays import read_npz
from snellen.signal.keypoints import gather
from snellen.signal.layouts import from_flat, layout_by_name
from snellen.tasks.isolated.data.clip_features import masked
from snellen.tasks.isolated.data.packed import name_faults
from snellen.tasks.isolated.data.recordings import Recordings, recordings

__all__ = ["read"]

BODY, HAND, WIDTH = 25, 21, 226
SIGNER = "msl-signer"
SILENT = (
    "one person signed everything: nothing can be said about people the model never saw",
    "no session is recorded, and which clips are altered copies of which is not either",
    "there is no published split to audit",
)


def read(path: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - readers' signature
    """The recordings of ``msl150_demo.npz``.

    Raises:
        BadInput: damaged, or arrays that do not fit each other.
    """
    where = path.name
    arrays = read_npz(path, ["x", "sign", "clip"])
    x, signs, numbers = arrays["x"], arrays["sign"], arrays["clip"]
    faults = []
    if x.ndim != 3 or x.shape[2] != WIDTH or x.dtype.kind != "f" or 0 in x.shape:
        allowed = f"floats of shape (clips, frames, {WIDTH})"
        faults.append(Fault(where, f"{x.dtype} of shape {x.shape}", allowed, None, "x"))
    faults.extend(name_faults(signs, "sign", where))
    for name, column in (("sign", signs), ("clip", numbers)):
        if column.shape != x.shape[:1] or column.size > MAX_CLIPS:
            seen = f"shape {column.shape}"
            faults.append(Fault(where, seen, "one value a clip", None, name))
    if numbers.dtype.kind not in "iu":
        faults.append(Fault(where, f"an array of {numbers.dtype}", "integers", None, "clip"))
    if faults:
        raise BadInput(faults)
    labels = [str(sign) for sign in signs]
    items = [f"{sign}_{number}" for sign, number in zip(labels, numbers.tolist(), strict=True)]
    if len(set(items)) != len(items):
        raise BadInput(Fault(where, "two clips of one sign and number", "one"))
    holistic = layout_by_name("holistic-67-msl")
    clips = [_clip(clip, f"{where}[x], {item}") for clip, item in zip(x, items, strict=True)]
    return recordings(
        "msl-150",
        "msl-150",
        items,
        labels,
        columns={"signer": [SIGNER] * len(items)},
        silent=SILENT,
        keypoints=gather(
            holistic,
            items,
            [
                masked(from_flat(clip, holistic), None, where, zeros_are_missing=True)
                for clip in clips
            ],
        ),
    )


def _clip(clip: np.ndarray, where: str) -> np.ndarray:
    """One clip (frames, 226) without padding and visibility: (frames, 201)."""
    recorded = np.flatnonzero((clip != 0).any(axis=1))
    if recorded.size == 0:
        raise BadInput(Fault(where, "nothing but zeros", "at least one frame with a detection"))
    clip = clip[: recorded[-1] + 1]
    body = clip[:, : 4 * BODY].reshape(-1, BODY, 4)[..., :3].reshape(-1, 3 * BODY)
    return np.concatenate([body, clip[:, 4 * BODY :]], axis=1)

"""Reads ISL-Kinect-30: 30 Indian signs, 10 signers, 9 repetitions, Kinect v1 skeletons.

*Conventions*: x, y, z in metres in the camera's frame, every joint present. A
clip is called ``<sign>_<signer>_<repetition>``. The repetition counts 1 to 9
within a sign and signer; it is no recording number, so ``number`` stays empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_CLIPS, MAX_COLLECTION_BYTES, MAX_NPY_BYTES
from snellen.signal.arrays import read_npz
from snellen.signal.keypoints import Keypoints, Layout, gather
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.data.clip_features import masked, shaped
from snellen.tasks.isolated.data.packed import (
    check_columns,
    check_frames,
    names_of,
    split_clips,
)
from snellen.tasks.isolated.data.recordings import Recordings, recordings
from snellen.tasks.isolated.data.tables import read_text as read_text_file

__all__ = ["read_packed", "read_text"]

COLUMNS = ("length", "sign", "signer", "rep")
SILENT = (
    "no session is recorded: clips of one sitting may stand on both sides of a split unseen",
    "repetitions are counted, recordings are not: takes cannot be told from numbers",
    "there is no published split to audit",
)
RESAMPLED = "every clip was resampled to 32 frames: its speed and length cannot be told"


def read_packed(path: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - readers' signature
    """The recordings of ``isl_kinect30.npz`` or of the small file beside it.

    Raises:
        BadInput: damaged, or columns, joints or lengths that do not fit each other.
    """
    where = path.name
    needed = [*COLUMNS, "frames", "scale", "sign_names", "signer_names", "joint_names"]
    arrays = read_npz(path, needed)
    check_columns(arrays, COLUMNS, ["sign", "signer"], where)
    frames, scale = arrays["frames"], arrays["scale"]
    resampled = frames.ndim == 4
    kinect = layout_by_name("kinect-12" if resampled else "kinect-20")
    _check_numbers(arrays, kinect, where)
    length = arrays["length"]
    if resampled:
        length = np.full(len(length), frames.shape[1])
        frames = frames.reshape(-1, *frames.shape[2:])
    check_frames(length, frames, where)
    values = np.multiply(frames, np.float32(scale), dtype=np.float32)
    signs, signers = names_of(arrays, "sign"), names_of(arrays, "signer")
    items = [
        f"{sign}_{signer}_{rep}"
        for sign, signer, rep in zip(signs, signers, arrays["rep"].tolist(), strict=True)
    ]
    if len(set(items)) != len(items):
        raise BadInput(Fault(where, "two clips of one sign, signer and rep", "one"))
    return _assemble(
        "isl-kinect-30-small" if resampled else "isl-kinect-30",
        items,
        signs,
        signers,
        gather(kinect, items, split_clips(values, length)),
        silent=(*SILENT, RESAMPLED) if resampled else SILENT,
    )


def _check_numbers(arrays: Mapping[str, np.ndarray], kinect: Layout, where: str) -> None:
    frames, scale = arrays["frames"], arrays["scale"]
    shape = (len(kinect.points), 3)
    faults = []
    if frames.dtype.kind != "i" or frames.ndim not in (3, 4) or frames.shape[-2:] != shape:
        seen = f"{frames.dtype} of shape {frames.shape}"
        faults.append(Fault(where, seen, f"integers of shape (..., {shape[0]}, 3)", None, "frames"))
    if frames.ndim == 4 and len(frames) != len(arrays["length"]):
        seen = f"{len(frames)} clips"
        faults.append(Fault(where, seen, f"{len(arrays['length'])}", None, "frames"))
    if scale.shape != () or scale.dtype.kind != "f" or not 0 < float(scale) < math.inf:
        faults.append(Fault(where, f"{scale!r}", "one number of metres a step", None, "scale"))
    joints = tuple(str(joint) for joint in arrays["joint_names"].ravel())
    wanted = tuple(_kinect_name(point) for point in kinect.points)
    if joints != wanted:
        seen, allowed = ", ".join(joints), ", ".join(wanted)
        faults.append(Fault(where, seen, allowed, None, "joint_names"))
    if faults:
        raise BadInput(faults)


def _kinect_name(point: str) -> str:
    """``left_shoulder`` as the sensor's own name, ``ShoulderLeft``."""
    side, _, rest = point.partition("_")
    words = [rest, side] if side in ("left", "right") else [side, rest]
    return "".join(word.title() for word in words)


def read_text(folder: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - as above
    """The recordings as published: ``<sign>_<signer>_<rep>.txt``, 60 numbers a line.

    ``born_`` and ``no_`` are spellings of ``born`` and ``no`` in some file names.

    Raises:
        BadInput: with every file name and every line that cannot be read.
    """
    kinect = layout_by_name("kinect-20")
    faults: list[Fault] = []
    named: dict[str, tuple[str, str]] = {}
    arrays = []
    total = 0
    for path in sorted(folder.glob("*_*_*.txt"))[: MAX_CLIPS + 1]:
        sign, signer, rep = path.stem.rsplit("_", 2)
        sign = sign.rstrip("_")
        item = f"{sign}_{signer}_{rep}"
        if not (sign and signer and rep.isascii() and rep.isdigit()) or item in named:
            seen = f"a second {item}" if item in named else "this name"
            faults.append(Fault(path.name, seen, "<sign>_<signer>_<repetition>.txt, once"))
            continue
        named[item] = (sign, signer)
        try:
            arrays.append(_read_skeletons(path, kinect))
            total += arrays[-1][0].nbytes
        except BadInput as error:
            faults.extend(error.faults)
    if len(named) > MAX_CLIPS or total > MAX_COLLECTION_BYTES:
        faults.append(Fault(folder.name, "too many clips", f"{MAX_CLIPS:,} clips"))
    if faults:
        raise BadInput(faults)
    items = list(named)
    signs, signers = [sign for sign, _ in named.values()], [who for _, who in named.values()]
    keypoints = gather(kinect, items, arrays)
    return _assemble("isl-kinect-30-text", items, signs, signers, keypoints, silent=SILENT)


def _read_skeletons(path: Path, kinect: Layout) -> tuple[np.ndarray, np.ndarray]:
    rows: list[list[float]] = []
    faults = []
    for line, text in enumerate(read_text_file(path, MAX_NPY_BYTES).splitlines(), start=1):
        try:
            numbers = [float(word) for word in text.split()]
        except ValueError:
            faults.append(Fault(path.name, "a word that is no number", "60 numbers", line))
            continue
        if len(numbers) not in (0, 60):
            faults.append(Fault(path.name, f"{len(numbers)} numbers", "60", line))
        elif numbers:
            rows.append(numbers)
    if faults:
        raise BadInput(faults)
    values = np.array(rows, np.float64).reshape(len(rows), 60)
    values = shaped(values, kinect, path.name)
    return masked(values, None, path.name, zeros_are_missing=False)


def _assemble(
    source: str,
    items: Sequence[str],
    signs: Sequence[str],
    signers: Sequence[str],
    keypoints: Keypoints,
    *,
    silent: Sequence[str],
) -> Recordings:
    return recordings(
        "isl-kinect-30",
        source,
        items,
        signs,
        columns={"signer": signers},
        silent=silent,
        keypoints=keypoints,
    )

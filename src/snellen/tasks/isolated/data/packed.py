"""Whole corpora in one ``.npz``: frames end to end, and one index column a fact.

*Conventions*: per-clip columns are 1-D integers of one length; an index column
``sign`` points into ``sign_names``. Clip k owns ``length[k]`` frames, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_CLIPS, MAX_FRAMES, MAX_LABEL_LENGTH

__all__ = ["check_columns", "check_frames", "name_faults", "names_of", "split_clips"]


def check_columns(
    arrays: Mapping[str, np.ndarray], columns: Sequence[str], indices: Sequence[str], where: str
) -> None:
    """Check that ``columns`` are aligned, and that each of ``indices`` points at a name.

    Raises:
        BadInput: with every column that does not fit.
    """
    clips = arrays[columns[0]].size
    faults = []
    for name in columns:
        column = arrays[name]
        if column.ndim != 1 or column.dtype.kind not in "iu":
            seen = f"{column.dtype} of shape {column.shape}"
            faults.append(Fault(where, seen, "one integer a clip", None, name))
        elif not 0 < column.size == clips <= MAX_CLIPS:
            faults.append(Fault(where, f"{column.size} clips", f"{clips}, at least 1", None, name))
    for name in indices:
        names = arrays[f"{name}_names"]
        found = name_faults(names, f"{name}_names", where)
        if not found and len(set(names.tolist())) != names.size:
            found = [Fault(where, "a name twice", "each name once", None, f"{name}_names")]
        if not found and arrays[name].size and not _within(arrays[name], 0, names.size - 1):
            allowed = f"0 to {names.size - 1}"
            found = [Fault(where, "an index without a name", allowed, None, name)]
        faults.extend(found)
    if faults:
        raise BadInput(faults)


def name_faults(names: np.ndarray, field: str, where: str) -> list[Fault]:
    """What keeps an array from being a list of names."""
    if names.ndim != 1 or names.dtype.kind != "U":
        seen = f"{names.dtype} of shape {names.shape}"
        return [Fault(where, seen, "a list of names", None, field)]
    return [
        Fault(where, f"{name!r}", "a printable name, not empty", k, field)
        for k, name in enumerate(names.tolist(), start=1)
        if not 0 < len(name) <= MAX_LABEL_LENGTH or not name.isprintable() or name != name.strip()
    ]


def check_frames(length: np.ndarray, frames: np.ndarray, where: str) -> None:
    """Check that the clips' lengths are sane and add up to the frames there are.

    Raises:
        BadInput: an empty or endless clip, or another sum.
    """
    if not _within(length, 1, MAX_FRAMES):
        raise BadInput(Fault(where, "a clip of no or too many frames", f"1 to {MAX_FRAMES:,}"))
    total = int(length.sum(dtype=np.int64))
    if frames.ndim < 1 or len(frames) != total:
        seen = f"frames of shape {frames.shape}"
        raise BadInput(Fault(where, seen, f"{total} frames, the sum of length"))


def names_of(arrays: Mapping[str, np.ndarray], column: str) -> list[str]:
    """An index column as the names it points at, one a clip."""
    return [str(name) for name in arrays[f"{column}_names"][arrays[column]]]


def split_clips(values: np.ndarray, length: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """(values, presence) of each clip, everything present, as views."""
    present = np.ones(values.shape[:2], bool)
    borders = np.cumsum(length[:-1], dtype=np.int64)
    return list(zip(np.split(values, borders), np.split(present, borders), strict=True))


def _within(column: np.ndarray, low: int, high: int) -> bool:
    return bool(column.min() >= low and column.max() <= high)

"""One clip's array and its presence mask, from the file of a generic folder.

*Conventions*: values (frames, points, dims) float32, present (frames, points)
bool. NaN in any coordinate makes its point missing; infinity is a fault. A point
of exact zeros is missing only where the folder says so.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_FRAMES
from snellen.signal.arrays import read_npy, read_npz
from snellen.signal.keypoints import Layout
from snellen.signal.layouts import from_flat
from snellen.tasks.isolated.data.layout_file import FolderLayout

__all__ = ["masked", "read_clip", "resolve_inside", "shaped"]


def resolve_inside(folder: Path, relative: str, where: str) -> Path:
    """The file ``relative`` names, links followed, provided that it lies in ``folder``.

    Raises:
        BadInput: an absolute path, one that leaves the folder by ``..`` or by a link, or
            one that no disk can hold.
    """
    try:
        target = (folder / relative).resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            target.stat()  # refuses names that are too long, and from 3.13 on links in a circle
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before 3.13
        seen = f"{relative!r} leads nowhere ({error})"
        raise BadInput(Fault(where, seen, "a path inside the folder")) from error
    if Path(relative).is_absolute() or not target.is_relative_to(folder.resolve()):
        raise BadInput(Fault(where, f"{relative!r} leads out of the folder", "a path inside it"))
    return target


def read_clip(path: Path, described: FolderLayout, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Values and presence of one ``.npy`` or ``.npz`` file.

    Raises:
        BadInput: a damaged file, a shape that is not the layout's, or infinite values.
    """
    mask = None
    if path.suffix == ".npz":
        arrays = read_npz(path, ["values"], optional=["present"], where=where)
        values, mask = arrays["values"], arrays.get("present")
    elif path.suffix == ".npy":
        values = read_npy(path, where=where)
    else:
        raise BadInput(Fault(where, f"a {path.suffix or 'nameless'} file", ".npy or .npz"))
    values = shaped(values, described.layout, where)
    if mask is not None and (mask.dtype != bool or mask.shape != values.shape[:2]):
        seen = f"present of type {mask.dtype} and shape {mask.shape}"
        raise BadInput(Fault(where, seen, f"booleans of shape {values.shape[:2]}"))
    return masked(values, mask, where, zeros_are_missing=described.zeros_are_missing)


def shaped(values: np.ndarray, layout: Layout, where: str) -> np.ndarray:
    """``values`` as (frames, points, dims), also where they were stored flat.

    Raises:
        BadInput: another shape, no frame or too many, or an array that is not of numbers.
    """
    points, dims = len(layout.points), len(layout.dims)
    if values.ndim == 2 and values.shape[1] == points * dims:
        values = from_flat(values, layout)
    if values.dtype.kind not in "iuf":
        raise BadInput(Fault(where, f"an array of {values.dtype}", "numbers"))
    if values.ndim != 3 or values.shape[1:] != (points, dims):
        allowed = f"(frames, {points}, {dims}) for layout {layout.name}"
        raise BadInput(Fault(where, f"shape {values.shape}", allowed))
    if not 1 <= len(values) <= MAX_FRAMES:
        raise BadInput(Fault(where, f"{len(values):,} frames", f"1 to {MAX_FRAMES:,}"))
    return values


def masked(
    values: np.ndarray, mask: np.ndarray | None, where: str, *, zeros_are_missing: bool
) -> tuple[np.ndarray, np.ndarray]:
    """float32 values and presence, with whatever is missing set to 0.

    Raises:
        BadInput: an infinite value at a point that is not masked out.
    """
    present = ~np.isnan(values).any(axis=2)
    if mask is not None:
        present &= mask
    if zeros_are_missing:
        present &= (values != 0).any(axis=2)
    with np.errstate(over="ignore"):
        small = np.where(present[..., None], values, 0).astype(np.float32)
    if not np.isfinite(small).all():
        frame, point = np.argwhere(~np.isfinite(small).all(axis=2))[0]
        seen = f"an infinite value (frame {frame}, point {point}, both counted from 0)"
        raise BadInput(Fault(where, seen, "finite numbers, or NaN for a point not detected"))
    return small, present

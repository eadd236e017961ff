"""Reads INCLUDE's published ``.pkl`` keypoints without running anything in them.

*Conventions*: a file holds ``keypoints`` (frames, 75, 3), ``confidences``
(frames, 75) and, where x and y are in pixels, ``vid_shape``. Points are pose 33,
left hand 21, right hand 21. Confidence 0 is a point that was not detected.

A pickle is a program. Three fences stand around it: its instructions are counted
and held against a list before any is carried out, the only names it may ask for
are those that rebuild a NumPy array, and what it gets for them are the small
classes below, which check every size and never call NumPy's own rebuilding code.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_PICKLE_BYTES, MAX_PICKLE_STEPS
from snellen.signal.arrays import read_bytes
from snellen.signal.keypoints import Layout
from snellen.tasks.isolated.data.clip_features import masked, shaped

__all__ = ["arrays_from_pickle", "read_pose"]

# What a dict of arrays, tuples and numbers is written with, protocols 2 to 4.
STEP_NAMES = """
PROTO FRAME STOP MARK MEMOIZE BINPUT BINGET NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1
BINFLOAT SHORT_BINUNICODE BINUNICODE SHORT_BINBYTES BINBYTES BINBYTES8 EMPTY_TUPLE TUPLE TUPLE1
TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS GLOBAL STACK_GLOBAL REDUCE
BUILD
"""
STEPS = frozenset(STEP_NAMES.split())
NUMBER = re.compile(r"[iuf][1248]|b1")
# The widest pose MediaPipe extrapolates outside a picture is far below this many pictures.
PIXELS_ABOVE = 20.0


class _Type:
    """Stands in for ``numpy.dtype``: plain numbers only."""

    def __init__(self, code: object, *_: object) -> None:
        if not isinstance(code, str) or not NUMBER.fullmatch(code):
            raise pickle.UnpicklingError("an array of objects")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        if state[1] == ">":
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """Stands in for ``numpy.ndarray``: built from bytes whose number must be exact."""

    def __init__(self, *_: object) -> None:
        """The shape it is asked for at first is ignored: it would be allocated unseen."""
        self.value: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran_order, data = state
        if not isinstance(kind, _Type) or not isinstance(data, bytes):
            raise pickle.UnpicklingError("an array of objects")
        if len(shape) > 4 or not all(type(size) is int and size >= 0 for size in shape):
            raise pickle.UnpicklingError("an array of no shape")
        if math.prod(shape) * kind.dtype.itemsize != len(data):
            raise pickle.UnpicklingError(f"{len(data)} bytes for an array of shape {shape}")
        flat = np.frombuffer(data, kind.dtype)
        self.value = flat.reshape(shape, order="F" if fortran_order else "C")


class _Scalar:
    """Stands in for NumPy's single numbers, which ``vid_shape`` may hold."""

    def __init__(self, kind: object, data: object) -> None:
        if not isinstance(kind, _Type) or not isinstance(data, bytes):
            raise pickle.UnpicklingError("a number of objects")
        self.value = float(np.frombuffer(data, kind.dtype, count=1)[0])

    def __setstate__(self, state: object) -> None:
        """Refuse: without this, a file could set attributes of the class itself."""
        raise pickle.UnpicklingError("a number with a state")

    def __float__(self) -> float:
        return self.value


ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Type,
    ("numpy", "ndarray"): "ndarray",  # only ever an argument of _reconstruct
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.multiarray", "scalar"): _Scalar,
    ("numpy._core.multiarray", "scalar"): _Scalar,
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ADMITTED[module, name]


def arrays_from_pickle(data: bytes, where: str) -> dict[str, Any]:
    """The dict of arrays and numbers in a pickle.

    Raises:
        BadInput: anything else in it, such as code, objects or a damaged file.
    """
    allowed = "a dict of NumPy arrays and numbers, nothing that could run"
    try:
        _check_steps(data)
        loaded = _ArraysOnly(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, struct.error, ArithmeticError) as error:
        raise BadInput(Fault(where, f"a pickle that is refused: {error}", allowed)) from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise BadInput(Fault(where, f"a damaged pickle: {error}", allowed)) from error
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise BadInput(Fault(where, f"a pickled {type(loaded).__name__}", allowed))
    return {
        key: value.value if isinstance(value, _Array) else value for key, value in loaded.items()
    }


def _check_steps(data: bytes) -> None:
    """Read the pickle's instructions without carrying out any of them."""
    for count, (step, _, _) in enumerate(pickletools.genops(data)):
        if step.name not in STEPS:
            raise pickle.UnpicklingError(f"it holds the instruction {step.name}")
        if count > MAX_PICKLE_STEPS:
            raise pickle.UnpicklingError(f"it has more than {MAX_PICKLE_STEPS} instructions")


def read_pose(path: Path, layout: Layout, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Values (frames, 75, 3) as shares of the picture, and presence (frames, 75).

    The published files hold x times ``vid_shape[0]`` and y times ``vid_shape[1]``;
    dividing by the same undoes it, whichever of the two is called the width.

    Raises:
        BadInput: not a pickle of this form, or shapes that do not fit.
    """
    loaded = arrays_from_pickle(read_bytes(path, MAX_PICKLE_BYTES), where)
    keypoints, confidences = loaded.get("keypoints"), loaded.get("confidences")
    if not isinstance(keypoints, np.ndarray) or not isinstance(confidences, np.ndarray):
        seen = f"holds {', '.join(sorted(loaded)) or 'nothing'}"
        raise BadInput(Fault(where, seen, "arrays keypoints and confidences"))
    values = shaped(keypoints, layout, where)
    if confidences.shape != values.shape[:2] or not np.isfinite(confidences).all():
        seen = f"confidences of shape {confidences.shape}"
        raise BadInput(Fault(where, seen, f"finite numbers of shape {values.shape[:2]}"))
    present = confidences > 0
    if "vid_shape" in loaded:
        values = values / _multipliers(loaded["vid_shape"], where)
    elif present.any() and np.nanmedian(np.abs(values[present][:, :2])) > PIXELS_ABOVE:
        raise BadInput(Fault(where, "x and y in pixels, no vid_shape", "vid_shape, or shares"))
    return masked(values, present, where, zeros_are_missing=False)


def _multipliers(vid_shape: Any, where: str) -> np.ndarray:
    try:
        x, y = (float(size) for size in vid_shape)
    except (TypeError, ValueError) as error:
        raise BadInput(
            Fault(where, f"vid_shape of {type(vid_shape).__name__}", "two numbers")
        ) from error
    if not (0 < x < math.inf and 0 < y < math.inf):
        raise BadInput(Fault(where, f"vid_shape ({x}, {y})", "two numbers above 0"))
    return np.array([x, y, 1.0])

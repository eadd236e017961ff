"""Reads ``.npy`` and ``.npz`` from strangers: header and size are checked before loading.

*Conventions*: an array comes back with the type and shape its file declares, as
a read-only view of the bytes that were read. Numbers, booleans and text are
admitted; objects (pickles), records, dates and complex numbers are not. Faults
name the file, and the member inside an archive.

NumPy's own loader trusts the header: a file of 192 bytes can ask for 143 GB, and
what follows the array is ignored. Here the declared size must be the real one,
byte for byte.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import (
    MAX_NPY_BYTES,
    MAX_NPZ_MEMBERS,
    MAX_NPZ_RATIO,
    NPZ_RATIO_FREE_BYTES,
)

__all__ = ["NpyHeader", "npy_from_bytes", "npy_header", "read_bytes", "read_npy", "read_npz"]

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 4_096
MAX_DIMS = 8
# The one form every writer uses. Matching text cannot run, nest or overflow as a parser can.
HEADER = re.compile(
    r"\{\s*'descr':\s*(?P<descr>'[^']*'|\[.*\]),\s*'fortran_order':\s*(?P<order>True|False),"
    r"\s*'shape':\s*\((?P<shape>[\d\s,]*)\),?\s*\}\s*",
    re.DOTALL,
)
ADMITTED = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|U\d{1,5})")


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What an ``.npy`` file says about itself; ``start`` is where its numbers begin."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fortran_order: bool
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of the array as declared, computed without overflow."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, or a BadInput when it is absent, no file, or too large."""
    where = path.name
    try:
        if not path.is_file():
            seen = "not a regular file" if path.exists() else "no such file"
            raise BadInput(Fault(where, seen, "a file"))
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise BadInput(
            Fault(where, f"cannot be read: {error.strerror}", "a readable file")
        ) from error
    if len(data) > max_bytes:
        raise BadInput(Fault(where, f"more than {max_bytes:,} bytes", f"at most {max_bytes:,}"))
    return data


def npy_header(data: bytes, where: str) -> NpyHeader:
    """The header of an ``.npy`` file, without touching its numbers.

    Raises:
        BadInput: not an ``.npy`` file, or of a type or shape that is not admitted.
    """
    start, text = _header_text(data, where)
    match = HEADER.fullmatch(text)
    if match is None:
        raise BadInput(Fault(where, "a damaged .npy header", "descr, fortran_order, shape"))
    descr = match["descr"].strip("'")
    if not ADMITTED.fullmatch(descr):
        kind = "objects, which can run code" if "O" in descr else f"type {descr[:40]!r}"
        raise BadInput(Fault(where, f"an array of {kind}", "integers, floats, booleans or text"))
    try:
        shape = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    except ValueError as error:
        raise BadInput(Fault(where, f"shape ({match['shape'][:40]})", "whole numbers")) from error
    header = NpyHeader(np.dtype(descr), shape, match["order"] == "True", start)
    if len(shape) > MAX_DIMS or header.nbytes > MAX_NPY_BYTES:
        raise BadInput(
            Fault(where, f"declares shape {shape}", f"at most {MAX_NPY_BYTES:,} bytes"),
        )
    return header


def _header_text(data: bytes, where: str) -> tuple[int, str]:
    allowed = ".npy, format 1.0 or 2.0"
    if len(data) < 12 or data[:6] != MAGIC:
        seen = "an empty file" if not data else "not an .npy file"
        raise BadInput(Fault(where, seen, allowed))
    major = data[6]
    if major == 1:
        start, length = 10, struct.unpack_from("<H", data, 8)[0]
    elif major == 2:
        start, length = 12, struct.unpack_from("<I", data, 8)[0]
    else:
        raise BadInput(Fault(where, f"format {major}.{data[7]}", allowed))
    if length > MAX_HEADER_BYTES or start + length > len(data):
        raise BadInput(Fault(where, f"a header of {length} bytes", "a complete header"))
    return start + length, data[start : start + length].decode("latin-1")


def npy_from_bytes(data: bytes, where: str) -> np.ndarray:
    """The array in the bytes of an ``.npy`` file, as a read-only view of them.

    Raises:
        BadInput: a header that is not admitted, or more or fewer bytes than it declares.
    """
    header = npy_header(data, where)
    held = len(data) - header.start
    if held != header.nbytes:
        seen = f"{held} bytes of numbers where shape {header.shape} needs {header.nbytes}"
        raise BadInput(Fault(where, seen, "a complete file and nothing after the array"))
    count = math.prod(header.shape)
    if count == 0 or header.dtype.itemsize == 0:
        return np.zeros(header.shape, header.dtype)
    return _numbers(data, header, count, where).reshape(
        header.shape, order="F" if header.fortran_order else "C"
    )


def _numbers(data: bytes, header: NpyHeader, count: int, where: str) -> np.ndarray:
    """The flat array, its booleans and letters made sure to be such."""
    flat = np.frombuffer(data, header.dtype, count=count, offset=header.start)
    if header.dtype.kind == "b":
        # A boolean byte of 2 is neither True nor False to NumPy's operators.
        truth: np.ndarray = flat.view(np.uint8) != 0
        return truth
    if header.dtype.kind == "U":
        codes = flat.view(header.dtype.byteorder + "u4")
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
            raise BadInput(Fault(where, "letters that do not exist", "Unicode text"))
    return flat


def read_npy(path: Path, *, where: str | None = None) -> np.ndarray:
    """The array of an ``.npy`` file.

    Raises:
        BadInput: see :func:`npy_from_bytes`.
    """
    return npy_from_bytes(read_bytes(path, MAX_NPY_BYTES), where or path.name)


def read_npz(
    path: Path,
    needed: Sequence[str],
    *,
    optional: Sequence[str] = (),
    where: str | None = None,
) -> Mapping[str, np.ndarray]:
    """The named arrays of an ``.npz`` file; no other member is opened.

    Each member's declared size is held against :data:`snellen.limits.MAX_NPY_BYTES`
    and, above 16 MiB, against a packing of 100 to 1, before a byte is unpacked.

    Raises:
        BadInput: a damaged archive, a needed array absent, or members that are not admitted.
    """
    where = where or path.name
    if not path.is_file():
        raise BadInput(Fault(where, "no such file", "an .npz file"))
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, where)
            absent = [name for name in needed if name not in members]
            if absent:
                seen = f"holds {', '.join(sorted(members)) or 'nothing'}"
                raise BadInput(
                    [Fault(where, seen, "an array of this name", None, n) for n in absent]
                )
            wanted = [*needed, *(name for name in optional if name in members)]
            return {name: _member(archive, members[name], where, name) for name in wanted}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadInput(
            Fault(where, f"a damaged archive ({error})", "a complete .npz file")
        ) from error
    except (OSError, ValueError, OverflowError, struct.error, zlib.error) as error:
        raise BadInput(
            Fault(where, f"a damaged archive ({error})", "a complete .npz file")
        ) from error


def _members(archive: zipfile.ZipFile, where: str) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_NPZ_MEMBERS:
        raise BadInput(Fault(where, f"{len(infos)} members", f"at most {MAX_NPZ_MEMBERS}"))
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if name in members:
            raise BadInput(Fault(where, f"two members named {name!r}", "one"))
        members[name] = info
    return members


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str, name: str) -> np.ndarray:
    inside = f"{where}[{name}]"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadInput(Fault(inside, f"packing method {info.compress_type}", "stored or deflate"))
    if info.file_size > MAX_NPY_BYTES:
        raise BadInput(Fault(inside, f"{info.file_size:,} bytes", f"at most {MAX_NPY_BYTES:,}"))
    if info.file_size > max(NPZ_RATIO_FREE_BYTES, MAX_NPZ_RATIO * info.compress_size):
        seen = f"{info.compress_size:,} bytes that unpack to {info.file_size:,}"
        raise BadInput(Fault(inside, seen, f"a packing of at most {MAX_NPZ_RATIO} to 1"))
    # zipfile stops at the declared size and checks the CRC, so a lying size is caught here.
    return npy_from_bytes(archive.read(info), inside)

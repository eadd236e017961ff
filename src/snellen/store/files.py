"""Files that are written whole or not at all, and read with suspicion.

It answers: is this file safe to parse, and will a crash leave half of it
behind? Everything Snellen stores goes through :func:`write_atomic`; every text
file it is given goes through :func:`read_limited` first.

*Conventions*: limits are in bytes. JSON is UTF-8 (a byte order mark is
accepted), has no duplicate key, no NaN or infinity, no lone surrogate, and is
at most 64 levels deep. A place inside a JSON file is written ``$.rounds[3]``.
A temporary file is named ``.<random>.tmp`` and stands beside its target.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault, SnellenError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "JSON_LIMIT",
    "decode_text",
    "parse_json",
    "read_json",
    "read_limited",
    "safe_name",
    "sweep_temps",
    "try_lock",
    "write_atomic",
    "write_atomic_from",
    "write_json",
]

JSON_LIMIT = 64 * 2**20
JSON_DEPTH = 64
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
DEVICE_NAME = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
TEMP_NAME = re.compile(r"\.[0-9a-f]{16}\.tmp")


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader sees the old file or the new one, never a part.

    Missing folders are made. On any failure, an interrupt included, the
    temporary file is removed and an existing file stays as it was.

    Raises:
        SnellenError: the disk is full or the place cannot be written.
    """
    write_atomic_from(path, lambda file: file.write(data))


def write_atomic_from(path: Path, writer: Callable[[BinaryIO], object]) -> None:
    """As :func:`write_atomic`, for content that ``writer`` puts into the file bit by bit."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, temp = _locked_temp(path.parent)
        try:
            with os.fdopen(fd, "wb") as file:
                writer(file)
                file.flush()
                os.fsync(fd)
                if sys.platform == "win32":
                    file.close()  # an open file cannot be renamed there
                temp.replace(path)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        hint = "; free some space and start again" if error.errno in FULL else ""
        raise SnellenError(f"cannot write {path}: {error.strerror}{hint}") from error


def sweep_temps(folder: Path) -> int:
    """Remove what writers that died left in ``folder``; returns how many files that were.

    A writer holds a lock on its temporary file, so those of living writers stay.
    """
    swept = 0
    with os.scandir(folder) as entries:
        temps = [entry.path for entry in entries if TEMP_NAME.fullmatch(entry.name)]
    for temp in temps:
        try:
            fd = os.open(temp, os.O_RDWR)
            try:
                if try_lock(fd):
                    os.unlink(temp)  # noqa: PTH108 (scandir gives strings)
                    swept += 1
            finally:
                os.close(fd)
        except OSError:
            continue  # finished or swept meanwhile, or a folder that may only be read
    return swept


def try_lock(fd: int) -> bool:
    """Take the lock of an open file if nobody has it; it is let go when the process ends."""
    try:
        if sys.platform == "win32":
            os.lseek(fd, 2**30, os.SEEK_SET)  # beyond the content, which stays readable
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def read_limited(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes.

    Raises:
        BadInput: no such file, not a regular file, unreadable, or too large.
    """
    try:
        if not path.exists():
            _refuse(path, "no such file", "a file that exists")
        if not path.is_file():
            _refuse(path, "not a regular file", "a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror}", "a readable file", error)
    if len(data) > limit:
        _refuse(path, f"more than {limit:,} bytes", f"at most {limit:,} bytes")
    return data


def read_json(path: Path, *, limit: int = JSON_LIMIT) -> Any:
    """The value in a JSON file, strictly (see *Conventions*); every fault of it in one BadInput."""
    return parse_json(read_limited(path, limit), str(path))


def write_json(path: Path, value: Any) -> None:
    """Write canonical JSON, one item a line: the same value gives the same bytes."""
    write_atomic(path, canonical_json(value, indent=1))


def parse_json(data: bytes, where: str) -> Any:
    """The value of strict JSON (see *Conventions*); ``where`` names it in messages.

    >>> parse_json(b'{"a": [1, null]}', "x.json")
    {'a': [1, None]}
    """
    text = decode_text(data, where)
    try:
        raw = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        seen = f"{error.msg} at column {error.colno}"
        raise BadInput(Fault(where, seen, "JSON", row=error.lineno)) from None
    except RecursionError:
        _refuse(where, "nested too deeply", f"at most {JSON_DEPTH} levels")
    except ValueError as error:
        _refuse(where, str(error), "JSON numbers of ordinary length")
    faults: list[Fault] = []
    value = _plain(raw, (), where, faults)
    if faults:
        raise BadInput(faults)
    return value


def decode_text(data: bytes, where: str) -> str:
    """UTF-8 bytes as text, without a leading byte order mark; no other encoding is guessed."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        _refuse(where, "UTF-16 or UTF-32", "UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise BadInput(Fault(where, f"byte {error.start} is no UTF-8", "UTF-8", row)) from None
    if "\0" in text:
        _refuse(where, "a zero byte, as in UTF-16", "UTF-8")
    return text


def safe_name(name: str, where: str = "name") -> str:
    """``name`` if it may become a file name on any system, so that no id is ever a path.

    >>> safe_name("rocket.json")
    'rocket.json'
    """
    if not SAFE_NAME.fullmatch(name) or name.endswith(".") or DEVICE_NAME.fullmatch(name):
        allowed = (
            "1 to 128 of A-Z a-z 0-9 . _ - with a letter or digit first, "
            "no dot last, no device name such as CON"
        )
        _refuse(where, repr(name if len(name) <= 80 else name[:80] + "..."), allowed)
    return name


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it stands in the file, before its keys were compared."""


def _plain(raw: Any, place: tuple[Any, ...], where: str, faults: list[Fault]) -> Any:
    """``raw`` with dicts for _Pairs; ``place`` is the linked list (parent, key) of where it is."""
    seen = allowed = None
    if isinstance(raw, str) and not _encodes(raw):
        seen, allowed = "a lone surrogate", "text"
    elif isinstance(raw, float) and not math.isfinite(raw):
        seen, allowed = str(raw), "a finite number or null"
    elif isinstance(raw, list) and _depth(place) >= JSON_DEPTH:
        seen, allowed = "nested too deeply", f"at most {JSON_DEPTH} levels"
    elif isinstance(raw, _Pairs):
        return _plain_object(raw, place, where, faults)
    elif isinstance(raw, list):
        return [_plain(item, (place, k), where, faults) for k, item in enumerate(raw)]
    if seen is not None and allowed is not None:
        faults.append(Fault(where, seen, allowed, field=_written(place)))
    return raw


def _plain_object(
    raw: _Pairs, place: tuple[Any, ...], where: str, faults: list[Fault]
) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in raw:
        at = (place, key)
        if key in value:
            faults.append(Fault(where, "the same key twice", "each key once", field=_written(at)))
        if not _encodes(key):
            faults.append(Fault(where, "a key with a lone surrogate", "text", field=_written(at)))
        value[key] = _plain(item, at, where, faults)
    return value


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _depth(place: tuple[Any, ...]) -> int:
    depth = 0
    while place:
        place, depth = place[0], depth + 1
    return depth


def _written(place: tuple[Any, ...]) -> str:
    steps: list[str] = []
    while place:
        place, key = place
        plain = isinstance(key, str) and key.isidentifier() and key.isascii()
        steps.append(f".{key}" if plain else f"[{key!a}]")
    return "$" + "".join(reversed(steps))


def _locked_temp(folder: Path) -> tuple[int, Path]:
    """An open, locked temporary file in ``folder`` that no sweep has taken away."""
    while True:
        temp = folder / f".{secrets.token_hex(8)}.tmp"
        fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if sys.platform == "win32":
            return fd, temp  # an open file cannot be removed there: no lock is needed
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd, temp
        os.close(fd)  # a sweep came between opening and locking


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # folders cannot be synced there
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _refuse(where: Path | str, seen: str, allowed: str, cause: Exception | None = None) -> NoReturn:
    raise BadInput(Fault(str(where), seen, allowed)) from cause

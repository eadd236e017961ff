"""A run on disk: named pieces and an index that vouches for each of them.

It answers: what belongs to this run, and is it still what was written?

*Conventions*: a piece is a file under the run's folder, named by a relative
path such as ``cards/signer/rocket.json``. ``run.json`` maps each name to the
SHA-256 of its bytes; it holds no time, host or absolute path, so that the
same inputs give the same index. A file that the index does not name is not
part of the run. Only the process that holds the lock of ``.lock`` writes.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from snellen.digest import canonical_json, digest_bytes
from snellen.errors import BadInput, Fault, Missing, SnellenError
from snellen.store.files import (
    read_json,
    read_limited,
    safe_name,
    sweep_temps,
    try_lock,
    write_atomic,
    write_json,
)

__all__ = ["INDEX", "PIECE_LIMIT", "RunFolder"]

INDEX = "run.json"
LOCK = ".lock"
FORMAT = "snellen-run/1"
PIECE_LIMIT = 2**30


class _Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    pieces: dict[str, str]
    sealed: bool


class RunFolder:
    """A run, opened by :meth:`read` or, as a context manager, by :meth:`write`.

    >>> import tempfile
    >>> with RunFolder.write(Path(tempfile.mkdtemp()) / "run") as run:
    ...     _ = run.put("audit.json", b"{}")
    ...     run.names(), run.get("audit.json")
    (('audit.json',), b'{}')
    """

    def __init__(self, root: Path, index: _Index, lock: int | None) -> None:
        self.root = root
        self._pieces = dict(index.pieces)
        self._sealed = index.sealed
        self._lock = lock

    @classmethod
    def read(cls, root: Path) -> Self:
        """Open a run to read it.

        Raises:
            Missing: there is no run here.
            BadInput: the index is damaged; every fault of it is named.
        """
        if not (root / INDEX).exists():
            raise Missing(f"no run in {root}: it has no {INDEX}")
        return cls(root, _read_index(root / INDEX), None)

    @classmethod
    def write(cls, root: Path) -> Self:
        """Start a run in a new or empty folder, or go on with the one that is there.

        Raises:
            SnellenError: another process is writing this run, or the folder
                holds something else.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise SnellenError(f"cannot write a run to {root}: {error.strerror}") from error
        try:
            return cls(root, _claimed(root, lock), lock)
        except BaseException:
            os.close(lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the lock; nothing can be put any more."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    @property
    def sealed(self) -> bool:
        """Whether the run is finished: it can be read and repeated, not changed."""
        return self._sealed

    @property
    def digest(self) -> str:
        """The digest of the index, which names the whole run."""
        return digest_bytes(canonical_json(self._index(), indent=1))

    def names(self) -> tuple[str, ...]:
        """The names of all pieces, sorted."""
        return tuple(sorted(self._pieces))

    def put(self, name: str, data: bytes) -> str:
        """Store a piece, durably, and return its digest. What is there already is not rewritten.

        Raises:
            BadInput: the name cannot be a file of this run.
            SnellenError: the run is sealed and the piece differs, or is not open for writing.
        """
        path = self._path(name)
        digest = digest_bytes(data)
        if self._lock is None:
            raise SnellenError(f"{self.root} is not open for writing")
        if self._pieces.get(name) == digest and self._bytes(name) == data:
            return digest
        if self._sealed and self._pieces.get(name) != digest:
            raise SnellenError(
                f"{self.root} is sealed and its {name} is not the one to be written; "
                "choose another folder"
            )
        if self._pieces.pop(name, None) is not None:
            self._save()  # a crash from here on leaves the piece absent, never unvouched for
        write_atomic(path, data)
        self._pieces[name] = digest
        self._save()
        return digest

    def get(self, name: str) -> bytes:
        """The bytes of a piece, verified.

        Raises:
            Missing: the run has no such piece, or its file is gone.
            BadInput: its file is damaged.
        """
        if name not in self._pieces:
            raise Missing(f"the run in {self.root} has no {name}")
        data = self._bytes(name)
        if data is None:
            raise Missing(f"{name} is listed in {self.root / INDEX} but its file is gone")
        if digest_bytes(data) != self._pieces[name]:
            seen = "not the bytes that were written"
            raise BadInput(Fault(str(self.root / name), seen, f"sha256 {self._pieces[name]}"))
        return data

    def faults(self) -> tuple[Fault, ...]:
        """Every piece that is gone or damaged."""
        found: list[Fault] = []
        for name in self.names():
            try:
                self.get(name)
            except Missing:
                found.append(Fault(str(self.root / name), "gone", "a piece of the run"))
            except BadInput as error:
                found += error.faults
        return tuple(found)

    def seal(self) -> str:
        """Finish the run if every piece of it is intact; returns :attr:`digest`."""
        if self._lock is None:
            raise SnellenError(f"{self.root} is not open for writing")
        found = self.faults()
        if found:
            raise BadInput(found)
        if not self._sealed:
            self._sealed = True
            self._save()
        return self.digest

    def _index(self) -> dict[str, object]:
        return {"format": FORMAT, "pieces": self._pieces, "sealed": self._sealed}

    def _save(self) -> None:
        write_json(self.root / INDEX, self._index())

    def _bytes(self, name: str) -> bytes | None:
        path = self._path(name)
        return read_limited(path, PIECE_LIMIT) if path.exists() else None

    def _path(self, name: str) -> Path:
        """The file of a piece, which no link may lead out of the run."""
        _check_name(name, str(self.root))
        for other in self._pieces:
            if other != name and other.casefold() == name.casefold():
                allowed = f"a name that differs from {other!r} in more than case"
                raise BadInput(Fault(str(self.root), repr(name), allowed))
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise BadInput(Fault(str(path), "a link out of the run", "a file of the run"))
        return path


def _claimed(root: Path, lock: int) -> _Index:
    """Lock the run and give its index, an empty one where the folder is new."""
    if not try_lock(lock):
        os.lseek(lock, 0, os.SEEK_SET)
        owner = os.read(lock, 20).decode("ascii", "replace") or "unknown"
        raise SnellenError(f"process {owner} is writing the run in {root}; wait for it to end")
    os.ftruncate(lock, 0)
    os.lseek(lock, 0, os.SEEK_SET)
    os.write(lock, str(os.getpid()).encode())
    for folder, _, _ in os.walk(root):
        sweep_temps(Path(folder))
    if (root / INDEX).exists():
        return _read_index(root / INDEX)
    strangers = sorted(path.name for path in root.iterdir() if path.name != LOCK)
    if strangers:
        raise SnellenError(f"{root} holds {strangers[0]!r} but no run; choose an empty folder")
    index = _Index(format=FORMAT, pieces={}, sealed=False)
    write_json(root / INDEX, msgspec.to_builtins(index))
    return index


def _read_index(path: Path) -> _Index:
    try:
        index = msgspec.convert(read_json(path), type=_Index)
    except msgspec.ValidationError as error:
        raise BadInput(Fault(str(path), str(error), f"a {FORMAT} index")) from error
    faults: list[Fault] = []
    if index.format != FORMAT:
        faults.append(Fault(str(path), f"format {index.format!r}", FORMAT, field="format"))
    for name in index.pieces:
        try:
            _check_name(name, str(path))
        except BadInput as error:
            faults += error.faults
    if faults:
        raise BadInput(faults)
    return index


def _check_name(name: str, where: str) -> None:
    if name.casefold() == INDEX:
        raise BadInput(Fault(where, repr(name), "a name that is not the index's"))
    for part in name.split("/"):
        safe_name(part, where)

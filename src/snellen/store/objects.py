"""Finished work by key: what has been computed once is never computed again.

It answers: is the result of this piece of work here, and is it undamaged?

*Conventions*: a key is the SHA-256 of what was asked (not of the result). The
object ``objects/ab/abcd...`` is one line, ``snellen-object/1 <sha256 of the
content>``, followed by the content, so that a single rename makes both
durable together. A damaged object counts as absent and is written anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from snellen.digest import digest_bytes
from snellen.errors import BadInput, Fault, Missing, SnellenError
from snellen.store.files import read_limited, sweep_temps, write_atomic

__all__ = ["OBJECT_LIMIT", "ObjectStore"]

OBJECT_LIMIT = 2**30
FORMAT = b"snellen-object/1"
KEY = re.compile(r"[0-9a-f]{64}")


class ObjectStore:
    """A folder of objects; any number of processes may read and write it at once.

    Opening makes the folder and removes what writers that died left behind.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with os.scandir(root) as entries:
                folders = [Path(entry.path) for entry in entries if entry.is_dir()]
        except OSError as error:
            raise SnellenError(f"no store at {root}: {error.strerror}") from error
        for folder in folders:
            sweep_temps(folder)

    def digest(self, key: str) -> str | None:
        """The digest of the content, or None where the object is absent or damaged."""
        try:
            return digest_bytes(self.get(key))
        except (Missing, BadInput):
            return None

    def has(self, key: str) -> bool:
        """Whether the object is there and undamaged."""
        return self.digest(key) is not None

    def get(self, key: str) -> bytes:
        """The content of an object, verified.

        Raises:
            Missing: there is no such object.
            BadInput: it is damaged.
        """
        path = self._path(key)
        if not path.exists():
            raise Missing(f"no object {key} in {self.root}")
        head, _, content = read_limited(path, OBJECT_LIMIT).partition(b"\n")
        if head != FORMAT + b" " + digest_bytes(content).encode():
            raise BadInput(Fault(str(path), "a damaged object", "content that fits its digest"))
        return content

    def put(self, key: str, content: bytes) -> str:
        """Store ``content`` under ``key``, durably; returns the digest of the content."""
        digest = digest_bytes(content)
        write_atomic(self._path(key), FORMAT + b" " + digest.encode() + b"\n" + content)
        return digest

    def discard(self, key: str) -> None:
        """Forget an object, so that whoever needs it makes it again."""
        self._path(key).unlink(missing_ok=True)

    def keys(self) -> Iterator[str]:
        """All keys, sorted, of damaged objects too."""
        for folder in sorted(self.root.iterdir()):
            if folder.is_dir():
                names = [path.name for path in folder.iterdir()]
                yield from sorted(name for name in names if KEY.fullmatch(name))

    def damaged(self) -> tuple[str, ...]:
        """Keys of the objects whose content does not fit its digest."""
        return tuple(key for key in self.keys() if not self.has(key))

    def _path(self, key: str) -> Path:
        if not KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key")
        return self.root / key[:2] / key

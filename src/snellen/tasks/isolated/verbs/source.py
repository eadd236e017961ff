"""Where the recordings of a verb come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.errors import BadInput, Fault
from snellen.signal.keypoints import Keypoints
from snellen.tasks.isolated.data import Recordings, read

__all__ = ["Source", "with_keypoints"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the recordings are and, where that is not plain from the folder, what they are."""

    path: Path
    format: str | None = None
    layout: str | None = None

    def open(self) -> Recordings:
        """Read them."""
        return read(self.path, format=self.format, layout=self.layout)


def with_keypoints(source: Source) -> tuple[Recordings, Keypoints]:
    """Recordings that hold more than metadata.

    Raises:
        BadInput: they do not.
    """
    recordings = source.open()
    if recordings.keypoints is None:
        raise BadInput(
            Fault(str(source.path), "metadata only", "recordings; snellen audit needs none")
        )
    return recordings, recordings.keypoints

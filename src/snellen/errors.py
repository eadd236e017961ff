"""What can go wrong, said so that a stranger can act on it.

The tree::

    SnellenError
    ├── BadInput   a file cannot be used; carries every fault found, not the first
    ├── Leak       a split lets the test set be seen in training
    ├── Mismatch   two things that must be the same are not (each field named)
    └── Missing    an extra, a model or a piece of a run is not there

*Conventions*: errors are raised once, at the reader; inside, types are
trusted. The command line prints the message and exits with 2 (1 for ``Leak``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["BadInput", "Fault", "Leak", "Mismatch", "Missing", "SnellenError"]

FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong at one place: what was seen and what is allowed."""

    where: str
    seen: str
    allowed: str
    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = self.where
        if self.row is not None:
            place += f", row {self.row}"
        if self.field is not None:
            place += f", {self.field}"
        return f"{place}: {self.seen}; allowed: {self.allowed}"


class SnellenError(Exception):
    """Everything Snellen raises on purpose."""


class BadInput(SnellenError):
    """A file or folder that cannot be used, with all of its faults."""

    def __init__(self, faults: Sequence[Fault] | Fault) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        shown = [str(fault) for fault in self.faults[:FAULTS_SHOWN]]
        rest = len(self.faults) - len(shown)
        if rest > 0:
            shown.append(f"... and {rest} more")
        super().__init__("\n".join(shown))


class Leak(SnellenError):
    """A split in which the test set is partly seen in training."""


class Mismatch(SnellenError):
    """Two things that must agree do not; ``fields`` maps a name to both values."""

    def __init__(self, what: str, fields: dict[str, tuple[str, str]]) -> None:
        self.fields = fields
        lines = [f"  {name}: {a} against {b}" for name, (a, b) in sorted(fields.items())]
        super().__init__("\n".join([what, *lines]))


class Missing(SnellenError):
    """Something needed is not there; the message holds the command that brings it."""

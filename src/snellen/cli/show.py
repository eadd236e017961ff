"""What a verb prints: tables for a person, JSON for a machine, progress and complaints aside."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from snellen.digest import canonical_json

__all__ = ["Bars", "bars", "complain", "print_json", "print_table"]

# A file or a pipe has no width: tables are laid out as for a wide terminal.
PIPE_WIDTH = 120


def print_table(*tables: RenderableType) -> None:
    """Print renderables to standard output."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=PIPE_WIDTH)
    for table in tables:
        console.print(table)


def print_json(value: Any) -> None:
    """Print a struct or plain data as canonical JSON."""
    sys.stdout.buffer.write(canonical_json(msgspec.to_builtins(value), indent=1))


def complain(message: str) -> None:
    """Print an error to standard error, every line of it, without markup."""
    console = Console(stderr=True)
    console.print("error:", style="bold red", end=" ")
    console.print(message, markup=False, highlight=False, soft_wrap=True)


class Bars:
    """A progress bar a stage, on standard error."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` of a stage are finished."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


@contextmanager
def bars() -> Iterator[Bars]:
    """Progress bars while the body runs; silent where standard error is no terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield Bars(progress)

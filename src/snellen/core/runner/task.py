"""A task, what came of it, and how it is done: the part that driver and worker share.

*Conventions*: these structs are what the pipe to a worker carries, one JSON
object a line. Values of the caller travel inside them as JSON text, which
keeps integers of any length.
"""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from snellen.store.objects import ObjectStore

__all__ = ["Call", "Fatal", "Job", "Outcome", "Ready", "State", "Task", "attempt", "prepared"]

State = Literal["ok", "error", "crashed", "timeout"]
Call = Callable[[Any, Any], bytes]


class Job(Struct, frozen=True, kw_only=True):
    """What all tasks of a map share; ``store`` is an absolute path."""

    call: str
    setup: str | None
    setup_spec: str
    store: str


class Task(Struct, frozen=True, kw_only=True):
    """One piece of work; ``attempt`` counts from 1."""

    key: str
    spec: str
    attempt: int = 1


class Ready(Struct, frozen=True, tag=True):
    """A worker has its context and waits for tasks."""


class Fatal(Struct, frozen=True, kw_only=True, tag=True):
    """A worker cannot go on, nor could another in its place."""

    reason: str


class Outcome(Struct, frozen=True, kw_only=True, tag=True):
    """What came of a task; ``digest`` is there exactly when ``state`` is ok."""

    state: State
    digest: str | None = None
    message: str | None = None
    seconds: float = 0.0


def prepared(job: Job) -> tuple[Call, Any]:
    """The function that does the work, and the context its tasks share."""
    call: Call = _function(job.call)
    if job.setup is None:
        return call, None
    return call, _function(job.setup)(json.loads(job.setup_spec))


def attempt(call: Call, context: Any, task: Task, store: ObjectStore) -> Outcome:
    """Do one task and store its result.

    Raises:
        SnellenError: the store cannot be written. That ends the whole map,
            for it would fail every other task after its hours of work.
    """
    started = time.perf_counter()
    try:
        content = call(context, json.loads(task.spec))
        if not isinstance(content, bytes):
            raise TypeError(f"{type(content).__name__} instead of bytes")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 (whatever it is, the receipt tells it)
        seconds = time.perf_counter() - started
        return Outcome(state="error", message=_said(error), seconds=seconds)
    digest = store.put(task.key, content)
    return Outcome(state="ok", digest=digest, seconds=time.perf_counter() - started)


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function


def _said(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    return f"{type(error).__name__} in {place}: {error}"

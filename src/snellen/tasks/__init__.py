"""One folder a task. Tasks never import one another.

A task's ``verbs`` module holds what the command line can ask of it. ``TASKS``
names them; others plug in through the entry point group ``snellen.tasks``.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from snellen.errors import BadInput, Fault

__all__ = ["TASKS", "task_names", "task_verbs"]

TASKS = {"isolated": "snellen.tasks.isolated.verbs"}


def task_names() -> tuple[str, ...]:
    """Tasks in the box, then those plugged in."""
    plugged = {point.name for point in entry_points(group="snellen.tasks")}
    return (*TASKS, *sorted(plugged - set(TASKS)))


def task_verbs(name: str) -> ModuleType:
    """The module of a task's verbs.

    Raises:
        BadInput: there is no such task.
    """
    where = TASKS.get(name)
    if where is None:
        where = next((x.value for x in entry_points(group="snellen.tasks") if x.name == name), None)
    if where is None:
        raise BadInput(Fault("task", f"{name!r}", f"one of: {', '.join(task_names())}"))
    return import_module(where)

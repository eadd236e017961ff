"""One seam for every long loop: named work, JSON specs, durable results.

It answers: what came of each of these tasks, however often the machine died
on the way? A task whose result is in the store is not computed again, so
"resume" is nothing but running the same call once more.

*Conventions*: ``call`` and ``setup`` are ``"module:function"``; a worker makes
``context = setup(setup_spec)`` once and answers ``call(context, spec)``, which
gives bytes. Specs are JSON values and reach the call as their canonical JSON
says them (floats at 12 significant digits, tuples as lists), in a worker and
in this process alike; nothing is pickled. The key of a task is the SHA-256 of
call, setup, setup_spec (or setup_digest), spec and ``code_id``. BLAS and
OpenMP run on one thread everywhere, so that results do not depend on the
number of workers.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from snellen.core.runner.pool import pooled
from snellen.core.runner.serial import serial
from snellen.core.runner.task import Job, Outcome, State, Task
from snellen.digest import canonical_json, digest_json
from snellen.store.objects import ObjectStore

__all__ = ["Receipt", "run_map", "task_key"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came of one task.

    ``error``: the call raised. ``crashed``: its process died, twice.
    ``timeout``: it took longer than allowed. ``digest`` is that of the result
    (``ok`` only); ``attempt`` is 0 where the result was in the store already.
    ``seconds`` is for a person to read and is stored nowhere.
    """

    key: str
    spec: Any
    state: State
    digest: str | None
    attempt: int
    message: str | None
    seconds: float


def task_key(call: str, spec: Any, *, setup: str | None, setup_spec: Any, code_id: str) -> str:
    """The key of a task; ``setup_spec`` is the setup's digest where one was given."""
    return digest_json(
        {"call": call, "setup": setup, "setup_spec": setup_spec, "spec": spec, "code_id": code_id}
    )


def run_map(
    call: str,
    specs: Iterable[Any],
    *,
    store: ObjectStore,
    code_id: str,
    setup: str | None = None,
    setup_spec: Any = None,
    setup_digest: str | None = None,
    workers: int = 1,
    timeout_s: float | None = None,
    on_receipt: Callable[[Receipt], None] | None = None,
) -> list[Receipt]:
    """Compute every task whose result is not in the store; receipts in the order of ``specs``.

    One worker without a timeout runs in this process, where a debugger reaches
    it but a crash is the end of it; otherwise supervised processes do the work.
    ``setup_digest`` stands for ``setup_spec`` in the keys: give it where the spec
    says only where the context lies (a path), so that a moved run goes on.
    Equal specs are computed once. ``on_receipt`` hears of each distinct task as
    soon as it is done. A failed task is named in its receipt and is tried again
    by the next call. Interrupting is safe: what is done stays done.

    Raises:
        SnellenError: the work cannot go on: the store cannot be written, or no
            worker can be made ready.
    """
    job = Job(call=call, setup=setup, setup_spec=_text(setup_spec), store=str(store.root.resolve()))
    context = setup_spec if setup_digest is None else setup_digest
    asked: dict[str, Any] = {"setup": setup, "setup_spec": context, "code_id": code_id}
    tasks = [Task(key=task_key(call, spec, **asked), spec=_text(spec)) for spec in specs]
    receipts: dict[str, Receipt] = {}

    def done(task: Task, outcome: Outcome) -> None:
        receipts[task.key] = receipt = _receipt(task, outcome)
        if on_receipt is not None:
            on_receipt(receipt)

    todo: list[Task] = []
    for task in {task.key: task for task in tasks}.values():
        digest = store.digest(task.key)
        if digest is None:
            todo.append(task)
        else:
            done(msgspec.structs.replace(task, attempt=0), Outcome(state="ok", digest=digest))
    if todo:
        alone = workers == 1 and timeout_s is None
        results = serial(job, todo, store) if alone else pooled(job, todo, workers, timeout_s)
        with contextlib.closing(results):
            for task, outcome in results:
                done(task, outcome)
    return [receipts[task.key] for task in tasks]


def _receipt(task: Task, outcome: Outcome) -> Receipt:
    return Receipt(
        key=task.key,
        spec=json.loads(task.spec),
        state=outcome.state,
        digest=outcome.digest,
        attempt=task.attempt,
        message=outcome.message,
        seconds=outcome.seconds,
    )


def _text(value: Any) -> str:
    return canonical_json(value).decode()

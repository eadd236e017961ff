"""The far end of the pipe: a process that does tasks until its driver is gone.

*Conventions*: it reads a Job and then Tasks from its standard input and
answers on what was its standard output; what the work prints goes to standard
error. The end of the input means that the driver has died or is done: the
process then ends at once, whatever it is doing, so that none is ever left
behind. An object that is being written just then is not yet visible.
"""

from __future__ import annotations

import os
import queue
import threading
from pathlib import Path
from typing import IO

import msgspec

from snellen.core.runner.task import Fatal, Job, Outcome, Ready, Task, attempt, prepared
from snellen.errors import SnellenError
from snellen.store.objects import ObjectStore

__all__ = ["main"]


def main() -> None:
    """Serve one driver."""
    lines, answers = _pipes()
    given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines, given), daemon=True).start()

    def say(message: Ready | Fatal | Outcome) -> None:
        answers.write(msgspec.json.encode(message) + b"\n")
        answers.flush()

    job = msgspec.json.decode(given.get(), type=Job)
    try:
        store = ObjectStore(Path(job.store))
        call, context = prepared(job)
    except Exception as error:  # noqa: BLE001 (the driver raises it for all workers)
        say(Fatal(reason=f"{job.setup or job.call} failed: {type(error).__name__}: {error}"))
        return
    say(Ready())
    while True:
        task = msgspec.json.decode(given.get(), type=Task)
        try:
            say(attempt(call, context, task, store))
        except SnellenError as error:
            say(Fatal(reason=str(error)))
            return


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Both pipes under other numbers, where nothing the work prints or reads can reach them."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return lines, answers


def _listen(lines: IO[bytes], given: queue.SimpleQueue[bytes]) -> None:
    for line in lines:
        given.put(line)
    os._exit(0)

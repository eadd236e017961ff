"""Several workers, supervised: one that dies or hangs is replaced, what kills two is named.

*Conventions*: a worker has one task in hand at a time; its deadline runs from
the moment it was given. Standard library only: pools that exist lose the
tasks of a dead worker, or leave orphans when the driver dies.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from typing import IO

import msgspec

from snellen.core.runner.serial import ONE_THREAD
from snellen.core.runner.task import Fatal, Job, Outcome, Ready, Task
from snellen.errors import SnellenError

__all__ = ["pooled"]

ATTEMPTS = 2
FAILED_STARTS = 5
PROGRAM = "from snellen.core.runner.worker import main; main()"


class _Worker:
    """A process, the pipe to it, and the task it has in hand."""

    def __init__(self, job: Job, heard: Heard) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109
        self.process = subprocess.Popen(  # noqa: S603 (this interpreter, a fixed program)
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"NUMBA_NUM_THREADS": "1", "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is for the driver, which then ends its workers
        )
        self.ready = False
        self.task: Task | None = None
        self.deadline = math.inf
        self._listener = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        self._listener.start()
        self._send(job)

    def give(self, task: Task, timeout_s: float | None) -> None:
        """Put a task into its hand."""
        self.task = task
        self.deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        self._send(task)

    def take(self) -> Task:
        """Take the task, which is done, out of its hand."""
        assert self.task is not None  # noqa: S101 (it has just told what came of it)
        task, self.task, self.deadline = self.task, None, math.inf
        return task

    @property
    def late(self) -> bool:
        """Whether its task has taken longer than allowed."""
        return self.deadline <= time.monotonic()

    def end(self) -> str:
        """Kill the process, if it still lives, and say how it ended."""
        self.process.kill()
        code = self.process.wait()
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                _open(pipe).close()
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def _send(self, message: Job | Task) -> None:
        with contextlib.suppress(OSError):  # it is dead, as the end of its answers will say
            pipe = _open(self.process.stdin)
            pipe.write(msgspec.json.encode(message) + b"\n")
            pipe.flush()

    def _listen(self, heard: Heard) -> None:
        answer = msgspec.json.Decoder(Ready | Fatal | Outcome)
        for line in _open(self.process.stdout):
            if line.endswith(b"\n"):  # else it died in the middle of a word
                heard.put((self, answer.decode(line)))
        heard.put((self, None))


# What a worker said; None when it has died or is past its deadline.
Answer = Ready | Fatal | Outcome | None
Heard = queue.SimpleQueue[tuple[_Worker, Answer]]


def pooled(
    job: Job, todo: Sequence[Task], workers: int, timeout_s: float | None
) -> Generator[tuple[Task, Outcome], None, None]:
    """Each task with its outcome, as they are done; every process ends with the generator."""
    team = _Team(job, todo, workers, timeout_s)
    try:
        while team.left:
            team.staff()
            worker, answer = team.next()
            if isinstance(answer, Fatal):
                raise SnellenError(answer.reason)
            if isinstance(answer, Ready):
                worker.ready, team.failed_starts = True, 0
            elif isinstance(answer, Outcome):
                team.left -= 1
                yield worker.take(), answer
            elif outcome := team.dismiss(worker):
                team.left -= 1
                yield worker.take(), outcome
    finally:
        for worker in team.workers:
            worker.end()


class _Team:
    """The workers, what waits for them, and how many tasks are not yet done."""

    def __init__(self, job: Job, todo: Sequence[Task], size: int, timeout_s: float | None) -> None:
        self.left = len(todo)
        self.failed_starts = 0
        self.workers: list[_Worker] = []
        self._job = job
        self._tasks = deque(todo)
        self._size = size
        self._timeout_s = timeout_s
        self._heard: Heard = queue.SimpleQueue()

    def staff(self) -> None:
        """Start workers where some are lacking, and give those who are free a task."""
        while len(self.workers) < min(self._size, self.left):
            self.workers.append(_Worker(self._job, self._heard))
        for worker in self.workers:
            if worker.ready and worker.task is None and self._tasks:
                worker.give(self._tasks.popleft(), self._timeout_s)

    def next(self) -> tuple[_Worker, Answer]:
        """Wait for the next thing that happens to a worker."""
        while True:
            soonest = min(worker.deadline for worker in self.workers) - time.monotonic()
            try:
                # Not longer than a second, so that Ctrl-C is heard on every system.
                worker, answer = self._heard.get(timeout=min(1.0, max(0.0, soonest)))
            except queue.Empty:
                late = [worker for worker in self.workers if worker.late]
                if late:
                    return late[0], None
            else:
                if worker in self.workers:  # else it was dismissed; this came too late
                    return worker, answer

    def dismiss(self, worker: _Worker) -> Outcome | None:
        """End a worker that is dead or late; what came of its task, unless it gets another try."""
        late = worker.late
        self.workers.remove(worker)
        how = worker.end()
        if worker.task is None:
            self.failed_starts += 1
            if self.failed_starts == FAILED_STARTS:
                raise SnellenError(f"no worker can start: {how}, {FAILED_STARTS} times")
            return None
        if late:
            return Outcome(state="timeout", message=f"longer than {self._timeout_s} s")
        if worker.task.attempt == ATTEMPTS:
            return Outcome(state="crashed", message=f"its process ended, {how}")
        # Last in line, so that a poisonous task does not hold up the others.
        again = msgspec.structs.replace(worker.task, attempt=worker.task.attempt + 1)
        self._tasks.append(again)
        return None


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 (asked for at the start)
    return pipe

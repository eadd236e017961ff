"""The work of a map in this process, under the same single thread as in a worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence

import threadpoolctl

from snellen.core.runner.task import Job, Outcome, Task, attempt, prepared
from snellen.store.objects import ObjectStore

__all__ = ["ONE_THREAD", "serial"]

ONE_THREAD = {
    "BLIS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


def serial(
    job: Job, todo: Sequence[Task], store: ObjectStore
) -> Generator[tuple[Task, Outcome], None, None]:
    """Each task with its outcome, in the given order."""
    with _one_thread():
        call, context = prepared(job)
        for task in todo:
            yield task, attempt(call, context, task, store)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Hold to one thread the libraries that are loaded and those that will be meanwhile."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

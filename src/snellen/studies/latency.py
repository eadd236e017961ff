"""How long does a model take on one clip, on many, and to be loaded?

Models take turns, so that whatever else the machine does hits all alike; every
call is made on one thread, after calls that are not counted. Milliseconds are of
this machine; what carries over to another are ratios between models.

*Conventions*: see ``core.latency`` for units. A turn is some calls on single
clips for every model. ``clock`` gives seconds and only ever goes up.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from snellen.core.latency import LatencyStudy, ModelLatency, Ratio, Throughput, Timing
from snellen.core.study import Study, Subject, Trained
from snellen.signal.keypoints import Keypoints, gather

__all__ = ["BATCHES", "measure_latency", "resident_mib"]

BATCHES = (1, 8, 32, 128)
WARM_UP = 5
# Each turn gives one throughput; three are enough for a median.
BATCH_TURNS = 3
COPIES = 3
READS = 3

Clock = Callable[[], float]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model in memory, and what it took to get it there."""

    subject: Subject
    trained: Trained
    load_ms: float
    memory_mib: float | None


def measure_latency(
    study: Study,
    read: Callable[[], object],
    *,
    turns: int = 20,
    calls: int = 15,
    progress: Progress,
    clock: Clock = time.perf_counter,
) -> LatencyStudy:
    """Time every model of a study, and what comes before it.

    ``read`` reads the corpus from disk. A model is timed for ``turns * calls``
    single clips, on the clips of the study from the first on.
    """
    clips = _some_clips(study.keypoints)
    with threadpool_limits(limits=1):
        read_ms = float(np.median([_timed(clock, read) for _ in range(READS)])) / len(study.items)
        values, mask = study.prepare(clips)
        prepare = _prepare_timing(study, clips, turns * calls, clock)
        loaded = [_load(subject, values, mask, clock) for subject in study.subjects]
        singles = _single_calls(loaded, values, mask, turns, calls, clock, progress)
        rates = _throughput(loaded, values, mask, clock, progress)
    models = tuple(
        ModelLatency(
            model=one.subject.model,
            parameters=one.subject.parameters,
            call=_timing(singles[k].ravel()),
            against_first=_ratio(singles[k], singles[0]),
            throughput=rates[k],
            file_bytes=_bytes_a_round(one.subject),
            load_ms=one.load_ms,
            memory_mib=one.memory_mib,
        )
        for k, one in enumerate(loaded)
    )
    return LatencyStudy(
        corpus=study.corpus,
        protocol=study.protocol,
        preprocessing=study.preprocessing,
        frames=study.frames,
        clips=len(clips),
        cores=os.cpu_count() or 1,
        turns=turns,
        read_ms=read_ms,
        prepare=prepare,
        models=models,
    )


def resident_mib() -> float | None:
    """Memory this process holds, None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _some_clips(keypoints: Keypoints) -> Keypoints:
    """The first clips, as many as the largest batch holds or as there are."""
    n = min(len(keypoints), max(BATCHES))
    return gather(keypoints.layout, keypoints.items[:n], [keypoints.clip(k) for k in range(n)])


def _timed(clock: Clock, work: Callable[..., object], *arguments: object) -> float:
    """Milliseconds of one call."""
    start = clock()
    work(*arguments)
    return 1e3 * (clock() - start)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No collection of garbage, which would hit whoever is being timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _prepare_timing(study: Study, clips: Keypoints, calls: int, clock: Clock) -> Timing:
    ones = [
        gather(clips.layout, clips.items[k : k + 1], [clips.clip(k)]) for k in range(len(clips))
    ]
    for one in ones[:WARM_UP]:
        study.prepare(one)
    with _undisturbed():
        taken = [_timed(clock, study.prepare, ones[k % len(ones)]) for k in range(calls)]
    return _timing(np.array(taken))


def _load(subject: Subject, values: np.ndarray, mask: np.ndarray, clock: Clock) -> _Loaded:
    """Load one round several times and keep all copies: what one adds is its memory."""
    round_ = subject.rounds[0]
    # The first one also loads libraries, which belong to no model.
    first = subject.load(round_)
    first.answer(values[:1], mask[:1])
    gc.collect()
    before = resident_mib()
    copies: list[Trained] = []
    taken = []
    for _ in range(COPIES):
        start = clock()
        copies.append(subject.load(round_))
        taken.append(1e3 * (clock() - start))
        copies[-1].answer(values[:1], mask[:1])
    after = resident_mib()
    grown = None if before is None or after is None else max(after - before, 0.0) / COPIES
    return _Loaded(subject, first, float(np.median(taken)), grown)


def _single_calls(
    loaded: Sequence[_Loaded],
    values: np.ndarray,
    mask: np.ndarray,
    turns: int,
    calls: int,
    clock: Clock,
    progress: Progress,
) -> np.ndarray:
    """Milliseconds of every call, (models, turns, calls)."""
    for one in loaded:
        for k in range(WARM_UP):
            at = _one(k, values)
            one.trained.answer(values[at], mask[at])
    taken = np.zeros((len(loaded), turns, calls))
    with _undisturbed():
        for turn in range(turns):
            for m, one in enumerate(loaded):
                for call in range(calls):
                    at = _one(turn * calls + call, values)
                    taken[m, turn, call] = _timed(clock, one.trained.answer, values[at], mask[at])
            progress("single clips", turn + 1, turns)
    return taken


def _one(k: int, values: np.ndarray) -> slice:
    """The k-th single clip, from the start again after the last."""
    return slice(k % len(values), k % len(values) + 1)


def _throughput(
    loaded: Sequence[_Loaded],
    values: np.ndarray,
    mask: np.ndarray,
    clock: Clock,
    progress: Progress,
) -> list[tuple[Throughput, ...]]:
    """For each model the median rate of each batch size."""
    most = max(BATCHES)
    at = np.arange(most) % len(values)
    many, seen = values[at], mask[at]
    taken = np.zeros((BATCH_TURNS, len(BATCHES), len(loaded)))
    with _undisturbed():
        for turn in range(BATCH_TURNS):
            for b, batch in enumerate(BATCHES):
                for m, one in enumerate(loaded):
                    taken[turn, b, m] = _timed(clock, _answer_all, one, many, seen, batch)
            progress("batches", turn + 1, BATCH_TURNS)
    rates = 1e3 * most / np.median(taken, axis=0)
    return [
        tuple(
            Throughput(batch=batch, clips_per_second=float(rates[b, m]))
            for b, batch in enumerate(BATCHES)
        )
        for m in range(len(loaded))
    ]


def _answer_all(one: _Loaded, values: np.ndarray, mask: np.ndarray, batch: int) -> None:
    for first in range(0, len(values), batch):
        one.trained.answer(values[first : first + batch], mask[first : first + batch])


def _timing(taken: np.ndarray) -> Timing:
    p50, p95, p99 = (float(x) for x in np.percentile(taken, (50, 95, 99)))
    return Timing(p50=p50, p95=p95, p99=p99, min=float(taken.min()), calls=taken.size)


def _ratio(taken: np.ndarray, first: np.ndarray) -> Ratio:
    """Median call against the first model's, turn by turn."""
    ratios = np.median(taken, axis=1) / np.median(first, axis=1)
    low, value, high = (float(x) for x in np.percentile(ratios, (25, 50, 75)))
    return Ratio(value=value, low=low, high=high)


def _bytes_a_round(subject: Subject) -> int:
    """Bytes on disk of one round: what the model's folder holds, shared by its rounds."""
    total = sum(path.stat().st_size for path in subject.folder.rglob("*") if path.is_file())
    return round(total / len(subject.rounds))

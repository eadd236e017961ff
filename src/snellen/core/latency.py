"""What a latency study finds: how long each model takes, and where the time goes.

*Conventions*: times in milliseconds of the machine that measured, so only their
ratios mean anything elsewhere. Percentiles are those of single calls on one
clip. Memory in MiB, None where the system does not say. Sizes in bytes.
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["LatencyStudy", "ModelLatency", "Ratio", "Throughput", "Timing"]

FORMAT = "snellen-latency/1"


class Timing(Struct, frozen=True, kw_only=True):
    """Calls that were timed one by one, in milliseconds."""

    p50: float
    p95: float
    p99: float
    min: float
    calls: int


class Throughput(Struct, frozen=True, kw_only=True):
    """Clips a second when ``batch`` clips are answered in one call."""

    batch: int
    clips_per_second: float


class Ratio(Struct, frozen=True, kw_only=True):
    """How many times as long as the first model: the median of all turns and their quartiles."""

    value: float
    low: float
    high: float


class ModelLatency(Struct, frozen=True, kw_only=True):
    """One model. ``file_bytes`` and ``load_ms`` are those of one trained round."""

    model: str
    parameters: int | None
    call: Timing
    against_first: Ratio
    throughput: tuple[Throughput, ...]
    file_bytes: int
    load_ms: float
    memory_mib: float | None


class LatencyStudy(Struct, frozen=True, kw_only=True):
    """All models of one run, measured in turns in one process.

    ``read_ms`` is the corpus read whole, divided by its clips; ``prepare`` is
    one clip from recording to model input.
    """

    format: str = FORMAT
    corpus: str
    protocol: str
    preprocessing: str
    frames: int
    clips: int
    cores: int
    turns: int
    read_ms: float
    prepare: Timing
    models: tuple[ModelLatency, ...]

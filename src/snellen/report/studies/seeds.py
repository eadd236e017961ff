"""Several training seeds as a section: how far a figure moves when only the draw changes.

*Conventions*: accuracies in percent; the range over seeds is no interval. All
sentences are made of the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core.cells import Measured
from snellen.core.seeds import SeedRow, Seeds
from snellen.report import text
from snellen.report.section import Section, Table

__all__ = ["section"]


def section(result: Seeds) -> Section:
    """Every model under every protocol: its mean over seeds and how far single seeds lie apart."""
    return Section(
        key="seeds",
        title="Training seeds",
        sentences=tuple(_sentences(result)),
        tables=(_table(result),),
    )


def _sentences(result: Seeds) -> Iterator[str]:
    named = ", ".join(map(str, result.seeds))
    yield f"Every model was trained with {text.counted(len(result.seeds), 'seed')} ({named})."
    moved = max(result.rows, key=_range, default=None)
    if moved is not None and len(result.seeds) > 1:
        yield (
            f"Between the best and the worst seed lie at most {text.percent(_range(moved))} points "
            f"({moved.model} under {moved.protocol})."
        )


def _range(row: SeedRow) -> float:
    return row.high_seed - row.low_seed


def _table(result: Seeds) -> Table:
    seeds = tuple(f"seed {seed}" for seed in result.seeds)
    return Table(
        name="seeds",
        caption="Right in %, as the mean over seeds [95 % interval] and seed by seed",
        head=("protocol", "model", "mean", *seeds),
        rows=tuple(
            (row.protocol, row.model, text.short(row.mean), *map(text.percent, row.accuracies))
            for row in result.rows
        ),
        csv_head=("protocol", "model", "seed", "accuracy", "mean", "mean_low", "mean_high"),
        csv_rows=tuple(
            (row.protocol, row.model, seed, accuracy, *_bounded(row))
            for row in result.rows
            for seed, accuracy in zip(result.seeds, row.accuracies, strict=True)
        ),
    )


def _bounded(row: SeedRow) -> tuple[str | float, ...]:
    mean = row.mean
    if not isinstance(mean, Measured):
        return (text.state(mean),) * 3
    low = "no interval" if mean.low is None else mean.low
    return (mean.value, low, "no interval" if mean.high is None else mean.high)

"""The same models trained with several seeds: how much of a figure is the draw of the training.

*Conventions*: accuracies are shares of the scored clips of a protocol. The mean
weighs every clip by the share of seeds that read it rightly; its interval is
over the groups the split protects, like that of one seed. ``low_seed`` and
``high_seed`` are the lowest and highest accuracy of any seed, no interval.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.cells import Cell

__all__ = ["SeedRow", "Seeds"]


class SeedRow(Struct, frozen=True, kw_only=True):
    """One model under one protocol, over all seeds; ``accuracies`` is in their order."""

    model: str
    protocol: str
    accuracies: tuple[float, ...]
    mean: Cell
    low_seed: float
    high_seed: float


class Seeds(Struct, frozen=True, kw_only=True):
    """All models under all protocols with all training seeds of a run."""

    format: str = "snellen-seeds/1"
    seeds: tuple[int, ...]
    rows: tuple[SeedRow, ...]

"""What several training seeds of one run agree on.

*Conventions*: the first seed's answers make the cards; the others are kept
beside them and make :class:`snellen.core.seeds.Seeds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.cells import measured
from snellen.core.seeds import SeedRow, Seeds
from snellen.metrics.intervals import share_interval
from snellen.tasks.isolated.scores import Outcomes

__all__ = ["build_seeds"]


def build_seeds(
    seeds: Sequence[int], results: Mapping[tuple[str, str], Sequence[Outcomes]]
) -> Seeds:
    """Accuracy of every seed; ``results`` holds (protocol, model) with one outcome a seed."""
    return Seeds(
        seeds=tuple(seeds),
        rows=tuple(
            _row(model, protocol, outcomes) for (protocol, model), outcomes in results.items()
        ),
    )


def _row(model: str, protocol: str, outcomes: Sequence[Outcomes]) -> SeedRow:
    correct = np.stack([one.correct for one in outcomes]).astype(np.float64)
    accuracies = tuple(float(share) for share in correct.mean(axis=1))
    return SeedRow(
        model=model,
        protocol=protocol,
        accuracies=accuracies,
        mean=measured(share_interval(correct.mean(axis=0), outcomes[0].groups)),
        low_seed=min(accuracies),
        high_seed=max(accuracies),
    )

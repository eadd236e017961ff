"""The floor every recogniser must clear: always the most frequent training class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snellen.tasks.isolated.model import TrainingData

__all__ = ["SETTINGS", "Majority", "fit", "from_arrays"]

SETTINGS: Mapping[str, object] = {"model": "majority", "ties": "first in the vocabulary"}


@dataclass(frozen=True, slots=True)
class Majority:
    """Answers every clip with the class shares of its training set."""

    counts: np.ndarray

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """The same row for every clip, shape (clips, classes)."""
        with np.errstate(divide="ignore"):
            row = np.log(self.counts / self.counts.sum())
        return np.tile(row, (len(values), 1))

    def arrays(self) -> dict[str, np.ndarray]:
        """Training counts of each class."""
        return {"counts": self.counts}


def fit(data: TrainingData, seed: int) -> Majority:  # noqa: ARG001 (every model has a seed)
    """Count the training labels."""
    return Majority(np.bincount(data.labels, minlength=data.classes).astype(np.int64))


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Majority:
    """Rebuild from :meth:`Majority.arrays`."""
    return Majority(arrays["counts"])

"""The reference document's second network: two GRU layers over the frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from snellen.tasks.isolated.model import Course, TrainingData
from snellen.tasks.isolated.model.neural.network import Network, network
from snellen.tasks.isolated.model.neural.training import learn_network

__all__ = ["SETTINGS", "from_arrays", "learn"]

SETTINGS: Mapping[str, object] = {
    "model": "gru",
    "layers": "GRU 128, GRU 64 (reset_after), dropout 0.3, dense 128 relu",
}


def learn(data: TrainingData, held: TrainingData | None, course: Course) -> Network:
    """Train on ``data``; ``held`` are the validation clips, never test."""
    return learn_network("gru", data, held, course)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Network:
    """Rebuild from :meth:`Network.arrays`; needs ONNX Runtime, not Keras."""
    return network("gru", arrays)

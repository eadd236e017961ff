"""The reference document's third network: two GRU layers, then attention between frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from snellen.tasks.isolated.model import Course, TrainingData
from snellen.tasks.isolated.model.neural.network import Network, network
from snellen.tasks.isolated.model.neural.training import learn_network

__all__ = ["SETTINGS", "from_arrays", "learn"]

SETTINGS: Mapping[str, object] = {
    "model": "gru_mha",
    "layers": "GRU 128, GRU 64 (reset_after), attention 4 x 64 with residual, layer norm, "
    "dropout 0.3, average and maximum over time, dense 128 relu, dropout 0.3",
}


def learn(data: TrainingData, held: TrainingData | None, course: Course) -> Network:
    """Train on ``data``; ``held`` are the validation clips, never test."""
    return learn_network("gru_mha", data, held, course)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Network:
    """Rebuild from :meth:`Network.arrays`; needs ONNX Runtime, not Keras."""
    return network("gru_mha", arrays)

"""Snellen's own network, named after the ring of an eye chart that tells how fine one sees.

Convolutions and attention in time over masked keypoints; the regime ``snellen``
was found for it (see ``regime``), and it may be trained under any other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from snellen.tasks.isolated.model import Course, TrainingData
from snellen.tasks.isolated.model.neural.network import Network, network
from snellen.tasks.isolated.model.neural.training import learn_network

__all__ = ["SETTINGS", "from_arrays", "learn"]

SETTINGS: Mapping[str, object] = {
    "model": "landolt",
    "inputs": "position, position about the clip's mean, velocity, acceleration, mask",
    "layers": "frames in pairs to 64, 3 convolutions of 5, attention 4 x 16, dense 128 and 64, "
    "each with residual, average and maximum over time of dense 128, dropout 0.5",
}


def learn(data: TrainingData, held: TrainingData | None, course: Course) -> Network:
    """Train on ``data``; ``held`` are the validation clips, never test."""
    return learn_network("landolt", data, held, course)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Network:
    """Rebuild from :meth:`Network.arrays`; needs ONNX Runtime, not Keras."""
    return network("landolt", arrays)

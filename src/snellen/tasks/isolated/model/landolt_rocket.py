"""Our best recogniser: ``landolt`` and ``rocket`` pooled into one network with one file.

The two err on different clips: one learns movement with augmentation, the other
counts shapes of thousands of random kernels. Their scores are added, each times
a weight that the validation clips choose (a logarithmic opinion pool). Both
parts run as one ONNX graph.

*Conventions*: arrays of the parts are named ``landolt.*`` and ``rocket.*``;
``pool`` is float64 (2,), the weights of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from snellen.tasks.isolated.model import Course, TrainingData, rocket
from snellen.tasks.isolated.model.neural.network import Network, network
from snellen.tasks.isolated.model.neural.training import learn_network

__all__ = ["SETTINGS", "from_arrays", "learn", "pool_weights"]

KIND, NET = "landolt_rocket", "landolt"
# Without validation clips: what a network says as it is, ridge scores ten times as sharp.
UNTUNED = (0.5, 5.0)
HEAVIEST = 100.0

SETTINGS: Mapping[str, object] = {
    "model": KIND,
    "parts": ["landolt", "rocket"],
    "pool": "sum of weighted scores, weights of least validation loss",
    "rocket": dict(rocket.SETTINGS),
}


def learn(data: TrainingData, held: TrainingData | None, course: Course) -> Network:
    """Train both parts on ``data``; ``held`` are the validation clips, never test.

    The refit keeps the weights of the pool that validation chose before.
    """
    start = None if course.start is None else _part(course.start, NET)
    net = learn_network(NET, data, held, replace(course, start=start))
    ridge = rocket.fit(data, course.seed)
    if course.start is not None:
        weights = course.start["pool"]
    elif held is None:
        weights = np.array(UNTUNED)
    else:
        weights = pool_weights(net, ridge, held)
    return from_arrays(
        {**_named(net.arrays(), NET), **_named(ridge.arrays(), "rocket"), "pool": weights}
    )


def pool_weights(net: Network, ridge: rocket.Rocket, held: TrainingData) -> np.ndarray:
    """The two weights of least negative log-likelihood on the validation clips, each >= 0."""
    usable = ridge.trained[held.labels]
    if not usable.any():
        return np.array(UNTUNED)
    truth, at = held.labels[usable], np.arange(int(usable.sum()))
    parts = [
        np.where(np.isfinite(logs), logs, 0)[usable]
        for logs in (model.log_probabilities(held.values, held.mask) for model in (net, ridge))
    ]
    closed = np.where(ridge.trained, 0, -np.inf)

    def loss(weights: np.ndarray) -> float:
        pooled = weights[0] * parts[0] + weights[1] * parts[1] + closed
        return -float(log_softmax(pooled, axis=1)[at, truth].mean())

    found = minimize(loss, UNTUNED, method="L-BFGS-B", bounds=[(0, HEAVIEST)] * 2)
    return np.asarray(found.x)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Network:
    """Rebuild from :meth:`Network.arrays`; needs ONNX Runtime, not Keras or aeon."""
    own = {name: arrays[f"{NET}.{name}"] for name in ("trained", "rates", "frames")}
    return network(KIND, {**arrays, **own})


def _part(arrays: Mapping[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(f"{part}."): array
        for name, array in arrays.items()
        if name.startswith(f"{part}.")
    }


def _named(arrays: Mapping[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    return {f"{part}.{name}": array for name, array in arrays.items()}

"""MiniRocket and its ridge as a piece of an ONNX graph, from the arrays of a fitted ``rocket``.

It answers: what does MiniRocket compute, with nothing but convolutions,
comparisons and sums? Each kernel has nine taps, -1 but for three that are 2,
and sums over the channels that were drawn for it; a feature is the share of
frames at which the sum exceeds a bias. Every other kernel leaves out the frames
at which a tap hangs over an end of the clip.

*Conventions*: ``values`` is the graph's input (batch, frames, channels). The
standardisation of the features is folded into the ridge. A sum that lies within
rounding of its bias may fall on the other side than in aeon: that moves one
feature by one frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from snellen.tasks.isolated.model.neural.sketch import Sketch

__all__ = ["draw_rocket"]

TAPS, RAISED, HALF = 9, 3, 4
KERNELS = tuple(combinations(range(TAPS), RAISED))


def draw_rocket(
    sketch: Sketch, arrays: Mapping[str, np.ndarray], frames: int, channels: int, scale: float
) -> str:
    """Draw ``scale`` times the scores of a ``rocket``; returns the name of (batch, classes).

    ``arrays`` are those of :meth:`Rocket.arrays`, each with ``rocket.`` before its
    name. A class that was not trained scores 0.
    """
    arrays = {
        name.removeprefix("rocket."): array
        for name, array in arrays.items()
        if name.startswith("rocket.")
    }
    series = sketch.node("Transpose", ["values"], {"perm": [0, 2, 1]})
    parts, first, drawn = [], 0, _drawn_channels(arrays)
    for j, (dilation, count) in enumerate(
        zip(arrays["dilations"].tolist(), arrays["features_per_dilation"].tolist(), strict=True)
    ):
        biases = arrays["biases"][first : first + len(KERNELS) * count]
        first += len(biases)
        kernels = _kernels(drawn[j * len(KERNELS) :], channels)
        parts.append(_shares(sketch, series, kernels, biases, j, dilation, frames))
    features = sketch.node("Concat", parts, {"axis": 1})
    spread = arrays["spread"].astype(np.float64)
    weights = arrays["weights"].astype(np.float64) / spread[:, None]
    offsets = arrays["offsets"] - arrays["mean"] @ weights
    shape = len(weights), len(arrays["trained"])
    every, shift = np.zeros(shape, np.float32), np.zeros(shape[1], np.float32)
    every[:, arrays["trained"]], shift[arrays["trained"]] = scale * weights, scale * offsets
    products = sketch.node("MatMul", [features, sketch.constant(every, "ridge.weights")])
    return sketch.node("Add", [products, sketch.constant(shift, "ridge.offsets")])


def _drawn_channels(arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The channels of each combination of dilation and kernel, in the order they were drawn."""
    ends = np.cumsum(arrays["channels_per_combination"])[:-1]
    return np.split(arrays["channels"], ends)


def _kernels(drawn: list[np.ndarray], channels: int) -> np.ndarray:
    """Weights (kernels, channels, taps) of one dilation."""
    weights = np.zeros((len(KERNELS), channels, TAPS), np.float32)
    for k, raised in enumerate(KERNELS):
        taps = np.full(TAPS, -1, np.float32)
        taps[list(raised)] = 2
        weights[k, drawn[k]] = taps
    return weights


def _shares(
    sketch: Sketch,
    series: str,
    kernels: np.ndarray,
    biases: np.ndarray,
    j: int,
    dilation: int,
    frames: int,
) -> str:
    """Features (batch, kernels * biases of each) of dilation ``j``."""
    pad = HALF * dilation
    sums = sketch.node(
        "Conv",
        [series, sketch.constant(kernels, f"kernels{j}")],
        {"dilations": [dilation], "pads": [pad, pad]},
    )
    apart = sketch.node("Reshape", [sums, sketch.shape(0, len(KERNELS), 1, frames)])
    each = sketch.constant(biases.reshape(1, len(KERNELS), -1, 1), f"biases{j}")
    above = sketch.node("Cast", [sketch.node("Greater", [apart, each])], {"to": 1})
    # One weight a frame: its share of the frames that count for this kernel.
    counted = np.full((len(KERNELS), frames), 1 / frames, np.float32)
    inner = np.arange(len(KERNELS)) % 2 != j % 2
    counted[inner] = 0
    counted[inner, pad : frames - pad] = 1 / (frames - 2 * pad)
    shares = sketch.node("MatMul", [above, sketch.constant(counted[..., None], f"counted{j}")])
    return sketch.node("Reshape", [shares, sketch.shape(0, len(biases))])

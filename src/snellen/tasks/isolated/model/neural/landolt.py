"""Our own network in Keras: convolutions and attention in time over masked keypoints.

*Conventions*: as in ``nets``; ``keras`` is passed in, so that nothing is imported
before something is trained. Two neighbouring frames make one place of the
layers. All that the network needs of the recordings is computed inside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["classified_by", "standardise"]

WIDTH, PATCH, HEADS, WIDENING = 64, 2, 4, 2
CONVOLUTIONS, KERNEL = 3, 5
CHANNEL_DROPOUT, LATE_DROPOUT = 0.1, 0.5
NORM_EPSILON = 1e-5
# In units of a channel's spread: far outliers of a sensor must not run the whole network.
LARGEST = 8.0
SMALLEST_SPREAD = 1e-6
CLIPS_AT_ONCE = 256


def classified_by(keras: Any, values: Any, mask: Any) -> Any:
    """What the classes are told apart by, (batch, 4 * WIDTH)."""
    layers, ops = keras.layers, keras.ops
    x = _standard_layer(keras)(motion_features(keras, values))
    x = ops.concatenate([x, 1.0 - mask], axis=-1)
    # Neighbouring frames side by side: half the frames for every later layer.
    x = ops.reshape(x, (-1, x.shape[1] // PATCH, PATCH * x.shape[2]))
    x = _places_layer(keras)(_norm(layers, "embed", layers.Dense(WIDTH, name="embed")(x)))
    for k in range(1, CONVOLUTIONS + 1):
        x = x + _convolved(layers, f"block{k}", x)
    x = x + _attended(keras, x)
    x = x + _widened(layers, x)
    x = layers.Dense(2 * WIDTH, "silu", name="pool_in")(_norm(layers, "pool", x))
    x = ops.concatenate([ops.mean(x, axis=1), ops.max(x, axis=1)], axis=-1)
    return layers.Dropout(LATE_DROPOUT)(x)


def motion_features(keras: Any, values: Any) -> Any:
    """Position, position about the clip's mean, and first and second differences in time.

    A signer's stance and a glove's offset drop out of all but the first.
    """
    ops = keras.ops
    centred = values - ops.mean(values, axis=1, keepdims=True)
    velocity = values[:, 2:] - values[:, :-2]
    acceleration = values[:, 4:] - 2 * values[:, 2:-2] + values[:, :-4]
    padded = (
        ops.pad(difference, ((0, 0), (ends, ends), (0, 0)))
        for difference, ends in ((velocity, 1), (acceleration, 2))
    )
    return ops.concatenate([values, centred, *padded], axis=-1)


def standardise(keras: Any, net: Any, values: np.ndarray) -> None:
    """Set the network's constants, mean and spread of its inputs, from the training clips."""
    ops = keras.ops
    chunks = (values[k : k + CLIPS_AT_ONCE] for k in range(0, len(values), CLIPS_AT_ONCE))
    features = np.concatenate(
        [
            ops.convert_to_numpy(motion_features(keras, ops.convert_to_tensor(chunk)))
            for chunk in chunks
        ]
    )
    layer = net.get_layer("standardise")
    layer.mean.assign(features.mean(axis=(0, 1)))
    layer.spread.assign(features.std(axis=(0, 1)) + SMALLEST_SPREAD)


def _norm(layers: Any, name: str, x: Any) -> Any:
    return layers.LayerNormalization(epsilon=NORM_EPSILON, name=f"{name}_norm")(x)


def _convolved(layers: Any, name: str, x: Any) -> Any:
    # A full convolution: on a CPU's vector units it trains several times faster than a
    # depthwise one of as many multiplications.
    y = layers.Conv1D(WIDTH, KERNEL, padding="same", name=f"{name}_conv")(x)
    y = layers.Activation("silu")(_norm(layers, name, y))
    # Whole channels: few random numbers, which are dear on a CPU.
    return layers.SpatialDropout1D(CHANNEL_DROPOUT)(layers.Dense(WIDTH, name=f"{name}_out")(y))


def _attended(keras: Any, x: Any) -> Any:
    layers, ops = keras.layers, keras.ops
    places, width = x.shape[1], WIDTH // HEADS
    y = layers.Dense(3 * WIDTH, use_bias=False, name="attention_in")(_norm(layers, "attention", x))
    y = ops.transpose(ops.reshape(y, (-1, places, 3, HEADS, width)), (2, 0, 3, 1, 4))
    scores = ops.matmul(y[0], ops.transpose(y[1], (0, 1, 3, 2))) * width**-0.5
    y = ops.transpose(ops.matmul(ops.softmax(scores), y[2]), (0, 2, 1, 3))
    y = layers.Dense(WIDTH, name="attention_out")(ops.reshape(y, (-1, places, WIDTH)))
    return layers.SpatialDropout1D(CHANNEL_DROPOUT)(y)


def _widened(layers: Any, x: Any) -> Any:
    y = layers.Dense(WIDENING * WIDTH, "silu", name="wide_in")(_norm(layers, "wide", x))
    return layers.SpatialDropout1D(CHANNEL_DROPOUT)(layers.Dense(WIDTH, name="wide_out")(y))


def _standard_layer(keras: Any) -> Any:
    class Standardise(keras.layers.Layer):  # type: ignore[misc]
        """(x - mean) / spread, with constants measured on the training clips."""

        def build(self, shape: tuple[int, ...]) -> None:
            """Start as what changes nothing."""
            size = shape[-1:]
            self.mean = self.add_weight(size, "zeros", trainable=False, name="mean")
            self.spread = self.add_weight(size, "ones", trainable=False, name="spread")

        def call(self, x: Any) -> Any:
            """Standardised and cut off at LARGEST."""
            return keras.ops.clip((x - self.mean) / self.spread, -LARGEST, LARGEST)

    return Standardise(name="standardise")


def _places_layer(keras: Any) -> Any:
    class Places(keras.layers.Layer):  # type: ignore[misc]
        """A learned vector for each place in time, added: attention knows where it is."""

        def build(self, shape: tuple[int, ...]) -> None:
            """One row a place."""
            self.table = self.add_weight(shape[1:], "zeros", name="table")

        def call(self, x: Any) -> Any:
            """Each place moved by its row."""
            return x + self.table

    return Places(name="places")

"""The networks as Keras builds them, and their weights as plain named arrays.

It answers: which layers, how initialised, and under which name is each tensor
stored? ``lstm``, ``gru`` and ``gru_mha`` are the reference document's: at 30
frames of 225 channels and 50 classes they have 245,426, 188,338 and 263,026
parameters, as it says. That count fixes neither the heads nor the two poolings
of ``gru_mha``; 4 heads of 64 and average plus maximum are the document's own
reading.

Keras runs on JAX unless the environment variable ``KERAS_BACKEND`` names another
backend (``torch``, ``tensorflow``) before the first training of a process. On
JAX the same seed gives the same weights for any number of cores, since it is
held to one: other cores train other rounds. Backends differ from each other.

``landolt`` is ours: convolutions in time, then attention between frames, over
position, velocity and acceleration of masked keypoints, all computed inside.

*Conventions*: inputs ``values`` (batch, frames, channels) and ``mask`` (batch,
frames, points), both float32; the reference networks take the mask and ignore
it. Output: logits (batch, classes). Stored weights are float32, named
``layer.tensor``; an attention's heads lie side by side in one axis. Every kernel
and every dropout is drawn with a seed of its own: nothing depends on a global one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from snellen.errors import Missing
from snellen.tasks.isolated.model.neural import landolt

__all__ = [
    "KINDS",
    "array_of",
    "build",
    "initialise",
    "load_keras",
    "load_weights",
    "weights_of",
]

DROPOUT = 0.3
HEADS, HEAD_WIDTH = 4, 64
# Where XLA reads how many cores there are, before it looks itself.
CORES = "NPROC"
# Keras' names of tensors where ours differ.
RENAMED = {
    "recurrent_kernel": "recurrent",
    "attention_output": "output",
}
CELLS = ("lstm_cell", "gru_cell")


def load_keras() -> Any:
    """The ``keras`` module, on JAX unless the user has chosen otherwise.

    Raises:
        Missing: Keras or its backend is not installed.
    """
    os.environ.setdefault("KERAS_BACKEND", "jax")
    with _one_core():
        try:
            import keras

            keras.ops.ones(())  # starts the backend
        except ImportError as error:
            message = f"training a network needs {error.name}: pip install 'snellen[train]'"
            raise Missing(message) from error
    return keras


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """What starts here finds one core: XLA compiles other sums for one core than for two."""
    before = os.environ.get(CORES)
    os.environ[CORES] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[CORES]
        else:
            os.environ[CORES] = before


def build(kind: str, frames: int, channels: int, points: int, classes: int, *, seed: int) -> Any:
    """An untrained ``keras.Model`` from (values, mask) to logits."""
    keras = load_keras()
    values = keras.layers.Input((frames, channels), name="values")
    mask = keras.layers.Input((frames, points), name="mask")
    features = KINDS[kind](keras, values, mask)
    net = keras.Model([values, mask], keras.layers.Dense(classes, name="out")(features))
    initialise(net, seed)
    return net


def initialise(net: Any, seed: int) -> None:
    """Draw the kernels and start the dropouts, each with its own seed.

    What is no kernel stays as Keras has it. Layers given a seed when they are made
    would not do: an attention hands the same one to its queries, keys and values,
    which then start out equal.
    """
    initializers = load_keras().initializers
    drawn: Mapping[str, Callable[..., Any]] = {
        "kernel": initializers.GlorotUniform,
        "recurrent": initializers.Orthogonal,
        "table": partial(initializers.RandomNormal, stddev=0.02),
    }
    seeds = np.random.default_rng(seed)
    for variable in net.variables:
        one = int(seeds.integers(2**31))
        name = _name(variable)
        if name.endswith("seed_generator_state"):
            variable.assign(np.array([one, 0], str(variable.dtype)))
        elif (initializer := drawn.get(name.rsplit(".", 1)[-1])) is not None:
            variable.assign(initializer(seed=one)(variable.shape))


def _lstm(keras: Any, values: Any, mask: Any) -> Any:  # noqa: ARG001
    layers = keras.layers
    x = layers.LSTM(128, return_sequences=True, name="rnn1")(values)
    x = layers.LSTM(64, name="rnn2")(x)
    x = layers.Dropout(DROPOUT)(x)
    return layers.Dense(128, "relu", name="dense")(x)


def _gru(keras: Any, values: Any, mask: Any) -> Any:  # noqa: ARG001
    layers = keras.layers
    x = layers.GRU(128, return_sequences=True, name="rnn1")(values)
    x = layers.GRU(64, name="rnn2")(x)
    x = layers.Dropout(DROPOUT)(x)
    return layers.Dense(128, "relu", name="dense")(x)


def _gru_mha(keras: Any, values: Any, mask: Any) -> Any:  # noqa: ARG001
    layers = keras.layers
    x = layers.GRU(128, return_sequences=True, name="rnn1")(values)
    x = layers.GRU(64, return_sequences=True, name="rnn2")(x)
    x = x + layers.MultiHeadAttention(HEADS, HEAD_WIDTH, name="attention")(x, x)
    x = layers.LayerNormalization(name="norm")(x)
    x = layers.Dropout(DROPOUT)(x)
    pools = (layers.GlobalAveragePooling1D(), layers.GlobalMaxPooling1D())
    x = layers.Concatenate()([pool(x) for pool in pools])
    x = layers.Dense(128, "relu", name="dense")(x)
    return layers.Dropout(DROPOUT)(x)


KINDS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "lstm": _lstm,
    "gru": _gru,
    "gru_mha": _gru_mha,
    "landolt": landolt.classified_by,
}


def array_of(variable: Any) -> np.ndarray:
    """A copy of a Keras variable's numbers, of its own type."""
    return np.array(load_keras().ops.convert_to_numpy(variable.value))


def weights_of(net: Any) -> dict[str, np.ndarray]:
    """Every weight of a network under its own name, float32."""
    return {
        name: array_of(variable).reshape(_stored_shape(name, variable.shape))
        for name, variable in _named(net)
    }


def load_weights(net: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Give a network the weights that :func:`weights_of` took from one like it.

    Raises:
        KeyError: a weight is absent.
        ValueError: a weight has another size.
    """
    for name, variable in _named(net):
        variable.assign(np.asarray(arrays[name], np.float32).reshape(variable.shape))


def _named(net: Any) -> Iterator[tuple[str, Any]]:
    for variable in net.weights:
        yield _name(variable), variable


def _name(variable: Any) -> str:
    parts = (RENAMED.get(part, part) for part in variable.path.split("/") if part not in CELLS)
    return ".".join(parts)


def _stored_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Heads beside each other instead of in an axis of their own."""
    if not name.startswith("attention."):
        return shape
    if name.endswith("bias"):
        return (-1,)
    return (-1, shape[-1]) if name == "attention.output.kernel" else (shape[0], -1)

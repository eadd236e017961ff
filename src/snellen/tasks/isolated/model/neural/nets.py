"""The networks as Keras builds them, and their weights as plain named arrays.

It answers: which layers, how initialised, and under which name is each tensor
stored? ``lstm``, ``gru`` and ``gru_mha`` are the reference document's: at 30
frames of 225 channels and 50 classes they have 245,426, 188,338 and 263,026
parameters, as it says. That count fixes neither the heads nor the two poolings
of ``gru_mha``; 4 heads of 64 and average plus maximum are the document's own
reading.

Keras runs on JAX unless the environment variable ``KERAS_BACKEND`` names another
backend (``torch``, ``tensorflow``) before the first training of a process. The
same seed gives the same weights on one backend, not across backends.

*Conventions*: inputs ``values`` (batch, frames, channels) and ``mask`` (batch,
frames, points), both float32; the reference networks take the mask and ignore
it. Output: logits (batch, classes). Stored weights are float32, named
``layer.tensor``; an attention's heads lie side by side in one axis. Every kernel
and every dropout is drawn with a seed of its own: nothing depends on a global one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from snellen.errors import Missing

__all__ = ["KINDS", "array_of", "build", "load_keras", "load_weights", "weights_of"]

DROPOUT = 0.3
HEADS, HEAD_WIDTH = 4, 64
# Keras' names of tensors where ours differ.
RENAMED = {"recurrent_kernel": "recurrent", "attention_output": "output"}
CELLS = ("lstm_cell", "gru_cell")


def load_keras() -> Any:
    """The ``keras`` module, on JAX unless the user has chosen otherwise.

    Raises:
        Missing: Keras or its backend is not installed.
    """
    os.environ.setdefault("KERAS_BACKEND", "jax")
    try:
        import keras
    except ImportError as error:
        message = f"training a network needs {error.name}: pip install 'snellen[train]'"
        raise Missing(message) from error
    return keras


def build(kind: str, frames: int, channels: int, points: int, classes: int, *, seed: int) -> Any:
    """An untrained ``keras.Model`` from (values, mask) to logits."""
    layers = load_keras().layers
    seeds = _seeds(seed)
    values = layers.Input((frames, channels), name="values")
    mask = layers.Input((frames, points), name="mask")
    features = KINDS[kind](layers, values, mask, seeds)
    net = load_keras().Model([values, mask], layers.Dense(classes, name="out")(features))
    _initialise(net, seeds)
    return net


def _seeds(seed: int) -> Iterator[int]:
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(2**31))


def _initialise(net: Any, seeds: Iterator[int]) -> None:
    """Draw the kernels anew, each with its own seed; what is no kernel stays as Keras has it.

    Layers given a seed when they are made would not do: an attention gives the
    same one to its queries, keys and values, which then start out equal.
    """
    initializers = load_keras().initializers
    drawn = {"kernel": initializers.GlorotUniform, "recurrent": initializers.Orthogonal}
    for name, variable in _named(net):
        initializer = drawn.get(name.rsplit(".", 1)[1])
        if initializer is not None:
            variable.assign(initializer(seed=next(seeds))(variable.shape))


def _lstm(layers: Any, values: Any, mask: Any, seeds: Iterator[int]) -> Any:  # noqa: ARG001
    x = layers.LSTM(128, return_sequences=True, name="rnn1")(values)
    x = layers.LSTM(64, name="rnn2")(x)
    x = layers.Dropout(DROPOUT, seed=next(seeds))(x)
    return layers.Dense(128, "relu", name="dense")(x)


def _gru(layers: Any, values: Any, mask: Any, seeds: Iterator[int]) -> Any:  # noqa: ARG001
    x = layers.GRU(128, return_sequences=True, name="rnn1")(values)
    x = layers.GRU(64, name="rnn2")(x)
    x = layers.Dropout(DROPOUT, seed=next(seeds))(x)
    return layers.Dense(128, "relu", name="dense")(x)


def _gru_mha(layers: Any, values: Any, mask: Any, seeds: Iterator[int]) -> Any:  # noqa: ARG001
    x = layers.GRU(128, return_sequences=True, name="rnn1")(values)
    x = layers.GRU(64, return_sequences=True, name="rnn2")(x)
    x = x + layers.MultiHeadAttention(HEADS, HEAD_WIDTH, name="attention")(x, x)
    x = layers.LayerNormalization(name="norm")(x)
    x = layers.Dropout(DROPOUT, seed=next(seeds))(x)
    pools = (layers.GlobalAveragePooling1D(), layers.GlobalMaxPooling1D())
    x = layers.Concatenate()([pool(x) for pool in pools])
    x = layers.Dense(128, "relu", name="dense")(x)
    return layers.Dropout(DROPOUT, seed=next(seeds))(x)


KINDS: Mapping[str, Callable[[Any, Any, Any, Iterator[int]], Any]] = {
    "lstm": _lstm,
    "gru": _gru,
    "gru_mha": _gru_mha,
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
        parts = [RENAMED.get(part, part) for part in variable.path.split("/") if part not in CELLS]
        yield ".".join(parts), variable


def _stored_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Heads beside each other instead of in an axis of their own."""
    if not name.startswith("attention."):
        return shape
    if name.endswith("bias"):
        return (-1,)
    return (-1, shape[-1]) if name == "attention.output.kernel" else (shape[0], -1)

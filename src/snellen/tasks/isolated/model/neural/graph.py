"""The ONNX graph of a network, written from its weights: no training framework in between.

It answers: what does a trained network compute, in a form that any ONNX runtime
from 1.10 on can run? Each kind is one function that reads like the network.

*Conventions*: inputs ``values`` (batch, frames, channels) and ``mask`` (batch,
frames, points), output ``logits`` (batch, classes), all float32, batch free. Weights
have the names and the gate order of Keras (LSTM i, f, c, o; GRU z, r, h with
``reset_after``); ONNX wants LSTM gates as i, o, f, c. Recurrent layers run over
(frames, batch, units), everything else over (batch, frames, units). Of ``landolt``,
``patch`` neighbouring frames stand side by side in one place of its layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from snellen.tasks.isolated.model.neural.rocket_graph import draw_rocket
from snellen.tasks.isolated.model.neural.sketch import Arrays, Sketch

__all__ = ["IR_VERSION", "KINDS", "OPSET", "graph"]

# Old enough for runtimes of 2021, new enough for LayerNormalization as one operator.
OPSET, IR_VERSION = 17, 8
HEADS = 4
KERAS_EPSILON, LANDOLT_EPSILON = 1e-3, 1e-5
# Far outliers of a sensor must not run the whole network.
LARGEST = 8.0
# Where ONNX finds its gates among those of Keras.
GATE_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2)}
LAST_FRAME = 2**31 - 1


def graph(kind: str, arrays: Arrays) -> Any:
    """The ``onnx.ModelProto`` of a network.

    Raises:
        KeyError: a weight is absent.
        ValueError: there is no such kind, or weights of impossible shapes.
    """
    from onnx import TensorProto, helper

    if kind not in KINDS:
        raise ValueError(f"no network {kind!r}: one of {', '.join(KINDS)}")
    sketch = Sketch()
    channels, points = KINDS[kind](sketch, arrays)
    sketch.nodes[-1].output[0] = "logits"
    frames, classes = int(arrays["frames"][0]), len(arrays["trained"])
    float32 = TensorProto.FLOAT
    drawn = helper.make_graph(
        sketch.nodes,
        kind,
        [
            helper.make_tensor_value_info("values", float32, ["batch", frames, channels]),
            helper.make_tensor_value_info("mask", float32, ["batch", frames, points]),
        ],
        [helper.make_tensor_value_info("logits", float32, ["batch", classes])],
        sketch.constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(drawn, ir_version=IR_VERSION, opset_imports=opsets)


def _lstm(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Two LSTM layers, a dense layer, the classes."""
    return _recurrent(sketch, arrays, "LSTM")


def _gru(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Two GRU layers, a dense layer, the classes."""
    return _recurrent(sketch, arrays, "GRU")


def _recurrent(sketch: Sketch, arrays: Arrays, operator: str) -> tuple[int, int | str]:
    x = sketch.turned("values", 1, 0, 2)
    x = _rnn(sketch, operator, x, arrays, "rnn1")
    x = _rnn(sketch, operator, x, arrays, "rnn2", last=True)
    return _classified(sketch, x, arrays)


def _gru_mha(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Two GRU layers, self-attention with a residual, average and maximum over time."""
    x = sketch.turned("values", 1, 0, 2)
    x = _rnn(sketch, "GRU", _rnn(sketch, "GRU", x, arrays, "rnn1"), arrays, "rnn2")
    x = sketch.turned(x, 1, 0, 2)
    width = arrays["attention.query.kernel"].shape[1]
    side_by_side = {f"attention.{part}": _side_by_side(arrays, part) for part in ("kernel", "bias")}
    y = sketch.dense(x, side_by_side, "attention")
    gathered = sketch.gathered(y, frames=int(arrays["frames"][0]), heads=HEADS, width=width)
    attended = sketch.dense(gathered, arrays, "attention.output")
    x = sketch.norm(sketch.node("Add", [x, attended]), arrays, "norm", KERAS_EPSILON)
    return _classified(sketch, sketch.pooled(x), arrays)


def _side_by_side(arrays: Arrays, part: str) -> np.ndarray:
    """Queries, keys and values in one product, which takes one call instead of three."""
    query, key, value = (arrays[f"attention.{name}.{part}"] for name in ("query", "key", "value"))
    return np.concatenate([_scaled(query), key, value], axis=-1)


def _scaled(query: np.ndarray) -> np.ndarray:
    """Scaling the queries' weights once is scaling every product with a key."""
    return np.asarray(query * np.float32((query.shape[-1] // HEADS) ** -0.5))


def _rnn(
    sketch: Sketch, operator: str, x: str, arrays: Arrays, name: str, *, last: bool = False
) -> str:
    """One layer over (frames, batch, units); returns all its states or the last one."""
    recurrent, bias = arrays[f"{name}.recurrent"], arrays[f"{name}.bias"]
    units, order = len(recurrent), GATE_ORDER[operator]
    if bias.ndim == 1:
        # Keras' LSTM has one bias a gate, ONNX one for the input and one for the state.
        bias = np.stack([bias, np.zeros_like(bias)])

    def gates(matrix: np.ndarray) -> np.ndarray:
        """(rows, gates * units) in Keras' order to (gates * units, rows) in ONNX's."""
        split = matrix.reshape(len(matrix), len(order), units)[:, list(order)]
        return np.asarray(split.reshape(len(matrix), -1).T)

    inputs = [
        x,
        sketch.constant(gates(arrays[f"{name}.kernel"])[None], f"{name}.kernel"),
        sketch.constant(gates(recurrent)[None], f"{name}.recurrent"),
        sketch.constant(gates(bias).T.reshape(1, -1), f"{name}.bias"),
    ]
    # A GRU as Keras has it (reset_after) applies the reset gate to the finished product.
    reset = {"linear_before_reset": 1} if operator == "GRU" else {}
    states = f"{name}.states"
    outputs = ["", states] if last else [states]
    sketch.node(operator, inputs, {"hidden_size": units, **reset}, outputs)
    # The axis of the directions in which a sequence is read: there is one.
    return sketch.node("Squeeze", [states, sketch.shape(0 if last else 1)])


def _classified(sketch: Sketch, x: str, arrays: Arrays) -> tuple[int, int | str]:
    hidden = sketch.node("Relu", [sketch.dense(x, arrays, "dense")])
    sketch.dense(hidden, arrays, "out")
    return arrays["rnn1.kernel"].shape[0], "points"


def _landolt(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Motion features, convolutions in time, self-attention, a wide layer, both poolings."""
    table = arrays["places.table"]
    channels = len(arrays["standardise.mean"]) // 4
    patch = int(arrays["frames"][0]) // len(table)
    per_frame = len(arrays["embed.kernel"]) // patch
    seen = sketch.node("Concat", [_standardised(sketch, arrays), _absent(sketch)], {"axis": 2})
    x = sketch.node("Reshape", [seen, sketch.shape(0, len(table), patch * per_frame)])
    x = _normed(sketch, sketch.dense(x, arrays, "embed"), arrays, "embed_norm")
    x = sketch.node("Add", [x, sketch.constant(table, "places.table")])
    convolutions = sum(name.endswith("_conv.kernel") for name in arrays)
    for k in range(1, convolutions + 1):
        y = _normed(sketch, _conv(sketch, x, arrays, f"block{k}_conv"), arrays, f"block{k}_norm")
        y = sketch.dense(sketch.swish(y), arrays, f"block{k}_out")
        x = sketch.node("Add", [x, y])
    x = sketch.node("Add", [x, _attended(sketch, x, arrays)])
    y = sketch.dense(_normed(sketch, x, arrays, "wide_norm"), arrays, "wide_in")
    x = sketch.node("Add", [x, sketch.dense(sketch.swish(y), arrays, "wide_out")])
    x = sketch.dense(_normed(sketch, x, arrays, "pool_norm"), arrays, "pool_in")
    sketch.dense(sketch.pooled(sketch.swish(x)), arrays, "out")
    return channels, per_frame - 4 * channels


def _standardised(sketch: Sketch, arrays: Arrays) -> str:
    """Place, place within the clip, first and second difference, in training spreads."""

    def frames(first: int, last: int) -> str:
        ends = [sketch.shape(first), sketch.shape(last), sketch.shape(1)]
        return sketch.node("Slice", ["values", *ends])

    def padded(x: str, n: int) -> str:
        return sketch.node("Pad", [x, sketch.shape(0, n, 0, 0, n, 0)])

    mean = sketch.node("ReduceMean", ["values"], {"axes": [1], "keepdims": 1})
    centred = sketch.node("Sub", ["values", mean])
    velocity = sketch.node("Sub", [frames(2, LAST_FRAME), frames(0, -2)])
    twice = sketch.node("Mul", [frames(2, -2), sketch.single(2)])
    around = sketch.node("Add", [frames(4, LAST_FRAME), frames(0, -4)])
    bend = sketch.node("Sub", [around, twice])
    parts = ["values", centred, padded(velocity, 1), padded(bend, 2)]
    x = sketch.node("Concat", parts, {"axis": 2})
    means, spreads = (
        sketch.constant(arrays[f"standardise.{part}"], f"standardise.{part}")
        for part in ("mean", "spread")
    )
    x = sketch.node("Div", [sketch.node("Sub", [x, means]), spreads])
    return sketch.node("Clip", [x, sketch.single(-LARGEST), sketch.single(LARGEST)])


def _absent(sketch: Sketch) -> str:
    return sketch.node("Sub", [sketch.single(1), "mask"])


def _normed(sketch: Sketch, x: str, arrays: Arrays, name: str) -> str:
    return sketch.norm(x, arrays, name, LANDOLT_EPSILON)


def _conv(sketch: Sketch, x: str, arrays: Arrays, name: str) -> str:
    """A convolution in time that keeps the length; Keras' kernel is (time, in, out)."""
    kernel = arrays[f"{name}.kernel"]
    before = (len(kernel) - 1) // 2
    pads = [before, len(kernel) - 1 - before]
    parts = [
        sketch.constant(kernel.transpose(2, 1, 0), f"{name}.kernel"),
        sketch.constant(arrays[f"{name}.bias"], f"{name}.bias"),
    ]
    y = sketch.node("Conv", [sketch.turned(x, 0, 2, 1), *parts], {"pads": pads})
    return sketch.turned(y, 0, 2, 1)


def _attended(sketch: Sketch, x: str, arrays: Arrays) -> str:
    """Self-attention; one kernel makes queries, keys and values, in this order."""
    query, key, value = np.split(arrays["attention_in.kernel"], 3, axis=1)
    kernel = np.concatenate([_scaled(query), key, value], axis=1)
    y = sketch.product(_normed(sketch, x, arrays, "attention_norm"), kernel, "attention_in")
    places, width = len(arrays["places.table"]), query.shape[1]
    gathered = sketch.gathered(y, frames=places, heads=HEADS, width=width)
    return sketch.dense(gathered, arrays, "attention_out")


def _landolt_rocket(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Both parts, each score times its weight in the pool."""
    net = {
        name.removeprefix("landolt."): array
        for name, array in arrays.items()
        if name.startswith("landolt.")
    }
    weights = arrays["pool"].astype(np.float64)
    heavy = {
        f"out.{part}": (weights[0] * net[f"out.{part}"]).astype(np.float32)
        for part in ("kernel", "bias")
    }
    channels, points = _landolt(sketch, {**net, **heavy})
    read = sketch.nodes[-1].output[0]
    frames = int(arrays["frames"][0])
    counted = draw_rocket(sketch, arrays, frames, channels, float(weights[1]))
    sketch.node("Add", [read, counted])
    return channels, points


# Each draws up to the logits, its last node, and returns channels and points (a name where
# any number will do).
KINDS: Mapping[str, Callable[[Sketch, Arrays], tuple[int, int | str]]] = {
    "lstm": _lstm,
    "gru": _gru,
    "gru_mha": _gru_mha,
    "landolt": _landolt,
    "landolt_rocket": _landolt_rocket,
}

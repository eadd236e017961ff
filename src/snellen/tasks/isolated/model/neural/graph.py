"""The ONNX graph of a network, written from its weights: no training framework in between.

It answers: what does a trained network compute, in a form that any ONNX runtime
from 1.10 on can run? Each kind is one function that reads like the network.

*Conventions*: inputs ``values`` (batch, frames, channels) and ``mask`` (batch,
frames, points), output ``logits`` (batch, classes), all float32, batch free. Weights
have the names and the gate order of Keras (LSTM i, f, c, o; GRU z, r, h with
``reset_after``); ONNX wants LSTM gates as i, o, f, c. Recurrent layers run over
(frames, batch, units), everything else over (batch, frames, units).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["IR_VERSION", "KINDS", "OPERATORS", "OPSET", "Sketch", "graph"]

# Old enough for runtimes of 2021, new enough for LayerNormalization as one operator.
OPSET, IR_VERSION = 17, 8
NORM_EPSILON = 1e-3
HEADS = 4
# Where ONNX finds its gates among those of Keras.
GATE_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2)}

# What the functions below and the head of an exported file use: nothing here reads a file,
# loops, branches or holds another graph.
OPERATORS = frozenset(
    {
        "Add",
        "Concat",
        "Exp",
        "GRU",
        "LSTM",
        "LayerNormalization",
        "LogSoftmax",
        "MatMul",
        "Mul",
        "ReduceMax",
        "ReduceMean",
        "Relu",
        "Reshape",
        "Softmax",
        "Squeeze",
        "Transpose",
    }
)

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A graph while it is drawn: nodes in the order they run, and constant tensors."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, array: np.ndarray, name: str) -> str:
        """A tensor of the graph; returns its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def shape(self, *sizes: int) -> str:
        """A constant of whole numbers, such as the target of Reshape (0 keeps a size)."""
        return self.constant(np.array(sizes, np.int64), f"sizes{len(self.constants)}")

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        settings: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
    ) -> str:
        """Apply an operator; returns the name of its (last) output."""
        from onnx import helper

        names = list(outputs) or [f"{operator.lower()}{len(self.nodes)}"]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **(settings or {})))
        return names[-1]

    def dense(self, x: str, arrays: Arrays, name: str, outputs: Sequence[str] = ()) -> str:
        """``x @ kernel + bias`` over the last axis."""
        kernel, bias = (
            self.constant(arrays[f"{name}.{part}"], f"{name}.{part}") for part in ("kernel", "bias")
        )
        return self.node("Add", [self.node("MatMul", [x, kernel]), bias], outputs=outputs)


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
    frames, classes = int(arrays["frames"][0]), arrays["out.kernel"].shape[1]
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
    x = sketch.node("Transpose", ["values"], {"perm": [1, 0, 2]})
    x = _rnn(sketch, operator, x, arrays, "rnn1")
    x = _rnn(sketch, operator, x, arrays, "rnn2", last=True)
    _classify(sketch, x, arrays)
    return arrays["rnn1.kernel"].shape[0], "points"


def _gru_mha(sketch: Sketch, arrays: Arrays) -> tuple[int, int | str]:
    """Two GRU layers, self-attention with a residual, average and maximum over time."""
    x = sketch.node("Transpose", ["values"], {"perm": [1, 0, 2]})
    x = _rnn(sketch, "GRU", _rnn(sketch, "GRU", x, arrays, "rnn1"), arrays, "rnn2")
    x = sketch.node("Transpose", [x], {"perm": [1, 0, 2]})
    attended = sketch.dense(_attention(sketch, x, arrays), arrays, "attention.output")
    normed = sketch.node(
        "LayerNormalization",
        [
            sketch.node("Add", [x, attended]),
            sketch.constant(arrays["norm.gamma"], "norm.gamma"),
            sketch.constant(arrays["norm.beta"], "norm.beta"),
        ],
        {"axis": -1, "epsilon": NORM_EPSILON},
    )
    pooled = [
        sketch.node(operator, [normed], {"axes": [1], "keepdims": 0})
        for operator in ("ReduceMean", "ReduceMax")
    ]
    _classify(sketch, sketch.node("Concat", pooled, {"axis": 1}), arrays)
    return arrays["rnn1.kernel"].shape[0], "points"


def _attention(sketch: Sketch, x: str, arrays: Arrays) -> str:
    """What each frame gathers from all frames, all heads side by side."""
    width = arrays["attention.query.kernel"].shape[1]
    per_head = width // HEADS
    # Scaling the queries' weights once is scaling every product.
    scaled = {
        f"attention.query.{part}": arrays[f"attention.query.{part}"] * np.float32(per_head**-0.5)
        for part in ("kernel", "bias")
    }
    split = sketch.shape(0, 0, HEADS, per_head)
    turned = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
    parts = {}
    for name, order in turned.items():
        flat = sketch.dense(x, {**arrays, **scaled}, f"attention.{name}")
        heads = sketch.node("Reshape", [flat, split])
        parts[name] = sketch.node("Transpose", [heads], {"perm": order})
    shares = sketch.node(
        "Softmax", [sketch.node("MatMul", [parts["query"], parts["key"]])], {"axis": -1}
    )
    gathered = sketch.node("MatMul", [shares, parts["value"]])
    together = sketch.node("Transpose", [gathered], {"perm": [0, 2, 1, 3]})
    return sketch.node("Reshape", [together, sketch.shape(0, 0, width)])


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


def _classify(sketch: Sketch, x: str, arrays: Arrays) -> None:
    hidden = sketch.node("Relu", [sketch.dense(x, arrays, "dense")])
    sketch.dense(hidden, arrays, "out", outputs=["logits"])


# Each draws up to "logits" and returns channels and points (a name where any number will do).
KINDS: Mapping[str, Callable[[Sketch, Arrays], tuple[int, int | str]]] = {
    "lstm": _lstm,
    "gru": _gru,
    "gru_mha": _gru_mha,
}

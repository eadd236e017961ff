"""An ONNX graph while it is drawn: constants and nodes, and the pieces networks share.

*Conventions*: a value of the graph is known by its name, and every method that
adds something returns the name of what comes out. Shapes are (batch, frames,
units) unless a method says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["OPERATORS", "Arrays", "Sketch"]

Arrays = Mapping[str, np.ndarray]

# What networks and the head of an exported file use: nothing here reads a file, loops,
# branches or holds another graph.
OPERATORS = frozenset(
    {
        "Add",
        "Cast",
        "Clip",
        "Concat",
        "Conv",
        "Div",
        "Exp",
        "GRU",
        "Greater",
        "LSTM",
        "LayerNormalization",
        "LogSoftmax",
        "MatMul",
        "Mul",
        "Pad",
        "ReduceMax",
        "ReduceMean",
        "Relu",
        "Reshape",
        "Sigmoid",
        "Slice",
        "Softmax",
        "Split",
        "Squeeze",
        "Sub",
        "Transpose",
    }
)


@dataclass(frozen=True, slots=True)
class Sketch:
    """Nodes in the order they run, and constant tensors."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, array: np.ndarray, name: str) -> str:
        """A tensor of the graph."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def shape(self, *numbers: int) -> str:
        """A constant of whole numbers: sizes for Reshape (0 keeps one), axes, places, pads."""
        return self.constant(np.array(numbers, np.int64), f"shape{len(self.constants)}")

    def single(self, number: float) -> str:
        """A constant of one float32 number."""
        return self.constant(np.array(number, np.float32), f"number{len(self.constants)}")

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        settings: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
    ) -> str:
        """Apply an operator; gives the name of its (last) output."""
        from onnx import helper

        names = list(outputs) or [f"{operator.lower()}{len(self.nodes)}"]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **(settings or {})))
        return names[-1]

    def product(self, x: str, kernel: np.ndarray, name: str) -> str:
        """``x @ kernel`` over the last axis."""
        return self.node("MatMul", [x, self.constant(kernel, f"{name}.kernel")])

    def dense(self, x: str, arrays: Arrays, name: str, outputs: Sequence[str] = ()) -> str:
        """``x @ kernel + bias`` over the last axis."""
        bias = self.constant(arrays[f"{name}.bias"], f"{name}.bias")
        product = self.product(x, arrays[f"{name}.kernel"], name)
        return self.node("Add", [product, bias], outputs=outputs)

    def norm(self, x: str, arrays: Arrays, name: str, epsilon: float) -> str:
        """Every frame to mean 0 and variance 1 over its units, then scaled and shifted."""
        parts = [
            self.constant(arrays[f"{name}.{part}"], f"{name}.{part}") for part in ("gamma", "beta")
        ]
        return self.node("LayerNormalization", [x, *parts], {"axis": -1, "epsilon": epsilon})

    def turned(self, x: str, *order: int) -> str:
        """The axes in another order."""
        return self.node("Transpose", [x], {"perm": list(order)})

    def swish(self, x: str) -> str:
        """``x * sigmoid(x)``."""
        return self.node("Mul", [x, self.node("Sigmoid", [x])])

    def pooled(self, x: str) -> str:
        """Average and maximum over time side by side, (batch, 2 * units)."""
        pools = [
            self.node(operator, [x], {"axes": [1], "keepdims": 0})
            for operator in ("ReduceMean", "ReduceMax")
        ]
        return self.node("Concat", pools, {"axis": 1})

    def gathered(self, x: str, *, frames: int, heads: int, width: int) -> str:
        """What each frame takes from all frames, (batch, frames, width).

        ``x`` holds queries (already scaled), keys and values side by side, each of
        ``width``, which is that of all heads together.
        """
        apart = self.node("Reshape", [x, self.shape(-1, frames, 3, heads, width // heads)])
        parts = [f"part{k}.{len(self.nodes)}" for k in range(3)]
        self.node("Split", [self.turned(apart, 2, 0, 3, 1, 4)], {"axis": 0}, parts)
        query, key, value = (self.node("Squeeze", [part, self.shape(0)]) for part in parts)
        scores = self.node("MatMul", [query, self.turned(key, 0, 1, 3, 2)])
        shares = self.node("Softmax", [scores], {"axis": -1})
        together = self.turned(self.node("MatMul", [shares, value]), 0, 2, 1, 3)
        return self.node("Reshape", [together, self.shape(-1, frames, width)])

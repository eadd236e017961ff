"""What an ONNX file from a stranger must be before a runtime may see it.

Allowed is what ``snellen export`` writes and nothing else: operators of a short
list, constants inside the file, two inputs, two outputs, and no more memory than
a sign needs. Everything is looked at in the parsed message; nothing is run.

*Conventions*: see ``onnx_file`` for inputs and outputs. Places are named as in
the ONNX format: ``graph.node[3]``, ``opset_import``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.digest import digest_bytes
from snellen.errors import BadInput, Fault, Missing
from snellen.limits import MAX_LABEL_LENGTH, MAX_ONNX_NODES, MAX_ONNX_VALUES
from snellen.tasks.isolated.model.neural.graph import OPSET
from snellen.tasks.isolated.model.neural.network import CLIPS_AT_ONCE
from snellen.tasks.isolated.model.neural.sketch import OPERATORS

__all__ = ["CheckedOnnx", "checked_model"]

ALLOWED = "a file that snellen export wrote"


@dataclass(frozen=True, slots=True)
class CheckedOnnx:
    """What is known of a graph that passed: its metadata, its sizes, and its digest."""

    entries: dict[str, str]
    frames: int
    classes: int
    graph: str


def checked_model(data: bytes, where: str) -> CheckedOnnx:
    """Parse and check the bytes of a model.

    Raises:
        BadInput: with all faults of the message, else all of its shapes.
        Missing: ONNX is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise Missing("an ONNX file needs onnx: pip install 'snellen[onnx]'") from error
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # the parser's errors have no class of their own
        raise BadInput(Fault(where, "not an ONNX file, or a damaged one", ALLOWED)) from error
    graph = graph_digest(model)
    faults = [*_model_faults(model, where), *_constant_faults(model.graph, where)]
    if not faults:
        faults = [*_port_faults(model.graph, where)]
    if not faults:
        faults = [*_shape_faults(model, where)]
    if faults:
        raise BadInput(faults)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    frames = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    classes = model.graph.output[0].type.tensor_type.shape.dim[1].dim_value
    return CheckedOnnx(entries, frames, classes, graph)


def graph_digest(model: Any) -> str:
    """The digest of a model's graph, weights and all, as it was built or parsed."""
    return digest_bytes(model.graph.SerializeToString(deterministic=True))


def _model_faults(model: Any, where: str) -> Iterator[Fault]:
    """What may not be in a model, wherever it comes from."""
    opsets = [(entry.domain, entry.version) for entry in model.opset_import]
    if opsets != [("", OPSET)]:
        seen = ", ".join(f"{_short(domain or 'ai.onnx')} {version}" for domain, version in opsets)
        yield Fault(where, seen or "none", f"ai.onnx {OPSET}", field="opset_import")
    yield from _entry_faults(model.metadata_props, where)
    for name, held in (
        ("functions", model.functions),
        ("training_info", model.training_info),
        ("graph.sparse_initializer", model.graph.sparse_initializer),
    ):
        if len(held):
            yield Fault(where, f"{len(held)} entries", "none", field=name)
    count = len(model.graph.node)
    if not 1 <= count <= MAX_ONNX_NODES:
        yield Fault(where, f"{count:,} nodes", f"1 to {MAX_ONNX_NODES:,}", field="graph.node")
    else:
        yield from _node_faults(model.graph.node, where)


def _entry_faults(entries: Sequence[Any], where: str) -> Iterator[Fault]:
    keys = [_short(entry.key) for entry in entries]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield Fault(where, f"{key!r} twice", "each once", field="metadata_props")
    for entry in entries:
        if not (isinstance(entry.key, str) and isinstance(entry.value, str)):
            yield Fault(
                where, f"{_short(entry.key)!r} is no UTF-8", "UTF-8", field="metadata_props"
            )


def _node_faults(nodes: Sequence[Any], where: str) -> Iterator[Fault]:
    for k, node in enumerate(nodes):
        place = f"graph.node[{k}]"
        if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
            seen = f"operator {_short(node.op_type)} of {_short(node.domain) or 'ai.onnx'}"
            yield Fault(where, seen, f"one of: {', '.join(sorted(OPERATORS))}", field=place)
        for setting in node.attribute:
            if setting.type not in PLAIN or setting.ref_attr_name:
                seen = f"setting {_short(setting.name)} that is a graph or a tensor"
                yield Fault(where, seen, "numbers and text", field=place)


# AttributeProto's FLOAT, INT, STRING and lists of them.
PLAIN = (1, 2, 3, 6, 7, 8)


def _constant_faults(graph: Any, where: str) -> Iterator[Fault]:
    """Constants: inside the file, of the declared size, and numbers."""
    from onnx import TensorProto, numpy_helper

    admitted = {TensorProto.FLOAT: "float32", TensorProto.INT64: "int64"}
    names = [tensor.name for tensor in graph.initializer]
    if len(set(names)) < len(names):
        yield Fault(where, "two constants of one name", "each once", field="graph.initializer")
    for tensor in graph.initializer:
        place = f"graph.initializer {_short(tensor.name)!r}"
        if tensor.data_location != TensorProto.DEFAULT or len(tensor.external_data):
            yield Fault(where, "numbers in another file", "numbers in the file", field=place)
            continue
        if tensor.data_type not in admitted:
            allowed = " or ".join(admitted.values())
            yield Fault(where, f"type {tensor.data_type}", allowed, field=place)
            continue
        try:
            array = numpy_helper.to_array(tensor)
        except Exception as error:  # noqa: BLE001 (whatever a size that lies makes of it)
            yield Fault(where, f"damaged ({error})", "as many numbers as declared", field=place)
            continue
        # The one constant that says which classes were never trained.
        shut = np.isneginf(array) if tensor.name == "untrained" else np.False_
        if not (np.isfinite(array) | shut).all():
            yield Fault(where, "not all finite numbers", "finite numbers", field=place)


def _port_faults(graph: Any, where: str) -> Iterator[Fault]:
    """Inputs and outputs: names, types and number of sizes."""
    ports = {
        "graph.input": (graph.input, {"values": 3, "mask": 3}),
        "graph.output": (graph.output, {"log_probabilities": 2, "probabilities": 2}),
    }
    for place, (found, wanted) in ports.items():
        names = [port.name for port in found]
        if names != list(wanted):
            seen = ", ".join(_short(name) for name in names) or "none"
            yield Fault(where, seen, ", ".join(wanted), field=place)
            continue
        for port in found:
            if not _is_port(port, wanted[port.name]):
                allowed = f"float32 of {wanted[port.name]} sizes, the first free, the others fixed"
                yield Fault(where, "another type or shape", allowed, field=f"{place} {port.name}")


def _is_port(port: Any, sizes: int) -> bool:
    tensor = port.type.tensor_type
    dims = tensor.shape.dim
    # How many points there are is for the reader of the mask alone to know.
    fixed = dims[1:2] if port.name == "mask" else dims[1:]
    return (
        port.type.WhichOneof("value") == "tensor_type"
        and tensor.elem_type == 1
        and len(dims) == sizes
        and not dims[0].HasField("dim_value")
        and all(dim.dim_value > 0 for dim in fixed)
    )


def _shape_faults(model: Any, where: str) -> Iterator[Fault]:
    """Whether the graph is sound, and how much it would compute for a batch of clips."""
    from onnx import checker, shape_inference

    # What the file says of its own sizes is not evidence: all of them are worked out anew.
    del model.graph.value_info[:]
    for port in model.graph.input:
        port.type.tensor_type.shape.dim[0].dim_value = CLIPS_AT_ONCE
    try:
        checker.check_model(model)
        known = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:  # noqa: BLE001 (the checker's errors have several classes)
        yield Fault(where, f"not a sound graph ({_short(str(error))})", ALLOWED)
        return
    sizes = {info.name: _size(info) for info in (*known.graph.value_info, *known.graph.output)}
    produced = [name for node in model.graph.node for name in node.output if name]
    unknown = [name for name in produced if sizes.get(name) is None]
    for name in unknown:
        yield Fault(where, "a size that cannot be known", "known sizes", field=_short(name))
    total = sum(sizes[name] or 0 for name in produced if name not in unknown)
    if total > MAX_ONNX_VALUES * CLIPS_AT_ONCE:
        allowed = f"at most {MAX_ONNX_VALUES:,}"
        yield Fault(where, f"{total // CLIPS_AT_ONCE:,} numbers to compute a clip", allowed)


def _size(info: Any) -> int | None:
    dims: Sequence[Any] = info.type.tensor_type.shape.dim
    known = all(dim.HasField("dim_value") for dim in dims)
    return math.prod(dim.dim_value for dim in dims) if known else None


def _short(text: str | bytes) -> str:
    # Text that is no UTF-8 comes out of the parser as bytes.
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return shown if len(shown) <= MAX_LABEL_LENGTH else shown[:MAX_LABEL_LENGTH] + "..."

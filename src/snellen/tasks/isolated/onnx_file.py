"""Trained networks as ONNX files that anybody can run, and such files read with suspicion.

An exported file holds the graph of one trained round with its temperature and
softmax, and in its metadata everything a stranger must know to feed it (see
``onnx_metadata``). A file from a stranger is checked whole before the runtime
sees it: size, operators, constants, shapes, memory, metadata.

*Conventions*: inputs ``values`` (batch, frames, channels) and ``mask`` (batch,
frames, points), float32; outputs ``log_probabilities`` and ``probabilities``
(batch, classes), float32, classes in the order of ``labels``, -inf and 0 for a
class the training set did not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snellen import __version__
from snellen.digest import digest_bytes, digest_json
from snellen.errors import BadInput, Fault
from snellen.limits import MAX_ONNX_BYTES
from snellen.signal.layouts import layout_by_name
from snellen.store.files import read_limited, write_atomic
from snellen.tasks.isolated.align import settings_of
from snellen.tasks.isolated.model.neural.graph import KINDS, graph
from snellen.tasks.isolated.model.neural.network import answers_in_chunks, session_of
from snellen.tasks.isolated.model.neural.sketch import Sketch
from snellen.tasks.isolated.model_file import ModelCard, RoundFile, load_round, read_model_card
from snellen.tasks.isolated.onnx_checks import checked_model, graph_digest
from snellen.tasks.isolated.onnx_metadata import (
    OnnxMetadata,
    metadata_from_text,
    metadata_to_text,
)

__all__ = ["OnnxModel", "card_of_onnx", "export_bytes", "export_model", "read_onnx"]

OUTPUTS = ("log_probabilities", "probabilities")
SEAL = "content"
# Shares in single precision, summed over many classes.
SUM_TOLERANCE = 1e-4


def export_model(
    folder: Path,
    round_: int,
    *,
    output: Path,
    threshold: float,
    licence: str,
) -> OnnxMetadata:
    """Write one trained round of a folder from ``snellen train`` as an ONNX file.

    Raises:
        BadInput: no such round, a damaged file, or a model that is no network.
    """
    card = read_model_card(folder)
    if card.model not in KINDS:
        allowed = f"one of the networks: {', '.join(KINDS)}"
        raise BadInput(Fault(str(folder), f"{card.model}, which has no ONNX form", allowed))
    if not 0 <= threshold <= 1:
        raise BadInput(Fault("threshold", str(threshold), "a number from 0 to 1"))
    trained = load_round(folder, card, round_)
    metadata = _metadata_of(card, round_, trained.temperature, threshold, licence)
    weights = trained.model.arrays()
    write_atomic(output, export_bytes(card.model, weights, metadata))
    return metadata


def export_bytes(kind: str, weights: Mapping[str, np.ndarray], metadata: OnnxMetadata) -> bytes:
    """A network, its temperature and the softmax as the bytes of an ONNX file."""
    from onnx import TensorProto, helper

    model = graph(kind, weights)
    head = Sketch()
    x = "logits"
    if metadata.temperature is not None:
        cooling = head.constant(np.array([1 / metadata.temperature], np.float32), "cooling")
        x = head.node("Mul", [x, cooling], outputs=["cooled"])
    if not weights["trained"].all():
        shut = np.where(weights["trained"], 0, -np.inf).astype(np.float32)
        x = head.node("Add", [x, head.constant(shut, "untrained")], outputs=["possible"])
    logs = head.node("LogSoftmax", [x], {"axis": 1}, outputs=OUTPUTS[:1])
    head.node("Exp", [logs], outputs=OUTPUTS[1:])
    model.graph.node.extend(head.nodes)
    model.graph.initializer.extend(head.constants)
    del model.graph.output[:]
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", len(metadata.labels)])
        for name in OUTPUTS
    )
    model.producer_name, model.producer_version = "snellen", __version__
    entries = metadata_to_text(metadata)
    entries[SEAL] = _seal(graph_digest(model), entries)
    helper.set_model_props(model, entries)
    return bytes(model.SerializeToString(deterministic=True))


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """An exported round that answers: a ``Fitted`` whose temperature is already applied."""

    metadata: OnnxMetadata
    path: Path
    data: bytes = field(repr=False)
    session: Any = field(repr=False, compare=False)

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Log-probabilities, float64 (clips, classes), classes in the order of the labels.

        Raises:
            BadInput: the file does not give a distribution for these clips.
        """
        try:
            answered = answers_in_chunks(self.session, OUTPUTS[0], values, mask)
        except ValueError as error:
            raise BadInput(Fault(str(self.path), str(error), "arrays that fit")) from error
        classes = len(self.metadata.labels)
        logs: np.ndarray = answered.astype(np.float64)
        with np.errstate(over="ignore"):
            whole = np.allclose(np.exp(logs).sum(axis=1), 1, atol=SUM_TOLERANCE)
        if logs.shape != (len(values), classes) or not whole:
            seen = f"answers that are no shares of {classes} labels"
            raise BadInput(Fault(str(self.path), seen, "a trained model"))
        return logs

    def arrays(self) -> dict[str, np.ndarray]:
        """The file itself: its weights are not in the order of any framework."""
        return {"onnx": np.frombuffer(self.data, np.uint8)}


def read_onnx(path: Path) -> OnnxModel:
    """A model from a file that ``snellen export`` wrote, or says so.

    Raises:
        BadInput: with every fault of the first of these that has one: the bytes, what
            is in the graph, its metadata and shapes, what the runtime says.
        Missing: ONNX or ONNX Runtime is not installed.
    """
    where = str(path)
    data = read_limited(path, MAX_ONNX_BYTES)
    model = checked_model(data, where)
    stated = model.entries.pop(SEAL, None)
    metadata = metadata_from_text(model.entries, where)
    faults = [
        Fault(where, f"{seen} of the graph", f"{said}, as the metadata says", field=name)
        for name, seen, said in (
            ("frames", model.frames, metadata.frames),
            ("labels", model.classes, len(metadata.labels)),
        )
        if seen != said
    ]
    if faults:
        raise BadInput(faults)
    if stated != _seal(model.graph, model.entries):
        raise BadInput(
            Fault(where, "not the graph or metadata that was written", "untouched", field=SEAL)
        )
    try:
        session = session_of(data)
    except ValueError as error:
        raise BadInput(Fault(where, str(error), "a model that runs")) from error
    return OnnxModel(metadata, path, data, session)


def _seal(graph: str, entries: Mapping[str, str]) -> str:
    """One digest over graph and metadata: a damaged file is no model, nor is an edited one."""
    return digest_json([graph, {name: entries[name] for name in sorted(entries) if name != SEAL}])


def card_of_onnx(model: OnnxModel) -> ModelCard:
    """What the file says of itself, as a folder of trained rounds would."""
    said = model.metadata
    only = RoundFile(
        round=said.round,
        file=model.path.name,
        sha256=digest_bytes(model.data),
        arrays=(),
        temperature=said.temperature,
    )
    return ModelCard(
        model=said.model,
        seed=said.seed,
        recipe=said.recipe,
        regime=said.regime,
        training=said.training,
        layout=said.layout,
        preprocessing=said.fingerprint,
        prepared_by=said.preprocessing,
        frames=said.frames,
        vocabulary=said.labels,
        data=said.data,
        recordings=said.recordings,
        split=said.split,
        protocol=said.protocol,
        rounds=(only,),
    )


def _metadata_of(
    card: ModelCard, round_: int, temperature: float | None, threshold: float, licence: str
) -> OnnxMetadata:
    return OnnxMetadata(
        labels=card.vocabulary,
        layout=card.layout,
        preprocessing=card.prepared_by,
        fingerprint=card.preprocessing,
        settings=_settings_of(card),
        frames=card.frames,
        data=card.data,
        recordings=card.recordings,
        split=card.split,
        protocol=card.protocol,
        round=round_,
        model=card.model,
        seed=card.seed,
        recipe=card.recipe,
        regime=card.regime,
        training=card.training,
        temperature=temperature,
        threshold=threshold,
        licence=licence,
        snellen_version=__version__,
    )


def _settings_of(card: ModelCard) -> dict[str, Any] | None:
    """The recipe behind the card's fingerprint, where the layout is one that has a name."""
    try:
        layout = layout_by_name(card.layout)
    except BadInput:
        return None
    settings = settings_of(layout, preprocessing=card.prepared_by, frames=card.frames)
    return settings if digest_json(settings) == card.preprocessing else None

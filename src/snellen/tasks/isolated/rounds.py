"""The unit of work of a run: one model, one round of one protocol, trained and answered.

*Conventions*: a spec names model, protocol, round and seed; the result is
canonical JSON with, for each test clip, its ranked labels and confidences, the
same for the validation clips before the refit, and the file of the trained
round. Workers read the prepared arrays and the frozen splits from the run
folder; nothing else reaches them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa

from snellen.core.answers import spans
from snellen.core.split import TEST, Split, split_from_json
from snellen.digest import canonical_json, digest_array, digest_json
from snellen.errors import SnellenError
from snellen.store.files import read_json, write_atomic_from, write_json
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.model_file import RoundFile, save_round, start_folder
from snellen.tasks.isolated.regime import Regime
from snellen.tasks.isolated.training import (
    Tuition,
    answers_of,
    clear_checkpoints,
    fit_round,
    held_rows,
    held_table,
)

__all__ = [
    "CALL",
    "SETUP",
    "Context",
    "RoundResult",
    "answer_round",
    "model_folder",
    "open_context",
    "read_result",
    "write_context",
]

CALL = "snellen.tasks.isolated.rounds:answer_round"
SETUP = "snellen.tasks.isolated.rounds:open_context"
RESULT_FORMAT = "snellen-round/2"
ANSWER_COLUMNS = ("item", "rank", "label", "confidence")
FIELDS = frozenset({"file", "held", "answers"})


@dataclass(frozen=True, slots=True)
class Context:
    """What every round of a run shares; trained rounds go below ``root``."""

    prepared: Prepared
    labels: np.ndarray
    vocabulary: tuple[str, ...]
    splits: Mapping[str, Split]
    regime: Regime
    root: Path


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Answers to test clips (SPANS), to validation clips (HELD), and the trained round's file."""

    answers: pa.Table
    held: pa.Table
    file: RoundFile


def model_folder(root: Path, protocol: str, model: str, seed: int) -> Path:
    """Where a run keeps the trained rounds of one model."""
    return root / "models" / protocol / model / str(seed)


def write_context(
    folder: Path,
    prepared: Prepared,
    labels: np.ndarray,
    vocabulary: Sequence[str],
    splits: Mapping[str, dict[str, Any]],
    regime: Regime,
) -> str:
    """Put the arrays where workers map them into memory; returns the digest of all that is learnt.

    A label set right gives another digest: rounds that learnt the wrong one are no answer to it.
    """
    for name, array in (("values", prepared.values), ("mask", prepared.mask), ("labels", labels)):
        write_atomic_from(folder / f"{name}.npy", partial(_save, np.ascontiguousarray(array)))
    write_json(
        folder / "context.json",
        {
            "items": list(prepared.items),
            "vocabulary": list(vocabulary),
            "settings": prepared.settings,
            "splits": dict(splits),
            "regime": regime.to_json(),
        },
    )
    learnt = [prepared.digest, list(prepared.items), digest_array(labels), list(vocabulary)]
    return digest_json([*learnt, regime.digest])


def _save(array: np.ndarray, file: BinaryIO) -> None:
    # np.save writes past the file object, and where the disk is full it does not say so.
    header = np.lib.format.header_data_from_array_1_0(array)  # type: ignore[no-untyped-call]
    np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call]
    file.write(array.data)


def open_context(spec: Mapping[str, Any]) -> Context:
    """Map a run's arrays into memory, in a worker or in this process."""
    folder = Path(spec["folder"])
    plain = read_json(folder / "context.json", limit=2**30)
    arrays = {
        name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in ("values", "mask", "labels")
    }
    prepared = Prepared(
        items=tuple(plain["items"]),
        values=arrays["values"],
        mask=arrays["mask"],
        settings=plain["settings"],
    )
    splits = {name: split_from_json(data) for name, data in plain["splits"].items()}
    return Context(
        prepared=prepared,
        labels=np.asarray(arrays["labels"]),
        vocabulary=tuple(plain["vocabulary"]),
        splits=splits,
        regime=Regime(**plain["regime"]),
        root=folder.parent,
    )


def answer_round(context: Context, spec: Mapping[str, Any]) -> bytes:
    """Train one model on one round, keep it, and answer that round's test clips."""
    split = context.splits[spec["protocol"]]
    folder = model_folder(context.root, spec["protocol"], spec["model"], spec["seed"])
    start_folder(folder)
    tuition = Tuition(context.regime, spec["seed"], checkpoints=folder)
    fitted = fit_round(
        model_module(spec["model"]),
        context.prepared,
        context.labels,
        len(context.vocabulary),
        split,
        spec["round"],
        tuition,
    )
    tested = split.positions(spec["round"], TEST)
    answers = answers_of(fitted.trained, context.prepared, context.vocabulary, tested)
    held = held_table(fitted, context.prepared, context.vocabulary, spec["round"])
    file = save_round(folder, spec["round"], fitted.trained)
    clear_checkpoints(tuition, spec["round"])
    return canonical_json(
        {
            "file": msgspec.to_builtins(file),
            "held": held.to_pydict(),
            "answers": {name: answers.column(name).to_pylist() for name in ANSWER_COLUMNS},
        }
    )


def read_result(data: bytes) -> RoundResult:
    """The result of one round."""
    plain = json.loads(data)
    if set(plain) != FIELDS:
        raise SnellenError("a stored round result has other fields than this version writes")
    held = plain["held"]
    return RoundResult(
        answers=spans(*(plain["answers"][name] for name in ANSWER_COLUMNS)),
        held=held_rows(held["round"], *(held[name] for name in ANSWER_COLUMNS)),
        file=msgspec.convert(plain["file"], RoundFile),
    )

"""The unit of work of a run: one model, one round of one protocol, trained and answered.

*Conventions*: a spec names model, protocol, round and seed; the result is
canonical JSON with the temperature and, for each test clip, its ranked labels
and confidences. Workers read the prepared arrays and the frozen splits from the
run folder; nothing else reaches them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from snellen.core.answers import spans
from snellen.core.split import TEST, Split, split_from_json
from snellen.digest import canonical_json, digest_array, digest_json
from snellen.errors import SnellenError
from snellen.store.files import read_json, write_atomic_from, write_json
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.training import answers_of, fit_round

__all__ = [
    "CALL",
    "SETUP",
    "Context",
    "answer_round",
    "open_context",
    "read_result",
    "write_context",
]

CALL = "snellen.tasks.isolated.rounds:answer_round"
SETUP = "snellen.tasks.isolated.rounds:open_context"
RESULT_FORMAT = "snellen-round/1"


@dataclass(frozen=True, slots=True)
class Context:
    """What every round of a run shares."""

    prepared: Prepared
    labels: np.ndarray
    vocabulary: tuple[str, ...]
    splits: Mapping[str, Split]


def write_context(
    folder: Path,
    prepared: Prepared,
    labels: np.ndarray,
    vocabulary: Sequence[str],
    splits: Mapping[str, dict[str, Any]],
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
        },
    )
    learnt = [prepared.digest, list(prepared.items), digest_array(labels), list(vocabulary)]
    return digest_json(learnt)


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
    return Context(prepared, np.asarray(arrays["labels"]), tuple(plain["vocabulary"]), splits)


def answer_round(context: Context, spec: Mapping[str, Any]) -> bytes:
    """Train one model on one round and answer that round's test clips."""
    split = context.splits[spec["protocol"]]
    module = model_module(spec["model"])
    trained = fit_round(
        module,
        context.prepared,
        context.labels,
        len(context.vocabulary),
        split,
        spec["round"],
        spec["seed"],
    )
    tested = split.positions(spec["round"], TEST)
    answers = answers_of(trained, context.prepared, context.vocabulary, tested)
    columns = ("item", "rank", "label", "confidence")
    rows = {name: answers.column(name).to_pylist() for name in columns}
    return canonical_json({"temperature": trained.temperature, **rows})


def read_result(data: bytes) -> pa.Table:
    """The SPANS rows of one round's result."""
    plain = json.loads(data)
    if set(plain) != {"temperature", "item", "rank", "label", "confidence"}:
        raise SnellenError("a stored round result has other fields than this version writes")
    return spans(plain["item"], plain["rank"], plain["label"], plain["confidence"])

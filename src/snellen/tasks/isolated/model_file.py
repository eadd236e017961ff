"""Trained models on disk: plain arrays and a JSON card, nothing that can run code.

*Conventions*: a folder holds ``model.json`` and one ``round-KK.npz`` a round of
the split. ``model.json`` names layout, preprocessing, vocabulary, data and split;
a model refuses recordings of another layout or preprocessing.
"""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from snellen.digest import canonical_json, digest_bytes
from snellen.errors import BadInput, Fault, Mismatch, Missing, SnellenError
from snellen.signal.arrays import read_npz
from snellen.store.files import read_json, read_limited, write_atomic
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.training import Trained

__all__ = [
    "ModelCard",
    "RoundFile",
    "load_round",
    "read_model_card",
    "require_fit",
    "save_round",
    "start_folder",
    "write_model_card",
]

CARD = "model.json"
FORMAT = "snellen-model/1"
ROUND_LIMIT = 2**31


class RoundFile(Struct, frozen=True, kw_only=True):
    """One trained round: its file, the digest of that file, its temperature."""

    round: int
    file: str
    sha256: str
    arrays: tuple[str, ...]
    temperature: float | None


class ModelCard(Struct, frozen=True, kw_only=True):
    """What a folder of trained rounds is and where it came from."""

    format: str = FORMAT
    task: str = "isolated"
    model: str
    seed: int
    recipe: str
    layout: str
    preprocessing: str
    vocabulary: tuple[str, ...]
    data: str
    split: str
    protocol: str
    rounds: tuple[RoundFile, ...]


def start_folder(folder: Path) -> None:
    """Make the folder before anything is trained for it.

    Raises:
        SnellenError: the place cannot be written, or is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SnellenError(f"cannot write a model to {folder}: {error.strerror}") from error


def save_round(folder: Path, round_: int, trained: Trained) -> RoundFile:
    """Write one trained round; returns what :class:`ModelCard` says of it."""
    buffer = io.BytesIO()
    arrays = trained.model.arrays()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    name = f"round-{round_:02d}.npz"
    data = buffer.getvalue()
    write_atomic(folder / name, data)
    return RoundFile(
        round=round_,
        file=name,
        sha256=digest_bytes(data),
        arrays=tuple(sorted(arrays)),
        temperature=trained.temperature,
    )


def write_model_card(folder: Path, card: ModelCard) -> None:
    """Write ``model.json``, last, so that a folder with one is complete."""
    write_atomic(folder / CARD, canonical_json(msgspec.to_builtins(card), indent=1))


def read_model_card(folder: Path) -> ModelCard:
    """Read ``model.json``.

    Raises:
        Missing: the folder holds none.
        BadInput: it is not one.
    """
    path = folder / CARD
    if not path.exists():
        raise Missing(f"no {CARD} in {folder}: train first, with snellen train")
    try:
        card = msgspec.convert(read_json(path), type=ModelCard)
    except msgspec.ValidationError as error:
        raise BadInput(Fault(str(path), str(error), f"a {FORMAT} file")) from error
    if card.format != FORMAT:
        raise BadInput(Fault(str(path), f"format {card.format!r}", FORMAT, field="format"))
    return card


def require_fit(card: ModelCard, prepared: Prepared) -> None:
    """Refuse recordings that are laid out or preprocessed otherwise than the model's.

    Raises:
        Mismatch: naming each field.
    """
    fields: dict[str, tuple[str, str]] = {}
    layout = str(prepared.settings["layout"])
    if card.layout != layout:
        fields["layout"] = (card.layout, layout)
    if card.preprocessing != prepared.fingerprint:
        fields["preprocessing"] = (card.preprocessing[:12], prepared.fingerprint[:12])
    if fields:
        raise Mismatch(
            "this model was trained on other arrays than these (model against data)", fields
        )


def load_round(folder: Path, card: ModelCard, round_: int) -> Trained:
    """Read one trained round, verified against its digest.

    Raises:
        BadInput: no such round, or its file is not the one that was written.
    """
    found = [entry for entry in card.rounds if entry.round == round_]
    if not found:
        allowed = ", ".join(str(entry.round) for entry in card.rounds)
        raise BadInput(Fault(str(folder / CARD), f"no round {round_}", f"one of: {allowed}"))
    path = folder / Path(found[0].file).name
    data = read_limited(path, ROUND_LIMIT)
    if digest_bytes(data) != found[0].sha256:
        raise BadInput(
            Fault(str(path), "not the bytes that were written", f"sha256 {found[0].sha256}")
        )
    arrays = read_npz(path, found[0].arrays)
    return Trained(model_module(card.model).from_arrays(arrays), found[0].temperature)

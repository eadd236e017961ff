"""Trained models on disk: plain arrays and a JSON card, nothing that can run code.

*Conventions*: a folder holds ``model.json`` and one ``round-KK.npz`` a round of
the split. ``model.json`` names layout, preprocessing, vocabulary, data and split;
a model refuses recordings of another layout or preprocessing.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from snellen.digest import canonical_json, digest_bytes
from snellen.errors import BadInput, Fault, Mismatch, Missing, SnellenError
from snellen.signal.arrays import read_npz
from snellen.store.files import read_json, read_limited, write_atomic
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import Fitted, model_module
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
FORMAT = "snellen-model/2"
TASK = "isolated"
ROUND_LIMIT = 2**31


class RoundFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One trained round: its file, the digest of that file, its temperature."""

    round: int
    file: str
    sha256: str
    arrays: tuple[str, ...]
    temperature: float | None


class ModelCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a folder of trained rounds is and where it came from.

    ``recordings`` is the digest of the arrays alone, whatever vocabulary they were
    given. ``training`` is the digest of the regime, ``preprocessing`` the fingerprint of
    the recipe named ``prepared_by``, which brings every clip to ``frames``.
    """

    format: str = FORMAT
    task: str = TASK
    model: str
    seed: int
    recipe: str
    regime: str
    training: str
    layout: str
    preprocessing: str
    prepared_by: str
    frames: int
    vocabulary: tuple[str, ...]
    data: str
    recordings: str
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


def round_name(round_: int) -> str:
    """The file of a trained round."""
    return f"round-{round_:02d}.npz"


def save_round(folder: Path, round_: int, trained: Trained) -> RoundFile:
    """Write one trained round; returns what :class:`ModelCard` says of it."""
    buffer = io.BytesIO()
    arrays = trained.model.arrays()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    name = round_name(round_)
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
        BadInput: it is not one; every fault is named.
    """
    path = folder / CARD
    if not path.exists():
        raise Missing(f"no {CARD} in {folder}: train first, with snellen train")
    try:
        card = msgspec.convert(read_json(path), type=ModelCard)
    except msgspec.ValidationError as error:
        raise BadInput(Fault(str(path), str(error), f"a {FORMAT} file")) from error
    faults = list(_card_faults(card, str(path)))
    if faults:
        raise BadInput(faults)
    return card


def _card_faults(card: ModelCard, where: str) -> Iterator[Fault]:
    for name, seen, allowed in (("format", card.format, FORMAT), ("task", card.task, TASK)):
        if seen != allowed:
            yield Fault(where, repr(seen), allowed, field=name)
    if not card.vocabulary:
        yield Fault(where, "no label", "at least one", field="vocabulary")
    for label in _repeated(card.vocabulary):
        yield Fault(where, f"{label!r} twice", "each label once", field="vocabulary")
    for number in _repeated([entry.round for entry in card.rounds]):
        yield Fault(where, f"round {number} twice", "each round once", field="rounds")
    for k, entry in enumerate(card.rounds):
        at = f"rounds[{k}]"
        if entry.file != round_name(entry.round):
            allowed = round_name(entry.round)
            yield Fault(where, repr(entry.file), allowed, field=f"{at}.file")
        for array in _repeated(entry.arrays):
            yield Fault(where, f"{array!r} twice", "each array once", field=f"{at}.arrays")
        heat = entry.temperature
        if heat is not None and not (math.isfinite(heat) and heat > 0):
            allowed = "a finite number above 0, or null"
            yield Fault(where, str(heat), allowed, field=f"{at}.temperature")


def _repeated(values: Sequence[str] | Sequence[int]) -> list[str | int]:
    return sorted({value for value in values if values.count(value) > 1})


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
        BadInput: no such round, its file is not the one that was written, or its
            arrays do not make this model; also later, when they do not fit a clip.
    """
    found = [entry for entry in card.rounds if entry.round == round_]
    if not found:
        allowed = ", ".join(str(entry.round) for entry in card.rounds)
        raise BadInput(Fault(str(folder / CARD), f"no round {round_}", f"one of: {allowed}"))
    path = folder / found[0].file
    data = read_limited(path, ROUND_LIMIT)
    if digest_bytes(data) != found[0].sha256:
        raise BadInput(
            Fault(str(path), "not the bytes that were written", f"sha256 {found[0].sha256}")
        )
    arrays = read_npz(path, found[0].arrays, where=str(path))
    faults = [
        Fault(str(path), "not all finite numbers", "finite numbers", field=name)
        for name, array in arrays.items()
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all()
    ]
    if faults:
        raise BadInput(faults)
    module = model_module(card.model)
    try:
        model = module.from_arrays(arrays)
    except KeyError as error:
        seen = f"no array {error.args[0]!r}"
        raise BadInput(Fault(str(path), seen, f"the arrays of {card.model}")) from error
    except UNFIT as error:
        raise _unfit(path, card.model, error) from error
    return Trained(_FromFile(model, path, card.model, len(card.vocabulary)), found[0].temperature)


# What indexing and multiplying arrays of unexpected shapes and types raises.
UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class _FromFile:
    """A model whose arrays come from a file: where they do not fit, the file is named."""

    model: Fitted
    path: Path
    name: str
    classes: int

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """As :class:`Fitted`; raises BadInput for anything that is no distribution."""
        try:
            with np.errstate(all="ignore"):
                logs = self.model.log_probabilities(values, mask)
                shares = np.exp(logs)
        except UNFIT as error:
            raise _unfit(self.path, self.name, error) from error
        shape = (len(values), self.classes)
        if logs.shape != shape or not np.allclose(shares.sum(axis=1), 1):
            seen = f"arrays that give no shares of {self.classes} labels"
            raise BadInput(Fault(str(self.path), seen, "a trained model of this vocabulary"))
        return logs

    @property
    def parameters(self) -> int | None:
        """How many numbers were learnt, where the model keeps count."""
        return getattr(self.model, "parameters", None)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays as they were read."""
        return self.model.arrays()


def _unfit(path: Path, model: str, error: Exception) -> BadInput:
    seen = f"arrays that do not fit each other or the recordings ({error})"
    return BadInput(Fault(str(path), seen, f"the arrays of a trained {model}"))

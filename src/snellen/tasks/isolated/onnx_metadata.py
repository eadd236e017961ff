"""What an exported model says of itself: labels, how it was fed, what it was trained on.

*Conventions*: ONNX metadata maps a name to text. Fields that are text stand as
they are, all others as JSON. Digests are those of the model card. ``settings``
is the recipe behind ``fingerprint``, None where the recordings had a layout of
their own. ``temperature`` is already part of the graph; ``threshold`` is the
confidence below which an answer is better not given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from snellen.digest import canonical_json, digest_json
from snellen.errors import BadInput, Fault
from snellen.limits import MAX_FRAMES, MAX_LABEL_LENGTH
from snellen.store.files import parse_json
from snellen.tasks.isolated.align import DEFAULT, PREPROCESSINGS

__all__ = ["FORMAT", "OnnxMetadata", "metadata_from_text", "metadata_to_text"]

FORMAT = "snellen-onnx/1"


class OnnxMetadata(Struct, frozen=True, kw_only=True):
    """Everything that is said of an exported round."""

    format: str = FORMAT
    labels: tuple[str, ...]
    layout: str
    preprocessing: str
    fingerprint: str
    settings: dict[str, Any] | None
    frames: int
    data: str
    recordings: str
    split: str
    protocol: str
    round: int
    model: str
    seed: int
    recipe: str
    regime: str
    training: str
    temperature: float | None
    threshold: float
    licence: str
    snellen_version: str


FIELDS = msgspec.structs.fields(OnnxMetadata)


def metadata_to_text(metadata: OnnxMetadata) -> dict[str, str]:
    """The entries as they are stored."""
    plain = msgspec.to_builtins(metadata)
    return {
        field.name: plain[field.name]
        if field.type is str
        else canonical_json(plain[field.name]).decode()
        for field in FIELDS
    }


def metadata_from_text(entries: Mapping[str, str], where: str) -> OnnxMetadata:
    """The entries of a file, whole.

    Raises:
        BadInput: every entry that is absent, unknown or impossible is named.
    """
    known = {field.name for field in FIELDS}
    faults = [
        Fault(where, "an unknown entry", f"those of {FORMAT}", field=name[:MAX_LABEL_LENGTH])
        for name in sorted(set(entries) - known)
    ]
    values: dict[str, Any] = {}
    for field in FIELDS:
        if field.name not in entries:
            faults.append(Fault(where, "no such entry", f"that of {FORMAT}", field=field.name))
            continue
        text = entries[field.name]
        try:
            value = text if field.type is str else parse_json(text.encode(), where)
            values[field.name] = msgspec.convert(value, field.type)
        except BadInput as error:
            faults += [Fault(where, x.seen, x.allowed, field=field.name) for x in error.faults]
        except msgspec.ValidationError as error:
            faults.append(
                Fault(where, str(error), "the type it had when written", field=field.name)
            )
    faults += _impossible(values, where)
    if faults:
        raise BadInput(faults)
    return OnnxMetadata(**values)


def _impossible(values: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """What is wrong with entries that could be read."""
    said = values.get("format", FORMAT)
    if said != FORMAT:
        yield Fault(where, repr(said[:MAX_LABEL_LENGTH]), FORMAT, field="format")
    yield from _label_faults(values.get("labels", ("any",)), where)
    for name in ("round", "seed"):
        if values.get(name, 0) < 0:
            yield Fault(where, str(values[name]), "a number from 0", field=name)
    recipe = values.get("preprocessing", DEFAULT)
    if recipe not in PREPROCESSINGS:
        allowed = f"one of: {', '.join(PREPROCESSINGS)}"
        yield Fault(where, repr(recipe[:MAX_LABEL_LENGTH]), allowed, field="preprocessing")
    if not 1 <= values.get("frames", 1) <= MAX_FRAMES:
        yield Fault(where, str(values["frames"]), f"1 to {MAX_FRAMES:,}", field="frames")
    heat = values.get("temperature")
    if heat is not None and not (math.isfinite(heat) and heat > 0):
        yield Fault(where, str(heat), "a finite number above 0, or null", field="temperature")
    if not 0 <= values.get("threshold", 0) <= 1:
        yield Fault(where, str(values["threshold"]), "a number from 0 to 1", field="threshold")
    settings = values.get("settings")
    if settings is not None and digest_json(settings) != values.get("fingerprint"):
        yield Fault(where, "not the digest of the settings", "it", field="fingerprint")


def _label_faults(labels: tuple[str, ...], where: str) -> Iterator[Fault]:
    if not labels:
        yield Fault(where, "no label", "at least one", field="labels")
    for label in sorted({label for label in labels if labels.count(label) > 1}):
        yield Fault(where, f"{label!r} twice", "each label once", field="labels")
    if any(not label.strip() or not label.isprintable() for label in labels):
        yield Fault(where, "an empty or unprintable label", "printable text", field="labels")
    if any(len(label) > MAX_LABEL_LENGTH for label in labels):
        allowed = f"at most {MAX_LABEL_LENGTH} characters"
        yield Fault(where, "a longer label", allowed, field="labels")

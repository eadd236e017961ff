"""A frozen split from a file, checked against the corpus it is to be used on.

*Conventions*: the file is what :func:`snellen.core.split.split_to_json` gives;
anybody may write one by hand. It must name exactly the corpus's clips.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.corpus import Corpus
from snellen.core.split import FORMAT, Split, split_from_json
from snellen.errors import BadInput, Fault
from snellen.store.files import read_json, safe_name

__all__ = ["read_split"]

NAMED = 5
PROTECTABLE = (None, "cluster", "sitting", "session", "signer")


class _Round(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    validation: list[str]
    test: list[str]
    unused: list[str] = []


class _SplitFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    protocol: str
    protects: str | None
    seed: int
    settings: dict[str, Any]
    items: list[str]
    rounds: list[_Round]


def read_split(path: Path, corpus: Corpus) -> Split:
    """Read a split and hold it against a corpus.

    Raises:
        BadInput: with every fault: clips that are unknown, missing, named twice or
            tested in two rounds, an empty test set, an out-of-vocabulary clip in training.
    """
    plain = read_json(path)
    try:
        data = msgspec.convert(plain, type=_SplitFile)
    except msgspec.ValidationError as error:
        raise BadInput(Fault(str(path), str(error), f"a {FORMAT} file")) from error
    safe_name(data.protocol, str(path))
    faults = list(_faults(data, corpus, str(path)))
    if faults:
        raise BadInput(faults)
    return split_from_json(msgspec.to_builtins(data))


def _faults(data: _SplitFile, corpus: Corpus, where: str) -> Iterable[Fault]:
    yield from _head_faults(data, where)
    known, listed = set(corpus.items), set(data.items)
    if len(listed) < len(data.items):
        yield Fault(where, "a clip is listed twice", "each clip once", field="items")
    if list(data.items) != sorted(data.items):
        yield Fault(where, "clips out of order", "sorted clips", field="items")
    if listed - known:
        yield Fault(
            where, _some(listed - known, "unknown clips"), "clips of the corpus", field="items"
        )
    if known - listed:
        seen = _some(known - listed, "clips left out")
        yield Fault(
            where, seen, "every clip of the corpus; list the idle ones under unused", field="items"
        )
    if not data.rounds:
        yield Fault(where, "no round", "at least one", field="rounds")
    tested: set[str] = set()
    for k, entry in enumerate(data.rounds):
        yield from _round_faults(entry, listed, corpus, f"{where}, round {k}")
        again = tested & set(entry.test)
        if again:
            yield Fault(
                where,
                _some(again, "clips tested in two rounds"),
                "each at most once",
                field=f"round {k}",
            )
        tested |= set(entry.test)


def _head_faults(data: _SplitFile, where: str) -> Iterable[Fault]:
    if data.format != FORMAT:
        yield Fault(where, f"{data.format!r}", FORMAT, field="format")
    if data.protects not in PROTECTABLE:
        allowed = "null, cluster, sitting, session or signer"
        yield Fault(where, f"{data.protects!r}", allowed, field="protects")
    gap = data.settings.get("gap", 1)
    if not isinstance(gap, int) or isinstance(gap, bool) or gap < 1:
        yield Fault(where, repr(gap)[:80], "a whole number, 1 or more", field="settings.gap")


def _round_faults(entry: _Round, listed: set[str], corpus: Corpus, where: str) -> Iterable[Fault]:
    everything = [*entry.validation, *entry.test, *entry.unused]
    named = set(everything)
    if named - listed:
        yield Fault(where, _some(named - listed, "clips not among items"), "clips listed in items")
    if len(named) < len(everything):
        yield Fault(where, "a clip has two roles or is named twice", "one role a clip")
    if not entry.test:
        yield Fault(where, "no test clip", "at least one", field="test")
    outside = {
        item for item, label in zip(corpus.items, corpus.labels, strict=True) if label is None
    }
    trained = (outside & listed) - set(entry.test) - set(entry.unused)
    if trained:
        seen = _some(trained, "out-of-vocabulary clips in training or validation")
        yield Fault(where, seen, "such clips under test or unused")
    if listed <= named:
        yield Fault(where, "no training clip", "at least one clip that has no other role")


def _some(items: set[str], what: str) -> str:
    shown = ", ".join(repr(item) for item in sorted(items)[:NAMED])
    rest = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return f"{len(items)} {what}: {shown}{rest}"

"""The demo: a corpus whose truth is known, and what the audit must find in it.

*Conventions*: the recordings are written as the generic folder a user would
bring and read back from it, so that the demo runs on files, not on memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.core.findings import Audit
from snellen.tasks.isolated.audit import duplicates_of
from snellen.tasks.isolated.data import read
from snellen.tasks.isolated.synthetic import Planted, Settings, make_corpus, write_folder

__all__ = ["Check", "plant", "planted_and_found"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was planted, and what the audit found of it."""

    what: str
    planted: str
    found: str

    @property
    def met(self) -> bool:
        """Whether exactly what was planted was found."""
        return self.planted == self.found


def plant(folder: Path, *, seed: int) -> Planted:
    """Make the corpus and write it as a folder of recordings."""
    planted = make_corpus(Settings(), np.random.default_rng(seed))
    write_folder(planted.corpus, planted.keypoints, folder)
    return planted


def planted_and_found(planted: Planted, folder: Path, audit: Audit) -> tuple[Check, ...]:
    """Hold what was planted against what the audit says of the folder."""
    found = duplicates_of(read(folder))
    items = planted.corpus.items
    exact = {tuple(items[k] for k in same) for same in found.exact or ()}
    near = set()
    if found.near is not None:
        near = {(items[a], items[b]) for a, b in found.near.pairs.tolist()} - exact
    checks = [
        _pairs("exact duplicates", planted.exact_pairs, exact),
        _pairs("near-duplicates", planted.near_pairs, near),
    ]
    official = next(split for split in audit.splits if split.protocol == "official")
    levels = {level.level: level for level in official.levels}
    for name, truth in sorted(planted.crossings.items()):
        level = levels[name]
        checks.append(
            Check(
                f"official split: {name}s in train and test",
                f"{truth.crossing} of {truth.groups}, {truth.test_clips_touched} test clips",
                f"{level.crossing_seen} of {level.groups}, {level.test_clips_seen} test clips",
            )
        )
    return tuple(checks)


def _pairs(
    what: str, planted: tuple[tuple[str, str], ...], found: Iterable[tuple[str, ...]]
) -> Check:
    truth = {tuple(sorted(pair)) for pair in planted}
    seen = {tuple(sorted(pair)) for pair in found}
    missed, extra = len(truth - seen), len(seen - truth)
    wrong = f" ({missed} missed, {extra} not planted)" if missed or extra else ""
    return Check(what, f"{len(truth)} pairs", f"{len(seen)} pairs{wrong}")

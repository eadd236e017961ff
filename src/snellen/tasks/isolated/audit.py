"""What the leak audit needs to know of signs: how clips move, which are equal, what is missing.

*Conventions*: without recordings the audit works on metadata alone and says what
it could therefore not look at. Intervals group clips by what a split protects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.audit import audit_corpus, audit_split, near_pairs_of
from snellen.core.corpus import Corpus
from snellen.core.duplicates import NearPairs, exact_duplicates
from snellen.core.findings import Audit, Share
from snellen.core.protocols import protected_groups
from snellen.core.split import Split
from snellen.digest import digest_array, digest_json
from snellen.errors import BadInput, Fault
from snellen.signal.keypoints import Keypoints
from snellen.signal.motion import motion_signature
from snellen.tasks.isolated.data import Recordings

__all__ = [
    "Duplicates",
    "audit_of",
    "audit_recordings",
    "duplicates_of",
    "group_names",
    "require_labels",
    "silent_of",
]

ONE_SEED = "One training seed was run: how much training noise moves the figures is not measured."
MISSING = "points of this block that were not detected, over all frames of all clips"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Equal clips and clips that move alike, as positions; None where nothing was compared."""

    exact: tuple[tuple[int, ...], ...] | None
    near: NearPairs | None


def duplicates_of(recordings: Recordings) -> Duplicates:
    """Compare every clip with every other, if there are recordings to compare."""
    keypoints = recordings.keypoints
    if keypoints is None:
        return Duplicates(None, None)
    contents = [
        digest_json([digest_array(part) for part in keypoints.clip(k)])
        for k in range(len(keypoints))
    ]
    signatures = motion_signature(keypoints)
    return Duplicates(exact_duplicates(contents), near_pairs_of(recordings.corpus, signatures))


def audit_recordings(
    recordings: Recordings,
    splits: Sequence[Split],
    *,
    gap: int,
    progress: Callable[[str, int, int], None],
    duplicates: Duplicates | None = None,
) -> Audit:
    """Audit a corpus and any number of splits of it.

    ``duplicates`` may be given where they were looked for already.
    """
    require_labels(recordings.corpus)
    progress("audit", 0, 2)
    found = duplicates_of(recordings) if duplicates is None else duplicates
    progress("audit", 1, 2)
    missing = None if recordings.keypoints is None else _missing(recordings.keypoints)
    audit = audit_of(recordings.corpus, splits, found, missing, gap=gap)
    progress("audit", 2, 2)
    return audit


def audit_of(
    corpus: Corpus,
    splits: Sequence[Split],
    duplicates: Duplicates,
    missing: Sequence[Share] | None,
    *,
    gap: int,
) -> Audit:
    """The audit of a corpus whose recordings have been looked at."""
    exact, near = duplicates.exact, duplicates.near
    return Audit(
        task="isolated",
        corpus=audit_corpus(corpus, exact=exact, near=near, missing=missing, gap=gap),
        splits=tuple(audit_split(corpus, x, exact=exact, near=near, gap=gap) for x in splits),
    )


def require_labels(corpus: Corpus) -> None:
    """Refuse a corpus without a single labelled clip: there is nothing to be right about.

    Raises:
        BadInput: every label is empty.
    """
    if not corpus.vocabulary:
        seen = f"{len(corpus)} clips, none with a label"
        raise BadInput(Fault(corpus.name, seen, "at least one labelled clip", field="label"))


def silent_of(corpus: Corpus, seeds: int) -> tuple[str, ...]:
    """What a run of this corpus with so many training seeds does not measure."""
    return (*corpus.silent, ONE_SEED) if seeds == 1 else corpus.silent


def _missing(keypoints: Keypoints) -> tuple[Share, ...]:
    return tuple(
        Share(
            name=block.name,
            part=int((~keypoints.present[:, block.start : block.stop]).sum()),
            whole=int(np.prod(keypoints.present[:, block.start : block.stop].shape)),
            definition=MISSING,
        )
        for block in keypoints.layout.blocks
    )


def group_names(corpus: Corpus, split: Split) -> tuple[str, ...] | None:
    """For each clip the group its split protects; None for a split that protects none."""
    groups = protected_groups(corpus, split)
    return None if groups is None else groups.names

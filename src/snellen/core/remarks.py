"""What a user should know about a corpus before splitting it, in sentences.

*Conventions*: a finding of severity ``leak`` makes every random split of the corpus
leak; a ``warning`` limits what can be measured; a ``note`` is worth knowing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.corpus import Corpus
from snellen.core.findings import Finding, NearDuplicates
from snellen.core.groups import Groups

__all__ = ["remarks"]

MANY_ALIKE = 0.10
"""Share of clips with a near-duplicate from which random splits measure memory."""
FEW_CLIPS = 5
"""Classes with fewer clips cannot be in each of five test folds."""
NAMED = 5


def remarks(
    corpus: Corpus,
    clips: np.ndarray,
    exact: Sequence[tuple[int, ...]],
    near: NearDuplicates | None,
    signers: Groups | None,
) -> tuple[Finding, ...]:
    """All findings of a corpus.

    Args:
        corpus: what was audited.
        clips: the number of clips of each class, in the order of the vocabulary.
        exact: positions of equal recordings.
        near: the near-duplicates if they were looked for.
        signers: the signers if they are known.
    """
    return (
        *_duplicates(corpus, exact),
        *(_alike(corpus, near) if near is not None else ()),
        *_people(signers),
        *_rare(corpus, clips),
        *_unpublished(corpus),
    )


def _duplicates(corpus: Corpus, exact: Sequence[tuple[int, ...]]) -> Iterator[Finding]:
    if not exact:
        return
    involved = sum(len(same) for same in exact)
    yield Finding(
        code="exact-duplicates",
        severity="leak",
        sentence=f"{involved} clips are {len(exact)} recordings stored more than once: "
        "a random split trains on what it tests",
    )
    labels = corpus.labels
    conflicts = [same for same in exact if len({labels[k] for k in same}) > 1]
    if conflicts:
        first = conflicts[0]
        named = ", ".join(f"{corpus.items[k]} ({labels[k] or 'no label'})" for k in first)
        yield Finding(
            code="label-conflict",
            severity="warning",
            sentence=f"{len(conflicts)} recordings are stored under more than one label, "
            f"such as {named}: no answer to them can always be right",
        )


def _alike(corpus: Corpus, near: NearDuplicates) -> Iterator[Finding]:
    if near.within_above == 0:
        return
    many = near.clips_touched >= MANY_ALIKE * len(corpus)
    yield Finding(
        code="near-duplicates",
        severity="leak" if many else "note",
        sentence=f"{near.clips_touched} of {len(corpus)} clips move like another one of their "
        f"class: {near.within_above} of {near.within_pairs} pairs that could be copies have a "
        f"cosine of at least {near.threshold:g}, and {near.between_above} of {near.between_pairs} "
        "that could not" + ("; any random split of this corpus leaks" if many else ""),
    )


def _people(signers: Groups | None) -> Iterator[Finding]:
    if signers is not None and signers.count == 1:
        yield Finding(
            code="one-signer",
            severity="warning",
            sentence="one signer only: nothing here says how a model reads a new person",
        )


def _rare(corpus: Corpus, clips: np.ndarray) -> Iterator[Finding]:
    single = [w for w, n in zip(corpus.vocabulary, clips.tolist(), strict=True) if n < 2]
    if single:
        yield Finding(
            code="class-of-one",
            severity="warning",
            sentence=f"{_named(single)}: fewer than 2 clips, so it can be trained or tested, "
            "never both",
        )
    few = [w for w, n in zip(corpus.vocabulary, clips.tolist(), strict=True) if 2 <= n < FEW_CLIPS]
    if few:
        yield Finding(
            code="few-clips",
            severity="note",
            sentence=f"{_named(few)}: fewer than {FEW_CLIPS} clips, so not every one of "
            f"{FEW_CLIPS} folds tests it",
        )


def _unpublished(corpus: Corpus) -> Iterator[Finding]:
    official = corpus.column("official")
    for part in ("train", "test"):
        held = {label for label, x in zip(corpus.labels, official, strict=True) if x == part}
        absent = [label for label in corpus.vocabulary if label not in held]
        if held and absent:
            yield Finding(
                code=f"not-in-official-{part}",
                severity="warning",
                sentence=f"{_named(absent)}: no clip in the published {part} set",
            )


def _named(labels: Sequence[str]) -> str:
    rest = len(labels) - NAMED
    noun = "class" if len(labels) == 1 else f"{len(labels)} classes:"
    return f"{noun} {', '.join(labels[:NAMED])}" + (f" and {rest} more" if rest > 0 else "")

"""Splits that need no optimiser: dealt at random, published, or drawn class by class.

The two holdouts follow a reference evaluation of INCLUDE-50 draw by draw, so that
its published clips can be compared with: one ``Generator``, classes in sorted order,
one permutation a class.

*Conventions*: roles are int8 of shape (rounds, clips), in the order of the corpus's
sorted items. ``validation=False`` leaves in train what would have been set apart.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from snellen.core.corpus import Corpus
from snellen.core.groups import Groups
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION

__all__ = [
    "OFFICIAL_ROLES",
    "VALIDATION_SHARE",
    "official_roles",
    "random_roles",
    "session_disjoint_roles",
]

VALIDATION_SHARE = 0.10
TEST_SHARE = 0.15
OFFICIAL_ROLES = {"train": TRAIN, "val": VALIDATION, "validation": VALIDATION, "test": TEST}


def random_roles(
    corpus: Corpus, folds: int, rng: np.random.Generator, *, validation: bool
) -> np.ndarray:
    """Stratified folds of single clips: every class, and all clips, within one of even.

    In each round a share of every class's training clips is set apart for validation.
    """
    classes = corpus.classes
    fold = np.empty(len(corpus), dtype=np.int64)
    dealt = 0
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        fold[rng.permutation(rows)] = (dealt + np.arange(len(rows))) % folds
        dealt += len(rows)
    roles = np.full((folds, len(corpus)), TRAIN, dtype=np.int8)
    for k, row in enumerate(roles):
        row[classes < 0] = UNUSED
        row[fold == k] = TEST
        if validation:
            _set_apart(corpus, row, rng)
    return roles


def official_roles(corpus: Corpus, rng: np.random.Generator, *, validation: bool) -> np.ndarray:
    """The published train and test; a tenth of train for validation if none was published."""
    published = np.array([OFFICIAL_ROLES[str(x)] for x in corpus.column("official")], np.int8)
    if not validation:
        published[published == VALIDATION] = TRAIN
    published[(corpus.classes < 0) & (published != TEST)] = UNUSED
    if validation and not (published == VALIDATION).any():
        _set_apart(corpus, published, rng)
    return published[None]


def _set_apart(corpus: Corpus, roles: np.ndarray, rng: np.random.Generator) -> None:
    """Turn a tenth of each class's training clips, in place, into validation clips.

    Candidates stand in order of their recording numbers (of their names without), and
    at least one is taken of a class that has two.
    """
    numbers = corpus.clips.column("number").to_pylist()
    trained: dict[str | None, list[int]] = defaultdict(list)
    for row in sorted(np.flatnonzero(roles == TRAIN), key=lambda row: (numbers[row] or 0, row)):
        trained[corpus.labels[row]].append(row)
    for label in sorted(corpus.vocabulary):
        rows = trained[label]
        if len(rows) > 1:
            take = max(1, round(VALIDATION_SHARE * len(rows)))
            roles[np.array(rows)[rng.permutation(len(rows))[:take]]] = VALIDATION


def session_disjoint_roles(
    corpus: Corpus, clusters: Groups, rng: np.random.Generator, *, validation: bool
) -> np.ndarray:
    """One holdout of whole clusters, drawn class by class.

    The cluster whose size comes nearest to 15 % of the class is tested, then the one
    nearest to 10 % validates. Clusters of a class are permuted from the order of their
    names as text, which is how the reference sorts them (``111-113`` before ``6-8``).
    """
    roles = np.full(len(corpus), TRAIN, dtype=np.int8)
    rows_of: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (label, name) in enumerate(zip(corpus.labels, clusters.names, strict=True)):
        rows_of[label or ""][name].append(row)
    for label in [*sorted(corpus.vocabulary), ""]:
        members = [np.array(rows) for _, rows in sorted(rows_of[label].items())]
        clips = sum(map(len, members))
        rest = [members[k] for k in rng.permutation(len(members))]
        for role, share in ((TEST, TEST_SHARE), (VALIDATION, VALIDATION_SHARE)):
            for rows in _nearest(rest, round(share * clips)):
                roles[rows] = role
    if not validation:
        roles[roles == VALIDATION] = TRAIN
    roles[(corpus.classes < 0) & (roles != TEST)] = UNUSED
    return roles[None]


def _nearest(rest: list[np.ndarray], clips: int) -> list[np.ndarray]:
    """Take clusters out of ``rest`` until no further one comes nearer to ``clips``.

    At least one clip is wanted; of two equally near clusters the larger is taken.
    """
    wanted = max(1, clips)
    taken: list[np.ndarray] = []
    while rest:
        missing = wanted - sum(map(len, taken))
        best = min(range(len(rest)), key=lambda k: (abs(missing - len(rest[k])), -len(rest[k]), k))
        if taken and abs(missing - len(rest[best])) >= abs(missing):
            break
        taken.append(rest.pop(best))
    return taken

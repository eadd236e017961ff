"""Which clips are the same recording twice: exactly, or moved, stretched, with noise.

Near-duplicates are pairs of one class (and one signer, where signers are known) whose
movement is more alike than that of clips which cannot be copies of each other because
their class or their signer differs: those set the base rate. A pair counts when its
cosine is at least :data:`ALIKE` and so high that no more than one in a million of the
others reaches it.

*Conventions*: signatures are float32 of shape (clips, numbers), each row of length 1
(or 0: it resembles nothing); classes are indices, -1 for a clip without a label,
which forms no pair. Pairs are positions (a, b) with a < b, sorted. Cosines are
counted in steps of 0.0001.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["ALIKE", "BASE_RATE", "NearPairs", "exact_duplicates", "near_pairs"]

ALIKE = 0.95
"""At this cosine nine tenths of a clip's movement (its square, 0.90) is the other clip's."""
BASE_RATE = 1e-6
"""Share of pairs that cannot be copies which may pass."""
STEPS = 10_000
BLOCK = 1_024


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Near-duplicate pairs, (pairs, 2), and the counts behind the threshold.

    ``within`` counts pairs that could be copies, ``between`` those that could not.
    ``within_median`` is the median cosine of the first, None if there are none.
    """

    threshold: float
    pairs: np.ndarray
    within_pairs: int
    within_median: float | None
    between_pairs: int
    between_above: int


def exact_duplicates(digests: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Positions of clips with one content, a tuple for each content that occurs twice.

    >>> exact_duplicates(["a", "b", "a"])
    ((0, 2),)
    """
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for k, digest in enumerate(digests):
        positions[digest].append(k)
    return tuple(tuple(found) for found in positions.values() if len(found) > 1)


def near_pairs(
    signatures: np.ndarray, classes: np.ndarray, signers: np.ndarray | None = None
) -> NearPairs:
    """Pairs of one class and signer that move more alike than clips that cannot be copies.

    ``signers`` are indices, or None where they are not known. All pairs are compared, a
    block of 1,024 x 1,024 at a time, so that memory grows with the clips and the pairs
    found, not with all pairs.
    """
    labelled = np.flatnonzero(classes >= 0)
    vectors = signatures[labelled]
    who = np.zeros(len(classes), dtype=np.int64) if signers is None else signers
    kind = np.unique(np.stack([classes, who]), axis=1, return_inverse=True)[1][labelled]
    within = np.zeros(2 * STEPS + 1, dtype=np.int64)
    between = np.zeros_like(within)
    found: list[np.ndarray] = []
    for i in range(0, len(labelled), BLOCK):
        for j in range(i, len(labelled), BLOCK):
            cosine = vectors[i : i + BLOCK] @ vectors[j : j + BLOCK].T
            step = np.clip((cosine + 1) * STEPS, 0, 2 * STEPS).astype(np.int32)
            once = np.triu(np.ones(step.shape, dtype=bool), 1) if i == j else True
            same = kind[i : i + BLOCK, None] == kind[None, j : j + BLOCK]
            within += np.bincount(step[same & once], minlength=len(within))
            between += np.bincount(step[~same & once], minlength=len(between))
            a, b = np.nonzero(same & once & (step >= _step(ALIKE)))
            found.append(np.stack([a + i, b + j, step[a, b]], axis=1))
    at = _threshold(between)
    candidates = np.concatenate(found) if found else np.empty((0, 3), dtype=np.int64)
    pairs = labelled[candidates[candidates[:, 2] >= at, :2]]
    return NearPairs(
        threshold=round(at / STEPS - 1, 4),
        pairs=pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))],
        within_pairs=int(within.sum()),
        within_median=_median(within),
        between_pairs=int(between.sum()),
        between_above=int(between[at:].sum()),
    )


def _step(cosine: float) -> int:
    return round((cosine + 1) * STEPS)


def _threshold(between: np.ndarray) -> int:
    """The lowest step from ALIKE on that no more than the base rate of other pairs reaches."""
    reaching = between[::-1].cumsum()[::-1]
    passing = np.flatnonzero(reaching <= BASE_RATE * between.sum())
    passing = passing[passing >= _step(ALIKE)]
    return int(passing[0]) if len(passing) > 0 else len(between)


def _median(counts: np.ndarray) -> float | None:
    total = int(counts.sum())
    if total == 0:
        return None
    middle = int(np.searchsorted(counts.cumsum(), (total + 1) // 2))
    return round(middle / STEPS - 1, 4)

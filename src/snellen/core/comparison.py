"""Two models on the same clips: who is right where, and whether it could be luck.

*Conventions*: differences are A minus B in shares of clips. p-values are
two-sided and Holm-corrected over the pairs of one protocol: protocols ask
different questions, and one whose test can reject nothing must not weaken
another. With groups the test flips whole groups; without, it is exact McNemar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from snellen.core.cells import Cell, Measured, NotApplicable, NotMeasurable, measured
from snellen.metrics import compare

__all__ = ["ClassChange", "Comparison", "Pair", "Pairing", "compare_pairs"]

SIGN_FLIP_SEED = 12345
CLASSES_SHOWN = 10


class ClassChange(Struct, frozen=True, kw_only=True):
    """One class in which the two differ: clips right under A and under B."""

    label: str
    support: int
    right_a: int
    right_b: int


class Pair(Struct, frozen=True, kw_only=True):
    """Two models under one protocol.

    ``only_a`` and ``only_b`` count clips that only one of them gets right.
    ``smallest_p`` is the smallest corrected p-value this test could have given:
    above 0.05 it can reject nothing, whatever the difference.
    ``smallest_gap`` is the true difference that exact McNemar would see in 80 %
    of such experiments if clips were independent.
    """

    protocol: str
    a: str
    b: str
    clips: int
    only_a: int
    only_b: int
    accuracy_a: float
    accuracy_b: float
    difference: Cell
    p: float
    p_holm: float
    smallest_p: float
    test: str
    smallest_gap: Cell
    classes: tuple[ClassChange, ...]


class Comparison(Struct, frozen=True, kw_only=True):
    """All pairs that were compared, and contract fields that were allowed to differ."""

    format: str = "snellen-comparison/1"
    task: str
    a: str
    b: str
    contract: str
    allowed: dict[str, tuple[str, str]]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """What :func:`compare_pairs` needs of one pair, on the same clips in the same order.

    ``groups`` is None where the split protects none.
    """

    protocol: str
    a: str
    b: str
    truth: np.ndarray
    correct_a: np.ndarray
    correct_b: np.ndarray
    groups: np.ndarray | None


def compare_pairs(pairings: Sequence[Pairing], vocabulary: Sequence[str]) -> tuple[Pair, ...]:
    """Differences, intervals and p-values of all pairs, Holm-corrected within a protocol."""
    tests = [_test(pairing) for pairing in pairings]
    protocols = np.array([pairing.protocol for pairing in pairings])
    corrected = np.ones(len(pairings))
    for protocol in np.unique(protocols):
        family = np.flatnonzero(protocols == protocol)
        corrected[family] = compare.holm(np.array([tests[k].p for k in family]))
    sizes = Counter(protocols.tolist())
    return tuple(
        _pair(pairing, test, float(holm), sizes[pairing.protocol], vocabulary)
        for pairing, test, holm in zip(pairings, tests, corrected, strict=True)
    )


def _test(pairing: Pairing) -> compare.SignFlip:
    a, b, groups = pairing.correct_a, pairing.correct_b, pairing.groups
    if groups is not None:
        return compare.sign_flip(a, b, groups, np.random.default_rng(SIGN_FLIP_SEED))
    only_a, only_b = compare.discordant(a, b)
    return compare.SignFlip(
        p=compare.mcnemar(only_a, only_b),
        exact=True,
        smallest_p=compare.mcnemar(only_a + only_b, 0),
        method="exact McNemar, assumes independent clips",
    )


def _pair(
    pairing: Pairing, test: compare.SignFlip, p_holm: float, family: int, vocabulary: Sequence[str]
) -> Pair:
    a, b = pairing.correct_a, pairing.correct_b
    only_a, only_b = compare.discordant(a, b)
    return Pair(
        protocol=pairing.protocol,
        a=pairing.a,
        b=pairing.b,
        clips=len(a),
        only_a=only_a,
        only_b=only_b,
        accuracy_a=float(a.mean()),
        accuracy_b=float(b.mean()),
        difference=difference(a, b, pairing.groups),
        p=test.p,
        p_holm=p_holm,
        smallest_p=min(1.0, family * test.smallest_p),
        test=f"{test.method}; Holm over {family} {'pair' if family == 1 else 'pairs'}",
        smallest_gap=_smallest_gap(len(a), only_a + only_b),
        classes=_class_changes(pairing, vocabulary),
    )


def difference(correct_a: np.ndarray, correct_b: np.ndarray, groups: np.ndarray | None) -> Measured:
    """Accuracy of A minus accuracy of B on the same clips, with its interval."""
    return measured(compare.paired_difference(correct_a, correct_b, groups))


def _smallest_gap(clips: int, discordant: int) -> Cell:
    if discordant == 0:
        return NotApplicable(reason="the two never differ")
    gap = compare.smallest_gap(clips, discordant / clips)
    if gap is None:
        needed = "more clips on which the two differ"
        return NotMeasurable(
            reason="no difference would be seen", needed=needed, have=str(discordant)
        )
    method = "exact McNemar, power 80 %, level 5 %, assumes independent clips"
    return Measured(value=gap, low=None, high=None, n=clips, method=method)


def _class_changes(pairing: Pairing, vocabulary: Sequence[str]) -> tuple[ClassChange, ...]:
    size = len(vocabulary)
    support = np.bincount(pairing.truth, minlength=size)
    right_a = np.bincount(pairing.truth[pairing.correct_a], minlength=size)
    right_b = np.bincount(pairing.truth[pairing.correct_b], minlength=size)
    order = np.argsort(-np.abs(right_a - right_b), kind="stable")[:CLASSES_SHOWN]
    return tuple(
        ClassChange(
            label=vocabulary[k],
            support=int(support[k]),
            right_a=int(right_a[k]),
            right_b=int(right_b[k]),
        )
        for k in order
        if right_a[k] != right_b[k]
    )

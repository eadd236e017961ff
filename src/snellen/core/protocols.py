"""Splits by name, from the leakiest to the strictest.

===================  ==============================================================
protocol             what no test clip shares with its training clips
===================  ==============================================================
random               nothing is kept apart: clips are dealt out class by class
official             whatever the publisher kept apart; its own train and test
session_disjoint     a cluster; one holdout, drawn as the reference evaluation did
cluster              a cluster (takes of one sign in one go), over folds
sitting              a sitting (one person going through a word list), over folds
session              a recorded session
signer               a person
===================  ==============================================================

*Conventions*: a fold is tested in the round of its number. Validation clips are set
apart by the rule that sets the test clips apart: another fold, another person, or a
share of every class where nothing is kept apart. Clips without a label (out of
vocabulary) are only ever tested. Everything is drawn from one seed; the order of
the input does not matter because a corpus is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.core.allocate import Infeasible, allocate_folds, require_enough_groups
from snellen.core.cells import NotMeasurable
from snellen.core.corpus import Corpus
from snellen.core.groups import GAP, Groups, groups_of, joined
from snellen.core.holdouts import (
    OFFICIAL_ROLES,
    official_roles,
    random_roles,
    session_disjoint_roles,
)
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION, Split
from snellen.errors import BadInput, Fault

__all__ = ["PROTOCOLS", "Protocol", "ladder_protocols", "make_split", "protected_groups"]

LEAVE_ONE_OUT_MOST = 12
"""Up to so many sessions or signers, each is left out once; more are put in folds."""
DEFAULT_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a protocol keeps apart, and its folds and minimum unless asked otherwise.

    ``folds`` is None for a protocol that leaves one group out at a time while there
    are few, and 1 for a holdout. ``min_per_class`` is the fewest clips of each class
    a fold must hold.
    """

    protects: str | None
    folds: int | None
    min_per_class: int = 0


PROTOCOLS = {
    "random": Protocol(None, DEFAULT_FOLDS),
    "official": Protocol(None, 1),
    "session_disjoint": Protocol("cluster", 1),
    "cluster": Protocol("cluster", 4, min_per_class=1),
    "sitting": Protocol("sitting", 4, min_per_class=1),
    "session": Protocol("session", None),
    "signer": Protocol("signer", None),
}


def make_split(
    corpus: Corpus,
    protocol: str,
    *,
    seed: int,
    folds: int | None = None,
    gap: int = GAP,
    validation: bool = True,
    min_per_class: int | None = None,
) -> Split:
    """The split of a corpus under a protocol.

    Args:
        corpus: what to split.
        protocol: a name of :data:`PROTOCOLS`.
        seed: of every draw; the same seed gives the same bytes.
        folds: how many folds; None takes the protocol's. Sessions and signers are then
            left out one at a time where there are at most 12, else put in five folds.
            A holdout keeps its one round whatever is asked.
        gap: the widest gap of recording numbers within a cluster.
        validation: whether clips are set apart from training for choosing thresholds.
        min_per_class: clips of each class every fold must hold; None takes the protocol's.

    Raises:
        Infeasible: whole groups cannot give every fold its clips; names each class.
        BadInput: no such protocol, an option it does not have, or a corpus that does
            not record what it needs.
    """
    if protocol not in PROTOCOLS:
        raise BadInput(Fault("protocol", repr(protocol), ", ".join(PROTOCOLS)))
    chosen = PROTOCOLS[protocol]
    _require_options(protocol, folds, min_per_class)
    reason = _why_not(corpus, protocol, gap)
    if reason is not None:
        raise BadInput(Fault(f"{corpus.name}, protocol {protocol}", reason.have, reason.needed))
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {"validation": validation}
    if protocol == "official":
        roles = official_roles(corpus, rng, validation=validation)
    elif protocol == "random":
        settings["folds"] = folds or DEFAULT_FOLDS
        _require_rounds(settings["folds"], len(corpus), "clips", fewest=2)
        roles = random_roles(corpus, settings["folds"], rng, validation=validation)
    else:
        groups = _groups(corpus, protocol, gap)
        settings |= {"definition": groups.definition, "gap": gap}
        if protocol == "session_disjoint":
            roles = session_disjoint_roles(corpus, groups, rng, validation=validation)
        elif folds or chosen.folds or groups.count > LEAVE_ONE_OUT_MOST:
            count = folds or chosen.folds or DEFAULT_FOLDS
            least = chosen.min_per_class if min_per_class is None else min_per_class
            _require_rounds(count, groups.count, f"{groups.level}s", fewest=2 + validation)
            fold, solution = _fold_of_clips(corpus, groups, count, least, rng)
            settings |= {"folds": count, "min_per_class": least, **solution}
            roles = _rounds(corpus, fold, np.roll(np.arange(count), -1), validation=validation)
        else:
            settings["folds"] = "one group each"
            roles = _rounds(corpus, groups.codes, _ring(groups.count, rng), validation=validation)
    return Split(protocol, chosen.protects, seed, corpus.items, roles, settings)


def ladder_protocols(
    corpus: Corpus, *, gap: int = GAP
) -> tuple[tuple[str, ...], dict[str, NotMeasurable]]:
    """The protocols this corpus admits, leakiest first, and why it does not admit the others.

    What only a search can show (classes that fit one by one but not together) is not
    looked for; :func:`make_split` names it.
    """
    reasons = {}
    for protocol, chosen in PROTOCOLS.items():
        reason = _why_not(corpus, protocol, gap)
        if protocol == "random" and len(corpus) < DEFAULT_FOLDS:
            reason = NotMeasurable(
                reason="too few clips for folds",
                needed=f"{DEFAULT_FOLDS} clips, or fewer folds",
                have=f"{len(corpus)}",
            )
        if reason is None and chosen.min_per_class > 0 and chosen.folds is not None:
            reason = _too_few(corpus, _groups(corpus, protocol, gap), protocol)
        if reason is not None:
            reasons[protocol] = reason
    return tuple(name for name in PROTOCOLS if name not in reasons), reasons


def protected_groups(corpus: Corpus, split: Split) -> Groups | None:
    """The groups a split keeps whole, which are what its figures rest on; None if it keeps none.

    Raises:
        BadInput: the split says it protects what this corpus does not record.
    """
    if split.protects is None:
        return None
    groups = _whole(corpus, split.protects, int(split.settings.get("gap", GAP)))
    if isinstance(groups, NotMeasurable):
        where = f"split {split.protocol}"
        raise BadInput(Fault(where, groups.reason, f"null, or {groups.needed}", field="protects"))
    return groups


def _require_options(protocol: str, folds: int | None, min_per_class: int | None) -> None:
    chosen = PROTOCOLS[protocol]
    faults = []
    if folds is not None and folds < 2:
        faults.append(Fault(protocol, str(folds), "2 or more", field="folds"))
    allocates = chosen.protects is not None and chosen.folds != 1 and (folds or chosen.folds)
    if min_per_class is not None and not allocates:
        allowed = "only where whole groups are given to a number of folds"
        faults.append(Fault(protocol, str(min_per_class), allowed, field="min_per_class"))
    if faults:
        raise BadInput(faults)


def _require_rounds(folds: int, have: int, what: str, *, fewest: int) -> None:
    if not fewest <= folds <= have:
        raise BadInput(Fault("split", f"{folds} folds", f"{fewest} to {have} ({what})"))


def _whole(corpus: Corpus, level: str, gap: int) -> Groups | NotMeasurable:
    """What a protocol keeps whole: a sitting is widened so as to tear no cluster either."""
    groups = groups_of(corpus, level, gap=gap)
    clusters = groups_of(corpus, "cluster", gap=gap)
    if level == "sitting" and isinstance(groups, Groups) and isinstance(clusters, Groups):
        return joined(groups, clusters)
    return groups


def _groups(corpus: Corpus, protocol: str, gap: int) -> Groups:
    """The groups of a protocol that :func:`_why_not` found to be measurable."""
    groups = _whole(corpus, str(PROTOCOLS[protocol].protects), gap)
    assert isinstance(groups, Groups)  # noqa: S101 - for the type checker
    return groups


def _why_not(corpus: Corpus, protocol: str, gap: int) -> NotMeasurable | None:
    """Why this corpus cannot be split so, as far as its records tell."""
    if protocol == "official":
        found = {value for value in corpus.column("official") if value is not None}
        if corpus.known("official") and {"train", "test"} <= found <= set(OFFICIAL_ROLES):
            return None
        return NotMeasurable(
            reason="there is no published split",
            needed="train, test (and val) in the column official of every clip",
            have=", ".join(sorted(found)) or "an empty column",
        )
    level = PROTOCOLS[protocol].protects
    groups = None if level is None else groups_of(corpus, level, gap=gap)
    if isinstance(groups, NotMeasurable):
        return groups
    if groups is not None and groups.count < 3:
        reason = f"too few {level}s to train, validate and test on different ones"
        have = f"{groups.count} {level}" + ("s" if groups.count > 1 else "")
        return NotMeasurable(reason=reason, needed=f"3 {level}s", have=have)
    return None


def _too_few(corpus: Corpus, groups: Groups, protocol: str) -> NotMeasurable | None:
    chosen = PROTOCOLS[protocol]
    counts, minimum, names = _counts(corpus, groups, chosen.min_per_class)
    try:
        require_enough_groups(counts, chosen.folds or 1, minimum=minimum, names=names)
    except Infeasible as error:
        short = [f"{fault.field} ({fault.seen})" for fault in error.faults]
        return NotMeasurable(
            reason=f"some classes lie in too few {groups.level}s for {chosen.folds} folds",
            needed=f"{chosen.folds} {groups.level}s of every class, or fewer folds",
            have=", ".join(short[:5]) + (f" and {len(short) - 5} more" if len(short) > 5 else ""),
        )
    return None


def _counts(
    corpus: Corpus, groups: Groups, least: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Clips by group and class, the minimum of each class, and the class names.

    Classes without a clip are left out. Clips without a label are a class of their own
    that has no minimum, so that they spread too.
    """
    classes = corpus.classes
    present, column = np.unique(classes, return_inverse=True)
    counts = np.zeros((groups.count, len(present)), dtype=np.int64)
    np.add.at(counts, (groups.codes, column), 1)
    minimum = np.where(present < 0, 0, least)
    names = tuple("no label" if k < 0 else corpus.vocabulary[k] for k in present.tolist())
    return counts, minimum, names


def _fold_of_clips(
    corpus: Corpus, groups: Groups, folds: int, least: int, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, float]]:
    counts, minimum, names = _counts(corpus, groups, least)
    found = allocate_folds(counts, folds, minimum=minimum, names=names, rng=rng)
    return found.fold[groups.codes], {"deviation": found.deviation, "excess": found.excess}


def _ring(count: int, rng: np.random.Generator) -> np.ndarray:
    """For each of ``count`` groups another one, so that all form a single ring."""
    order = rng.permutation(count)
    after = np.empty(count, dtype=np.int64)
    after[order] = np.roll(order, -1)
    return after


def _rounds(
    corpus: Corpus, fold: np.ndarray, validator: np.ndarray, *, validation: bool
) -> np.ndarray:
    """One round a fold; fold ``validator[k]`` validates in the round that tests fold k."""
    roles = np.full((len(validator), len(corpus)), TRAIN, dtype=np.int8)
    for k, row in enumerate(roles):
        if validation:
            row[fold == validator[k]] = VALIDATION
        row[corpus.classes < 0] = UNUSED
        row[fold == k] = TEST
    return roles

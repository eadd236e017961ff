"""What is in a corpus, and what a split lets its test clips share with training.

A test clip is *seen* at a level if, in the round that tests it, another clip of its
group is trained on: the same recording, the same take, the same sitting, session or
person. Validation clips count as training, because models are fitted on both in the
end; how many are seen in the training clips alone is said beside it. A group that
lies in train and validation only leaks nothing into the test figures.

*Conventions*: counts are summed over the rounds of a split. Duplicates come as
``exact`` (tuples of positions) and ``near`` (:class:`NearPairs`) from
:mod:`snellen.core.duplicates`; None says that nothing was compared. A group of near
duplicates is a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from snellen.core.card import LeakMark
from snellen.core.cells import NotMeasurable, NotMeasured
from snellen.core.corpus import Corpus
from snellen.core.duplicates import NearPairs, near_pairs
from snellen.core.findings import Balance, CorpusAudit, Level, NearDuplicates, Share, SplitAudit
from snellen.core.groups import GAP, LEVELS, groups_of
from snellen.core.remarks import remarks
from snellen.core.split import TEST, TRAIN, VALIDATION, Split

__all__ = ["audit_corpus", "audit_split", "near_pairs_of"]

EXACT = "clips whose recordings are equal number by number"
SEEN = {
    "exact duplicate": "are also in training, number by number",
    "near duplicate": "move like a training clip of the same class nearly point by point",
    "cluster": "have a training clip of the same class from the same take",
    "sitting": "come from a sitting that is also in training, whatever the sign",
    "session": "come from a session that is also in training",
    "signer": "show a person who is also in training",
}
FITTED = (TRAIN, VALIDATION)
ROLE_NAMES = {TRAIN: "train", VALIDATION: "validation", TEST: "test"}


@dataclass(frozen=True, slots=True)
class _Members:
    """Which clips belong to which group, (groups, clips), zeros and ones."""

    level: str
    definition: str
    incidence: csr_array


def near_pairs_of(corpus: Corpus, signatures: np.ndarray) -> NearPairs:
    """The near-duplicates of a corpus by the movement of its clips, (clips, numbers)."""
    signers = groups_of(corpus, "signer")
    who = None if isinstance(signers, NotMeasurable) else signers.codes
    return near_pairs(signatures, corpus.classes, who)


def audit_corpus(
    corpus: Corpus,
    *,
    exact: Sequence[tuple[int, ...]] | None = None,
    near: NearPairs | None = None,
    missing: Sequence[Share] | None = None,
    gap: int = GAP,
) -> CorpusAudit:
    """What is in a corpus, whatever its split, and what a user should know about it.

    Args:
        corpus: what to audit.
        exact: equal recordings; None if none were compared.
        near: near-duplicate pairs; None if none were looked for.
        missing: the missing parts of the recordings; None if there are none to look at.
        gap: the widest gap of recording numbers within a cluster.
    """
    classes = corpus.classes
    clips = np.bincount(classes[classes >= 0], minlength=len(corpus.vocabulary))
    found = {level: groups_of(corpus, level, gap=gap) for level in LEVELS}
    known = {name: level for name, level in found.items() if not isinstance(level, NotMeasurable)}
    frames = corpus.clips.column("n_frames").to_pylist()
    total = sum(frames) if corpus.known("n_frames") else _no_recordings(corpus, "frames")
    alike = _near_duplicates(corpus, near)
    counted = alike if isinstance(alike, NearDuplicates) else None
    return CorpusAudit(
        name=corpus.name,
        digest=corpus.digest,
        clips=len(corpus),
        classes=len(corpus.vocabulary),
        out_of_vocabulary=int((classes < 0).sum()),
        clips_per_class_min=int(clips.min(initial=len(corpus))) if clips.size else 0,
        clips_per_class_max=int(clips.max(initial=0)),
        frames=total,
        missing=_no_recordings(corpus, "missing points") if missing is None else tuple(missing),
        groups={n: x if isinstance(x, NotMeasurable) else x.count for n, x in found.items()},
        definitions={name: level.definition for name, level in known.items()},
        exact_duplicates=_no_recordings(corpus, "exact duplicates")
        if exact is None
        else tuple(tuple(corpus.items[k] for k in same) for same in exact),
        near_duplicates=alike,
        findings=remarks(corpus, clips, exact or (), counted, known.get("signer")),
        silent=corpus.silent,
    )


def audit_split(
    corpus: Corpus,
    split: Split,
    *,
    exact: Sequence[tuple[int, ...]] | None = None,
    near: NearPairs | None = None,
    gap: int = GAP,
) -> SplitAudit:
    """What crosses between the roles of a split, and which test clips that touches.

    Every known level at which a test clip is seen leaves a mark, whether or not the
    protocol claims to keep that level apart. A level of a single group leaves none: it
    is a fact of the corpus, which no split could change.
    """
    if split.items != corpus.items:
        raise ValueError("the split was made for other clips than the corpus holds")
    members: list[_Members] = []
    unknown: dict[str, NotMeasurable | NotMeasured] = {}
    if exact is None:
        unknown["exact duplicate"] = _no_recordings(corpus, "exact duplicates")
    else:
        members.append(_members(corpus, "exact duplicate", EXACT, exact))
    if near is None:
        unknown["near duplicate"] = _no_recordings(corpus, "near duplicates")
    else:
        members.append(_members(corpus, "near duplicate", _near_definition(near), near.pairs))
    for name in LEVELS:
        groups = groups_of(corpus, name, gap=gap)
        if isinstance(groups, NotMeasurable):
            unknown[name] = groups
        else:
            ones = (np.ones(len(corpus), np.int64), (groups.codes, np.arange(len(corpus))))
            members.append(_Members(name, groups.definition, csr_array(ones)))
    levels = [_level(entry, split.roles) for entry in members]
    tested = int((split.roles == TEST).any(axis=0).sum())
    return SplitAudit(
        protocol=split.protocol,
        protects=split.protects,
        digest=split.digest,
        rounds=split.rounds,
        sizes=tuple(
            (int((row == TRAIN).sum()), int((row == VALIDATION).sum()), int((row == TEST).sum()))
            for row in split.roles
        ),
        tested=tested,
        untested=len(corpus) - tested,
        levels=tuple(levels),
        unknown_levels=dict(unknown),
        balance=_balance(corpus, split),
        leaks=tuple(
            _mark(level, split.rounds)
            for level in levels
            if level.test_clips_seen > 0 and not (level.groups == 1 and level.level in LEVELS)
        ),
    )


def _no_recordings(corpus: Corpus, what: str) -> NotMeasurable | NotMeasured:
    if corpus.features is None:
        needed = "the recordings (keypoints) of every clip"
        return NotMeasurable(reason=f"{what}: metadata only", needed=needed, have="a list of clips")
    return NotMeasured(reason=f"{what} were not looked at", command="snellen audit FOLDER")


def _near_definition(near: NearPairs) -> str:
    return (
        "pairs of clips of one class (and one signer, where known) whose movements, each point's "
        "way from its own mean regardless of size and duration, have a cosine of at least "
        f"{near.threshold:g}; no more than one in a million pairs that cannot be copies has"
    )


def _near_duplicates(
    corpus: Corpus, near: NearPairs | None
) -> NearDuplicates | NotMeasurable | NotMeasured:
    if near is None:
        return _no_recordings(corpus, "near duplicates")
    if near.within_median is None:
        return NotMeasurable(
            reason="near duplicates: no two clips could be copies of each other",
            needed="two clips of one class and signer",
            have="one clip of each",
        )
    return NearDuplicates(
        definition=_near_definition(near),
        threshold=near.threshold,
        within_pairs=near.within_pairs,
        within_above=len(near.pairs),
        within_median=near.within_median,
        between_pairs=near.between_pairs,
        between_above=near.between_above,
        clips_touched=len(np.unique(near.pairs)),
    )


def _members(
    corpus: Corpus, level: str, definition: str, sets: Sequence[Sequence[int]] | np.ndarray
) -> _Members:
    row = np.repeat(np.arange(len(sets)), [len(same) for same in sets])
    column = np.concatenate([np.asarray(same, dtype=np.int64) for same in sets] or [row])
    ones = (np.ones(len(row), np.int64), (row, column))
    return _Members(level, definition, csr_array(ones, shape=(len(sets), len(corpus))))


def _level(members: _Members, roles: np.ndarray) -> Level:
    incidence = members.incidence
    size = np.asarray(incidence.sum(axis=1)).ravel()
    others = incidence.T @ (size - 1)  # clips that share a group with each clip
    pairs = {"train-validation": 0, "train-test": 0, "validation-test": 0}
    any_, crossing, seen, in_train, expected = 0, 0, 0, 0, 0.0
    for row in roles:
        held = {
            name: incidence @ (row == role).astype(np.int64) > 0
            for role, name in ROLE_NAMES.items()
        }
        for pair in pairs:
            first, second = pair.split("-")
            pairs[pair] += int((held[first] & held[second]).sum())
        fitted = held["train"] | held["validation"]
        any_ += int((np.sum(list(held.values()), axis=0) > 1).sum())
        crossing += int((fitted & held["test"]).sum())
        test = row == TEST
        seen += int((incidence.T @ fitted.astype(np.int64) > 0)[test].sum())
        in_train += int((incidence.T @ held["train"].astype(np.int64) > 0)[test].sum())
        expected += int(test.sum()) * _chance(others, row)
    return Level(
        level=members.level,
        definition=members.definition,
        groups=incidence.shape[0],
        crossing_any=any_,
        crossing_seen=crossing,
        pairs=pairs,
        test_clips=int((roles == TEST).sum()),
        test_clips_seen=seen,
        test_clips_seen_in_train=in_train,
        seen_definition=f"test clips that {SEEN[members.level]}; training includes validation",
        expected_seen=expected,
    )


def _chance(others: np.ndarray, row: np.ndarray) -> float:
    """Chance that a clip is seen if the same numbers of clips were dealt out at random.

    A clip with k others escapes if all of them fall among the clips that do not train:
    C(rest, k) / C(all, k), with itself taken out of both.
    """
    total, rest = len(row) - 1, len(row) - 1 - int(np.isin(row, FITTED).sum())
    k = np.minimum(others, total)
    log = gammaln(rest + 1) - gammaln(np.maximum(rest - k, 0) + 1)
    log = log - gammaln(total + 1) + gammaln(total - k + 1)
    return float(np.mean(1 - np.where(k > rest, 0, np.exp(log))))


def _mark(level: Level, rounds: int) -> LeakMark:
    seen, tested = level.test_clips_seen, level.test_clips
    sentence = f"{seen} of {tested} test clips {SEEN[level.level]}"
    if level.test_clips_seen_in_train < seen:
        sentence += f" ({level.test_clips_seen_in_train} without the validation clips)"
    beside = level.crossing_any - level.crossing_seen
    if rounds == 1 and level.level in LEVELS and beside > 0:
        sentence += (
            f"; {level.crossing_seen} of {level.groups} groups lie on both sides. "
            f"{level.crossing_any} touch more than one of train, validation and test, "
            f"which is another count: {beside} of these lie in train and validation only"
        )
    return LeakMark(
        level=level.level, test_clips_touched=seen, test_clips=tested, sentence=sentence
    )


def _balance(corpus: Corpus, split: Split) -> Balance:
    counts = np.array(list(_test_clips(corpus, split)))
    fewest = int(counts.min(axis=0).argmin())
    return Balance(
        classes_in_every_test=int((counts > 0).all(axis=0).sum()),
        classes=len(corpus.vocabulary),
        fewest_test_clips=int(counts.min()),
        fewest_label=corpus.vocabulary[fewest],
        most_test_clips=int(counts.max()),
    )


def _test_clips(corpus: Corpus, split: Split) -> Iterator[np.ndarray]:
    for row in split.roles:
        classes = corpus.classes[(row == TEST) & (corpus.classes >= 0)]
        yield np.bincount(classes, minlength=len(corpus.vocabulary))

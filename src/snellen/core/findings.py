"""What an audit says: figures with their definitions, and findings.

*Conventions*: every figure stands beside the sentence that defines it. A level
(``exact duplicate``, ``near duplicate``, ``cluster``, ``sitting``, ``session``,
``signer``) that the data cannot tell is a cell state with its reason, never an
empty row. Counts of clips are counts of *test* clips unless the name says more.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.card import LeakMark
from snellen.core.cells import NotApplicable, NotMeasurable, NotMeasured

__all__ = [
    "Audit",
    "Balance",
    "CorpusAudit",
    "Finding",
    "Level",
    "NearDuplicates",
    "Share",
    "SplitAudit",
]

Unknown = NotMeasured | NotMeasurable | NotApplicable


class Share(Struct, frozen=True, kw_only=True):
    """A part of a whole, such as the missing points of one landmark block."""

    name: str
    part: int
    whole: int
    definition: str


class NearDuplicates(Struct, frozen=True, kw_only=True, tag="measured", tag_field="state"):
    """Pairs of clips that move alike, and how often unrelated clips do.

    ``between_above`` of ``between_pairs`` pairs of *different* classes also pass
    the threshold: the base rate against which ``within_above`` must be read.
    """

    definition: str
    threshold: float
    within_pairs: int
    within_above: int
    within_median: float
    between_pairs: int
    between_above: int
    clips_touched: int


class Finding(Struct, frozen=True, kw_only=True):
    """One thing a user should know. ``severity`` is leak, warning or note."""

    code: str
    severity: str
    sentence: str


class CorpusAudit(Struct, frozen=True, kw_only=True):
    """What is in a corpus, whatever its split.

    ``groups`` maps a level to the number of groups, or says why it is unknown.
    """

    name: str
    digest: str
    clips: int
    classes: int
    out_of_vocabulary: int
    clips_per_class_min: int
    clips_per_class_max: int
    frames: int | Unknown
    missing: tuple[Share, ...] | Unknown
    groups: dict[str, int | Unknown]
    definitions: dict[str, str]
    exact_duplicates: tuple[tuple[str, ...], ...] | Unknown
    near_duplicates: NearDuplicates | Unknown
    findings: tuple[Finding, ...]
    silent: tuple[str, ...]


class Level(Struct, frozen=True, kw_only=True):
    """How far groups of one level cross the roles of a split, summed over its rounds.

    A test clip is *seen* if another clip of its group is in train or validation:
    models are fitted on both in the end, and a published split has no validation
    set of its own. ``test_clips_seen_in_train`` leaves validation out.
    ``crossing_seen``: groups with clips in test and in train or validation.
    ``crossing_any``: groups that touch more than one of train, validation, test
    (the three-way count). ``pairs`` maps an ordered pair such as ``train-test`` to
    the number of groups with clips in both. ``expected_seen`` is what a random
    assignment of the same sizes would touch.
    """

    level: str
    definition: str
    groups: int
    crossing_any: int
    crossing_seen: int
    pairs: dict[str, int]
    test_clips: int
    test_clips_seen: int
    test_clips_seen_in_train: int
    seen_definition: str
    expected_seen: float | None = None


class Balance(Struct, frozen=True, kw_only=True):
    """How evenly the classes fall on the test sets of a split."""

    classes_in_every_test: int
    classes: int
    fewest_test_clips: int
    fewest_label: str
    most_test_clips: int


class SplitAudit(Struct, frozen=True, kw_only=True):
    """One split of one corpus: sizes, what crosses, which test clips that touches."""

    protocol: str
    protects: str | None
    digest: str
    rounds: int
    sizes: tuple[tuple[int, int, int], ...]
    tested: int
    untested: int
    levels: tuple[Level, ...]
    unknown_levels: dict[str, Unknown]
    balance: Balance
    leaks: tuple[LeakMark, ...]


class Audit(Struct, frozen=True, kw_only=True):
    """An audit as it is stored and shown."""

    format: str = "snellen-audit/1"
    task: str
    corpus: CorpusAudit
    splits: tuple[SplitAudit, ...]

"""What is measured of isolated signs: outcomes as arrays, and every score of them.

*Conventions*: a clip is scored when a round of the split tests it and its true
label is in the vocabulary. A missing or abstained answer is wrong. Intervals
resample the groups the split protects; a split that protects none says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snellen.core.answers import ranked_answers
from snellen.core.card import Score
from snellen.core.cells import Cell, NotApplicable, NotMeasurable, NotMeasured, measured
from snellen.core.corpus import Corpus
from snellen.core.split import Split
from snellen.metrics import calibration, classify, intervals, selective
from snellen.metrics.ratio import Ratio

__all__ = [
    "BOOTSTRAP_SEED",
    "MACRO_REPLICATES",
    "REPLICATES",
    "Outcomes",
    "outcomes_of",
    "overall_scores",
    "slice_scores",
    "unknown_scores",
]

# Figures by class resample class counts, which is nearly free; the others weigh every clip anew.
MACRO_REPLICATES = 2000
REPLICATES = 500
BOOTSTRAP_SEED = 12345
# More slices than this are a table nobody reads, each of a handful of clips.
SLICES_SHOWN = 40

Weighted = Callable[[np.ndarray], Ratio]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Scored clips as arrays: truth, ranked answers, confidence, and the groups behind them.

    ``positions`` point into the corpus's items; ``ranked`` is (clips, ranks),
    -1 where there is no answer; ``groups`` is None for a split without any.
    """

    positions: np.ndarray
    truth: np.ndarray
    ranked: np.ndarray
    confidence: np.ndarray
    has_confidence: bool
    groups: np.ndarray | None

    @property
    def answer(self) -> np.ndarray:
        """The first answer of each clip, -1 for none."""
        return self.ranked[:, 0]

    @property
    def correct(self) -> np.ndarray:
        """Whether each first answer is right."""
        return np.asarray(self.answer == self.truth)


def outcomes_of(
    corpus: Corpus, split: Split, answers: pa.Table, groups: Sequence[str] | None
) -> Outcomes:
    """Pair every scored clip with its answer; ``groups`` is aligned with the corpus's items."""
    positions = np.flatnonzero((split.tested_in >= 0) & (corpus.classes >= 0))
    items = [corpus.items[k] for k in positions]
    ranked = ranked_answers(answers, items, corpus.vocabulary)
    names = None if groups is None else np.array([groups[k] for k in positions])
    return Outcomes(
        positions=positions,
        truth=corpus.classes[positions],
        ranked=ranked.labels,
        confidence=ranked.confidence[:, 0],
        has_confidence=ranked.has_confidence,
        groups=names,
    )


def _resampled(metric: Weighted, outcomes: Outcomes) -> Cell:
    n = len(outcomes.truth)
    plain = metric(np.ones(n))
    if not bool(plain.defined):
        return NotMeasurable(
            reason="undefined on these clips", needed="at least one such clip", have="none"
        )
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    return measured(
        intervals.bootstrap_interval(metric, n, outcomes.groups, rng, replicates=REPLICATES)
    )


def overall_scores(outcomes: Outcomes, counts: np.ndarray) -> list[Score]:
    """Every measure over all scored clips; ``counts`` is their confusion."""

    def by_class(metric: Callable[[classify.ClassCounts], Ratio]) -> Cell:
        return measured(
            intervals.class_figure_interval(
                metric,
                outcomes.truth,
                outcomes.answer,
                counts.shape[0],
                outcomes.groups,
                np.random.default_rng(BOOTSTRAP_SEED),
                replicates=MACRO_REPLICATES,
            )
        )

    found = [
        _score("accuracy", measured(intervals.share_interval(outcomes.correct, outcomes.groups))),
        _score("macro_f1", by_class(classify.macro_f1)),
        _score("balanced_accuracy", by_class(classify.balanced_accuracy)),
        _score("macro_precision", by_class(classify.macro_precision)),
        _score("weighted_f1", by_class(classify.weighted_f1)),
        _score("weighted_precision", by_class(classify.weighted_precision)),
    ]
    top = [_score(f"top_{k}", _top(outcomes, k)) for k in (3, 5)]
    return [*found, *top, *_confidence_scores(outcomes)]


def _score(measure: str, cell: Cell, *, slice_: str = "all", better: str = "higher") -> Score:
    return Score(measure=measure, slice=slice_, better=better, cell=cell)


def _top(outcomes: Outcomes, k: int) -> Cell:
    have = outcomes.ranked.shape[1]
    if have < k:
        return NotMeasured(
            reason=f"the answers hold {have} ranked labels a clip",
            command=f"give ranks 1 to {k} in the answers and run snellen score again",
        )
    hit = (outcomes.ranked[:, :k] == outcomes.truth[:, None]).any(axis=1)
    return measured(intervals.share_interval(hit, outcomes.groups))


def _confidence_scores(outcomes: Outcomes) -> list[Score]:
    confidence, correct = outcomes.confidence, outcomes.correct
    measures: tuple[tuple[str, str, Weighted], ...] = (
        ("aurc", "lower", lambda w: selective.aurc(confidence, correct, w)),
        ("excess_aurc", "lower", lambda w: selective.excess_aurc(confidence, correct, w)),
        (
            "accuracy_at_coverage_80",
            "higher",
            lambda w: selective.accuracy_at_coverage(confidence, correct, 0.8, w),
        ),
        (
            "coverage_at_accuracy_90",
            "higher",
            lambda w: selective.coverage_at_accuracy(confidence, correct, 0.9, w),
        ),
    )
    if not outcomes.has_confidence:
        unknown = NotMeasured(
            reason="some answers carry no confidence",
            command="give every answer a confidence and run snellen score again",
        )
        names = [*((name, better) for name, better, _ in measures), ("brier", "lower")]
        return [_score(name, unknown, better=better) for name, better in names]
    if not (outcomes.answer >= 0).any():
        # All wrong at confidence 0 is a perfect order and a perfect Brier score: of nothing.
        empty = NotMeasurable(reason="no clip was answered", needed="1 answer", have="0 answers")
        names = [*((name, better) for name, better, _ in measures), ("brier", "lower")]
        return [_score(name, empty, better=better) for name, better in names]
    found = [
        _score(name, _resampled(metric, outcomes), better=better)
        for name, better, metric in measures
    ]
    return [*found, _score("brier", _brier(outcomes), better="lower")]


def _brier(outcomes: Outcomes) -> Cell:
    """Over answered clips: what was not said can be neither sharp nor blunt."""
    answered = outcomes.answer >= 0
    said = Outcomes(
        positions=outcomes.positions[answered],
        truth=outcomes.truth[answered],
        ranked=outcomes.ranked[answered],
        confidence=outcomes.confidence[answered],
        has_confidence=True,
        groups=None if outcomes.groups is None else outcomes.groups[answered],
    )
    return _resampled(lambda w: calibration.brier(said.confidence, said.correct, w), said)


def unknown_scores(
    corpus: Corpus, tested: np.ndarray, answers: pa.Table, groups: Sequence[str] | None
) -> list[Score]:
    """Clips that show no sign of the vocabulary: any answer to them is a false alarm."""
    rows = [k for k in tested if corpus.classes[k] < 0]
    outside = [corpus.items[k] for k in rows]
    slice_ = "out of vocabulary"
    if not outside:
        cell: Cell = NotApplicable(reason="no tested clip is out of vocabulary")
        return [_score("false_alarms", cell, slice_=slice_, better="lower")]
    given = ranked_answers(answers, outside, corpus.vocabulary).labels[:, 0] >= 0
    names = None if groups is None else np.array([groups[k] for k in rows])
    cell = measured(intervals.share_interval(given, names))
    return [_score("false_alarms", cell, slice_=slice_, better="lower")]


def slice_scores(corpus: Corpus, outcomes: Outcomes) -> list[Score]:
    """Accuracy for each signer and session, where these are known."""
    found: list[Score] = []
    for column in ("signer", "session"):
        everyone = corpus.column(column)
        names = [everyone[k] for k in outcomes.positions]
        values = sorted({name for name in names if name is not None})
        if not 1 < len(values) <= SLICES_SHOWN:
            continue
        column_of = np.array([name or "" for name in names])
        for value in values:
            inside = outcomes.correct[column_of == value]
            cell = measured(intervals.share_interval(inside, None))
            found.append(_score("accuracy", cell, slice_=f"{column}={value}"))
    return found

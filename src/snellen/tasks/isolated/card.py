"""From answers to a scorecard: every measure of isolated signs, with its interval.

*Conventions*: a clip is scored when a round of the split tests it and its true
label is in the vocabulary. A missing or abstained answer is wrong. Intervals
resample the groups the split protects; a split that protects none says so.
Macro averages run over the classes that have scored clips.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snellen import __version__
from snellen.core.answers import check_answers, in_order, intake_of, ranked_answers
from snellen.core.card import (
    Bin,
    ClassRow,
    Confused,
    Confusion,
    CoveragePoint,
    LeakMark,
    Reliability,
    Score,
    Scorecard,
)
from snellen.core.cells import Cell, Measured, NotApplicable, NotMeasurable, NotMeasured
from snellen.core.corpus import Corpus
from snellen.core.split import Split
from snellen.digest import digest_json, digest_table
from snellen.metrics import calibration, classify, intervals, selective
from snellen.metrics.ratio import Ratio
from snellen.tasks.isolated.confusion import by_similarity

__all__ = ["MEASURES", "Outcomes", "build_card", "contract_of", "outcomes_of"]

# A change of any definition below changes this, and with it every contract.
MEASURES = "isolated-measures/1"
# Macro-F1 resamples class counts, which is nearly free; the others weigh every clip anew.
MACRO_REPLICATES = 2000
REPLICATES = 500
BOOTSTRAP_SEED = 12345
THRESHOLDS = tuple(k / 100 for k in range(0, 100, 5))
BINS = 10
TOP_CONFUSIONS = 15
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


def contract_of(corpus: Corpus, split: Split, *, seed: str, preprocessing: str) -> dict[str, str]:
    """What another run must share with this one before the two may be ranked."""
    tested = np.flatnonzero(split.tested_in >= 0)
    test_set = [[corpus.items[k], corpus.labels[k], int(split.tested_in[k])] for k in tested]
    return {
        "data": corpus.digest,
        "split": split.digest,
        "seed": seed,
        "vocabulary": digest_json(list(corpus.vocabulary)),
        "preprocessing": preprocessing,
        "test_set": digest_json(test_set),
        "measures": MEASURES,
    }


def build_card(
    corpus: Corpus,
    split: Split,
    answers: pa.Table,
    *,
    model: str,
    recipe: str,
    contract: Mapping[str, str],
    groups: Sequence[str] | None,
    leaks: Sequence[LeakMark],
    silent: Sequence[str],
    where: str = "answers",
) -> Scorecard:
    """Score answers under a split.

    Args:
        corpus: clips and truth.
        split: which clips are tested.
        answers: SPANS rows in any order.
        model: the name to show.
        recipe: a digest of how the model was made, or ``not stated``.
        contract: from :func:`contract_of`.
        groups: for each clip of the corpus the group the split protects, or None.
        leaks: from the audit of this split.
        silent: what this run did not measure.
        where: the file the answers came from, for messages.

    Raises:
        BadInput: a label outside the vocabulary, a confidence outside [0, 1], or
            a split that tests no clip with a known label; every fault is named.
    """
    answers = in_order(answers)
    check_answers(answers, corpus, where)
    outcomes = outcomes_of(corpus, split, answers, groups)
    tested = np.flatnonzero(split.tested_in >= 0)
    asked = [corpus.items[k] for k in tested]
    counts = classify.confusion(outcomes.truth, outcomes.answer, len(corpus.vocabulary))
    return Scorecard(
        task="isolated",
        model=model,
        protocol=split.protocol,
        protects=split.protects,
        signature=_signature(corpus, split, answers, model, recipe, contract),
        contract=dict(contract),
        intake=intake_of(answers, asked),
        scores=(
            *_scores(outcomes, counts),
            *_unknown_scores(corpus, tested, answers),
            *_slices(corpus, outcomes),
        ),
        classes=_classes(corpus.vocabulary, counts, outcomes),
        confusion=_confusion(corpus.vocabulary, counts),
        reliability=_reliability(outcomes),
        coverage=_coverage(outcomes),
        leaks=tuple(leaks),
        silent=tuple(silent),
    )


def _signature(
    corpus: Corpus,
    split: Split,
    answers: pa.Table,
    model: str,
    recipe: str,
    contract: Mapping[str, str],
) -> tuple[tuple[str, str], ...]:
    scored = int(((split.tested_in >= 0) & (corpus.classes >= 0)).sum())
    return (
        ("task", "isolated"),
        ("corpus", corpus.name),
        ("data", contract["data"]),
        ("protocol", split.protocol),
        ("protects", split.protects or "nothing"),
        ("split", contract["split"]),
        ("clips", str(scored)),
        ("classes", str(len(corpus.vocabulary))),
        ("model", model),
        ("recipe", recipe),
        ("seed", contract["seed"]),
        ("answers", digest_table(answers)),
        ("measures", contract["measures"]),
        ("macro", "classes-with-clips"),
        ("interval", f"95%,{MACRO_REPLICATES}+{REPLICATES}-resamples,seed-{BOOTSTRAP_SEED}"),
        ("version", __version__),
    )


def _measured(interval: intervals.Interval) -> Measured:
    return Measured(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        n=interval.n,
        groups=interval.groups,
        method=interval.method,
    )


def _resampled(metric: Weighted, outcomes: Outcomes) -> Cell:
    n = len(outcomes.truth)
    plain = metric(np.ones(n))
    if not bool(plain.defined):
        return NotMeasurable(
            reason="undefined on these clips", needed="at least one such clip", have="none"
        )
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    return _measured(
        intervals.bootstrap_interval(metric, n, outcomes.groups, rng, replicates=REPLICATES)
    )


def _scores(outcomes: Outcomes, counts: np.ndarray) -> list[Score]:
    n_classes = counts.shape[0]
    rng = np.random.default_rng(BOOTSTRAP_SEED)

    def by_class(metric: Callable[[classify.ClassCounts], Ratio]) -> Cell:
        def weighted(weight: np.ndarray) -> Ratio:
            table = classify.confusion(outcomes.truth, outcomes.answer, n_classes, weight)
            return metric(classify.class_counts(table))

        return _resampled(weighted, outcomes)

    macro_f1 = intervals.macro_f1_interval(
        outcomes.truth,
        outcomes.answer,
        n_classes,
        outcomes.groups,
        rng,
        replicates=MACRO_REPLICATES,
    )
    found = [
        _score("accuracy", _measured(intervals.share_interval(outcomes.correct, outcomes.groups))),
        _score("macro_f1", _measured(macro_f1)),
        _score("balanced_accuracy", by_class(classify.balanced_accuracy)),
        _score("macro_precision", by_class(classify.macro_precision)),
        _score("weighted_f1", by_class(classify.weighted_f1)),
        _score("weighted_precision", by_class(classify.weighted_precision)),
    ]
    for k in (3, 5):
        found.append(_score(f"top_{k}", _top(outcomes, k)))
    return [*found, *_confidence_scores(outcomes)]


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
    return _measured(intervals.share_interval(hit, outcomes.groups))


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
        ("brier", "lower", lambda w: calibration.brier(confidence, correct, w)),
    )
    if not outcomes.has_confidence:
        unknown = NotMeasured(
            reason="some answers carry no confidence",
            command="give every answer a confidence and run snellen score again",
        )
        return [_score(name, unknown, better=better) for name, better, _ in measures]
    return [
        _score(name, _resampled(metric, outcomes), better=better)
        for name, better, metric in measures
    ]


def _unknown_scores(corpus: Corpus, tested: np.ndarray, answers: pa.Table) -> list[Score]:
    """Clips that show no sign of the vocabulary: any answer to them is a false alarm."""
    outside = [corpus.items[k] for k in tested if corpus.classes[k] < 0]
    slice_ = "out of vocabulary"
    if not outside:
        cell: Cell = NotApplicable(reason="no tested clip is out of vocabulary")
        return [_score("false_alarms", cell, slice_=slice_, better="lower")]
    given = ranked_answers(answers, outside, corpus.vocabulary).labels[:, 0] >= 0
    cell = _measured(intervals.share_interval(given, None))
    return [_score("false_alarms", cell, slice_=slice_, better="lower")]


def _slices(corpus: Corpus, outcomes: Outcomes) -> list[Score]:
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
            cell = _measured(intervals.share_interval(inside, None))
            found.append(_score("accuracy", cell, slice_=f"{column}={value}"))
    return found


def _classes(
    vocabulary: Sequence[str], counts: np.ndarray, outcomes: Outcomes
) -> tuple[ClassRow, ...]:
    by_class = classify.class_counts(counts)
    precision, f1 = classify.precision(by_class).tolist(), classify.f1(by_class).tolist()
    rows = []
    for k, label in enumerate(vocabulary):
        support = int(by_class.support[k])
        inside = outcomes.truth == k
        groups = None if outcomes.groups is None else outcomes.groups[inside]
        if support:
            recall: Cell = _measured(intervals.share_interval(outcomes.correct[inside], groups))
        else:
            recall = NotMeasurable(
                reason="no scored clip of this class", needed="at least 1 clip", have="0 clips"
            )
        rows.append(
            ClassRow(
                label=label,
                support=support,
                predicted=int(by_class.predicted[k]),
                correct=int(by_class.correct[k]),
                precision=precision[k],
                f1=f1[k],
                recall=recall,
            )
        )
    return tuple(rows)


def _confusion(vocabulary: Sequence[str], counts: np.ndarray) -> Confusion:
    whole = counts.astype(np.int64)
    wrong = whole.copy()
    np.fill_diagonal(wrong, 0)
    # Most frequent first, then in the vocabulary's order.
    best = np.argsort(-wrong.ravel(), kind="stable")[:TOP_CONFUSIONS]
    names = [*vocabulary, None]
    top = [
        Confused(
            truth=vocabulary[at // len(names)],
            answer=names[at % len(names)],
            count=int(wrong.ravel()[at]),
        )
        for at in best.tolist()
        if wrong.ravel()[at] > 0
    ]
    return Confusion(
        labels=tuple(vocabulary),
        counts=tuple(tuple(row) for row in whole.tolist()),
        order=by_similarity(whole[:, :-1]),
        top=tuple(top),
    )


def _reliability(outcomes: Outcomes) -> Reliability | None:
    answered = outcomes.answer >= 0
    if not outcomes.has_confidence or not answered.any():
        return None
    # A clip without an answer states no confidence that could be right or wrong.
    confidence, correct = outcomes.confidence[answered], outcomes.correct[answered]
    table = calibration.reliability(confidence, correct, BINS)
    band = calibration.ece_null(confidence, np.random.default_rng(BOOTSTRAP_SEED), BINS)
    value = calibration.ece(confidence, correct, BINS)
    groups = None if outcomes.groups is None else len(np.unique(outcomes.groups[answered]))
    cell = Measured(
        value=float(value.value),
        low=None,
        high=None,
        n=len(correct),
        groups=groups,
        method="no interval: read it beside the band a perfectly calibrated model would show",
    )
    edges, mean, share = table.edges.tolist(), table.confidence.tolist(), table.accuracy.tolist()
    bins = tuple(
        Bin(
            low=edges[k],
            high=edges[k + 1],
            n=int(table.n[k]),
            confidence=mean[k],
            accuracy=share[k],
        )
        for k in range(BINS)
    )
    return Reliability(bins=bins, ece=cell, null_mean=band.mean, null_high=band.high)


def _coverage(outcomes: Outcomes) -> tuple[CoveragePoint, ...]:
    if not outcomes.has_confidence:
        return ()
    thresholds = np.array(THRESHOLDS)
    table = selective.sweep(
        outcomes.confidence, outcomes.correct, thresholds, answered=outcomes.answer >= 0
    )
    columns = zip(
        THRESHOLDS,
        table.answered.tolist(),
        table.right.tolist(),
        table.coverage.tolist(),
        table.selective_accuracy.tolist(),
        table.floor.tolist(),
        table.pessimistic_accuracy.tolist(),
        strict=True,
    )
    return tuple(
        CoveragePoint(
            threshold=threshold,
            answered=int(answered),
            right=int(right),
            coverage=coverage or 0.0,
            selective_accuracy=chosen,
            floor=floor,
            pessimistic_accuracy=pessimistic or 0.0,
        )
        for threshold, answered, right, coverage, chosen, floor, pessimistic in columns
    )

"""From answers to a scorecard: every measure of isolated signs, with its interval.

*Conventions*: a clip is scored when a round of the split tests it and its true
label is in the vocabulary. A missing or abstained answer is wrong. Intervals
resample the groups the split protects; a split that protects none says so.
Macro averages run over the classes that have scored clips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from snellen import __version__
from snellen.core.answers import check_answers, in_order, intake_of
from snellen.core.card import (
    Bin,
    ClassRow,
    Confused,
    Confusion,
    CoveragePoint,
    LeakMark,
    Reliability,
    Scorecard,
)
from snellen.core.cells import Cell, Measured, NotMeasurable, measured
from snellen.core.corpus import Corpus
from snellen.core.split import Split
from snellen.digest import digest_json, digest_table
from snellen.metrics import calibration, classify, intervals, selective
from snellen.tasks.isolated.confusion import by_similarity
from snellen.tasks.isolated.scores import (
    BOOTSTRAP_SEED,
    MACRO_REPLICATES,
    REPLICATES,
    Outcomes,
    outcomes_of,
    overall_scores,
    slice_scores,
    unknown_scores,
)

__all__ = ["MEASURES", "build_card", "contract_of"]

# A change of any definition below changes this, and with it every contract.
MEASURES = "isolated-measures/1"
THRESHOLDS = tuple(k / 100 for k in range(0, 100, 5))
BINS = 10
TOP_CONFUSIONS = 15


def contract_of(
    corpus: Corpus, split: Split, *, seed: str, preprocessing: str, training: str
) -> dict[str, str]:
    """What another run must share with this one before the two may be ranked."""
    tested = np.flatnonzero(split.tested_in >= 0)
    test_set = [[corpus.items[k], corpus.labels[k], int(split.tested_in[k])] for k in tested]
    return {
        "data": corpus.digest,
        "split": split.digest,
        "seed": seed,
        "vocabulary": digest_json(list(corpus.vocabulary)),
        "preprocessing": preprocessing,
        "training": training,
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
            *overall_scores(outcomes, counts),
            *unknown_scores(corpus, tested, answers, groups),
            *slice_scores(corpus, outcomes),
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
            recall: Cell = measured(intervals.share_interval(outcomes.correct[inside], groups))
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

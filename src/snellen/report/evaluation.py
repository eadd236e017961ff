"""A run as the published evaluations of signs show theirs, protocol by protocol.

It puts what cards, ladder, comparison and latency study hold side by side; it
measures nothing.

*Conventions*: the headline protocol comes first. Models stand in the order of
the ladder, after them chance and, where the run has no such model, majority.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snellen.core.card import Scorecard
from snellen.core.cells import Cell, Measured, NotApplicable, NotMeasured
from snellen.core.comparison import Comparison
from snellen.core.evaluation import CHANCE, MAJORITY, ClassOfModel, Evaluation, ModelRow
from snellen.core.ladder import Ladder, Rung
from snellen.core.latency import LatencyStudy, ModelLatency

__all__ = ["SHARES", "evaluations"]

SHARES = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "weighted_f1")
# In cards macro recall has its other name.
MEASURES = {"macro_recall": "balanced_accuracy"}
NOT_TIMED = NotMeasured(reason="there is no latency study", command="snellen latency RUN DATA")


def evaluations(
    ladder: Ladder,
    cards: Sequence[Scorecard],
    comparison: Comparison,
    latency: LatencyStudy | None,
) -> tuple[Evaluation, ...]:
    """One evaluation a protocol, the headline first.

    Args:
        ladder: the protocols of the run.
        cards: all cards of the run.
        comparison: all pairs of its models.
        latency: how long its models take, where that was measured.
    """
    timed = {row.model: row for row in latency.models} if latency is not None else {}
    held = {(card.protocol, card.model): card for card in cards}
    found = []
    for rung in sorted(ladder.rungs, key=lambda x: x.protocol != ladder.headline):
        mine = [held[rung.protocol, model] for model in ladder.models]
        rows = [_row(card, timed.get(card.model)) for card in mine]
        rows += _floors(ladder, rung)
        found.append(
            Evaluation(
                task=ladder.task,
                corpus=ladder.corpus,
                corpus_digest=ladder.corpus_digest,
                protocol=rung.protocol,
                headline=rung.protocol == ladder.headline,
                protects=rung.protects,
                rounds=rung.rounds,
                test_clips=rung.test_clips,
                classes=ladder.classes,
                leaks=rung.leaks,
                models=tuple(rows),
                per_class=tuple(_classes(mine)),
                gaps=tuple(x for x in ladder.gaps if rung.protocol in (x.leaky, x.honest)),
                pairs=tuple(x for x in comparison.pairs if x.protocol == rung.protocol),
            )
        )
    return tuple(found)


def _row(card: Scorecard, timed: ModelLatency | None) -> ModelRow:
    shares = {name: card.score(MEASURES.get(name, name)) for name in SHARES}
    return ModelRow(
        model=card.model,
        parameters=_parameters(timed),
        accuracy=shares["accuracy"],
        macro_precision=shares["macro_precision"],
        macro_recall=shares["macro_recall"],
        macro_f1=shares["macro_f1"],
        weighted_f1=shares["weighted_f1"],
        latency_ms=_milliseconds(timed),
    )


def _parameters(timed: ModelLatency | None) -> int | NotMeasured | NotApplicable:
    if timed is None:
        return NOT_TIMED
    if timed.parameters is None:
        return NotApplicable(reason="the model keeps no count of what it learns")
    return timed.parameters


def _milliseconds(timed: ModelLatency | None) -> Cell:
    if timed is None:
        return NOT_TIMED
    method = "median of warmed calls with one clip on one machine: no interval"
    return Measured(value=timed.call.p50, low=None, high=None, n=timed.call.calls, method=method)


def _floors(ladder: Ladder, rung: Rung) -> list[ModelRow]:
    """What a guess is worth: chance, and the most frequent class where no model answers so."""
    guess = NotApplicable(reason="a guess has no answers; only its expected share is exact")
    method = "expectation of a uniform guess, exact"
    share = Measured(
        value=1 / ladder.classes, low=None, high=None, n=rung.test_clips, method=method
    )
    rows = [_floor(CHANCE, share, guess)]
    if MAJORITY not in ladder.models:
        command = f"snellen run --models {MAJORITY},{','.join(ladder.models)}"
        absent = NotMeasured(
            reason=f"{MAJORITY} is not among the models of the run", command=command
        )
        rows.append(_floor(MAJORITY, absent, absent))
    return rows


def _floor(name: str, share: Cell, rest: NotMeasured | NotApplicable) -> ModelRow:
    return ModelRow(
        model=name,
        parameters=rest,
        accuracy=share,
        macro_precision=rest,
        macro_recall=share,
        macro_f1=rest,
        weighted_f1=rest,
        latency_ms=rest,
    )


def _classes(cards: Sequence[Scorecard]) -> Iterator[ClassOfModel]:
    """Class by class, and in a class model by model."""
    for rows in zip(*(card.classes for card in cards), strict=True):
        for card, row in zip(cards, rows, strict=True):
            yield ClassOfModel(
                label=row.label,
                model=card.model,
                support=row.support,
                precision=row.precision,
                recall=row.recall,
                f1=row.f1,
            )

"""The protocol ladder of one corpus: gaps between rungs, winners, and whether they change.

*Conventions*: rungs come leakiest first; the last is the headline. Gaps are
paired clip by clip over the clips both rungs test, grouped by what the honest
rung protects. Winner tests are Holm-corrected over the pairs of their rung.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from snellen.core.card import LeakMark, Scorecard
from snellen.core.cells import Cell, Measured, NotApplicable, NotMeasurable, NotMeasured
from snellen.core.comparison import Pairing, compare_pairs, difference
from snellen.core.corpus import Corpus
from snellen.core.ladder import Gap, Ladder, LadderCell, Rung, Winner
from snellen.core.split import Split
from snellen.tasks.isolated.scores import Outcomes

__all__ = ["build_ladder"]

ALPHA = 0.05

Results = Mapping[tuple[str, str], tuple[Scorecard, Outcomes]]


def build_ladder(
    corpus: Corpus,
    splits: Sequence[Split],
    leaks: Mapping[str, Sequence[LeakMark]],
    results: Results,
    models: Sequence[str],
    missing: Mapping[str, NotMeasurable | NotMeasured],
) -> Ladder:
    """Put the cards of all models under all protocols side by side.

    Args:
        corpus: what was recorded.
        splits: the rungs that were run, leakiest first.
        leaks: for each protocol what its audit found.
        results: card and outcomes by (protocol, model).
        models: names in the order to show.
        missing: protocols that were not run, with the reason.
    """
    protocols = [split.protocol for split in splits]
    winners = _winners(protocols, models, results, corpus.vocabulary)
    flip, sure, sentence = _flip(winners, results)
    return Ladder(
        task="isolated",
        corpus=corpus.name,
        corpus_digest=corpus.digest,
        clips=len(corpus),
        classes=len(corpus.vocabulary),
        models=tuple(models),
        rungs=tuple(_rung(split, leaks[split.protocol], corpus) for split in splits),
        missing_rungs=dict(missing),
        cells=tuple(
            LadderCell(
                model=model,
                protocol=protocol,
                accuracy=results[protocol, model][0].score("accuracy"),
                macro_f1=results[protocol, model][0].score("macro_f1"),
            )
            for model in models
            for protocol in protocols
        ),
        gaps=tuple(_gap(model, protocols, results) for model in models) if len(splits) > 1 else (),
        winners=winners,
        headline=protocols[-1],
        flip=flip,
        flip_sure=sure,
        flip_sentence=sentence,
    )


def _rung(split: Split, leaks: Sequence[LeakMark], corpus: Corpus) -> Rung:
    return Rung(
        protocol=split.protocol,
        protects=split.protects,
        rounds=split.rounds,
        test_clips=int(((split.tested_in >= 0) & (corpus.classes >= 0)).sum()),
        split=split.digest,
        leaks=tuple(leaks),
    )


def _gap(model: str, protocols: Sequence[str], results: Results) -> Gap:
    leaky, honest = protocols[0], protocols[-1]
    a, b = results[leaky, model][1], results[honest, model][1]
    _, at_a, at_b = np.intersect1d(a.positions, b.positions, return_indices=True)
    if len(at_a) == 0:
        cell = NotMeasurable(
            reason="the two protocols test no clip in common", needed="1 clip", have="0 clips"
        )
        return Gap(model=model, leaky=leaky, honest=honest, difference=cell)
    groups = None if b.groups is None else b.groups[at_b]
    return Gap(
        model=model,
        leaky=leaky,
        honest=honest,
        difference=difference(a.correct[at_a], b.correct[at_b], groups),
    )


def _winners(
    protocols: Sequence[str], models: Sequence[str], results: Results, vocabulary: Sequence[str]
) -> tuple[Winner, ...]:
    winners = []
    for protocol in protocols:
        # Most right answers first; equal counts keep the order of the models.
        ranked = sorted(models, key=lambda m: -int(results[protocol, m][1].correct.sum()))
        pairings = [_pairing(protocol, a, b, results) for a, b in combinations(ranked, 2)]
        if not pairings:
            only = NotApplicable(reason="one model only")
            winners.append(_winner(protocol, ranked[0], None, only, None, "one model only"))
            continue
        pair = compare_pairs(pairings, vocabulary)[0]
        told = pair.smallest_p <= ALPHA
        test = pair.test if told else f"{pair.test}: too few groups to tell any difference"
        p = pair.p_holm if told else None
        winners.append(_winner(protocol, pair.a, pair.b, pair.difference, p, test))
    return tuple(winners)


def _winner(
    protocol: str, model: str, runner_up: str | None, lead: Cell, p: float | None, test: str
) -> Winner:
    return Winner(protocol=protocol, model=model, runner_up=runner_up, lead=lead, p=p, test=test)


def _pairing(protocol: str, a: str, b: str, results: Results) -> Pairing:
    one, other = results[protocol, a][1], results[protocol, b][1]
    return Pairing(protocol, a, b, one.truth, one.correct, other.correct, one.groups)


def _flip(winners: Sequence[Winner], results: Results) -> tuple[bool, bool, str]:
    """Whether the winner changes from the first rung to the last, for sure, and in words.

    What must be compared is the same two models at both ends.
    """
    first, last = winners[0], winners[-1]
    if first.protocol == last.protocol:
        sentence = f"Only one protocol was run ({first.protocol}): no ladder to compare."
        return False, False, sentence
    if first.model == last.model:
        sentence = (
            f"The leaky and the honest protocol pick the same winner: {first.model}, right on "
            f"{_percent(first.protocol, first.model, results)} under {first.protocol} and on "
            f"{_percent(last.protocol, last.model, results)} under {last.protocol}."
        )
        return False, False, sentence
    ends = [
        _lead(first.protocol, first.model, last.model, results),
        _lead(last.protocol, last.model, first.model, results),
    ]
    sure = all(lead.low is not None and lead.low > 0 for lead, _ in ends)
    head = (
        "The leaky protocol picks another winner"
        if sure
        else "The leaky protocol puts another model first, by a lead that chance can explain"
    )
    return True, sure, f"{head}: {ends[0][1]}; {ends[1][1]}."


def _lead(protocol: str, model: str, other: str, results: Results) -> tuple[Measured, str]:
    """How far a model leads another under a protocol."""
    one, two = results[protocol, model][1], results[protocol, other][1]
    lead = difference(one.correct, two.correct, one.groups)
    text = (
        f"under {protocol} {model} is right on {_percent(protocol, model, results)} and {other} "
        f"on {_percent(protocol, other, results)}, {_points(lead.value)}"
    )
    if lead.low is not None and lead.high is not None:
        text += f" [{_points(lead.low)}, {_points(lead.high)}]"
    return lead, text + " points"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _percent(protocol: str, model: str, results: Results) -> str:
    cell = results[protocol, model][0].score("accuracy")
    return f"{100 * cell.value:.1f} %" if isinstance(cell, Measured) else "an unknown share"

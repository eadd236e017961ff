"""The protocol ladder of one corpus: gaps between rungs, winners, and whether they change.

*Conventions*: rungs come leakiest first; the last is the headline. Gaps are
paired clip by clip over the clips both rungs test, grouped by what the honest
rung protects. Winner tests are Holm-corrected over all pairs of models on all
rungs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from snellen.core.card import LeakMark, Scorecard
from snellen.core.cells import Measured, NotApplicable, NotMeasurable, NotMeasured
from snellen.core.comparison import Pairing, compare_pairs, difference
from snellen.core.corpus import Corpus
from snellen.core.ladder import Gap, Ladder, LadderCell, Rung, Winner
from snellen.core.split import Split
from snellen.tasks.isolated.scores import Outcomes

__all__ = ["build_ladder"]

ALPHA = 0.05
SMALLEST_P = 0.001

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
    flip, sentence = _flip(winners, results)
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
    pairs = list(combinations(models, 2))
    pairings = [_pairing(protocol, a, b, results) for protocol in protocols for a, b in pairs]
    tested = iter(compare_pairs(pairings, vocabulary)) if pairings else iter(())
    found = {(pair.protocol, frozenset((pair.a, pair.b))): pair for pair in tested}
    winners = []
    for protocol in protocols:
        # Most right answers first; equal counts keep the order of the models.
        ranked = sorted(models, key=lambda m: -int(results[protocol, m][1].correct.sum()))
        if len(ranked) == 1:
            only = NotApplicable(reason="one model only")
            winners.append(
                Winner(
                    protocol=protocol,
                    model=ranked[0],
                    runner_up=None,
                    lead=only,
                    p=None,
                    test="one model only",
                )
            )
            continue
        best, second = ranked[0], ranked[1]
        pair = found[protocol, frozenset((best, second))]
        one, other = results[protocol, best][1], results[protocol, second][1]
        winners.append(
            Winner(
                protocol=protocol,
                model=best,
                runner_up=second,
                lead=difference(one.correct, other.correct, one.groups),
                p=pair.p_holm,
                test=f"{pair.test}; Holm over {len(pairings)} pairs",
            )
        )
    return tuple(winners)


def _pairing(protocol: str, a: str, b: str, results: Results) -> Pairing:
    one, other = results[protocol, a][1], results[protocol, b][1]
    return Pairing(protocol, a, b, one.truth, one.correct, other.correct, one.groups)


def _flip(winners: Sequence[Winner], results: Results) -> tuple[bool, str]:
    first, last = winners[0], winners[-1]
    if first.protocol == last.protocol:
        return False, f"Only one protocol was run ({first.protocol}): no ladder to compare."
    flip = first.model != last.model
    head = (
        "The leaky protocol picks another winner: "
        if flip
        else "The leaky and the honest protocol pick the same winner: "
    )
    return flip, head + "; ".join(_sentence(winner, results) for winner in (first, last)) + "."


def _sentence(winner: Winner, results: Results) -> str:
    right = _percent(winner.protocol, winner.model, results)
    text = f"under {winner.protocol} {winner.model} leads with {right}"
    if winner.runner_up is None or winner.p is None:
        return text
    other = _percent(winner.protocol, winner.runner_up, results)
    p = f"p = {winner.p:.3f}" if winner.p >= SMALLEST_P else f"p < {SMALLEST_P}"
    text += f" against {other} of {winner.runner_up} ({p}"
    return text + (")" if winner.p <= ALPHA else ", which chance can explain)")


def _percent(protocol: str, model: str, results: Results) -> str:
    cell = results[protocol, model][0].score("accuracy")
    return f"{100 * cell.value:.1f} %" if isinstance(cell, Measured) else "no accuracy"

"""Recompute what a run says from what it stored, and stop at the first difference.

*Conventions*: a run is verified from its own pieces: corpus, splits and duplicates
give the audit, answers the cards, cards the ladder. Bytes are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.answers import in_order
from snellen.core.card import Scorecard, card_to_json
from snellen.core.corpus import Corpus
from snellen.core.findings import Audit
from snellen.core.ladder import Ladder
from snellen.core.split import Split
from snellen.digest import canonical_json
from snellen.errors import BadInput, Mismatch, Missing
from snellen.store.files import parse_json
from snellen.store.folder import RunFolder
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.audit import audit_of, group_names, silent_of
from snellen.tasks.isolated.card import build_card, contract_of
from snellen.tasks.isolated.ladder import build_ladder
from snellen.tasks.isolated.scores import Outcomes, outcomes_of
from snellen.tasks.isolated.seeds import build_seeds

__all__ = ["Verified", "first_difference", "recompute_card", "verify_run"]


@dataclass(frozen=True, slots=True)
class Verified:
    """What was recomputed and came out the same, byte for byte."""

    cards: int
    clips: int
    digest: str


def verify_run(root: Path) -> Verified:
    """Recompute every card and the ladder of a run.

    Raises:
        Mismatch: every piece that is damaged or gone, else the first that does not
            come out as stored, and where in it.
        BadInput, Missing: there is no run, or none that is finished.
    """
    run = RunFolder.read(root)
    if not run.sealed:
        raise Missing(f"the run in {root} is not finished: run it again to go on")
    damaged = run.faults()
    if damaged:
        raise Mismatch(f"{root} is not as it was written\n{BadInput(damaged)}", {})
    try:
        return _recomputed(run)
    except (BadInput, Missing) as error:
        raise Mismatch(f"{root} holds what no run writes\n{error}", {}) from error
    except (LookupError, TypeError, ValueError) as error:
        # The index vouches for these pieces, so somebody has rewritten both.
        what = f"{root} holds what no run writes ({type(error).__name__}: {error})"
        raise Mismatch(what, {}) from error


def _recomputed(run: RunFolder) -> Verified:
    corpus = pieces.get_corpus(run)
    audit = _verify_audit(run, corpus)
    leaks = {split.protocol: split.leaks for split in audit.splits}
    results: dict[tuple[str, str], tuple[Scorecard, Outcomes]] = {}
    clips = 0
    ladder = pieces.get_ladder(run)
    seeds = len(pieces.get_settings(run)["seeds"])
    _require_cards(run, ladder)
    _require_settings(run, ladder)
    for rung in ladder.rungs:
        split = pieces.get_split(run, rung.protocol)
        groups = group_names(corpus, split)
        for model in ladder.models:
            stored = pieces.get_card(run, rung.protocol, model)
            answers = pieces.get_answers(run, rung.protocol, model)
            contract = contract_of(
                corpus,
                split,
                seed=stored.contract["seed"],
                preprocessing=stored.contract["preprocessing"],
                training=stored.contract["training"],
            )
            same = msgspec.structs.replace(
                stored,
                contract=contract,
                leaks=leaks[rung.protocol],
                silent=silent_of(corpus, seeds),
            )
            again = recompute_card(corpus, split, in_order(answers), same, groups)
            _require_equal(pieces.card_name(rung.protocol, model), run, card_to_json(again))
            results[rung.protocol, model] = again, outcomes_of(corpus, split, answers, groups)
            clips += again.intake.expected
    _verify_ladder(run, corpus, leaks, results)
    _verify_seeds(run, corpus, ladder)
    return Verified(cards=len(results), clips=clips, digest=run.digest)


def _require_cards(run: RunFolder, ladder: Ladder) -> None:
    """The run must hold the cards its ladder shows, no fewer and no others."""
    shown = {(rung.protocol, model) for rung in ladder.rungs for model in ladder.models}
    held = set(pieces.cards_in(run))
    if shown != held:
        gone = [pieces.card_name(*at) for at in sorted(shown - held)]
        stray = [pieces.card_name(*at) for at in sorted(held - shown)]
        lines = [f"  {name} is gone" for name in gone]
        lines += [f"  {name} is on no ladder" for name in stray]
        raise Missing("\n".join([f"{run.root}: cards and ladder do not belong together", *lines]))


def _require_settings(run: RunFolder, ladder: Ladder) -> None:
    """The settings must be those of the cards and the ladder."""
    settings = pieces.get_settings(run)
    shown = [rung.protocol for rung in ladder.rungs]
    asked = [name for name in settings["protocols"] if name not in ladder.missing_rungs]
    seeds = {pieces.get_card(run, *at).contract["seed"] for at in pieces.cards_in(run)}
    drawn = {str(pieces.get_split(run, name).seed) for name in shown}
    said = {
        "models": (", ".join(settings["models"]), ", ".join(ladder.models)),
        "protocols": (", ".join(asked), ", ".join(shown)),
        "seed": (str(settings["seed"]), ", ".join(sorted(drawn))),
        "seeds": (str(settings["seeds"][0]), ", ".join(sorted(seeds))),
    }
    fields = {name: values for name, values in said.items() if values[0] != values[1]}
    if fields:
        what = "settings.json is not of this run (settings against cards and ladder)"
        raise Mismatch(what, fields)


def recompute_card(
    corpus: Corpus, split: Split, answers: Any, card: Scorecard, groups: Any
) -> Scorecard:
    """The card these answers give, under the name, recipe and contract another card states."""
    return build_card(
        corpus,
        split,
        answers,
        model=card.model,
        recipe=dict(card.signature)["recipe"],
        contract=card.contract,
        groups=groups,
        leaks=card.leaks,
        silent=card.silent,
    )


def _verify_audit(run: RunFolder, corpus: Corpus) -> Audit:
    """The audit made again; only what is missing in the recordings is taken as stored."""
    stored = pieces.get_audit(run)
    splits = [pieces.get_split(run, split.protocol) for split in stored.splits]
    missing = stored.corpus.missing
    again = audit_of(
        corpus,
        splits,
        pieces.get_duplicates(run, corpus),
        missing if isinstance(missing, tuple) else None,
        gap=pieces.get_settings(run)["gap"],
    )
    _require_equal("audit.json", run, canonical_json(msgspec.to_builtins(again), indent=1))
    return again


def _verify_ladder(run: RunFolder, corpus: Corpus, leaks: Any, results: Any) -> None:
    stored = pieces.get_ladder(run)
    splits = [pieces.get_split(run, rung.protocol) for rung in stored.rungs]
    again = build_ladder(corpus, splits, leaks, results, stored.models, stored.missing_rungs)
    _require_equal("ladder.json", run, canonical_json(msgspec.to_builtins(again), indent=1))


def _verify_seeds(run: RunFolder, corpus: Corpus, ladder: Ladder) -> None:
    stored = pieces.get_seeds(run)
    if stored is None:
        return
    outcomes: dict[tuple[str, str], list[Outcomes]] = {}
    for rung in ladder.rungs:
        split = pieces.get_split(run, rung.protocol)
        groups = group_names(corpus, split)
        for model in ladder.models:
            tables = [pieces.get_answers(run, rung.protocol, model)]
            tables += [
                pieces.get_seed_answers(run, rung.protocol, model, seed)
                for seed in stored.seeds[1:]
            ]
            outcomes[rung.protocol, model] = [
                outcomes_of(corpus, split, answers, groups) for answers in tables
            ]
    again = build_seeds(stored.seeds, outcomes)
    _require_equal("seeds.json", run, canonical_json(msgspec.to_builtins(again), indent=1))


def _require_equal(name: str, run: RunFolder, again: bytes) -> None:
    stored = run.get(name)
    if stored == again:
        return
    place, was, now = first_difference(parse_json(stored, name), parse_json(again, name))
    raise Mismatch(
        f"{name} does not come out as stored (stored against recomputed)", {place: (was, now)}
    )


def first_difference(a: Any, b: Any) -> tuple[str, str, str]:
    """Where two JSON values first differ, and what stands there in each.

    >>> first_difference({"x": [1, 2]}, {"x": [1, 3]})
    ('x/1', '2', '3')
    """
    same = ("", "the same values, written otherwise", "canonical JSON")
    place, one, other = next(_differences(a, b, ""), same)
    return place or "(the whole)", one[:200], other[:200]


def _differences(a: Any, b: Any, place: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            yield from _differences(
                a.get(key, "(absent)"), b.get(key, "(absent)"), f"{place}/{key}"
            )
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _differences(one, other, f"{place}/{k}")
    elif a != b:
        yield place.lstrip("/"), str(a), str(b)

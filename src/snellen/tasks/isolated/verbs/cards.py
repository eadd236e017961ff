"""Score answers from anywhere, recompute what was said, compare.

*Conventions*: every verb reads what it is given, checks it whole, writes with
one atomic step a file, and returns what it found. ``progress`` is called with a
stage, how much of it is done, and how much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from msgspec.structs import replace

from snellen.core.answers_file import read_answers
from snellen.core.card import Scorecard, card_from_json, card_to_json
from snellen.core.comparison import Comparison
from snellen.core.split import Split
from snellen.core.split_file import read_split
from snellen.digest import digest_table
from snellen.errors import BadInput, Fault, Mismatch
from snellen.store.files import parse_json, read_limited, write_atomic
from snellen.tasks.isolated.answering import Progress
from snellen.tasks.isolated.audit import audit_recordings, group_names
from snellen.tasks.isolated.card import build_card, contract_of
from snellen.tasks.isolated.compare import CARD_LIMIT, compare_sides, side_of
from snellen.tasks.isolated.outcomes_file import outcomes_table, write_outcomes
from snellen.tasks.isolated.recipe_file import read_recipe, recipe_path
from snellen.tasks.isolated.scores import outcomes_of
from snellen.tasks.isolated.verbs.source import Source
from snellen.tasks.isolated.verify import Verified, first_difference, recompute_card, verify_run

__all__ = ["compare", "score", "verify", "verify_card"]


def score(
    answers_file: Path,
    source: Source,
    split_file: Path,
    *,
    name: str | None,
    gap: int,
    output: Path,
    progress: Progress,
) -> Scorecard:
    """Score answers, from this package or from anywhere, into a card and its outcomes."""
    answers = read_answers(answers_file)
    recordings = source.open()
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    _require_some_asked(answers, frozen, str(answers_file))
    found = audit_recordings(recordings, [frozen], gap=gap, progress=progress)
    stated = read_recipe(recipe_path(answers_file))
    groups = group_names(corpus, frozen)
    card = build_card(
        corpus,
        frozen,
        answers,
        model=name or stated.model or answers_file.stem,
        recipe=stated.recipe,
        contract=contract_of(
            corpus,
            frozen,
            seed=stated.seed,
            preprocessing=stated.preprocessing,
            training=stated.training,
        ),
        groups=groups,
        leaks=found.splits[0].leaks,
        silent=corpus.silent,
        where=str(answers_file),
    )
    outcomes = outcomes_of(corpus, frozen, answers, groups)
    write_outcomes(output, outcomes_table(corpus, outcomes))
    write_atomic(output, card_to_json(card))
    return card


def verify(root: Path) -> Verified:
    """Recompute a whole run."""
    return verify_run(root)


def verify_card(
    card_file: Path,
    answers_file: Path,
    source: Source,
    split_file: Path,
    *,
    gap: int,
    progress: Progress,
) -> Scorecard:
    """Recompute one card from the answers, data and split it was made of.

    Raises:
        Mismatch: the first place where it differs.
    """
    stored_bytes = read_limited(card_file, CARD_LIMIT)
    stored = card_from_json(stored_bytes, str(card_file))
    answers = read_answers(answers_file)
    stated, given = dict(stored.signature).get("answers", "(absent)"), digest_table(answers)
    if stated != given:
        what = "these are not the answers the card was made from (card against given)"
        raise Mismatch(what, {"answers": (stated[:12], given[:12])})
    recordings = source.open()
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    found = audit_recordings(recordings, [frozen], gap=gap, progress=progress)
    contract = contract_of(
        corpus,
        frozen,
        seed=stored.contract["seed"],
        preprocessing=stored.contract["preprocessing"],
        training=stored.contract["training"],
    )
    same = replace(stored, contract=contract, leaks=found.splits[0].leaks, silent=corpus.silent)
    again = recompute_card(corpus, frozen, answers, same, group_names(corpus, frozen))
    again_bytes = card_to_json(again)
    if again_bytes != stored_bytes:
        place, was, now = first_difference(
            parse_json(stored_bytes, str(card_file)), parse_json(again_bytes, "recomputed")
        )
        what = f"{card_file} does not come out as stored (stored against recomputed)"
        raise Mismatch(what, {place: (was, now)})
    return again


def compare(a: str, b: str, *, protocols: Sequence[str] | None, allow: Sequence[str]) -> Comparison:
    """Compare two runs, two models, or two cards."""
    return compare_sides(side_of(a), side_of(b), protocols=protocols, allow=allow)


def _require_some_asked(answers: pa.Table, frozen: Split, where: str) -> None:
    """Answers to other clips altogether are a mistake of names, not a model at 0 %."""
    given = set(answers.column("item").to_pylist())
    tested = {item for item, k in zip(frozen.items, frozen.tested_in, strict=True) if k >= 0}
    if given and not given & tested:
        seen = f"{len(given)} clips such as {min(given)!r}, none of which the split tests"
        raise BadInput(Fault(where, seen, f"clips such as {min(tested)!r}", field="item"))

"""Compare runs and cards: paired by clip, refused when their contracts differ.

*Conventions*: a side is a run folder, one model of it written ``RUN:MODEL``, or the
file of a card with its outcomes beside it. Runs without a model pair models of one
name; one run alone pairs all its models. A card is paired with another, or with
a model of a run under the card's protocol. A is the first side; differences are
A minus B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa

from snellen.core.card import Scorecard, card_from_json
from snellen.core.comparison import Comparison, Pairing, compare_pairs
from snellen.core.contract import CONTRACT_FIELDS, contract_digest, require_same
from snellen.errors import BadInput, Fault, Mismatch
from snellen.store.files import read_limited
from snellen.store.folder import RunFolder
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.audit import group_names
from snellen.tasks.isolated.outcomes_file import outcomes_table, read_outcomes
from snellen.tasks.isolated.recipe_file import NOT_STATED
from snellen.tasks.isolated.scores import Outcomes, outcomes_of

__all__ = ["Side", "compare_runs", "compare_sides", "read_card", "side_of"]

CARD_LIMIT = 2**28


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run, and one of its models or all; or a card's file."""

    root: Path
    model: str | None

    @property
    def name(self) -> str:
        """As the user would write it."""
        return str(self.root) if self.model is None else f"{self.root}:{self.model}"

    @property
    def is_card(self) -> bool:
        """Whether it is the file of one card."""
        return self.model is None and self.root.is_file()


def side_of(text: str) -> Side:
    """Read ``RUN``, ``RUN:MODEL`` or ``CARD``.

    >>> side_of("runs/isl:rocket").model
    'rocket'
    """
    folder, colon, model = text.rpartition(":")
    if colon and not Path(text).exists():
        return Side(Path(folder), model)
    return Side(Path(text), None)


def compare_sides(
    a: Side, b: Side, *, protocols: Sequence[str] | None = None, allow: Sequence[str] = ()
) -> Comparison:
    """Compare two runs, two models, two cards, or a card with a model.

    Raises:
        Mismatch: their contracts differ; every field is named with both values.
        BadInput: nothing to pair, or a model or protocol that is not there.
    """
    if a.is_card or b.is_card:
        return _compare_cards(a, b, protocols=protocols, allow=allow)
    return compare_runs(a, b, protocols=protocols, allow=allow)


def compare_runs(
    a: Side, b: Side, *, protocols: Sequence[str] | None = None, allow: Sequence[str] = ()
) -> Comparison:
    """Compare two sides over every protocol they share, or the given ones.

    Raises:
        Mismatch: their contracts differ; every field is named with both values.
        BadInput: nothing to pair, or a model or protocol that is not there.
    """
    _require_fields(allow)
    run_a, run_b = RunFolder.read(a.root), RunFolder.read(b.root)
    pairs = _pairs(a, b, run_a, run_b, protocols)
    allowed: dict[str, tuple[str, str]] = {}
    contract = ""
    pairings: list[Pairing] = []
    vocabulary = pieces.get_corpus(run_a).vocabulary
    for protocol, model_a, model_b in pairs:
        card_a = pieces.get_card(run_a, protocol, model_a)
        card_b = pieces.get_card(run_b, protocol, model_b)
        allowed |= _agreed(card_a.contract, card_b.contract, allow)
        contract = contract or contract_digest(card_a.contract)
        pairings.append(_pairing(a, b, run_a, run_b, card_a, card_b))
    return Comparison(
        task="isolated",
        a=a.name,
        b=b.name,
        contract=contract,
        allowed=allowed,
        pairs=compare_pairs(pairings, vocabulary),
    )


def _require_fields(allow: Sequence[str]) -> None:
    """Refuse to let a field through that no contract has: it would let nothing through."""
    faults = [
        Fault("--allow", f"no field {name!r}", f"any of: {', '.join(CONTRACT_FIELDS)}")
        for name in allow
        if name not in CONTRACT_FIELDS
    ]
    if faults:
        raise BadInput(faults)


def _agreed(
    a: Mapping[str, str], b: Mapping[str, str], allow: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Fields that differ and may; what is not stated on a side agrees with nothing."""
    unstated = [name for name in CONTRACT_FIELDS if NOT_STATED in (a[name], b[name])]
    both = {name: "not stated either" for name in unstated if a[name] == b[name]}
    try:
        return require_same(a, {**b, **both}, allow=allow)
    except Mismatch as error:
        if not error.fields.keys() & unstated:
            raise
        way = f"--allow {','.join(unstated)} lets through what is not stated"
        raise Mismatch(f"these contracts differ, and {way}", error.fields) from error


def _compare_cards(
    a: Side, b: Side, *, protocols: Sequence[str] | None, allow: Sequence[str]
) -> Comparison:
    _require_fields(allow)
    if a == b:
        raise BadInput(Fault(a.name, "one card", "two cards, or a card and RUN:MODEL"))
    card = next(read_card(side.root) for side in (a, b) if side.is_card)
    if protocols is not None and set(protocols) != {card.protocol}:
        raise BadInput(Fault("--protocol", ", ".join(protocols), card.protocol))
    (card_a, rows_a), (card_b, rows_b) = (_counted(side, card.protocol) for side in (a, b))
    allowed = _agreed(card_a.contract, card_b.contract, allow)
    items_a, items_b = (rows.column("item").to_numpy() for rows in (rows_a, rows_b))
    _, at_a, at_b = np.intersect1d(items_a, items_b, return_indices=True)
    if len(at_a) == 0:
        raise _no_clip(a, b)
    rows_a, rows_b = rows_a.take(at_a), rows_b.take(at_b)
    vocabulary = card_a.confusion.labels
    index = {label: k for k, label in enumerate(vocabulary)}
    groups = rows_a.column("group")
    pairing = Pairing(
        protocol=card_a.protocol,
        a=f"{a.root}:{card_a.model}",
        b=f"{b.root}:{card_b.model}",
        truth=np.array([index[label] for label in rows_a.column("truth").to_pylist()]),
        correct_a=_correct(rows_a),
        correct_b=_correct(rows_b),
        groups=None if groups.null_count else groups.to_numpy(),
    )
    return Comparison(
        task="isolated",
        a=a.name,
        b=b.name,
        contract=contract_digest(card_a.contract),
        allowed=allowed,
        pairs=compare_pairs([pairing], vocabulary),
    )


def _counted(side: Side, protocol: str) -> tuple[Scorecard, pa.Table]:
    """The card of a side, and its outcomes."""
    if side.is_card:
        card = read_card(side.root)
        return card, read_outcomes(side.root, card)
    run = RunFolder.read(side.root)
    cards = _cards(run)
    if side.model is None:
        allowed = "RUN:MODEL, for the other side is one card"
        raise BadInput(Fault(side.name, "a run without a model", allowed))
    faults = _unknown_models(side, cards)
    if protocol not in _rungs(run):
        allowed = f"one of: {', '.join(_rungs(run))}"
        faults.append(Fault(str(side.root), f"no protocol {protocol!r}, the card's", allowed))
    if faults:
        raise BadInput(faults)
    card = pieces.get_card(run, protocol, side.model)
    return card, outcomes_table(pieces.get_corpus(run), _outcomes(run, card)[0])


def read_card(path: Path) -> Scorecard:
    """A card from its file."""
    return card_from_json(read_limited(path, CARD_LIMIT), str(path))


def _correct(rows: pa.Table) -> np.ndarray:
    return np.array(rows.column("truth").to_numpy() == rows.column("answer").to_numpy(), dtype=bool)


def _no_clip(a: Side, b: Side) -> BadInput:
    return BadInput(Fault(f"{a.name} and {b.name}", "no clip was scored in both", "at least one"))


def _pairs(
    a: Side, b: Side, run_a: RunFolder, run_b: RunFolder, protocols: Sequence[str] | None
) -> list[tuple[str, str, str]]:
    in_a, in_b = _cards(run_a), _cards(run_b)
    shared = [p for p in _rungs(run_a) if p in {protocol for protocol, _ in in_b}]
    chosen = shared if protocols is None else [p for p in shared if p in protocols]
    faults = [
        Fault("protocol", f"{p!r} is not in both runs", f"one of: {', '.join(shared) or 'none'}")
        for p in protocols or ()
        if p not in shared
    ]
    faults += _unknown_models(a, in_a) + ([] if a == b else _unknown_models(b, in_b))
    if faults:
        raise BadInput(faults)
    found: list[tuple[str, str, str]] = []
    for protocol in chosen:
        models_a = [m for p, m in in_a if p == protocol and a.model in (None, m)]
        models_b = [m for p, m in in_b if p == protocol and b.model in (None, m)]
        if a == b:
            found += [(protocol, x, y) for x, y in combinations(models_a, 2)]
        elif a.model is None and b.model is None:
            found += [(protocol, x, x) for x in models_a if x in models_b]
        else:
            found += [
                (protocol, x, y) for x in models_a for y in models_b if (a.root, x) != (b.root, y)
            ]
    if not found:
        raise BadInput(
            Fault(
                f"{a.name} and {b.name}",
                "no model of one name under one protocol",
                "two runs that share one, or RUN:MODEL on each side",
            )
        )
    return found


def _cards(run: RunFolder) -> list[tuple[str, str]]:
    """(protocol, model) of every card, in the ladder's order."""
    ladder = pieces.get_ladder(run)
    return [(rung.protocol, model) for rung in ladder.rungs for model in ladder.models]


def _rungs(run: RunFolder) -> list[str]:
    return [rung.protocol for rung in pieces.get_ladder(run).rungs]


def _unknown_models(side: Side, cards: Sequence[tuple[str, str]]) -> list[Fault]:
    have = sorted({model for _, model in cards})
    if side.model is None or side.model in have:
        return []
    return [Fault(str(side.root), f"no model {side.model!r}", f"one of: {', '.join(have)}")]


def _pairing(
    a: Side, b: Side, run_a: RunFolder, run_b: RunFolder, card_a: Scorecard, card_b: Scorecard
) -> Pairing:
    one, groups = _outcomes(run_a, card_a)
    other, _ = _outcomes(run_b, card_b)
    # Runs of other data may be let through; the clips both scored are what can be paired.
    items_a = np.array(pieces.get_corpus(run_a).items)[one.positions]
    items_b = np.array(pieces.get_corpus(run_b).items)[other.positions]
    _, at_a, at_b = np.intersect1d(items_a, items_b, return_indices=True)
    if len(at_a) == 0:
        raise _no_clip(a, b)
    same_run = a.root == b.root
    return Pairing(
        protocol=card_a.protocol,
        a=card_a.model if same_run else f"{a.root}:{card_a.model}",
        b=card_b.model if same_run else f"{b.root}:{card_b.model}",
        truth=one.truth[at_a],
        correct_a=one.correct[at_a],
        correct_b=other.correct[at_b],
        groups=None if groups is None else groups[at_a],
    )


def _outcomes(run: RunFolder, card: Scorecard) -> tuple[Outcomes, np.ndarray | None]:
    corpus = pieces.get_corpus(run)
    split = pieces.get_split(run, card.protocol)
    answers = pieces.get_answers(run, card.protocol, card.model)
    found = outcomes_of(corpus, split, answers, group_names(corpus, split))
    return found, found.groups

"""What one report shows, and what of it has no figure.

A report must not hide what it does not know: :func:`unmeasured` walks through
everything a bundle holds and lists each figure that is not there, with its
state and its reason.

*Conventions*: cards keep the order they are given in. The headline protocol is
the ladder's; without a ladder it is that of the first card. Mappings are shown
sorted by key, so that a bundle read back from disk gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from snellen.core.card import Score, Scorecard
from snellen.core.cells import Cell, Measured, NotMeasured
from snellen.core.findings import Audit, Finding
from snellen.core.ladder import Ladder, LadderCell, Rung, Winner
from snellen.core.protocols import PROTOCOLS
from snellen.report.section import Section
from snellen.report.text import clean, count, counted, measure_name, shorten

__all__ = [
    "Bundle",
    "Unmeasured",
    "card_names",
    "clips_scored",
    "definitions",
    "findings",
    "headline_rung",
    "leak_warning",
    "scores_of",
    "silences",
    "unmeasured",
]

SEVERITIES = ("leak", "warning", "note")
LABELS_NAMED = 5


@dataclass(frozen=True, slots=True)
class Bundle:
    """A title, and whatever was made: an audit, a ladder, scorecards, studies."""

    title: str
    audit: Audit | None
    ladder: Ladder | None
    cards: tuple[Scorecard, ...]
    sections: tuple[Section, ...] = ()

    @property
    def headline_protocol(self) -> str | None:
        """The protocol whose figures stand at the top."""
        if self.ladder is not None:
            return self.ladder.headline
        return self.cards[0].protocol if self.cards else None

    @property
    def headline_rung(self) -> Rung | None:
        """The ladder's headline rung."""
        return headline_rung(self.ladder) if self.ladder is not None else None

    @property
    def headline_winner(self) -> Winner | None:
        """The best model of the headline rung."""
        winners = self.ladder.winners if self.ladder is not None else ()
        return next((won for won in winners if won.protocol == self.headline_protocol), None)

    @property
    def lead_cards(self) -> tuple[Scorecard, ...]:
        """Cards of the headline protocol."""
        return tuple(card for card in self.cards if card.protocol == self.headline_protocol)

    def ladder_cell(self, model: str, protocol: str) -> LadderCell | None:
        """What the ladder holds of a model under a protocol."""
        cells = self.ladder.cells if self.ladder is not None else ()
        return next((x for x in cells if x.model == model and x.protocol == protocol), None)


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """One thing without a figure: where it would stand, what it is, and its cell.

    ``where`` names every place that lacks it for the same reason.
    """

    where: str
    what: str
    cell: Cell


def headline_rung(ladder: Ladder) -> Rung | None:
    """The rung whose figures stand at the top."""
    return next((rung for rung in ladder.rungs if rung.protocol == ladder.headline), None)


def leak_warning(ladder: Ladder) -> str | None:
    """What to say over a headline that leaks; None where nothing is known to leak.

    A stricter protocol that was merely not run must not read as one that this
    data does not admit.
    """
    rung = headline_rung(ladder)
    if rung is None or not rung.leaks:
        return None
    order = list(PROTOCOLS)
    stricter = order[order.index(rung.protocol) + 1 :] if rung.protocol in order else order
    left_out = any(isinstance(ladder.missing_rungs.get(x), NotMeasured) for x in stricter)
    strictest = (
        "The strictest protocol that was asked for"
        if left_out
        else "Even the strictest protocol that could be run"
    )
    return (
        f"{strictest} lets test clips be seen in training, "
        "so new people will be read worse than this says:"
    )


def clips_scored(ladder: Ladder) -> str:
    """How many clips the headline rests on, and of how many where it leaves some out."""
    rung = headline_rung(ladder)
    if rung is None or rung.test_clips == ladder.clips:
        return counted(ladder.clips, "clip")
    return f"{count(rung.test_clips)} of {counted(ladder.clips, 'clip')} scored"


def card_names(cards: tuple[Scorecard, ...]) -> tuple[str, ...]:
    """A name for each card: model and protocol, and the seed where these repeat."""
    plain = [f"{shorten(card.model, 40)}, {shorten(card.protocol, 40)}" for card in cards]
    return tuple(
        f"{name}, seed {shorten(card.contract.get('seed', 'not recorded'), 40)}"
        if plain.count(name) > 1
        else name
        for name, card in zip(plain, cards, strict=True)
    )


def scores_of(card: Scorecard) -> tuple[tuple[Score, ...], tuple[Score, ...]]:
    """The scores a reader needs first, and the measured ones of single slices.

    A corpus of thirty signers has thirty accuracies by signer; what has no
    figure stays among the first, so that it is not folded away.
    """
    first = [x for x in card.scores if x.slice == "all" or not isinstance(x.cell, Measured)]
    return tuple(first), tuple(x for x in card.scores if x not in first)


def findings(audit: Audit) -> tuple[Finding, ...]:
    """The findings of an audit, leaks first."""
    return tuple(sorted(audit.corpus.findings, key=lambda x: SEVERITIES.index(x.severity)))


def definitions(audit: Audit) -> tuple[tuple[str, str, str], ...]:
    """Level, what its groups are and which test clips are counted, each said once."""
    said = [(x.level, x.definition, x.seen_definition) for s in audit.splits for x in s.levels]
    return tuple(dict.fromkeys(said))


def silences(bundle: Bundle) -> tuple[str, ...]:
    """What the data cannot tell, each once, in the order in which it was said."""
    said = list(bundle.audit.corpus.silent) if bundle.audit is not None else []
    for card in bundle.cards:
        said.extend(card.silent)
    return tuple(dict.fromkeys(said))


def unmeasured(bundle: Bundle) -> tuple[Unmeasured, ...]:
    """Everything in a bundle that has no figure."""
    found: list[Unmeasured] = []
    if bundle.audit is not None:
        found.extend(_of_audit(bundle.audit))
    if bundle.ladder is not None:
        found.extend(_of_ladder(bundle.ladder))
    names = card_names(bundle.cards)
    for name, card in zip(names, bundle.cards, strict=True):
        found.extend(_of_card(name, card))
    # What is missing everywhere for one reason is said once.
    places: dict[tuple[str, Cell], list[str]] = {}
    for one in found:
        places.setdefault((one.what, one.cell), []).append(one.where)
    everywhere = list(names) if len(names) > 1 else None
    return tuple(
        Unmeasured(f"all {len(where)} cards" if where == everywhere else "; ".join(where), *key)
        for key, where in places.items()
    )


def _of_audit(audit: Audit) -> Iterator[Unmeasured]:
    corpus = audit.corpus
    named = {
        "frames": corpus.frames,
        "missing keypoints": corpus.missing,
        "exact duplicates": corpus.exact_duplicates,
        "near duplicates": corpus.near_duplicates,
    }
    named |= {f"groups: {level}": value for level, value in sorted(corpus.groups.items())}
    for what, value in named.items():
        if isinstance(value, Cell):
            yield Unmeasured("audit", what, value)
    for split in audit.splits:
        for level, why in sorted(split.unknown_levels.items()):
            yield Unmeasured(f"audit of {clean(split.protocol)}", f"level: {level}", why)


def _of_ladder(ladder: Ladder) -> Iterator[Unmeasured]:
    where = "protocol ladder"
    for protocol, why in sorted(ladder.missing_rungs.items()):
        yield Unmeasured(where, f"protocol {protocol}", why)
    cells: list[tuple[str, Cell]] = []
    for x in ladder.cells:
        cells.append((f"accuracy of {x.model}, {x.protocol}", x.accuracy))
        cells.append((f"macro F1 of {x.model}, {x.protocol}", x.macro_f1))
    cells += [(f"gap of {x.model}, {x.leaky} to {x.honest}", x.difference) for x in ladder.gaps]
    cells += [(f"lead of {x.model}, {x.protocol}", x.lead) for x in ladder.winners]
    for what, cell in cells:
        if not isinstance(cell, Measured):
            yield Unmeasured(where, what, cell)


def _of_card(name: str, card: Scorecard) -> Iterator[Unmeasured]:
    for score in card.scores:
        if not isinstance(score.cell, Measured):
            yield Unmeasured(name, f"{measure_name(score.measure)} ({score.slice})", score.cell)
    # Classes without a recall usually share one reason: one line for all of them.
    alike: dict[Cell, list[str]] = {}
    for row in card.classes:
        if not isinstance(row.recall, Measured):
            alike.setdefault(row.recall, []).append(row.label)
    for cell, labels in alike.items():
        listed = ", ".join(shorten(label, 40) for label in labels[:LABELS_NAMED])
        rest = f" and {len(labels) - LABELS_NAMED} more" if len(labels) > LABELS_NAMED else ""
        yield Unmeasured(name, f"recall of {listed}{rest}", cell)
    if card.reliability is not None and not isinstance(card.reliability.ece, Measured):
        yield Unmeasured(name, "calibration error (ECE)", card.reliability.ece)

"""The protocol ladder: the same models under ever stricter splits, side by side.

*Conventions*: rungs run from the leakiest to the strictest; the strictest one
that could be built is the headline. Gaps are leaky minus honest, in shares of
clips, paired clip by clip. A winner is the model of highest accuracy.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.core.card import LeakMark
from snellen.core.cells import Cell, NotMeasurable, NotMeasured

__all__ = ["Gap", "Ladder", "LadderCell", "Rung", "Winner"]


class Rung(Struct, frozen=True, kw_only=True):
    """One protocol that was run: its split, its test clips and what leaks in it."""

    protocol: str
    protects: str | None
    rounds: int
    test_clips: int
    split: str
    leaks: tuple[LeakMark, ...]


class LadderCell(Struct, frozen=True, kw_only=True):
    """One model under one protocol, over all seeds that were run."""

    model: str
    protocol: str
    accuracy: Cell
    macro_f1: Cell


class Gap(Struct, frozen=True, kw_only=True):
    """How much the leaky protocol flatters a model, paired clip by clip."""

    model: str
    leaky: str
    honest: str
    difference: Cell


class Winner(Struct, frozen=True, kw_only=True):
    """The best model under a protocol, and whether its lead over the next can be told from chance.

    ``p`` is the paired p-value, Holm-corrected over the pairs of this protocol;
    None, with the reason in ``test``, where there is nothing to test or where so
    few groups could not have rejected anything.
    """

    protocol: str
    model: str
    runner_up: str | None
    lead: Cell
    p: float | None
    test: str


class Ladder(Struct, frozen=True, kw_only=True):
    """The whole table. ``missing_rungs`` says why a protocol is not there.

    ``flip`` says whether the leakiest rung and the headline have other winners,
    ``flip_sure`` whether both leads of the one over the other can be told from 0.
    """

    format: str = "snellen-ladder/1"
    task: str
    corpus: str
    corpus_digest: str
    clips: int
    classes: int
    models: tuple[str, ...]
    rungs: tuple[Rung, ...]
    missing_rungs: dict[str, NotMeasurable | NotMeasured]
    cells: tuple[LadderCell, ...]
    gaps: tuple[Gap, ...]
    winners: tuple[Winner, ...]
    headline: str
    flip: bool
    flip_sure: bool
    flip_sentence: str

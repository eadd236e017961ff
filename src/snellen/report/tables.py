"""The figures of a bundle as CSV, one table for each picture of the page.

*Conventions*: long tables, one row a figure; shares stay in [0, 1]. There is
no empty field: a number that is not there is replaced by its state or by the
word that says why. Text that a spreadsheet would run as a formula starts with
an apostrophe; numbers are left alone. Table names are fixed and never made of
labels, so that they can become file names.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from snellen.core.cells import Cell, Measured
from snellen.report import text
from snellen.report.bundle import Bundle, card_names, findings, unmeasured
from snellen.store.tables import defused

__all__ = ["csv_tables", "csv_text"]

Field = str | int | float
CELL = ("state", "value", "low", "high", "n", "groups", "note")


def csv_tables(bundle: Bundle) -> dict[str, str]:
    """Table name to CSV text; a table without rows has its header."""
    return _tables_of_run(bundle) | {
        f"{section.key}-{section.protocol or 'all'}-{table.name}": csv_text(
            table.csv_head, table.csv_rows
        )
        for section in bundle.sections
        for table in section.tables
    }


def _tables_of_run(bundle: Bundle) -> dict[str, str]:
    return {
        "ladder": csv_text(("model", "protocol", "measure", *CELL), _ladder(bundle)),
        "gaps": csv_text(("model", "leaky", "honest", *CELL), _gaps(bundle)),
        "winners": csv_text(
            ("protocol", "model", "runner_up", "p", "test", *CELL), _winners(bundle)
        ),
        "scores": csv_text(("card", "measure", "slice", "better", *CELL), _scores(bundle)),
        "classes": csv_text(
            ("card", "label", "support", "predicted", "correct", "precision", "f1", *CELL),
            _classes(bundle),
        ),
        "confusion": csv_text(("card", "truth", "answer", "count"), _confusion(bundle)),
        "reliability": csv_text(
            ("card", "low", "high", "n", "confidence", "accuracy"), _reliability(bundle)
        ),
        "coverage": csv_text(
            (
                "card",
                "threshold",
                "answered",
                "right",
                "coverage",
                "selective_accuracy",
                "floor",
                "pessimistic_accuracy",
            ),
            _coverage(bundle),
        ),
        "findings": csv_text(("severity", "code", "sentence"), _findings(bundle)),
        "levels": csv_text(
            (
                "protocol",
                "level",
                "groups",
                "crossing_any",
                "crossing_seen",
                "test_clips",
                "test_clips_seen",
                "test_clips_seen_in_train",
                "expected_seen",
                "definition",
            ),
            _levels(bundle),
        ),
        "duplicates": csv_text(("set", "item"), _duplicates(bundle)),
        "unmeasured": csv_text(("where", "what", "state", "why"), _unmeasured(bundle)),
    }


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Field]]) -> str:
    """A header and rows as CSV, cleaned and defused."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow(
            [defused(text.clean(field)) if isinstance(field, str) else field for field in row]
        )
    return out.getvalue()


def _cell(cell: Cell) -> tuple[Field, ...]:
    why = text.reason(cell)
    if not isinstance(cell, Measured):
        state = text.state(cell)
        return (state, state, state, state, state, state, why)
    low: Field = "no interval" if cell.low is None else cell.low
    high: Field = "no interval" if cell.high is None else cell.high
    groups: Field = "not grouped" if cell.groups is None else cell.groups
    return (text.state(cell), cell.value, low, high, cell.n, groups, why)


def _or(value: float | None, why: str) -> Field:
    return why if value is None else value


def _ladder(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for cell in bundle.ladder.cells if bundle.ladder is not None else ():
        yield (cell.model, cell.protocol, "accuracy", *_cell(cell.accuracy))
        yield (cell.model, cell.protocol, "macro F1", *_cell(cell.macro_f1))


def _gaps(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for gap in bundle.ladder.gaps if bundle.ladder is not None else ():
        yield (gap.model, gap.leaky, gap.honest, *_cell(gap.difference))


def _winners(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for won in bundle.ladder.winners if bundle.ladder is not None else ():
        second = "no second model" if won.runner_up is None else won.runner_up
        p = _or(won.p, "no test")
        yield (won.protocol, won.model, second, p, won.test, *_cell(won.lead))


def _scores(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        for score in card.scores:
            yield (name, score.measure, score.slice, score.better, *_cell(score.cell))


def _classes(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        for row in card.classes:
            shares = (_or(row.precision, "undefined"), _or(row.f1, "undefined"))
            counts = (row.support, row.predicted, row.correct)
            yield (name, row.label, *counts, *shares, *_cell(row.recall))


def _confusion(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        labels = card.confusion.labels
        for truth, counts in zip(labels, card.confusion.counts, strict=True):
            for answer, n in zip((*labels, "no answer"), counts, strict=True):
                if n:
                    yield (name, truth, answer, n)


def _reliability(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        for b in card.reliability.bins if card.reliability is not None else ():
            means = (_or(b.confidence, "no clips"), _or(b.accuracy, "no clips"))
            yield (name, b.low, b.high, b.n, *means)


def _coverage(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        for point in card.coverage:
            yield (
                name,
                point.threshold,
                point.answered,
                point.right,
                point.coverage,
                _or(point.selective_accuracy, "nothing answered"),
                _or(point.floor, "no floor"),
                point.pessimistic_accuracy,
            )


def _findings(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for finding in findings(bundle.audit) if bundle.audit is not None else ():
        yield (finding.severity, finding.code, finding.sentence)


def _levels(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for split in bundle.audit.splits if bundle.audit is not None else ():
        for level in split.levels:
            yield (
                split.protocol,
                level.level,
                level.groups,
                level.crossing_any,
                level.crossing_seen,
                level.test_clips,
                level.test_clips_seen,
                level.test_clips_seen_in_train,
                _or(level.expected_seen, "not computed"),
                level.definition,
            )
        for name, why in sorted(split.unknown_levels.items()):
            yield (split.protocol, name, *[text.state(why)] * 7, text.reason(why))


def _duplicates(bundle: Bundle) -> Iterator[Sequence[Field]]:
    sets = bundle.audit.corpus.exact_duplicates if bundle.audit is not None else ()
    for position, items in enumerate(sets if isinstance(sets, tuple) else (), start=1):
        for item in items:
            yield (position, item)


def _unmeasured(bundle: Bundle) -> Iterator[Sequence[Field]]:
    for row in unmeasured(bundle):
        yield (row.where, row.what, text.state(row.cell), text.reason(row.cell))

"""Cards, ladders and audits as rich tables for a terminal of 80 columns.

*Conventions*: a renderable is returned and nothing is printed. Strings from
outside become plain ``Text``, so that square brackets in a label are no markup
and control characters never reach the terminal. A figure that is not there
shows its state, and the reason stands below the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from snellen.core.card import Score, Scorecard, signature_line
from snellen.core.cells import Cell, Measured
from snellen.core.findings import Audit, CorpusAudit, SplitAudit
from snellen.core.ladder import Ladder, LadderCell
from snellen.report import text
from snellen.report.bundle import findings, headline_rung, leak_warning, scores_of
from snellen.report.section import Section

__all__ = ["audit_tables", "card_table", "ladder_table", "section_tables"]

MODEL_CHARACTERS = 20
STYLES = {"leak": "bold red", "warning": "yellow", "note": "dim"}


def ladder_table(ladder: Ladder) -> Group:
    """Accuracy and macro F1 by model and protocol, who wins, and what the leak is worth."""
    table = _table("Right, % of test clips; below it macro F1 [95 % intervals]")
    table.add_column("model", max_width=MODEL_CHARACTERS, overflow="fold")
    # Up to three protocols fit 80 columns unbroken; with more the intervals wrap.
    figure = len("88.5 [86.6, 90.4]") if len(ladder.rungs) <= 3 else None
    for rung in ladder.rungs:
        table.add_column(_plain(rung.protocol), overflow="fold", min_width=figure)
    best = {(won.model, won.protocol) for won in ladder.winners}
    cells = {(cell.model, cell.protocol): cell for cell in ladder.cells}
    notes: list[tuple[str, Cell]] = []
    for model in ladder.models:
        row: list[Text] = [_plain(model)]
        for rung in ladder.rungs:
            cell = cells.get((model, rung.protocol))
            row.append(_rung_figures(cell, best=(model, rung.protocol) in best))
            if cell is not None and not isinstance(cell.accuracy, Measured):
                notes.append((f"{model}, {rung.protocol}", cell.accuracy))
        table.add_row(*row)
    table.add_section()
    leaks = [", ".join(mark.level for mark in rung.leaks) for rung in ladder.rungs]
    table.add_row(
        Text("leaks"), *(_plain(x, "red") if x else Text("none", style="dim") for x in leaks)
    )
    notes += [(f"protocol {name}", why) for name, why in sorted(ladder.missing_rungs.items())]
    return Group(
        table,
        *_headline_leaks(ladder),
        *_gaps(ladder),
        _plain(ladder.flip_sentence, "bold"),
        *_notes(notes),
    )


def _headline_leaks(ladder: Ladder) -> list[Text]:
    rung, warning = headline_rung(ladder), leak_warning(ladder)
    if rung is None or warning is None:
        return []
    said = [f"The figure under {ladder.headline} leaks. {warning}"]
    said += [f"  {mark.level}: {mark.sentence}" for mark in rung.leaks]
    return [_plain(line, STYLES["leak"]) for line in said]


def _rung_figures(cell: LadderCell | None, *, best: bool) -> Text:
    """Accuracy and, under it, macro F1."""
    if cell is None:
        return _figure(None)
    accuracy = _figure(cell.accuracy, style="bold" if best else "")
    return Text.assemble(accuracy, "\n", _figure(cell.macro_f1, style="dim"))


def _gaps(ladder: Ladder) -> list[Text]:
    return [
        Text.assemble(
            _plain(f"{gap.model}: {gap.leaky} minus {gap.honest} "),
            _figure(gap.difference, "difference"),
            " points" if isinstance(gap.difference, Measured) else "",
        )
        for gap in ladder.gaps
    ]


def card_table(card: Scorecard) -> Group:
    """The scores of a card, its leaks, its intake and its signature."""
    table = _table(f"{card.model}, {card.protocol}")
    table.add_column("measure", overflow="fold")
    table.add_column("clips", overflow="fold")
    table.add_column("figure", no_wrap=True)
    first, slices = scores_of(card)
    rests_on = {_rests_on(x.cell) for x in first if isinstance(x.cell, Measured)}
    alike = len(rests_on) == 1
    if not alike:
        table.add_column("rests on", overflow="fold")
    for score in first:
        row = [
            _plain(text.measure_name(score.measure)),
            _plain(score.slice),
            _figure(score.cell, text.unit_of(score.measure)),
        ]
        cell = score.cell
        if not alike:
            row.append(Text(_rests_on(cell) if isinstance(cell, Measured) else "see below"))
        table.add_row(*row)
    leaks = [_plain(f"leak: {mark.sentence}", STYLES["leak"]) for mark in card.leaks]
    more = [Text(f"{text.counted(len(slices), 'figure')} of single slices are in the card.")]
    return Group(
        *leaks,
        table,
        *(Text(f"Every figure rests on {what}.", style="dim") for what in rests_on if alike),
        *_notes(_without_figure(first)),
        *_without_interval(first),
        *(more if slices else ()),
        Text(text.intake_sentence(card.intake)),
        _Signature(signature_line(card)),
    )


def _rests_on(cell: Measured) -> str:
    groups = "not grouped" if cell.groups is None else text.counted(cell.groups, "group")
    return f"{text.counted(cell.n, 'clip')}, {groups}"


def _without_figure(scores: Sequence[Score]) -> list[tuple[str, Cell]]:
    return [(_named(x), x.cell) for x in scores if not isinstance(x.cell, Measured)]


def _without_interval(scores: Sequence[Score]) -> list[Text]:
    """Why figures have no interval, each reason once."""
    alike: dict[str, list[str]] = {}
    for score in scores:
        if isinstance(score.cell, Measured) and score.cell.low is None:
            alike.setdefault(text.reason(score.cell), []).append(_named(score))
    return [
        _plain(f"no interval for {'; '.join(names)}: {why}", "dim") for why, names in alike.items()
    ]


def _named(score: Score) -> str:
    return f"{text.measure_name(score.measure)}, {score.slice}"


@dataclass(frozen=True, slots=True)
class _Signature:
    """A signature that breaks after a bar only, so that no key or digest is torn."""

    line: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [""]
        for piece in re.findall(r"[^|]*\|?", text.clean(self.line)):
            if lines[-1] and cell_len(lines[-1] + piece) > options.max_width:
                lines.append("")
            lines[-1] += piece
        yield Text("\n".join(lines), style="dim", overflow="fold")


def audit_tables(audit: Audit) -> Group:
    """Findings, what the corpus holds, and what crosses in each split."""
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{finding.severity} ", STYLES[finding.severity]),
            _plain(f"{finding.code}: {finding.sentence}"),
        )
        for finding in findings(audit)
    ]
    parts.append(_corpus_table(audit.corpus))
    for split in audit.splits:
        parts.extend(_split_parts(split))
    parts += [_plain(f"This data cannot tell: {x}", "dim") for x in audit.corpus.silent]
    return Group(*parts)


def section_tables(section: Section) -> Group:
    """The sentences and tables of a study, and what it did not measure; figures are files."""
    parts: list[RenderableType] = [_plain(section.heading, "bold")]
    parts += [_plain(sentence) for sentence in section.sentences]
    for shown in section.tables:
        table = _table(shown.caption)
        for name in shown.head:
            table.add_column(_plain(name), overflow="fold")
        for row in shown.rows:
            table.add_row(*map(_plain, row))
        parts.append(table)
    parts += [_plain(f"not measured: {what}", "dim") for what in section.not_measured]
    return Group(*parts)


def _corpus_table(corpus: CorpusAudit) -> Table:
    table = _table(f"Corpus {corpus.name}")
    table.show_header = False
    table.add_column("what")
    table.add_column("figure", overflow="fold")
    each = text.between(corpus.clips_per_class_min, corpus.clips_per_class_max)
    rows = [
        ("clips", text.count(corpus.clips)),
        ("classes", f"{text.count(corpus.classes)}, of {each} clips"),
        ("out of vocabulary", text.count(corpus.out_of_vocabulary)),
        ("frames", text.quantity(corpus.frames)),
    ]
    rows += [(f"groups: {x}", text.quantity(n)) for x, n in sorted(corpus.groups.items())]
    if isinstance(corpus.missing, tuple):
        rows += [(f"missing: {x.name}", text.part_of(x.part, x.whole)) for x in corpus.missing]
    else:
        rows.append(("missing keypoints", text.words(corpus.missing)))
    exact, near = corpus.exact_duplicates, corpus.near_duplicates
    sets = f"{text.count(len(exact))} sets" if isinstance(exact, tuple) else text.words(exact)
    rows.append(("exact duplicates", sets))
    if isinstance(near, Cell):
        rows.append(("near duplicates", text.words(near)))
    else:
        within = text.part_of(near.within_above, near.within_pairs)
        between = text.part_of(near.between_above, near.between_pairs)
        rows.append(("near, one class", f"{within} pairs above {text.number(near.threshold)}"))
        rows.append(("near, base rate", f"{between} pairs of different classes"))
    for what, figure in rows:
        table.add_row(_plain(what), _plain(figure))
    return table


def _split_parts(split: SplitAudit) -> list[RenderableType]:
    table = _table(f"Split {split.protocol}")
    table.add_column("level", overflow="fold")
    table.add_column("groups", justify="right")
    both = f"on both sides{text.summed_over(split.rounds)}"
    table.add_column(both, justify="right")
    table.add_column("test clips seen in training", overflow="fold")
    for level in split.levels:
        table.add_row(
            _plain(level.level),
            text.count(level.groups),
            text.count(level.crossing_seen),
            text.part_of(level.test_clips_seen, level.test_clips),
        )
    leaks = [_plain(f"leak: {mark.sentence}", STYLES["leak"]) for mark in split.leaks]
    # Why a level is unknown is a fact of the corpus and stands in its table.
    absent = ", ".join(sorted(split.unknown_levels))
    unknown = [_plain(f"not known here: {absent}", "dim")] if absent else []
    return [table, *leaks, *unknown]


def _table(title: str) -> Table:
    return Table(title=_plain(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)


def _plain(value: str, style: str = "") -> Text:
    return Text(text.clean(value), style=style)


def _figure(cell: Cell | None, unit: text.Unit = "share", style: str = "") -> Text:
    if cell is None:
        return Text("not run", style="italic")
    return Text(text.short(cell, unit), style=style if isinstance(cell, Measured) else "italic")


def _notes(notes: Iterable[tuple[str, Cell]]) -> Sequence[Text]:
    return [_plain(f"{what}: {text.words(cell)}", "dim") for what, cell in notes]

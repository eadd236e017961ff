"""A bundle as one Markdown text, for a pull request or a README.

*Conventions*: GitHub's dialect; the same sections as the page, without
pictures. Everything from outside is cleaned and escaped, so that no label can
open a tag, a link, a table cell or a code span. The per-class table is given
for the headline protocol only; the CSV tables hold the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from snellen.core.card import LeakMark, Score, Scorecard, signature_line
from snellen.core.cells import Cell, Measured
from snellen.core.findings import Audit, SplitAudit
from snellen.core.ladder import Ladder, LadderCell, Winner
from snellen.report import text
from snellen.report.bundle import (
    Bundle,
    card_names,
    clips_scored,
    definitions,
    findings,
    leak_warning,
    scores_of,
    silences,
    unmeasured,
)
from snellen.report.section import Section

__all__ = ["escape", "ladder_markdown", "markdown_report", "section_markdown", "table"]

# What opens a tag, a span, a table cell, a mention or an address anywhere in a line, and what
# opens a list or a heading at its start. Brackets alone are harmless where no reference is defined.
SPECIAL = re.compile(r"([\\`*_<>#|~$&@]|\](?=[(:\[])|:(?=//)|(?<=www)\.)", re.IGNORECASE)
START = re.compile(r"^(\d*)([-+=.)\[])")


def markdown_report(bundle: Bundle) -> str:
    """The whole report, ending in a newline."""
    blocks = [f"# {escape(bundle.title)}", *_headline(bundle), "## Protocol ladder"]
    blocks += _ladder(bundle.ladder) if bundle.ladder else ["No protocol ladder is here."]
    blocks.append("## Model by model")
    for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True):
        blocks += _card(name, card, lead=card.protocol == bundle.headline_protocol)
    if not bundle.cards:
        blocks.append("No scorecard is here.")
    if bundle.sections:
        blocks.append("## Studies")
    for section in bundle.sections:
        blocks += [f"### {escape(section.heading)}", section_markdown(section)]
    blocks.append("## Audit of the data")
    blocks += _audit(bundle.audit) if bundle.audit else ["No audit is here."]
    blocks += _unmeasured(bundle)
    blocks += _reproduce(bundle)
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(value: str) -> str:
    r"""``value`` so that Markdown shows it as it is, on one line.

    >>> escape("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return START.sub(r"\1\\\2", _inline(value))


def _inline(value: str) -> str:
    return SPECIAL.sub(r"\\\1", text.clean(value).strip())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are escaped here."""
    lines = [head, ["---"] * len(head)]
    # No list or heading can start inside a table, so "95.4" needs no backslash there.
    body = [f"| {' | '.join(_inline(cell) for cell in row)} |" for row in rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *body])


def section_markdown(section: Section) -> str:
    """The sentences and tables of a section, and what it did not measure, without its title."""
    blocks = [escape(sentence) for sentence in section.sentences]
    for shown in section.tables:
        blocks += [escape(shown.caption), table([_inline(x) for x in shown.head], shown.rows)]
    if section.not_measured:
        blocks.append("Not measured:")
        blocks.append(_bullets(map(escape, section.not_measured)))
    return "\n\n".join(block for block in blocks if block)


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _full(cell: Cell, unit: text.Unit = "share") -> str:
    return text.short(cell, unit) if isinstance(cell, Measured) else escape(text.words(cell))


def _points(cell: Cell) -> str:
    return f"{_full(cell, 'difference')}{' points' if isinstance(cell, Measured) else ''}"


def _leaks(marks: Sequence[LeakMark]) -> str:
    return _bullets(f"**leaks ({escape(mark.level)})**: {escape(mark.sentence)}" for mark in marks)


def _headline(bundle: Bundle) -> Iterator[str]:
    ladder, won, rung = bundle.ladder, bundle.headline_winner, bundle.headline_rung
    if ladder is None:
        yield "No protocol ladder is part of this report, so no model is ranked."
        return
    warning = leak_warning(ladder)
    yield "## The honest figure" if warning is None else "## The figure, with a leak"
    if rung is not None and warning is not None:
        yield f"**This figure leaks.** {warning}"
        yield _leaks(rung.leaks)
    held = bundle.ladder_cell(won.model, won.protocol) if won is not None else None
    if won is None or held is None:
        yield f"No model has a figure under {escape(ladder.headline)}."
    else:
        yield f"**{escape(won.model)}, {escape(won.protocol)}: {_full(held.accuracy)}** (right, %)"
    yield f"> {escape(ladder.flip_sentence)}"
    yield (
        f"{escape(ladder.corpus)}: {clips_scored(ladder)}, {text.count(ladder.classes)} classes, "
        f"{text.counted(len(ladder.models), 'model')} under "
        f"{text.counted(len(ladder.rungs), 'protocol')}. Shares in percent with 95 % intervals."
    )


def ladder_markdown(ladder: Ladder) -> str:
    """Accuracy and, after it, macro F1 of every model under every protocol, and what leaks."""
    cells = {(cell.model, cell.protocol): cell for cell in ladder.cells}
    protocols = [rung.protocol for rung in ladder.rungs]
    rows = [
        [model, *(_rung_figures(cells.get((model, protocol))) for protocol in protocols)]
        for model in ladder.models
    ]
    rows.append(["kept apart", *(rung.protects or "nothing" for rung in ladder.rungs)])
    rows.append(
        ["leaks", *(", ".join(x.level for x in rung.leaks) or "none" for rung in ladder.rungs)]
    )
    return table(["Model", *map(escape, protocols)], rows)


def _ladder(ladder: Ladder) -> Iterator[str]:
    yield ladder_markdown(ladder)
    yield "Who wins:"
    yield _bullets(_winner(won) for won in ladder.winners)
    if not ladder.gaps:
        yield "What the leak is worth: no two protocols were compared."
        return
    yield "What the leak is worth:"
    yield _bullets(
        f"{escape(gap.model)}, {escape(gap.leaky)} minus {escape(gap.honest)}: "
        f"{_points(gap.difference)}"
        for gap in ladder.gaps
    )


def _rung_figures(cell: LadderCell | None) -> str:
    if cell is None:
        return "not run"
    return f"{text.short(cell.accuracy)}, F1 {text.short(cell.macro_f1)}"


def _winner(won: Winner) -> str:
    line = f"{escape(won.protocol)}: **{escape(won.model)}**"
    if won.runner_up is None:
        return line
    chance = "" if won.p is None else f"{escape(text.p_value(won.p))}, "
    return (
        f"{line}, ahead of {escape(won.runner_up)} by {_points(won.lead)} "
        f"({chance}{escape(won.test)})"
    )


def _card(name: str, card: Scorecard, *, lead: bool) -> Iterator[str]:
    yield f"### {escape(name)}"
    yield _leaks(card.leaks)
    yield text.intake_sentence(card.intake)
    first, slices = scores_of(card)
    yield _scores(first)
    if slices:
        yield _folded(f"{text.counted(len(slices), 'figure')} of single slices", _scores(slices))
    if card.confusion.top:
        yield "Most often taken for each other:"
        yield _bullets(
            f"{escape(x.truth)} → {'no answer' if x.answer is None else escape(x.answer)}: "
            f"{text.count(x.count)}"
            for x in card.confusion.top
        )
    if lead:
        rows = [
            [row.label, f"{row.correct}/{row.support}", text.short(row.recall)]
            for row in card.classes
        ]
        yield _folded("Class by class", table(["Class", "Right", "Recall"], rows))


def _scores(scores: Sequence[Score]) -> str:
    rows = [
        [
            text.measure_name(score.measure),
            score.slice,
            text.short(score.cell, text.unit_of(score.measure)),
            text.reason(score.cell),
        ]
        for score in scores
    ]
    return table(["Measure", "Clips", "Figure", "Interval, or why there is no figure"], rows)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _audit(audit: Audit) -> Iterator[str]:
    yield _bullets(
        f"**{escape(finding.severity)}** ({escape(finding.code)}): {escape(finding.sentence)}"
        for finding in findings(audit)
    )
    corpus = audit.corpus
    yield (
        f"{escape(corpus.name)}: {text.count(corpus.clips)} clips, "
        f"{text.count(corpus.classes)} classes of "
        f"{text.between(corpus.clips_per_class_min, corpus.clips_per_class_max)} clips."
    )
    yield _bullets(
        f"{escape(name)}: {escape(definition)}. Test clips seen in training: {escape(seen)}"
        for name, definition, seen in definitions(audit)
    )
    for split in audit.splits:
        yield from _split(split)


def _split(split: SplitAudit) -> Iterator[str]:
    yield f"### Split: {escape(split.protocol)}"
    yield _leaks(split.leaks)
    known = [
        [
            level.level,
            text.count(level.groups),
            text.count(level.crossing_seen),
            text.part_of(level.test_clips_seen, level.test_clips),
        ]
        for level in split.levels
    ]
    unknown = [
        [level, text.state(why), text.state(why), text.state(why)]
        for level, why in sorted(split.unknown_levels.items())
    ]
    both = f"On both sides{text.summed_over(split.rounds)}"
    head = ["Level", "Groups", both, "Test clips seen in training"]
    yield table(head, known + unknown)


def _unmeasured(bundle: Bundle) -> Iterator[str]:
    yield "## What was not measured"
    yield _bullets(escape(sentence) for sentence in silences(bundle))
    rows = [[x.where, x.what, text.state(x.cell), text.reason(x.cell)] for x in unmeasured(bundle)]
    yield table(["Where", "What", "State", "Why"], rows) if rows else "Every figure has a value."


def _reproduce(bundle: Bundle) -> Iterator[str]:
    yield "## How to check this report"
    if not bundle.cards:
        yield "No model was scored, so there is no card to recompute."
        return
    yield "`snellen verify RUN` recomputes each card from its answers, truth and split."
    yield _bullets(
        f"{escape(name)}: {escape(signature_line(card))}"
        for name, card in zip(card_names(bundle.cards), bundle.cards, strict=True)
    )

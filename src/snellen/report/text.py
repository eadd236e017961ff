"""How a figure reads: the one place that turns numbers and cell states into words.

Every output (terminal, Markdown, CSV, HTML) says "88.5 [86.6, 90.4]" and "not
measured" with the functions below, so that no two of them disagree and none
of them can leave a blank.

*Conventions*: shares in [0, 1] are shown in percent with one decimal, differences
of shares in points with a sign, scores of :data:`PLAIN_MEASURES` as they are with
three decimals. ``short`` fits a table cell and never holds a reason; whoever
uses it lists the reasons below the table. Strings from outside go through
:func:`clean` before they are shown anywhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, assert_never

from snellen.core.answers import Intake
from snellen.core.cells import Cell, Failed, Measured, NotApplicable, NotMeasurable, NotMeasured

__all__ = [
    "PLAIN_MEASURES",
    "Unit",
    "between",
    "clean",
    "count",
    "counted",
    "distinct",
    "estimate",
    "intake_sentence",
    "measure_name",
    "number",
    "p_value",
    "part_of",
    "percent",
    "points",
    "quantity",
    "reason",
    "short",
    "shorten",
    "spread",
    "state",
    "summed_over",
    "unit_of",
    "words",
]

T = TypeVar("T")
Unit = Literal["share", "difference", "plain"]

PLAIN_MEASURES = ("aurc", "brier", "excess_aurc")
"""Measures that are no share of anything a reader could count."""

MEASURE_NAMES = {
    "accuracy_at_coverage_80": "accuracy at 80 % coverage",
    "aurc": "AURC",
    "brier": "Brier score",
    "coverage_at_accuracy_90": "coverage at 90 % accuracy",
    "excess_aurc": "excess AURC",
    "macro_f1": "macro F1",
    "top_3": "top-3",
    "top_5": "top-5",
    "weighted_f1": "weighted F1",
}
"""How measures are written where their name with spaces would read badly."""

LONGEST_LABEL = 128
# Marks that reorder or hide their neighbours. Joiners (U+200C, U+200D) stay: Devanagari needs them.
SPOOFING = frozenset("\u061c\u200b\u200e\u200f\u2060\ufeff") | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def clean(text: str) -> str:
    r"""``text`` on one line, without control and direction-changing characters.

    >>> clean("a\tb\u202egnp.exe")
    'a bgnp.exe'
    """
    kept = []
    for character in text:
        if character in "\t\n\r\v\f\u0085\u2028\u2029":
            kept.append(" ")
        elif character not in SPOOFING and unicodedata.category(character) not in ("Cc", "Cs"):
            kept.append(character)
    return "".join(kept)


def shorten(text: str, limit: int = LONGEST_LABEL) -> str:
    """Clean ``text``, cut with an ellipsis where it is longer than ``limit``.

    >>> shorten("thank you very much", 9)
    'thank yo…'
    """
    cleaned = clean(text).strip()
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def distinct(texts: Sequence[str], limit: int) -> tuple[str, ...]:
    """Shortened texts that still differ, for axes on which equal names would merge.

    >>> distinct(["good morning", "good evening"], 6)
    ('good …', 'good … 2')
    """
    seen: set[str] = set()
    names = []
    for text in texts:
        base = shorten(text, limit) or "(no name)"
        name, copy = base, 1
        while name in seen:
            copy += 1
            name = f"{base} {copy}"
        seen.add(name)
        names.append(name)
    return tuple(names)


def spread(items: Sequence[T], limit: int) -> tuple[T, ...]:
    """At most ``limit`` items (two or more) at even distances, always the first and the last.

    >>> spread(range(101), 3)
    (0, 50, 100)
    """
    if len(items) <= limit:
        return tuple(items)
    last = len(items) - 1
    return tuple(items[step * last // (limit - 1)] for step in range(limit))


def count(n: int) -> str:
    """A count with thousands separators."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """A count of things.

    >>> counted(1, "model"), counted(1200, "clip")
    ('1 model', '1,200 clips')
    """
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"


def summed_over(rounds: int) -> str:
    """What to add to the head of a column whose counts are sums over rounds.

    >>> summed_over(1), summed_over(5)
    ('', ', summed over 5 rounds')
    """
    return "" if rounds == 1 else f", summed over {count(rounds)} rounds"


def between(low: int, high: int) -> str:
    """A range of counts, or the one count it consists of.

    >>> between(10, 13), between(48, 48)
    ('10 to 13', '48')
    """
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def percent(share: float) -> str:
    """A share in percent with one decimal, without the sign.

    >>> percent(0.8852)
    '88.5'
    """
    return f"{round(100 * share, 1) + 0.0:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(-0.0004), points(0.138)
    ('0.0', '+13.8')
    """
    rounded = round(100 * difference, 1) + 0.0
    return f"{rounded:+.1f}" if rounded else "0.0"


def number(value: float) -> str:
    """A number that is no share, with three decimals."""
    return f"{round(value, 3) + 0.0:.3f}"


def p_value(p: float) -> str:
    """A p-value with three decimals, or the bound below which these would be 0.

    >>> p_value(0.0312), p_value(0.0002)
    ('p = 0.031', 'p < 0.001')
    """
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def part_of(part: int, whole: int) -> str:
    """A part of a whole in counts and percent; neither 0 nor all is reached by rounding.

    >>> part_of(153, 299), part_of(3, 40_000), part_of(0, 0)
    ('153 of 299 (51.2 %)', '3 of 40,000 (below 0.1 %)', '0 of 0')
    """
    counts = f"{count(part)} of {count(whole)}"
    if whole == 0:
        return counts
    rate = percent(part / whole)
    if rate == "0.0" and part:
        rate = "below 0.1"
    if rate == "100.0" and part < whole:
        rate = "above 99.9"
    return f"{counts} ({rate} %)"


def unit_of(measure: str) -> Unit:
    """The unit in which a measure is shown."""
    return "plain" if measure in PLAIN_MEASURES else "share"


def measure_name(measure: str) -> str:
    """The name of a measure as it is written in a sentence.

    >>> measure_name("macro_f1"), measure_name("false_alarms")
    ('macro F1', 'false alarms')
    """
    return MEASURE_NAMES.get(measure, measure.replace("_", " "))


FORMATS: dict[Unit, Callable[[float], str]] = {
    "share": percent,
    "difference": points,
    "plain": number,
}


def estimate(cell: Measured, unit: Unit = "share") -> str:
    """A measured figure with its interval, or with the words "no interval".

    >>> estimate(Measured(value=0.885, low=0.866, high=0.904, n=2700, groups=10, method="t"))
    '88.5 [86.6, 90.4]'
    """
    show = FORMATS[unit]
    if cell.low is None or cell.high is None:
        return f"{show(cell.value)} (no interval)"
    return f"{show(cell.value)} [{show(cell.low)}, {show(cell.high)}]"


def state(cell: Cell) -> str:
    """The state of a cell in words, such as "not measurable"."""
    match cell:
        case Measured():
            return "measured"
        case NotMeasured():
            return "not measured"
        case NotMeasurable():
            return "not measurable"
        case NotApplicable():
            return "not applicable"
        case Failed():
            return "failed"
        case _:
            assert_never(cell)


def reason(cell: Cell) -> str:
    """Why there is no figure, or how the interval of a figure was made."""
    match cell:
        case Measured():
            return clean(cell.method)
        case NotMeasured():
            return f"{clean(cell.reason)}; to measure it: {clean(cell.command)}"
        case NotMeasurable():
            return f"{clean(cell.reason)}; needs {clean(cell.needed)}, has {clean(cell.have)}"
        case NotApplicable():
            return clean(cell.reason)
        case Failed():
            return clean(cell.error)
        case _:
            assert_never(cell)


def short(cell: Cell, unit: Unit = "share") -> str:
    """What fits a table cell: the figure with its interval, or its state."""
    return estimate(cell, unit) if isinstance(cell, Measured) else state(cell)


def words(cell: Cell, unit: Unit = "share") -> str:
    """The whole of a cell: the figure and how it was made, or its state and why."""
    return f"{short(cell, unit)}: {reason(cell)}"


def quantity(value: int | NotMeasured | NotMeasurable | NotApplicable) -> str:
    """A count, or why it is unknown."""
    return count(value) if isinstance(value, int) else words(value)


def intake_sentence(intake: Intake) -> str:
    """What was asked and what came back, with what happens to the rest."""
    parts = [f"{count(intake.answered)} answered", f"{count(intake.abstained)} abstained"]
    parts += [f"{count(intake.missing)} missing", f"{count(intake.failed)} failed"]
    text = f"{count(intake.expected)} clips were asked: {', '.join(parts)}."
    if intake.missing or intake.failed:
        text += " Missing and failed clips count as wrong."
    if intake.unasked:
        text += f" Answers to {count(intake.unasked)} other clips were not scored."
    return text

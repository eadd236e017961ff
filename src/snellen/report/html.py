"""A bundle as one HTML file that loads nothing, runs nothing and can be mailed.

*Conventions*: every string from outside is cleaned and escaped on its way into
a template; only the SVG drawn here goes in as it is. Pictures are drawn for the
cards of the headline protocol, all others are tables. The same bundle gives
the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from snellen.core.card import ClassRow, Confusion, CoveragePoint, Score, Scorecard, signature_line
from snellen.core.cells import Cell, Measured, NotMeasurable, NotMeasured
from snellen.report import figures, matrix, text
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
from snellen.report.section import Figure, Section

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_report"]

PLOTS_ABREAST, FEW_CLASSES, MANY_CLASSES = 3, 6, 32
COVERAGE_ROWS = 60
DUPLICATES_SHOWN = 20
ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True)
class CardView:
    """A card with what the page shows of it; a picture that is not drawn is None."""

    card: Scorecard
    name: str
    lead: bool
    signature: str
    accuracy: Cell
    scores: tuple[Score, ...]
    slices: tuple[Score, ...]
    classes: tuple[ClassRow, ...]
    coverage_rows: tuple[CoveragePoint, ...]
    answers: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    class_figures: tuple[str, ...]
    matrix: str | None
    reliability_figure: str | None
    coverage_figure: str | None


@dataclass(frozen=True, slots=True)
class SectionView:
    """A study with its figures drawn."""

    section: Section
    lead: bool
    figures: tuple[tuple[Figure, str], ...]


def html_report(bundle: Bundle) -> bytes:
    """The whole report as the bytes of one file, UTF-8."""
    from markupsafe import Markup

    style = _style()
    ladder = bundle.ladder
    drawn = figures.svg(figures.ladder_spec(ladder), "ladder") if ladder is not None else None
    page = _environment().get_template("report.html.j2")
    rendered = page.render(
        bundle=bundle,
        style=Markup(style),  # noqa: S704 (our own style sheet)
        style_hash=Markup(_source_hash(style)),  # noqa: S704 (base64)
        views=_views(bundle),
        studies=_studies(bundle),
        winners={won.protocol: won.model for won in ladder.winners} if ladder is not None else {},
        any_rung_leaks=ladder is not None and any(rung.leaks for rung in ladder.rungs),
        ladder_figure=None if drawn is None else Markup(drawn),  # noqa: S704 (escaped by the renderer)
        ladder_label=_ladder_label(bundle),
        leak_warning=leak_warning(ladder) if ladder is not None else None,
        clips_scored=clips_scored(ladder) if ladder is not None else None,
        definitions=definitions(bundle.audit) if bundle.audit is not None else (),
        findings=findings(bundle.audit) if bundle.audit is not None else (),
        silences=silences(bundle),
        unmeasured=unmeasured(bundle),
        duplicates_shown=DUPLICATES_SHOWN,
    )
    return rendered.encode("utf-8")


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("snellen.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": text.short, "reason": text.reason}
    environment.tests |= {
        "measured": lambda cell: isinstance(cell, Measured),
        "not_measured": lambda cell: isinstance(cell, NotMeasured),
        "state": lambda value: isinstance(value, Cell),
    }
    environment.globals |= {
        "between": text.between,
        "count": text.count,
        "counted": text.counted,
        "decimal": lambda value: f"{value:,.1f}",
        "intake_sentence": text.intake_sentence,
        "measure_name": text.measure_name,
        "number": text.number,
        "p_value": text.p_value,
        "part_of": text.part_of,
        "percent": text.percent,
        "quantity": text.quantity,
        "summed_over": text.summed_over,
        "unit_of": text.unit_of,
    }
    return environment


def _finalize(value: Any) -> Any:
    # Markup is a subclass of str and already safe; a None here is a bug of a template.
    if value is None:
        raise TypeError("a template tried to print None")
    return text.clean(value) if type(value) is str else value


def _style() -> str:
    sheet = resources.files("snellen.report").joinpath("templates/style.css").read_text("utf-8")
    swapped = _swaps(figures.DARK | matrix.DARK_LEVELS)
    return f"{sheet}@media screen and (prefers-color-scheme: dark) {{\n{swapped}}}\n"


def _swaps(colours: Mapping[str, str]) -> str:
    # A style rule outranks a presentation attribute, so the SVG itself needs no second version.
    return "".join(
        f'figure svg [{attribute}="{light}"] {{ {attribute}: {dark}; }}\n'
        for light, dark in colours.items()
        for attribute in ("fill", "stroke")
    )


def _source_hash(style: str) -> str:
    digest = hashlib.sha256(style.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _ladder_label(bundle: Bundle) -> str:
    if bundle.ladder is None:
        return ""
    lines = [
        f"{cell.model} under {cell.protocol}: {text.short(cell.accuracy)}"
        for cell in bundle.ladder.cells
    ]
    return "Accuracy in percent. " + "; ".join(lines)


def _studies(bundle: Bundle) -> tuple[SectionView, ...]:
    from markupsafe import Markup

    def drawn(figure: Figure, key: str) -> str:
        return Markup(figures.svg(figures.framed(figure.spec), key))  # noqa: S704 (escaped by the renderer)

    return tuple(
        SectionView(
            section=section,
            lead=section.protocol in (None, bundle.headline_protocol),
            figures=tuple(
                (figure, drawn(figure, f"study{position}-{k}"))
                for k, figure in enumerate(section.figures)
            ),
        )
        for position, section in enumerate(bundle.sections)
    )


def _views(bundle: Bundle) -> tuple[CardView, ...]:
    views = [
        _view(card, name, f"card{position}", lead=card.protocol == bundle.headline_protocol)
        for position, (card, name) in enumerate(
            zip(bundle.cards, card_names(bundle.cards), strict=True)
        )
    ]
    won = bundle.headline_winner
    best = won.model if won is not None else None
    # The headline protocol first, and in it the model the headline speaks of.
    return tuple(sorted(views, key=lambda view: (not view.lead, view.card.model != best)))


def _view(card: Scorecard, name: str, key: str, *, lead: bool) -> CardView:
    from markupsafe import Markup

    def picture(drawn: str) -> Markup:
        return Markup(drawn)  # noqa: S704 (labels are escaped where the SVG is made)

    scores, slices = scores_of(card)
    classes = tuple(sorted(card.classes, key=_hardness))
    plots = _columns(classes) if lead else ()
    drawable = lead and 0 < len(card.confusion.labels) <= matrix.LARGEST
    return CardView(
        card=card,
        name=name,
        lead=lead,
        signature=signature_line(card),
        accuracy=_accuracy(card),
        scores=scores,
        slices=slices,
        classes=classes,
        coverage_rows=text.spread(card.coverage, COVERAGE_ROWS),
        answers=_answers(card.confusion) if lead else (),
        class_figures=tuple(
            picture(figures.svg(figures.recall_spec(rows), f"{key}-classes{k}"))
            for k, rows in enumerate(plots)
        ),
        matrix=picture(matrix.confusion_svg(card.confusion)) if drawable else None,
        reliability_figure=picture(
            figures.svg(figures.reliability_spec(card.reliability), f"{key}-reliability")
        )
        if lead and card.reliability is not None
        else None,
        coverage_figure=picture(
            figures.svg(figures.coverage_spec(card.coverage), f"{key}-coverage")
        )
        if lead and card.coverage
        else None,
    )


def _accuracy(card: Scorecard) -> Cell:
    try:
        return card.score(ACCURACY)
    except KeyError:
        return NotMeasurable(
            reason="the card holds no accuracy over all clips",
            needed=f"a score named {ACCURACY!r} on 'all'",
            have=f"{len(card.scores)} other scores",
        )


def _hardness(row: ClassRow) -> tuple[bool, float, str]:
    # Classes without a recall come last.
    if isinstance(row.recall, Measured):
        return (False, row.recall.value, row.label)
    return (True, 0.0, row.label)


def _answers(confusion: Confusion) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    answers = (*confusion.labels, "no answer")
    return tuple(
        (
            confusion.labels[truth],
            tuple(
                (answers[k], n)
                for k, n in sorted(enumerate(confusion.counts[truth]), key=lambda x: (-x[1], x[0]))
                if n
            ),
        )
        for truth in confusion.order
    )


def _columns(rows: Sequence[ClassRow]) -> tuple[Sequence[ClassRow], ...]:
    # Plots of equal height that stand side by side, of at most MANY_CLASSES.
    if not rows:
        return ()
    plots = max(min(PLOTS_ABREAST, -(-len(rows) // FEW_CLASSES)), -(-len(rows) // MANY_CLASSES))
    size = -(-len(rows) // plots)
    return tuple(rows[start : start + size] for start in range(0, len(rows), size))

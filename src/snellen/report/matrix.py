"""A confusion matrix as a small SVG, legible from two to a hundred classes.

A matrix of 95 classes has 9,025 cells. Drawn as one rectangle each it fills a
megabyte; here every colour is one path, and an empty cell costs nothing.

*Conventions*: rows are the truth, columns the answer, both in
``Confusion.order``; the column set apart at the right holds clips without an
answer. Colour is the share of a row's clips in :data:`LEVELS` steps of viridis,
from above 0 to 1; a cell without clips is left empty.
"""

from __future__ import annotations

from html import escape

from snellen.core.card import Confusion
from snellen.report.figures import FONT, GRID, INK, MUTED
from snellen.report.text import distinct

__all__ = ["DARK_LEVELS", "LARGEST", "confusion_png", "confusion_svg", "level"]

LARGEST = 100
# Viridis from its light end to its dark end; in dark mode the other way round,
# so that a large share always stands out most.
LEVELS = ("#dde318", "#95d840", "#55c667", "#29af7f", "#238a8d", "#2d708e", "#404788", "#440154")
DARK_LEVELS = {
    "#dde318": "#453781",
    "#95d840": "#39568c",
    "#55c667": "#2d708f",
    "#29af7f": "#238a8e",
    "#238a8d": "#1f9d8a",
    "#2d708e": "#4dc36b",
    "#404788": "#a5db36",
    "#440154": "#fde725",
    # Counts inside the cells: light on dark becomes dark on light.
    "#fffffe": "#0b0d0f",
    "#0b0d0e": "#ffffff",
}
ON_DARK, ON_LIGHT = "#fffffe", "#0b0d0e"
FIRST_DARK_LEVEL = 4
COUNTS_UP_TO = 26
LABEL_CHARACTERS = 18
GAP = 4


def level(part: int, whole: int) -> int:
    """The colour step of a share above 0.

    >>> level(1, 100), level(1, 2), level(4, 4)
    (0, 4, 7)
    """
    return min(part * len(LEVELS) // whole, len(LEVELS) - 1)


def confusion_svg(confusion: Confusion) -> str:
    """The matrix as an SVG element at its natural size."""
    names = distinct([confusion.labels[k] for k in confusion.order], LABEL_CHARACTERS)
    n = len(names)
    # Room for a few classes, still one screen wide for a hundred.
    cell = max(10, min(30, 560 // max(n, 1)))
    font = min(12, cell - 1)
    left = top = round(max(map(len, (*names, "no answer"))) * font * 0.56) + 10
    width, height = left + (n + 1) * cell + GAP + 6, top + n * cell + 34
    parts = [
        (
            f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="{FONT}" font-size="{font}px">'
        ),
        _frame(left, top, cell, n),
        _labels(names, left, top, cell),
        _cells(confusion, left, top, cell),
        _legend(left, top + n * cell + 14),
        "</svg>",
    ]
    return "".join(parts)


def confusion_png(confusion: Confusion) -> bytes:
    """The matrix as a picture on white, at twice its natural size up to a hundred classes."""
    import vl_convert

    element = confusion_svg(confusion)
    head, _, rest = element.partition(">")
    page = (
        f'{head} xmlns="http://www.w3.org/2000/svg"><rect width="100%" height="100%" fill="white"/>'
    )
    scale = 2 if len(confusion.order) <= LARGEST else 1
    drawn: bytes = vl_convert.svg_to_png(page + rest, scale=scale)
    return drawn


def _column(k: int, n: int, left: int, cell: int) -> int:
    return left + k * cell + (GAP if k == n else 0)


def _frame(left: int, top: int, cell: int, n: int) -> str:
    side, last = n * cell, _column(n, n, left, cell)
    squares = (
        f"M{left} {top}h{side}v{side}h-{side}zM{last} {top}h{cell}v{side}h-{cell}z"
        f"M{left} {top}l{side} {side}"
    )
    return f'<path d="{squares}" fill="none" stroke="{GRID}"/>'


def _labels(names: tuple[str, ...], left: int, top: int, cell: int) -> str:
    parts = [f'<g fill="{INK}" text-anchor="end">']
    for k, name in enumerate(names):
        y = top + (k + 0.5) * cell
        parts.append(f'<text x="{left - 5}" y="{y:g}" dy=".35em">{escape(name)}</text>')
    parts.append("</g><g>")
    for k, name in enumerate((*names, "no answer")):
        x = _column(k, len(names), left, cell) + cell / 2
        ink = MUTED if k == len(names) else INK
        parts.append(
            f'<text transform="translate({x:g} {top - 5})rotate(-90)" dy=".35em" '
            f'fill="{ink}">{escape(name)}</text>'
        )
    parts.append("</g>")
    return "".join(parts)


def _cells(confusion: Confusion, left: int, top: int, cell: int) -> str:
    n = len(confusion.order)
    paths: list[list[str]] = [[] for _ in LEVELS]
    counts: list[str] = []
    side = cell - 1
    for row, truth in enumerate(confusion.order):
        whole = sum(confusion.counts[truth])
        for column, answer in enumerate((*confusion.order, n)):
            part = confusion.counts[truth][answer]
            if part == 0:
                continue
            step = level(part, whole)
            x, y = _column(column, n, left, cell), top + row * cell
            paths[step].append(f"M{x + 0.5} {y + 0.5}h{side}v{side}h-{side}z")
            if n <= COUNTS_UP_TO:
                ink = ON_DARK if step >= FIRST_DARK_LEVEL else ON_LIGHT
                counts.append(
                    f'<text x="{x + cell / 2:g}" y="{y + cell / 2:g}" dy=".35em" '
                    f'fill="{ink}">{part}</text>'
                )
    filled = [
        f'<path fill="{colour}" d="{"".join(path)}"/>'
        for colour, path in zip(LEVELS, paths, strict=True)
        if path
    ]
    return "".join([*filled, '<g text-anchor="middle" font-size="11px">', *counts, "</g>"])


def _legend(left: int, y: int) -> str:
    swatches = [
        f'<rect x="{left + k * 16}" y="{y}" width="16" height="10" fill="{colour}"/>'
        for k, colour in enumerate(LEVELS)
    ]
    caption = "0 to 100 % of the true class"
    return "".join(
        [
            *swatches,
            (
                f'<text x="{left + len(LEVELS) * 16 + 8}" y="{y + 5}" dy=".35em" '
                f'font-size="11px" fill="{MUTED}">{caption}</text>'
            ),
        ]
    )

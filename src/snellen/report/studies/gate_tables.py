"""The tables of a gate study, as read and as CSV.

*Conventions*: tables show the protocol a promise is held against and the thresholds
a reader asks for; the CSV behind each holds every model, protocol and threshold.
Thresholds have two decimals and are no percentages.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core.cells import Cell, Measured
from snellen.core.gate import (
    Applied,
    Choice,
    Conformal,
    GatePoint,
    GateStudy,
    LetThrough,
    Rule,
    Sweep,
)
from snellen.report import text
from snellen.report.section import Table

__all__ = ["VERDICTS", "gate_name", "gate_tables", "level", "thresholds_used"]

Field = str | int | float

SHOWN = (0.0, 0.50, 0.60, 0.70, 0.75, 0.85, 0.95)
"""Those of the reference evaluation, and no gate at all."""
VERDICTS = {
    "meets": "met",
    "within chance": "missed, within chance",
    "misses": "missed",
    "unknown": "cannot be told",
    "no target": "no target",
    "no gate": "nothing answered",
}


def gate_tables(result: GateStudy) -> tuple[Table, ...]:
    """Sweep, choices, transfer, unknown clips, conformal sets and calibration."""
    tables = [_sweep(result), _choices(result)]
    if result.applied:
        tables.append(_transfer(result))
    if result.let_through:
        tables.append(_unknown(result))
    if result.conformal:
        tables.append(_conformal(result))
    return (*tables, _calibration(result))


def level(threshold: float) -> str:
    """A threshold as it is written.

    >>> level(0.7)
    '0.70'
    """
    return f"{threshold:.2f}"


def gate_name(rule: Rule, target: float | None, threshold: float | None) -> str:
    """What a gate is called in a table.

    >>> gate_name("floor", 0.95, None), gate_name("fixed", None, 0.7)
    ('95.0 % by its floor', '0.70')
    """
    if target is None or rule == "fixed":
        return "as it is" if threshold is None else level(threshold)
    return f"{text.percent(target)} % {'by its floor' if rule == 'floor' else 'by the share'}"


def thresholds_used(row: Applied) -> str:
    """The thresholds of the rounds: one, a range, or the word that there is none."""
    if row.lowest is None or row.highest is None:
        return "none"
    low, high = level(row.lowest), level(row.highest)
    return low if low == high else f"{low} to {high}"


def _cell(cell: Cell) -> tuple[Field, Field, Field]:
    if not isinstance(cell, Measured):
        return (text.state(cell),) * 3
    if cell.low is None or cell.high is None:
        return (cell.value, "no interval", "no interval")
    return (cell.value, cell.low, cell.high)


def _names(*names: str) -> tuple[str, ...]:
    return tuple(x for name in names for x in (name, f"{name}_low", f"{name}_high"))


def _threshold(choice: Choice) -> str:
    cell = choice.threshold
    return level(cell.value) if isinstance(cell, Measured) else "none reaches it"


def _sweep(result: GateStudy) -> Table:
    shown = {*SHOWN, result.threshold}
    return Table(
        name="threshold_sweep",
        caption=f"Validation clips of {result.protocol} at each threshold, % [95 % intervals]",
        head=("model", "threshold", "answered", "right of these", "at least", "right of all"),
        rows=tuple(
            (
                sweep.model,
                level(point.threshold),
                text.short(point.coverage),
                text.short(point.selective_accuracy),
                "nothing answered" if point.floor is None else text.percent(point.floor),
                text.short(point.pessimistic_accuracy),
            )
            for sweep in result.sweeps
            if sweep.protocol == result.protocol
            for point in sweep.points
            if point.threshold in shown
        ),
        csv_head=(
            "model",
            "protocol",
            "threshold",
            *_names("coverage"),
            "uncertain",
            *_names("selective_accuracy"),
            "floor",
            *_names("pessimistic_accuracy"),
            "answered",
            "right",
            "n",
        ),
        csv_rows=tuple(
            _sweep_row(sweep, point) for sweep in result.sweeps for point in sweep.points
        ),
    )


def _sweep_row(sweep: Sweep, point: GatePoint) -> tuple[Field, ...]:
    return (
        sweep.model,
        sweep.protocol,
        point.threshold,
        *_cell(point.coverage),
        point.uncertain,
        *_cell(point.selective_accuracy),
        "nothing answered" if point.floor is None else point.floor,
        *_cell(point.pessimistic_accuracy),
        point.answered,
        point.right,
        sweep.clips,
    )


def _choices(result: GateStudy) -> Table:
    return Table(
        name="gate_thresholds",
        caption="The lowest threshold that reaches a target on validation clips of "
        f"{result.protocol}, and what it does on these same clips, %",
        head=("model", "gate", "threshold", "answered", "right of these"),
        rows=tuple(
            (
                row.model,
                gate_name(row.rule, row.target, result.threshold),
                _threshold(row),
                text.short(row.coverage),
                text.short(row.selective_accuracy),
            )
            for row in result.choices
            if row.protocol == result.protocol
        ),
        csv_head=(
            "model",
            "protocol",
            "rule",
            "target",
            "threshold",
            *_names("coverage"),
            *_names("selective_accuracy"),
            "floor",
            "note",
        ),
        csv_rows=tuple(
            (
                row.model,
                row.protocol,
                row.rule,
                _target(row.target),
                _cell(row.threshold)[0],
                *_cell(row.coverage),
                *_cell(row.selective_accuracy),
                "nothing answered" if row.floor is None else row.floor,
                text.reason(row.threshold),
            )
            for row in result.choices
        ),
    )


def _target(target: float | None) -> Field:
    return "no target" if target is None else target


def _transfer(result: GateStudy) -> Table:
    strictest = max(result.targets, default=None)
    return Table(
        name="gate_transfer",
        caption=f"Gates set on validation clips, tried on test clips of {result.protocol}, %",
        head=("model", "set on", "gate", "thresholds", "answered", "right of these", "target"),
        rows=tuple(
            (
                row.model,
                row.tuned_on if row.target is not None else "beforehand",
                gate_name(row.rule, row.target, result.threshold),
                thresholds_used(row),
                text.short(row.coverage),
                text.short(row.selective_accuracy),
                VERDICTS[row.verdict],
            )
            for row in result.applied
            if row.applied_to == result.protocol and row.target in (None, strictest)
        ),
        csv_head=(
            "model",
            "tuned_on",
            "applied_to",
            "rule",
            "target",
            "lowest_threshold",
            "highest_threshold",
            *_names("coverage"),
            *_names("selective_accuracy"),
            "verdict",
        ),
        csv_rows=tuple(_transfer_row(row) for row in result.applied),
    )


def _transfer_row(row: Applied) -> tuple[Field, ...]:
    return (
        row.model,
        row.tuned_on,
        row.applied_to,
        row.rule,
        _target(row.target),
        "none" if row.lowest is None else row.lowest,
        "none" if row.highest is None else row.highest,
        *_cell(row.coverage),
        *_cell(row.selective_accuracy),
        row.verdict,
    )


def _unknown(result: GateStudy) -> Table:
    shown = {None, *SHOWN, result.threshold}
    rows = [row for row in result.let_through if row.protocol == result.protocol]
    return Table(
        name="gate_unknown",
        caption="Clips that show no sign of the vocabulary and are answered all the same, % "
        f"({result.protocol})",
        head=("model", "gate", "let through"),
        rows=tuple(
            (row.model, gate_name(row.rule, row.target, row.threshold), text.short(row.share))
            for row in rows
            if row.threshold in shown
        ),
        csv_head=("model", "protocol", "rule", "target", "threshold", *_names("let_through"), "n"),
        csv_rows=tuple(_unknown_row(row) for row in result.let_through),
    )


def _unknown_row(row: LetThrough) -> tuple[Field, ...]:
    n: Field = row.share.n if isinstance(row.share, Measured) else text.state(row.share)
    threshold: Field = "each round its own" if row.threshold is None else row.threshold
    cells = _cell(row.share)
    return (row.model, row.protocol, row.rule, _target(row.target), threshold, *cells, n)


def _conformal(result: GateStudy) -> Table:
    promised = text.percent(1 - result.alpha)
    return Table(
        name="gate_conformal",
        caption=f"Prediction sets, tried on test clips of {result.protocol}, %",
        head=(
            "model",
            "calibrated on",
            "holds the truth",
            f"{promised} %",
            "one label",
            "right of these",
        ),
        rows=tuple(
            (
                row.model,
                row.tuned_on,
                text.short(row.coverage),
                VERDICTS[row.verdict],
                text.short(row.singletons),
                text.short(row.singleton_accuracy),
            )
            for row in result.conformal
            if row.applied_to == result.protocol
        ),
        csv_head=(
            "model",
            "tuned_on",
            "applied_to",
            "promised",
            "least_confident",
            *_names("coverage", "singletons", "singleton_accuracy", "unbounded"),
            "verdict",
        ),
        csv_rows=tuple(_conformal_row(row, result) for row in result.conformal),
    )


def _conformal_row(row: Conformal, result: GateStudy) -> tuple[Field, ...]:
    cells = (row.coverage, row.singletons, row.singleton_accuracy, row.unbounded)
    return (
        row.model,
        row.tuned_on,
        row.applied_to,
        1 - result.alpha,
        _cell(row.least_confident)[0],
        *(field for cell in cells for field in _cell(cell)),
        row.verdict,
    )


def _calibration(result: GateStudy) -> Table:
    return Table(
        name="gate_calibration",
        caption="Calibration error (ECE) beside that of a perfectly calibrated model: mean, "
        "95th percentile",
        head=("model", "protocol", "clips", "ECE", "perfect"),
        rows=tuple(_calibration_rows(result)),
        csv_head=("model", "protocol", "role", "ece", "null_mean", "null_high", "n"),
        csv_rows=tuple(
            (
                row.model,
                row.protocol,
                row.role,
                _cell(row.ece)[0],
                "no answers" if row.null_mean is None else row.null_mean,
                "no answers" if row.null_high is None else row.null_high,
                row.ece.n if isinstance(row.ece, Measured) else 0,
            )
            for row in result.calibration
        ),
    )


def _calibration_rows(result: GateStudy) -> Iterator[tuple[str, ...]]:
    for row in result.calibration:
        if row.protocol != result.protocol:
            continue
        if row.null_mean is not None and row.null_high is not None:
            perfect = f"{text.number(row.null_mean)}, {text.number(row.null_high)}"
            yield (row.model, row.protocol, row.role, text.short(row.ece, "plain"), perfect)
        else:
            yield (row.model, row.protocol, row.role, text.state(row.ece), "no answers")

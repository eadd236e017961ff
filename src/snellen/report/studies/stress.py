"""The stress test as a section: the table of conditions, what they cost, and curves.

*Conventions*: figures in percent, changes in points; a no-op and a condition
that does not apply are written as such in every table, file and figure. All
sentences are made of the result. A change can be told from 0 where its 95 %
interval leaves 0 out; the best model is the one most accurate when clean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snellen.core.cells import Measured, NotApplicable
from snellen.core.stress import Effect, NoOp, Outcome, StressCondition, StressStudy
from snellen.report import text
from snellen.report.section import Section, Table
from snellen.report.studies.stress_figures import degradation_figure, results_figure

__all__ = ["section"]

CSV_HEAD = (
    "model",
    "condition",
    "strict",
    "state",
    "accuracy",
    "low",
    "high",
    "delta",
    "delta_low",
    "delta_high",
    "below_gate",
    "n",
    "mean_confidence",
    "changed",
    "note",
)
FIGURES = CSV_HEAD[4:-1]
CLEAN = "clean"
BOTH_HANDS = "both hands"


def section(result: StressStudy) -> Section:
    """What the conditions cost each model, in sentences, tables and figures."""
    points = [point for curve in result.curves for point in curve.conditions]
    # Strict figures stand beside the others and must not take their place.
    suffix = "_strict" if result.strict else ""
    tables = [_table(result, f"robustness_results{suffix}", result.conditions)]
    figures = [results_figure(result, f"robustness_results{suffix}")]
    if points:
        tables.append(_table(result, f"robustness_degradation{suffix}", points))
        figures.append(degradation_figure(result, f"robustness_degradation{suffix}"))
    return Section(
        key="stress-strict" if result.strict else "stress",
        title="Robustness, strict" if result.strict else "Robustness",
        sentences=tuple(_sentences(result)),
        tables=tuple(tables),
        figures=tuple(figures),
        not_measured=tuple(_not_measured(result)),
    )


def _table(result: StressStudy, name: str, conditions: Sequence[StressCondition]) -> Table:
    n = _clean(result, result.models[0]).accuracy.n
    return Table(
        name=name,
        caption=f"Right answers to {text.counted(n, 'clip')} in %, and what the condition changes "
        "in points [95 % interval]",
        head=("condition", *result.models),
        rows=tuple(
            (
                condition.title,
                *(_short(result.outcome(model, condition.name)) for model in result.models),
            )
            for condition in conditions
        ),
        csv_head=CSV_HEAD,
        csv_rows=tuple(
            (
                model,
                condition.name,
                "yes" if result.strict else "no",
                *_fields(result.outcome(model, condition.name)),
            )
            for condition in conditions
            for model in result.models
        ),
    )


def _short(outcome: Outcome) -> str:
    match outcome:
        case NoOp():
            return "no-op"
        case NotApplicable():
            return text.state(outcome)
        case Effect(delta=Measured() as delta):
            share = text.percent(outcome.accuracy.value)
            return f"{share}, {text.estimate(delta, 'difference')}"
        case _:
            return text.estimate(outcome.accuracy)


def _fields(outcome: Outcome) -> tuple[str | int | float, ...]:
    if isinstance(outcome, NoOp):
        return ("no-op", *["no-op"] * len(FIGURES), outcome.reason)
    if isinstance(outcome, NotApplicable):
        return (*[text.state(outcome)] * (1 + len(FIGURES)), outcome.reason)
    right, delta = outcome.accuracy, outcome.delta
    changes: tuple[str | float, ...] = ("not applicable",) * 3
    if isinstance(delta, Measured):
        changes = (delta.value, *_interval(delta))
    return (
        "measured",
        right.value,
        *_interval(right),
        *changes,
        outcome.below_gate.value,
        right.n,
        outcome.mean_confidence,
        outcome.changed,
        right.method,
    )


def _interval(cell: Measured) -> tuple[str | float, str | float]:
    if cell.low is None or cell.high is None:
        return ("no interval", "no interval")
    return (cell.low, cell.high)


def _clean(result: StressStudy, model: str) -> Effect:
    outcome = result.outcome(model, CLEAN)
    assert isinstance(outcome, Effect)  # noqa: S101 - clean is always measured
    return outcome


def _sentences(result: StressStudy) -> Iterator[str]:
    best = max(result.models, key=lambda model: _clean(result, model).accuracy.value)
    clean = _clean(result, best).accuracy
    place = "what the models are fed, after" if result.strict else "the recordings, before"
    yield (
        f"{text.counted(clean.n, 'clip')} of {result.corpus} were answered under the protocol "
        f"{result.protocol}, each by a model that was not trained on it, clean and disturbed. "
        f"The conditions disturb {place} preprocessing; jitter is in {result.noise_unit}."
    )
    over = "independent clips" if clean.groups is None else f"{text.count(clean.groups)} groups"
    if result.protects is not None and clean.groups is not None:
        over += f" ({result.protects})"
    yield (
        "Changes are paired with the clean answers clip by clip; intervals are 95 % over "
        f"{over}, each by itself, not corrected for the number of conditions."
    )
    yield from _hands(result, best)
    yield from _costs(result, best)
    yield from _curves(result, best)
    yield from _gate(result)
    yield from _no_ops(result)


def _delta(outcome: Outcome) -> Measured | None:
    """The change a condition makes, where it has one."""
    if isinstance(outcome, Effect) and isinstance(outcome.delta, Measured):
        return outcome.delta
    return None


def _of_kind(result: StressStudy, kind: str) -> StressCondition | None:
    return next((c for c in result.conditions if c.kind == kind), None)


def _hands(result: StressStudy, best: str) -> Iterator[str]:
    """Which hand carries more, for the best model and for how many of all."""
    left, right = _of_kind(result, "left hand"), _of_kind(result, "right hand")
    if left is None or right is None:
        return
    pairs = {}
    for model in result.models:
        lost = _delta(result.outcome(model, left.name)), _delta(result.outcome(model, right.name))
        if lost[0] is not None and lost[1] is not None:
            pairs[model] = (lost[0], lost[1])
    if best in pairs:
        parts = [
            f"without the {side} hand {text.estimate(lost, 'difference')}"
            for side, lost in zip(("left", "right"), pairs[best], strict=True)
        ]
        both = _of_kind(result, BOTH_HANDS)
        lost_both = None if both is None else _delta(result.outcome(best, both.name))
        if lost_both is not None:
            parts.append(f"without both {text.estimate(lost_both, 'difference')}")
        yield f"{best} changes by these points: {', '.join(parts)}."
    left_dearer = sum(
        lost_left.value < lost_right.value for lost_left, lost_right in pairs.values()
    )
    right_dearer = sum(
        lost_right.value < lost_left.value for lost_left, lost_right in pairs.values()
    )
    if left_dearer or right_dearer:
        first, second = ("left", "right") if left_dearer > right_dearer else ("right", "left")
        yield (
            f"Losing the {first} hand costs more than losing the {second} for "
            f"{text.count(max(left_dearer, right_dearer))} of {text.counted(len(pairs), 'model')}."
        )


def _costs(result: StressStudy, best: str) -> Iterator[str]:
    """The dearest condition of the best model, and those that cannot be told from nothing."""
    found = [(c, _delta(result.outcome(best, c.name))) for c in result.conditions]
    changes = [(condition, delta) for condition, delta in found if delta is not None]
    if not changes:
        return
    condition, delta = min(changes, key=lambda change: change[1].value)
    yield (
        f"The dearest condition for {best} is {condition.title}: "
        f"{text.estimate(delta, 'difference')} points."
    )
    unseen = [c.title for c, delta in changes if _untold(delta)]
    if unseen:
        yield f"For {best} the change cannot be told from 0 under: {', '.join(unseen)}."


def _lost(delta: Measured) -> bool:
    """Whether a loss can be told from 0, in points as they are shown."""
    return delta.high is not None and text.points(delta.high).startswith("-")


def _untold(delta: Measured) -> bool:
    """Whether a change cannot be told from 0, in points as they are shown."""
    return not _lost(delta) and (delta.low is None or not text.points(delta.low).startswith("+"))


def _curves(result: StressStudy, best: str) -> Iterator[str]:
    """From which severity on the best model certainly reads fewer signs."""
    for curve in result.curves:
        for condition in curve.conditions:
            delta = _delta(result.outcome(best, condition.name))
            if delta is not None and _lost(delta):
                yield (
                    f"With growing {curve.kind}, {condition.title} is the first severity measured "
                    f"at which the loss of {best} can be told from 0: "
                    f"{text.estimate(delta, 'difference')} points."
                )
                break
        else:
            yield f"No severity of {curve.kind} has a loss of {best} that can be told from 0."


def _gate(result: StressStudy) -> Iterator[str]:
    """How many answers the gate would hold back, clean and without hands."""
    for condition in result.conditions:
        if condition.kind not in (CLEAN, BOTH_HANDS):
            continue
        parts = []
        for model in result.models:
            outcome = result.outcome(model, condition.name)
            if isinstance(outcome, Effect):
                below = outcome.below_gate
                share = text.part_of(round(below.value * below.n), below.n)
                confidence = text.percent(outcome.mean_confidence)
                parts.append(f"{model} {share}, mean confidence {confidence} %")
        if parts:
            yield (
                f"Answers below the gate of {text.percent(result.gate)} %, {condition.title}: "
                f"{'; '.join(parts)}."
            )


def _no_ops(result: StressStudy) -> Iterator[str]:
    """Conditions that reached nobody, one sentence for those with the same models and reason."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for condition in result.conditions:
        reached: dict[str, list[str]] = {}
        for model in result.models:
            outcome = result.outcome(model, condition.name)
            if isinstance(outcome, NoOp):
                reached.setdefault(outcome.reason, []).append(model)
        for reason, models in reached.items():
            alike.setdefault((reason, tuple(models)), []).append(condition.title)
    for (reason, unreached), titles in alike.items():
        yield f"No-op for {', '.join(unreached)}: {', '.join(titles)}; {reason}."


def _not_measured(result: StressStudy) -> Iterator[str]:
    for condition in result.conditions:
        outcome = result.outcome(result.models[0], condition.name)
        if isinstance(outcome, NotApplicable):
            yield f"{condition.title}: {outcome.reason}"
    if result.strict:
        yield "what worse recordings do to preprocessing: strict conditions come after it"
    yield f"how much another draw would move the figures: each was drawn once, seed {result.seed}"

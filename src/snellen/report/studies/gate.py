"""The gate study as a section: what each threshold costs, and whether its promise is kept.

*Conventions*: shares in percent, thresholds with two decimals. Sentences are about
``shown``, the model whose confidences sort its validation clips best under the
protocol a promise is held against, and about the highest target; the tables hold
every model. All sentences are made of the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core.cells import Measured
from snellen.core.gate import SHIPPED_THRESHOLD, Applied, Choice, GateStudy
from snellen.report import text
from snellen.report.section import Section
from snellen.report.studies.gate_figure import sweep_figure
from snellen.report.studies.gate_tables import VERDICTS, gate_tables, level, thresholds_used

__all__ = ["section"]


def section(result: GateStudy) -> Section:
    """When to keep quiet, in sentences, tables and a figure."""
    return Section(
        key="gate",
        title="Confidence gate",
        sentences=tuple(_sentences(result)),
        tables=gate_tables(result),
        figures=(sweep_figure(result),),
        not_measured=tuple(_not_measured(result)),
    )


def _sentences(result: GateStudy) -> Iterator[str]:
    yield (
        "A gate answers when a model's confidence reaches its threshold and says UNCERTAIN "
        f"below it. {level(SHIPPED_THRESHOLD)} is a starting point, set before any sweep and "
        "for no model in particular; it is not claimed to be the best for anybody."
    )
    yield from _how(result)
    yield _in_use(result)
    yield from _chosen(result)
    yield from _transferred(result)
    yield from _sets(result)
    yield from _let_through(result)


def _how(result: GateStudy) -> Iterator[str]:
    yield (
        "Thresholds were chosen on validation clips alone; no test clip chose anything. A floor "
        "is what accuracy is at least, with 95 % confidence (Clopper-Pearson), if clips were "
        "independent and no other threshold had been looked at: where groups differ it promises "
        "too much, so test clips have the last word."
    )
    if result.applied:
        yield (
            "Validation clips were answered by a model fitted on the training clips alone, test "
            "clips by the final one, which most regimes fit on both. Confidences carry a "
            "temperature fitted on the same validation clips, one number a round, and a "
            "network's best epoch was chosen by them too: validation flatters a little. What "
            "validates in one round is tested in another, so for each round the threshold was "
            "chosen anew without the clips that it tests; the thresholds of the rounds are given "
            "as a range."
        )
    repeated = [
        f"{sweep.protocol} {text.count(sweep.clips)} answers to {text.count(sweep.distinct)} clips"
        for sweep in result.sweeps
        if sweep.model == result.shown and sweep.distinct < sweep.clips
    ]
    if repeated:
        yield f"Some clips validate in more than one round and count as often: {_and(repeated)}."


def _in_use(result: GateStudy) -> str:
    sweep = next(
        x for x in result.sweeps if (x.model, x.protocol) == (result.shown, result.protocol)
    )
    point = next(x for x in sweep.points if x.threshold == result.threshold)
    said = (
        f"{result.shown} at {level(result.threshold)} answers {text.short(point.coverage)} % of "
        f"{text.counted(sweep.clips, 'validation clip')} of {result.protocol}"
    )
    if point.floor is None:
        return f"{said}: none. AURC {text.short(sweep.aurc, 'plain')}."
    return (
        f"{said} and is right in {text.short(point.selective_accuracy)} % of these, "
        f"{text.percent(point.floor)} % at least; {text.percent(point.uncertain)} % are UNCERTAIN. "
        f"AURC {text.short(sweep.aurc, 'plain')}, excess AURC "
        f"{text.short(sweep.excess_aurc, 'plain')}."
    )


def _chosen(result: GateStudy) -> Iterator[str]:
    """What validation would choose for each target, and whether its test clips agree."""
    for target in result.targets:
        choices = {
            row.rule: row
            for row in result.choices
            if (row.model, row.protocol, row.target) == (result.shown, result.protocol, target)
        }
        asked = f"For {text.percent(target)} % right among the answered, validation would choose"
        floor, plain = _level(choices["floor"]), _level(choices["plain"])
        if floor is None:
            share = "none" if plain is None else f"{plain}, by chance as much as not"
            yield (
                f"{asked} no threshold: {text.reason(choices['floor'].threshold)}. By the share "
                f"itself, without its floor: {share}."
            )
            continue
        row = _applied(result, result.protocol, target)
        tried = (
            ""
            if row is None
            else f"; on test clips it is right in {text.short(row.selective_accuracy)} %: "
            f"{VERDICTS[row.verdict]}"
        )
        yield (
            f"{asked} {floor} (by the share itself, without its floor, {plain}): it answers "
            f"{text.short(choices['floor'].coverage)} % of the validation clips{tried}."
        )


def _level(choice: Choice) -> str | None:
    return level(choice.threshold.value) if isinstance(choice.threshold, Measured) else None


def _applied(
    result: GateStudy, tuned_on: str, target: float, rule: str = "floor"
) -> Applied | None:
    return next(
        (
            row
            for row in result.applied
            if (row.model, row.tuned_on, row.applied_to)
            == (result.shown, tuned_on, result.protocol)
            and (row.rule, row.target) == (rule, target)
        ),
        None,
    )


def _transferred(result: GateStudy) -> Iterator[str]:
    """Whether gates set on other protocols keep their promise under the one that counts."""
    if not result.targets:
        return
    target = max(result.targets)
    for protocol in result.protocols:
        row = _applied(result, protocol, target, "plain")
        if protocol == result.protocol or row is None or row.verdict == "no gate":
            continue
        yield (
            f"Set by the share itself on {protocol} clips ({thresholds_used(row)}), a gate for "
            f"{text.percent(target)} % is right in {text.short(row.selective_accuracy)} % of what "
            f"it answers under {result.protocol}: the target is {VERDICTS[row.verdict]}."
        )


def _sets(result: GateStudy) -> Iterator[str]:
    rows = [
        row
        for row in result.conformal
        if row.model == result.shown and row.applied_to == result.protocol
    ]
    if not rows:
        return
    yield (
        "Split-conformal sets aim at holding the true sign with probability "
        f"{text.percent(1 - result.alpha)} %. The theorem behind them does not hold here: people "
        "differ, rounds are pooled, and the model is refitted after calibration; so test clips "
        "have the last word. A gate answers where one label is left. The "
        f"{text.counted(result.depth, 'best label')} of a clip are stored, and a truth below them "
        "counts as missed: these are lower bounds."
    )
    held = [
        f"calibrated on {row.tuned_on}, {text.short(row.coverage)} % ({VERDICTS[row.verdict]})"
        for row in rows
    ]
    yield f"Under {result.protocol} the sets of {result.shown} hold the truth in: {_and(held)}."


def _let_through(result: GateStudy) -> Iterator[str]:
    for row in result.let_through:
        mine = (row.model, row.protocol) == (result.shown, result.protocol)
        if mine and row.threshold == result.threshold and isinstance(row.share, Measured):
            yield (
                f"Of {text.counted(row.share.n, 'clip')} that show no sign of the vocabulary, "
                f"{result.shown} at {level(result.threshold)} answers {text.short(row.share)} %, "
                "each of them wrongly."
            )


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{'; '.join(parts[:-1])}; {parts[-1]}"


def _not_measured(result: GateStudy) -> Iterator[str]:
    if not result.applied:
        yield "What these thresholds do on test clips: there are no answers to any."
    if not any(row.protocol == result.protocol for row in result.let_through):
        yield (
            "What the gate lets through that is no sign of the vocabulary: no such clip was "
            "tested; snellen run --withhold keeps classes out for this."
        )
    yield "What people do with UNCERTAIN: whether they sign again, and how the second try goes."

"""When should a model keep quiet? Chosen on validation clips, tried on others.

It answers: what does each threshold cost and buy on validation clips, which is the
lowest that reaches a target, does that target hold on test clips of the same
protocol and of others, and how many signs that nobody taught does it let through?

*Conventions*: nothing is chosen on test clips: whatever chooses raises Leak when
handed any. A clip that validates in one round of a split is tested in another, so
a gate is set anew for every round, without the clips which that round tests.
Intervals are over the groups that the protocol of the clips protects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from snellen.core.gate import SHIPPED_THRESHOLD, GateStudy
from snellen.core.study import Judged
from snellen.errors import BadInput, Fault, Missing
from snellen.metrics.selective import aurc
from snellen.studies.gate.calibration import calibration_of
from snellen.studies.gate.conformal import conformal
from snellen.studies.gate.sweep import THRESHOLDS, sweep_validation
from snellen.studies.gate.thresholds import (
    Gate,
    applied,
    choice,
    gates_of,
    let_through,
)
from snellen.studies.gate.trial import OUTSIDE, TEST, VALIDATION, Trial

__all__ = ["study_gate"]

Progress = Callable[[str, int, int], None]


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def study_gate(
    judged: Sequence[Judged],
    *,
    targets: Sequence[float] = (0.90, 0.95),
    alpha: float = 0.10,
    threshold: float = SHIPPED_THRESHOLD,
    protocol: str | None = None,
    progress: Progress = _silent,
) -> GateStudy:
    """Set gates on the validation rows and try them on all others.

    Args:
        judged: rows of any models, protocols and roles, the leakiest protocol first.
        targets: selective accuracies a gate is asked for.
        alpha: how often a conformal set may miss the truth.
        threshold: the threshold in use, chosen beforehand.
        protocol: the one a promise is held against; None is the last, so the strictest.
        progress: called with a stage, how much of it is done, and how much there is.

    Raises:
        BadInput: a target, ``alpha`` or ``threshold`` that is no such share, or no such protocol.
        Missing: no validation rows under that protocol.
    """
    _require_shares(targets, alpha, threshold)
    models = tuple(dict.fromkeys(rows.model for rows in judged))
    protocols = tuple(dict.fromkeys(rows.protocol for rows in judged))
    tunings = [x for name in models for x in judged if (x.model, x.role) == (name, VALIDATION)]
    held = _held(tunings, protocols, protocol)
    trials = _trials(judged, tunings, TEST)
    own = [x.tried for x in trials if x.tuning.protocol == x.tried.protocol]
    gates = gates_of(targets, threshold)
    swept = sorted({*THRESHOLDS, threshold})
    sweeps = []
    for done, rows in enumerate(tunings):
        progress("sweeping thresholds", done, len(tunings))
        sweeps.append(sweep_validation(rows, swept))
    progress("sweeping thresholds", len(tunings), len(tunings))
    return GateStudy(
        protocol=held[0].protocol,
        protocols=protocols,
        models=models,
        shown=min(held, key=lambda x: float(aurc(x.confidence[:, 0], x.correct).value)).model,
        threshold=threshold,
        targets=tuple(targets),
        alpha=alpha,
        depth=held[0].ranked.shape[1],
        sweeps=tuple(sweeps),
        choices=tuple(choice(rows, gate) for rows in tunings for gate in gates),
        applied=tuple(
            applied(trial, gate)
            for trial in trials
            for gate in gates
            # A threshold given beforehand is tuned nowhere: once a protocol is enough.
            if gate.rule != "fixed" or trial.tuning.protocol == trial.tried.protocol
        ),
        let_through=tuple(
            let_through(trial, gate)
            for trial in _trials(judged, tunings, OUTSIDE)
            if trial.tuning.protocol == trial.tried.protocol
            for gate in (*(Gate("fixed", x) for x in swept), *gates[1:])
        ),
        conformal=tuple(conformal(trial, alpha) for trial in trials),
        calibration=tuple(calibration_of(rows) for rows in (*tunings, *own)),
    )


def _held(
    tunings: Sequence[Judged], protocols: Sequence[str], protocol: str | None
) -> list[Judged]:
    """Validation rows of the protocol a promise is held against."""
    if protocol is not None and protocol not in protocols:
        raise BadInput(
            Fault("gate", repr(protocol), f"one of: {', '.join(protocols)}", field="protocol")
        )
    headline = protocol if protocol is not None or not protocols else protocols[-1]
    held = [rows for rows in tunings if rows.protocol == headline]
    if not held:
        raise Missing(
            f"no validation answers under {headline or 'any protocol'}: a gate is set on clips "
            "kept apart from training; make a split that has some and run again"
        )
    return held


def _trials(judged: Sequence[Judged], tunings: Sequence[Judged], role: str) -> list[Trial]:
    """Every model's validation rows with each of its protocols' rows of a role."""
    tested = {(rows.model, rows.protocol): rows for rows in judged if rows.role == TEST}
    return [
        Trial.of(tuning, tried, tested.get((tried.model, tried.protocol)))
        for tuning in tunings
        for tried in judged
        if tried.role == role and tried.model == tuning.model
    ]


def _require_shares(targets: Sequence[float], alpha: float, threshold: float) -> None:
    faults = [
        Fault("gate", f"{value}", "above 0 and below 1", field=name)
        for name, value in (*(("target", x) for x in targets), ("alpha", alpha))
        if not 0 < value < 1
    ]
    if not (math.isfinite(threshold) and 0 <= threshold <= 1):
        faults.append(Fault("gate", f"{threshold}", "0 to 1", field="threshold"))
    if faults:
        raise BadInput(faults)

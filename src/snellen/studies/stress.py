"""How much of a model's accuracy survives when recordings are worse than usual?

Every scored clip is answered by the round that did not train on it, clean and
under each condition of ``signal.perturb``. Conditions disturb the recordings,
before the models' preprocessing; in strict mode what comes out of it, as the
reference evaluation does. Each condition must prove that it changed what the
models are fed, and that a model's answers moved at all: otherwise it is a no-op.

*Conventions*: positions point into the study's items; only clips whose truth is
in the vocabulary are scored. One generator a condition, seeded by the study's
seed and the condition's name, draws for all clips in the order of the items: the
draws are the same for every model and do not depend on the other conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from snellen.core.cells import Cell, NotApplicable, measured
from snellen.core.gate import SHIPPED_THRESHOLD
from snellen.core.stress import (
    Curve,
    Effect,
    NoOp,
    Outcome,
    StressCondition,
    StressRow,
    StressStudy,
)
from snellen.core.study import Study, Subject, Trained
from snellen.metrics.compare import paired_difference
from snellen.metrics.intervals import share_interval
from snellen.signal.hands import Side, hands_of
from snellen.signal.keypoints import Keypoints, gather
from snellen.signal.perturb import (
    CLEAN,
    CONDITIONS,
    CURVES,
    Condition,
    inapplicable,
    perturbed,
    perturbed_arrays,
)

__all__ = ["study_stress"]

Progress = Callable[[str, int, int], None]
STAGE = "stress"
# Frames of a made-up clip that finds out where preprocessing puts a hand.
PROBE_FRAMES = 8

UNITS = {
    "dropout": "share of the points seen",
    "jitter": "sigma",
    "frame drop": "share of the frames",
}
UNDISTURBED = NotApplicable(reason="the others are compared with it")
UNCHANGED = "nothing the models are fed is changed by it in any scored clip"
UNREAD = "the model's probabilities are the same bit for bit in every clip: it reads none of it"
NO_MASK = "the preprocessing keeps no presence mask, so there is none to zero"


@dataclass(frozen=True, slots=True)
class _Fed:
    """What the models are fed, and what of it the conditions need to know."""

    values: np.ndarray
    mask: np.ndarray
    hands: Mapping[Side, np.ndarray]
    has_mask: bool


@dataclass(frozen=True, slots=True)
class _Panel:
    """One model with all of its rounds, its scored clips and its clean answers."""

    model: str
    rounds: tuple[Trained, ...]
    positions: np.ndarray
    clean: np.ndarray


def study_stress(
    study: Study,
    *,
    conditions: tuple[Condition, ...] = CONDITIONS,
    curves: bool = True,
    strict: bool = False,
    seed: int,
    progress: Progress | None = None,
) -> StressStudy:
    """Put all models of a study under all conditions.

    Args:
        study: recordings, truth and trained models.
        conditions: of the table; clean is added where it is not among them.
        curves: whether to measure :data:`~snellen.signal.perturb.CURVES` as well.
        strict: disturb what the models are fed in place of the recordings.
        seed: of everything drawn.
        progress: hears of (stage, conditions done, conditions).
    """
    asked = conditions if CLEAN in conditions else (CLEAN, *conditions)
    drawn = CURVES if curves else ()
    distinct = dict.fromkeys([*asked, *(point for curve in drawn for point in curve)])
    fed = _fed(study)
    panels = [_panel(study, subject, fed) for subject in study.subjects]
    rows: list[StressRow] = []
    for done, condition in enumerate(distinct):
        if progress is not None:
            progress(STAGE, done, len(distinct))
        outcomes = _outcomes(study, panels, fed, condition, strict=strict, seed=seed)
        rows += [
            StressRow(model=panel.model, condition=condition.name, outcome=outcome)
            for panel, outcome in zip(panels, outcomes, strict=True)
        ]
    if progress is not None:
        progress(STAGE, len(distinct), len(distinct))
    return StressStudy(
        corpus=study.corpus,
        protocol=study.protocol,
        protects=study.protects,
        preprocessing=study.preprocessing,
        layout=study.keypoints.layout.name,
        strict=strict,
        seed=seed,
        gate=SHIPPED_THRESHOLD,
        noise_unit=_noise_unit(study.keypoints),
        models=tuple(panel.model for panel in panels),
        conditions=tuple(_described(condition) for condition in asked),
        curves=tuple(
            Curve(
                kind=curve[0].kind,
                unit=UNITS[curve[0].kind],
                conditions=tuple(map(_described, curve)),
            )
            for curve in drawn
        ),
        rows=tuple(rows),
    )


def _described(condition: Condition) -> StressCondition:
    return StressCondition(
        name=condition.name,
        title=condition.title,
        kind=condition.kind,
        severity=condition.severity,
    )


def _noise_unit(keypoints: Keypoints) -> str:
    if keypoints.layout.shoulders is not None:
        return "shoulder widths of the clip"
    return "standard deviations of each channel over the clip, for want of shoulders"


def _fed(study: Study) -> _Fed:
    """Prepare the clean recordings, and find hands and mask in what comes out.

    A preprocessing may leave points out or keep no mask. Made-up clips whose points
    never stand at 0 show both: the first is whole but for one frame in which nothing
    is seen, each further one lacks a hand.
    """
    values, mask = study.prepare(study.keypoints)
    layout = study.keypoints.layout
    hands = hands_of(layout)
    seen = np.ones((1 + len(hands), PROBE_FRAMES, len(layout.points)), dtype=bool)
    seen[0, PROBE_FRAMES // 2] = False
    for k, at in enumerate(hands.values(), start=1):
        seen[k][:, at] = False
    made_up = np.random.default_rng(0).uniform(1, 2, size=(*seen.shape, len(layout.dims)))
    probe = gather(
        layout,
        [str(k) for k in range(len(seen))],
        [
            (np.where(there[..., None], clip, 0), there)
            for clip, there in zip(made_up, seen, strict=True)
        ],
    )
    probed, probed_mask = study.prepare(probe)
    shown = np.asarray(probed.reshape(*probed_mask.shape, -1).any(axis=(1, 3)))
    found = {side: np.flatnonzero(shown[0] & ~shown[k]) for k, side in enumerate(hands, start=1)}
    return _Fed(values, mask, found, has_mask=not probed_mask[0].all())


def _panel(study: Study, subject: Subject, fed: _Fed) -> _Panel:
    rounds = []
    for number in subject.rounds:
        trained = subject.load(number)
        scored = trained.tested[study.labels[trained.tested] >= 0]
        rounds.append(replace(trained, tested=scored))
    clean = _answers(rounds, fed.values, fed.mask)
    positions = np.concatenate([trained.tested for trained in rounds])
    return _Panel(subject.model, tuple(rounds), positions, clean)


def _answers(
    rounds: list[Trained] | tuple[Trained, ...], values: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """Log-probabilities (scored clips, classes), round after round."""
    return np.concatenate(
        [trained.answer(values[trained.tested], mask[trained.tested]) for trained in rounds]
    )


def _outcomes(
    study: Study, panels: list[_Panel], fed: _Fed, condition: Condition, *, strict: bool, seed: int
) -> list[Outcome]:
    """What one condition does to each model; what they are fed is made once."""
    if condition == CLEAN:
        return [_effect(study, panel, panel.clean, changed=0) for panel in panels]
    why = inapplicable(condition, study.keypoints.layout)
    if why is not None:
        return [NotApplicable(reason=why) for _ in panels]
    if condition.kind == "mask" and not fed.has_mask:
        return [NoOp(reason=NO_MASK) for _ in panels]
    rng = np.random.default_rng([seed, crc32(condition.name.encode())])
    values, mask = _disturbed(study, fed, condition, rng, strict=strict)
    changed = (values != fed.values).any(axis=(1, 2)) | (mask != fed.mask).any(axis=(1, 2))
    return [_outcome(study, panel, values, mask, changed) for panel in panels]


def _disturbed(
    study: Study, fed: _Fed, condition: Condition, rng: np.random.Generator, *, strict: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not strict and condition.kind != "mask":
        return study.prepare(perturbed(study.keypoints, condition, rng))
    in_widths = study.keypoints.layout.shoulders is not None
    values, mask = perturbed_arrays(
        fed.values, fed.mask, condition, fed.hands, rng, in_shoulder_widths=in_widths
    )
    # Without a mask in training, a model is not to learn from one what was taken away.
    return values, mask if fed.has_mask else fed.mask


def _outcome(
    study: Study, panel: _Panel, values: np.ndarray, mask: np.ndarray, changed: np.ndarray
) -> Outcome:
    touched = int(np.count_nonzero(changed[panel.positions]))
    if touched == 0:
        return NoOp(reason=UNCHANGED)
    logs = _answers(panel.rounds, values, mask)
    if np.array_equal(logs, panel.clean):
        return NoOp(reason=UNREAD)
    return _effect(study, panel, logs, changed=touched)


def _effect(study: Study, panel: _Panel, logs: np.ndarray, *, changed: int) -> Effect:
    truth = study.labels[panel.positions]
    groups = None if study.groups is None else np.array(study.groups)[panel.positions]
    right, right_clean = logs.argmax(axis=1) == truth, panel.clean.argmax(axis=1) == truth
    confidence = np.exp(logs.max(axis=1))
    # As stored answers are gated: in float32, and a confidence equal to the gate passes it.
    below = confidence.astype(np.float32) < np.float32(SHIPPED_THRESHOLD)
    delta: Cell = UNDISTURBED
    if logs is not panel.clean:
        delta = measured(paired_difference(right, right_clean, groups))
    return Effect(
        accuracy=measured(share_interval(right, groups)),
        delta=delta,
        below_gate=measured(share_interval(below, groups)),
        mean_confidence=float(confidence.mean()),
        changed=changed,
    )

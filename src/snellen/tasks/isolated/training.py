"""One round of one model: fit, set its sharpness on validation, answer the test clips.

*Conventions*: a round's training and validation clips fit the model, its test
clips are only answered. Log-probabilities have shape (clips, classes). What is
kept of the validation clips is what the model said before it was refitted on
them: whoever tunes a gate needs answers to clips the model had not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from snellen.core.answers import in_order, spans
from snellen.core.split import TRAIN, VALIDATION, Split
from snellen.errors import BadInput, Fault
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import (
    Course,
    EpochModule,
    Fitted,
    ModelModule,
    TrainingData,
)
from snellen.tasks.isolated.regime import Regime

__all__ = [
    "HELD",
    "FittedRound",
    "Trained",
    "Tuition",
    "answers_of",
    "clear_checkpoints",
    "fit_round",
    "held_rows",
    "held_table",
    "keras_backend",
    "learns_in_epochs",
    "recipe",
    "temperature_of",
]

RANKS = 5
# Ridge scores hardly leave [-1, 1], so honest temperatures lie far below 1.
COLDEST, HOTTEST = 0.01, 100.0
DECIMALS = 6
NO_MASK = "zeros, no mask"
CLIPS_AT_ONCE = 1024

HELD = pa.schema(
    [
        pa.field("round", pa.int16(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("rank", pa.int16(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("confidence", pa.float32(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Trained:
    """A fitted model with the temperature its validation clips asked for.

    ``temperature`` is None when the round has no validation clips: the
    confidences are then as the model gives them.
    """

    model: Fitted
    temperature: float | None

    @property
    def parameters(self) -> int | None:
        """How many numbers were learnt; None for a model that keeps no such count."""
        return getattr(self.model, "parameters", None)

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Calibrated log-probabilities, in batches so that memory stays bounded."""
        parts = [
            self.model.log_probabilities(values[k : k + CLIPS_AT_ONCE], mask[k : k + CLIPS_AT_ONCE])
            for k in range(0, len(values), CLIPS_AT_ONCE)
        ]
        raw = np.concatenate(parts)
        return raw if self.temperature is None else _cooled(raw, self.temperature)


@dataclass(frozen=True, slots=True)
class Tuition:
    """How the models of a comparison are trained: the contract, a seed, and where to go on from.

    ``checkpoints`` is a folder for trainings that last; None keeps nothing.
    ``on_epoch`` hears of (phase, epochs done, epochs at most).
    """

    regime: Regime
    seed: int
    checkpoints: Path | None = None
    on_epoch: Callable[[str, int, int], None] | None = None

    def checkpoint(self, phase: str, round_: int) -> Path:
        """The file of one phase of one round."""
        return (self.checkpoints or Path()) / f"round-{round_:02d}.{phase}.npz"

    def course(self, phase: str, round_: int, start: Mapping[str, np.ndarray] | None) -> Course:
        """The course of one phase of one round; with ``start`` that of the refit."""
        heard = self.on_epoch
        folder = self.checkpoints
        return Course(
            regime=self.regime,
            seed=self.seed,
            rates=None if start is None else self.regime.refit_rates,
            start=start,
            checkpoint=None if folder is None else self.checkpoint(phase, round_),
            on_epoch=None if heard is None else lambda done, most: heard(phase, done, most),
        )


@dataclass(frozen=True, slots=True)
class FittedRound:
    """A trained round, and what it said of its validation clips before it was refitted on them.

    ``held`` are positions of the validation clips; ``held_log_probabilities`` has
    the temperature in it, one number fitted on these same clips.
    """

    trained: Trained
    held: np.ndarray
    held_log_probabilities: np.ndarray


def _cooled(log_probabilities: np.ndarray, temperature: float) -> np.ndarray:
    return np.asarray(log_softmax(log_probabilities / temperature, axis=1))


def temperature_of(log_probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The temperature of least negative log-likelihood, within [0.01, 100].

    Clips whose class was never trained say nothing about sharpness and are left
    out. Source: Guo et al. 2017, arXiv:1706.04599.
    """
    rows = np.arange(len(labels))
    usable = np.isfinite(log_probabilities[rows, labels])
    if not usable.any():
        return 1.0
    logits, truth = log_probabilities[usable], labels[usable]
    at = np.arange(len(truth))

    def loss(log_temperature: float) -> float:
        return -float(_cooled(logits, float(np.exp(log_temperature)))[at, truth].mean())

    best = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    # Never worse than leaving it alone.
    return float(np.exp(best.x)) if best.fun <= loss(0.0) else 1.0


def learns_in_epochs(module: ModelModule | EpochModule) -> bool:
    """Whether a model has validation clips choose its best epoch."""
    return hasattr(module, "learn")


def keras_backend() -> str:
    """The framework under Keras: of one seed, each gives other weights."""
    return os.environ.get("KERAS_BACKEND", "jax")


def fit_round(
    module: ModelModule | EpochModule,
    prepared: Prepared,
    labels: np.ndarray,
    classes: int,
    split: Split,
    round_: int,
    tuition: Tuition,
) -> FittedRound:
    """Fit on train, read the temperature off validation, then fit on both.

    A model that learns in epochs goes on from its best epoch on both, for a share of
    the epochs that the regime fixes, so that all models of a comparison end with the
    same clips; a regime without a refit has none for any model. ``labels`` is aligned
    with ``prepared.items``; -1 is out of vocabulary.

    Raises:
        BadInput: the round has no training clip.
    """
    train = _labelled(split.positions(round_, TRAIN), labels)
    validation = _labelled(split.positions(round_, VALIDATION), labels)
    if len(train) == 0:
        where = f"split {split.protocol}"
        raise BadInput(Fault(where, f"round {round_} has no training clip", "at least one"))
    data = _subset(prepared, labels, classes, train)
    if len(validation) == 0:
        alone = _fitted(module, data, None, tuition.course("fit", round_, None))
        return FittedRound(Trained(alone, None), validation, np.zeros((0, classes)))
    held = _subset(prepared, labels, classes, validation)
    first = _fitted(module, data, held, tuition.course("fit", round_, None))
    raw = Trained(first, None).log_probabilities(held.values, held.mask)
    temperature = temperature_of(raw, held.labels)
    final = first
    if tuition.regime.refit_share > 0:
        both = _subset(prepared, labels, classes, np.union1d(train, validation))
        start = first.arrays() if learns_in_epochs(module) else None
        final = _fitted(module, both, None, tuition.course("refit", round_, start))
    return FittedRound(Trained(final, temperature), validation, _cooled(raw, temperature))


def clear_checkpoints(tuition: Tuition, round_: int) -> None:
    """Remove what a round left to go on from, once the trained round is saved."""
    if tuition.checkpoints is not None:
        for phase in ("fit", "refit"):
            tuition.checkpoint(phase, round_).unlink(missing_ok=True)


def _fitted(
    module: ModelModule | EpochModule,
    data: TrainingData,
    held: TrainingData | None,
    course: Course,
) -> Fitted:
    if learns_in_epochs(module):
        return cast("EpochModule", module).learn(data, held, course)
    return cast("ModelModule", module).fit(data, course.seed)


def _labelled(positions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    # A clip out of vocabulary has nothing to teach.
    return np.asarray(positions[labels[positions] >= 0])


def _subset(prepared: Prepared, labels: np.ndarray, classes: int, at: np.ndarray) -> TrainingData:
    return TrainingData(prepared.values[at], prepared.mask[at], labels[at], classes)


def answers_of(
    trained: Trained, prepared: Prepared, vocabulary: Sequence[str], positions: np.ndarray
) -> pa.Table:
    """SPANS rows of the clips at ``positions``: the five most probable labels each.

    A clip in which nothing was detected is not answered: its row abstains.
    """
    dark = positions[~_seen(prepared, positions)]
    positions = positions[_seen(prepared, positions)]
    silence = [prepared.items[k] for k in dark]
    kept = spans(silence, [1] * len(dark), [None] * len(dark), [None] * len(dark))
    if len(positions) == 0:
        return kept
    logs = trained.log_probabilities(prepared.values[positions], prepared.mask[positions])
    return in_order(
        pa.concat_tables([kept, spans(*_ranked(logs, prepared, vocabulary, positions))])
    )


def _seen(prepared: Prepared, positions: np.ndarray) -> np.ndarray:
    """Whether any point was detected in each clip."""
    # A recipe without a mask has zeros where nothing was.
    said = prepared.values if prepared.settings.get("missing") == NO_MASK else prepared.mask
    return np.asarray(said[positions].any(axis=(1, 2)))


def _ranked(
    logs: np.ndarray, prepared: Prepared, vocabulary: Sequence[str], positions: np.ndarray
) -> tuple[list[str], list[int], list[str], list[float]]:
    """Items, ranks, labels and confidences, one row a rank."""
    depth = min(RANKS, len(vocabulary))
    # A stable sort: equal probabilities keep the vocabulary's order.
    best = np.argsort(-logs, axis=1, kind="stable")[:, :depth]
    shares = np.round(np.exp(np.take_along_axis(logs, best, axis=1)), DECIMALS)
    items = np.repeat(np.array(prepared.items, dtype=object)[positions], depth)
    names = np.array(vocabulary, dtype=object)[best.ravel()]
    ranks = np.tile(np.arange(1, depth + 1), len(positions))
    return items.tolist(), ranks.tolist(), names.tolist(), shares.ravel().tolist()


def held_table(
    fitted: FittedRound, prepared: Prepared, vocabulary: Sequence[str], round_: int
) -> pa.Table:
    """What a round said of its validation clips, as HELD rows."""
    seen = _seen(prepared, fitted.held)
    logs = fitted.held_log_probabilities[seen]
    columns = _ranked(logs, prepared, vocabulary, fitted.held[seen])
    return held_rows([round_] * len(columns[0]), *columns)


def held_rows(
    rounds: Sequence[int],
    items: Sequence[str],
    ranks: Sequence[int],
    labels: Sequence[str],
    confidence: Sequence[float],
) -> pa.Table:
    """A HELD table from plain lists."""
    return pa.table([rounds, items, ranks, labels, confidence], schema=HELD)


def recipe(
    module: ModelModule | EpochModule, prepared: Prepared, tuition: Tuition
) -> Mapping[str, object]:
    """Everything that decides a model's weights, besides data and split."""
    said: dict[str, Any] = {
        "settings": dict(module.SETTINGS),
        "preprocessing": prepared.settings,
        "seed": tuition.seed,
        "calibration": "temperature on validation",
        "refit_share": tuition.regime.refit_share,
    }
    if learns_in_epochs(module):
        said["regime"] = tuition.regime.to_json()
        said["backend"] = keras_backend()
    return said

"""One round of one model: fit, set its sharpness on validation, answer the test clips.

*Conventions*: a round's training and validation clips fit the model, its test
clips are only answered. Log-probabilities have shape (clips, classes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from snellen.core.answers import spans
from snellen.core.split import TRAIN, VALIDATION, Split
from snellen.errors import BadInput, Fault
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import Fitted, ModelModule, TrainingData

__all__ = ["Trained", "answers_of", "fit_round", "temperature_of"]

RANKS = 5
# Ridge scores hardly leave [-1, 1], so honest temperatures lie far below 1.
COLDEST, HOTTEST = 0.01, 100.0
DECIMALS = 6
CLIPS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Trained:
    """A fitted model with the temperature its validation clips asked for.

    ``temperature`` is None when the round has no validation clips: the
    confidences are then as the model gives them.
    """

    model: Fitted
    temperature: float | None

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Calibrated log-probabilities, in batches so that memory stays bounded."""
        parts = [
            self.model.log_probabilities(values[k : k + CLIPS_AT_ONCE], mask[k : k + CLIPS_AT_ONCE])
            for k in range(0, len(values), CLIPS_AT_ONCE)
        ]
        raw = np.concatenate(parts)
        return raw if self.temperature is None else _cooled(raw, self.temperature)


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


def fit_round(
    module: ModelModule,
    prepared: Prepared,
    labels: np.ndarray,
    classes: int,
    split: Split,
    round_: int,
    seed: int,
) -> Trained:
    """Fit on train, read the temperature off validation, then fit on both.

    ``labels`` is aligned with ``prepared.items``; -1 is out of vocabulary.

    Raises:
        BadInput: the round has no training clip.
    """
    train = split.positions(round_, TRAIN)
    validation = split.positions(round_, VALIDATION)
    if len(train) == 0:
        where = f"split {split.protocol}"
        raise BadInput(Fault(where, f"round {round_} has no training clip", "at least one"))
    if len(validation) == 0:
        return Trained(module.fit(_subset(prepared, labels, classes, train), seed), None)
    first = Trained(module.fit(_subset(prepared, labels, classes, train), seed), None)
    held = first.log_probabilities(prepared.values[validation], prepared.mask[validation])
    temperature = temperature_of(held, labels[validation])
    both = np.union1d(train, validation)
    return Trained(module.fit(_subset(prepared, labels, classes, both), seed), temperature)


def _subset(prepared: Prepared, labels: np.ndarray, classes: int, at: np.ndarray) -> TrainingData:
    return TrainingData(prepared.values[at], prepared.mask[at], labels[at], classes)


def answers_of(
    trained: Trained, prepared: Prepared, vocabulary: Sequence[str], positions: np.ndarray
) -> pa.Table:
    """SPANS rows of the clips at ``positions``: the five most probable labels each."""
    if len(positions) == 0:
        return spans([], [], [], [])
    logs = trained.log_probabilities(prepared.values[positions], prepared.mask[positions])
    depth = min(RANKS, len(vocabulary))
    # A stable sort: equal probabilities keep the vocabulary's order.
    best = np.argsort(-logs, axis=1, kind="stable")[:, :depth]
    shares = np.round(np.exp(np.take_along_axis(logs, best, axis=1)), DECIMALS)
    items = np.repeat(np.array(prepared.items, dtype=object)[positions], depth)
    names = np.array(vocabulary, dtype=object)[best.ravel()]
    ranks = np.tile(np.arange(1, depth + 1), len(positions))
    return spans(items.tolist(), ranks.tolist(), names.tolist(), shares.ravel().tolist())


def recipe(module: ModelModule, prepared: Prepared, seed: int) -> Mapping[str, object]:
    """Everything that decides a model's weights, besides data and split."""
    return {
        "settings": dict(module.SETTINGS),
        "preprocessing": prepared.settings,
        "seed": seed,
        "calibration": "temperature on validation, then refit on train and validation",
    }

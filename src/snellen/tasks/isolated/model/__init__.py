"""The recognisers in the box, and the one shape they all have.

A model is a module with ``SETTINGS`` (its recipe as plain JSON) and
``fit(data, seed) -> Fitted``. A fitted model gives ``log_probabilities`` and can
be written as plain arrays. Others plug in through the entry point group
``snellen.models``: a name and ``"module"``.

A model that is trained in epochs has ``learn(data, held, course)`` in place of
``fit``: validation clips choose its best epoch, and a killed training goes on
from its checkpoint.

*Conventions*: values float32 (clips, frames, channels), mask bool (clips,
frames, points), labels int64 (clips,) in 0..classes-1. Log-probabilities are
float64 (clips, classes), -inf for a class the training set did not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from snellen.errors import BadInput, Fault, Missing
from snellen.tasks.isolated.regime import Regime

__all__ = [
    "MODELS",
    "Course",
    "EpochModule",
    "Fitted",
    "Learnt",
    "ModelModule",
    "TrainingData",
    "model_module",
    "model_names",
]

MODELS = {
    "majority": "snellen.tasks.isolated.model.majority",
    "lda": "snellen.tasks.isolated.model.lda",
    "trees": "snellen.tasks.isolated.model.trees",
    "rocket": "snellen.tasks.isolated.model.rocket",
    "lstm": "snellen.tasks.isolated.model.lstm",
    "gru": "snellen.tasks.isolated.model.gru",
    "gru_mha": "snellen.tasks.isolated.model.gru_mha",
    "landolt": "snellen.tasks.isolated.model.landolt",
    "landolt_rocket": "snellen.tasks.isolated.model.landolt_rocket",
}


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The clips a model may see: those of one role of one round, never test."""

    values: np.ndarray
    mask: np.ndarray
    labels: np.ndarray
    classes: int


class Fitted(Protocol):
    """A trained recogniser."""

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Log-probability of each class for each clip, shape (clips, classes)."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything needed to rebuild it, as plain arrays."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a model that learns in epochs is to be trained.

    ``rates`` of None: train by the regime's schedule and keep the epoch that
    reads the validation clips best. Otherwise: these learning rates, one an
    epoch, and no validation, from the weights in ``start`` (the refit on more
    clips). ``checkpoint`` is a file that is written after every epoch and gone on
    from; ``on_epoch`` hears of (epochs done, epochs at most).
    """

    regime: Regime
    seed: int
    rates: tuple[float, ...] | None = None
    start: Mapping[str, np.ndarray] | None = None
    checkpoint: Path | None = None
    on_epoch: Callable[[int, int], None] | None = None


class Learnt(Fitted, Protocol):
    """A recogniser trained in epochs, with the learning rate of each epoch up to the one kept."""

    @property
    def rates(self) -> tuple[float, ...]:
        """One learning rate an epoch, up to and with the best."""

    @property
    def parameters(self) -> int:
        """How many numbers were learnt."""


class EpochModule(Protocol):
    """What a module must offer to be a model that is trained in epochs."""

    SETTINGS: Mapping[str, object]

    def learn(self, data: TrainingData, held: TrainingData | None, course: Course) -> Learnt:
        """Train on ``data``; ``held`` are the validation clips, never test."""

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> Learnt:
        """Rebuild a trained model; needs ONNX Runtime, no training framework."""


class ModelModule(Protocol):
    """What a module must offer to be a model."""

    SETTINGS: Mapping[str, object]

    def fit(self, data: TrainingData, seed: int) -> Fitted:
        """Train on ``data`` alone."""

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> Fitted:
        """Rebuild a trained model."""


def model_names() -> tuple[str, ...]:
    """Names of the models in the box and of those plugged in."""
    plugged = {point.name for point in entry_points(group="snellen.models")}
    return (*MODELS, *sorted(plugged - set(MODELS)))


def model_module(name: str) -> ModelModule:
    """The module behind a model's name.

    Raises:
        BadInput: there is no such model.
        Missing: the library it needs is not installed.
    """
    where = MODELS.get(name)
    if where is None:
        found = [point for point in entry_points(group="snellen.models") if point.name == name]
        if not found:
            allowed = ", ".join(model_names())
            raise BadInput(Fault("models", f"no model {name!r}", f"one of: {allowed}"))
        where = found[0].value
    try:
        return cast("ModelModule", import_module(where))
    except ImportError as error:
        message = f"model {name!r} needs {error.name}: pip install 'snellen[train]'"
        raise Missing(message) from error

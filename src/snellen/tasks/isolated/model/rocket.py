"""MiniRocket features and a ridge classifier: the fast baseline.

The transform is aeon's ``MiniRocket`` (Dempster, Schmidt, Webb 2021,
arXiv:2012.08791); its bias quantiles, the standardisation and the ridge are all
fitted on the training clips of the round. The number of kernels and the ridge's
alpha are those of earlier measurements on ISL-Kinect-30 and Auslan, fixed for
every corpus; on these two sets they are therefore not chosen in ignorance.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from snellen.tasks.isolated.model import TrainingData

__all__ = ["SETTINGS", "Rocket", "fit", "from_arrays", "warm_up"]

KERNELS = 6000
ALPHA = 3000.0
# MiniRocket's 84 fixed patterns of nine weights; a pattern spans eight dilations.
PATTERNS, SPAN = 84, 8
# The five arrays aeon's transform is made of, in its own order.
PARTS = ("channels_per_combination", "channels", "dilations", "features_per_dilation", "biases")

SETTINGS: Mapping[str, object] = {
    "model": "rocket",
    "transform": "aeon MiniRocket",
    "kernels": KERNELS,
    "ridge_alpha": ALPHA,
}


@dataclass(frozen=True, slots=True)
class Rocket:
    """A fitted transform, its standardisation and a linear score for each class."""

    transform: tuple[np.ndarray, ...]
    mean: np.ndarray
    spread: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    trained: np.ndarray

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Softmax of the ridge scores, shape (clips, classes); sharpness is set by calibration."""
        features = (_transformed(self.transform, values) - self.mean) / self.spread
        scores = np.full((len(values), len(self.trained)), -np.inf)
        scores[:, self.trained] = features @ self.weights + self.offsets
        return np.asarray(log_softmax(scores, axis=1))

    def arrays(self) -> dict[str, np.ndarray]:
        """Transform, standardisation and weights."""
        return {
            **dict(zip(PARTS, self.transform, strict=True)),
            "mean": self.mean,
            "spread": self.spread,
            "weights": self.weights,
            "offsets": self.offsets,
            "trained": self.trained,
        }


def fit(data: TrainingData, seed: int) -> Rocket:
    """Fit transform, standardisation and ridge on the training clips alone."""
    from aeon.transformations.collection.convolution_based import MiniRocket
    from sklearn.linear_model import RidgeClassifier

    series = _series(data.values)
    with _quiet():
        transform = MiniRocket(n_kernels=KERNELS, random_state=seed, n_jobs=1).fit(series)
        features = np.asarray(transform.transform(series))
    parts = tuple(np.asarray(part) for part in transform.parameters)
    mean, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1)
    trained = np.bincount(data.labels, minlength=data.classes) > 0
    if trained.sum() == 1:
        weights, offsets = np.zeros((features.shape[1], 1), np.float32), np.zeros(1, np.float32)
    else:
        ridge = RidgeClassifier(alpha=ALPHA).fit((features - mean) / spread, data.labels)
        weights, offsets = _per_class(ridge.coef_, ridge.intercept_)
    return Rocket(parts, mean, spread, weights, offsets, trained)


def _per_class(coefficients: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    coefficients, intercepts = np.atleast_2d(coefficients), np.atleast_1d(intercepts)
    if len(coefficients) > 1:
        return coefficients.T, intercepts
    # Two classes share one score, positive for the second.
    return np.concatenate([-coefficients, coefficients]).T, np.append(-intercepts, intercepts)


def _series(values: np.ndarray) -> np.ndarray:
    # Contiguous float32 (clips, channels, frames): any other layout is compiled anew.
    return np.ascontiguousarray(values.transpose(0, 2, 1), dtype=np.float32)


def _quiet() -> contextlib.AbstractContextManager[object]:
    # A glove's sensor may rest through a whole clip; aeon warns of that once a clip.
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _transformed(parts: tuple[np.ndarray, ...], values: np.ndarray) -> np.ndarray:
    from aeon.transformations.collection.convolution_based import MiniRocket

    frames, channels = values.shape[1:]
    if int(parts[1].max()) >= channels or SPAN * int(parts[2].max()) >= frames:
        raise ValueError("this transform was fitted on other channels or longer clips")
    transform = MiniRocket(n_kernels=KERNELS, n_jobs=1)
    # What fitting would leave behind: to fit anything here takes as long as a hundred clips.
    transform.parameters, transform._n_jobs = parts, 1  # noqa: SLF001
    with _quiet():
        return np.asarray(transform._transform(_series(values)))  # noqa: SLF001


def warm_up() -> None:
    """Compile the transform once for this installation (about half a minute the first time).

    Later processes find the compiled code on disk, so worker processes must not
    race to compile it.
    """
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 16, 3)).astype(np.float32)
    fit(TrainingData(values, np.ones((4, 16, 1), bool), np.array([0, 1, 0, 1]), 2), 0)


def _checked(parts: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Refuse a transform whose indices do not fit together: compiled code would read past it."""
    per_combination, channels, dilations, per_dilation, biases = parts
    fits = (
        all(part.ndim == 1 and len(part) for part in parts)
        and all(part.dtype == np.int32 for part in parts[:4])
        and biases.dtype == np.float32
        and len(per_combination) == PATTERNS * len(dilations)
        and len(per_dilation) == len(dilations)
        and int(per_combination.sum()) == len(channels)
        and PATTERNS * int(per_dilation.sum()) == len(biases)
        and min(int(part.min()) for part in (per_combination, dilations, per_dilation)) >= 1
        and int(channels.min()) >= 0
    )
    if not fits:
        raise ValueError("the arrays of this transform do not fit together")
    return parts


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Rocket:
    """Rebuild from :meth:`Rocket.arrays`.

    Raises:
        ValueError: the transform's arrays do not fit together.
    """
    return Rocket(
        _checked(tuple(arrays[part] for part in PARTS)),
        arrays["mean"],
        arrays["spread"],
        arrays["weights"],
        arrays["offsets"],
        arrays["trained"].astype(bool),
    )

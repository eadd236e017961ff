"""Linear discriminant analysis with Ledoit-Wolf shrinkage on simple features.

The model of scikit-learn's ``LinearDiscriminantAnalysis(solver="lsqr",
shrinkage="auto")``, solved faster. Source: Ledoit and Wolf 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import log_softmax

from snellen.tasks.isolated.model import TrainingData
from snellen.tasks.isolated.model.features import SETTINGS as FEATURES
from snellen.tasks.isolated.model.features import simple_features

__all__ = ["SETTINGS", "ShrinkageLda", "fit", "from_arrays"]

RIDGE = 1e-9

SETTINGS: Mapping[str, object] = {"model": "lda", "shrinkage": "ledoit-wolf", "features": FEATURES}


@dataclass(frozen=True, slots=True)
class ShrinkageLda:
    """A linear score for each class; classes not trained on have log-probability -inf."""

    mean: np.ndarray
    spread: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    trained: np.ndarray

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Softmax of the linear scores, shape (clips, classes)."""
        features = (simple_features(values, mask) - self.mean) / self.spread
        scores = np.full((len(values), len(self.trained)), -np.inf)
        scores[:, self.trained] = features.astype(np.float64) @ self.weights + self.offsets
        return np.asarray(log_softmax(scores, axis=1))

    def arrays(self) -> dict[str, np.ndarray]:
        """Standardisation, weights, offsets and which classes were trained."""
        return {
            "mean": self.mean,
            "spread": self.spread,
            "weights": self.weights,
            "offsets": self.offsets,
            "trained": self.trained,
        }


def fit(data: TrainingData, seed: int) -> ShrinkageLda:  # noqa: ARG001 (nothing is drawn)
    """Fit on the training clips; the standardisation is fitted there too."""
    features = simple_features(data.values, data.mask)
    mean, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1).astype(np.float32)
    trained = np.bincount(data.labels, minlength=data.classes) > 0
    scaled = ((features - mean) / spread).astype(np.float64)
    weights, offsets = _discriminants(scaled, data.labels)
    return ShrinkageLda(mean, spread, weights, offsets, trained)


def _discriminants(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (features, classes) and offsets of the classes that occur.

    The mean of the classes' shrunk covariances, each by its share of clips, solved
    by Cholesky: shrinkage makes it positive definite. scikit-learn's least squares
    give the same and take minutes at the thousands of features of two hands.
    """
    names, counts = np.unique(labels, return_counts=True)
    shares = counts / counts.sum()
    means = np.stack([features[labels == name].mean(axis=0) for name in names])
    covariance = np.zeros((features.shape[1], features.shape[1]))
    for name, share in zip(names, shares, strict=True):
        covariance += share * _shrunk(features[labels == name])
    # Features that never vary inside any class carry no weight instead of an infinite one.
    covariance[np.diag_indices_from(covariance)] += RIDGE
    weights = linalg.solve(covariance, means.T, assume_a="pos")
    return weights, np.log(shares) - 0.5 * np.einsum("cf,fc->c", means, weights)


def _shrunk(features: np.ndarray) -> np.ndarray:
    """Ledoit-Wolf covariance of one class on standardised features, back in their units."""
    from sklearn.covariance import ledoit_wolf

    spread = features.std(axis=0)
    spread = np.where(spread > 0, spread, 1)
    scaled = (features - features.mean(axis=0)) / spread
    if len(features) == 1:
        return np.zeros((features.shape[1], features.shape[1]))
    return np.asarray(spread[:, None] * ledoit_wolf(scaled, assume_centered=False)[0] * spread)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ShrinkageLda:
    """Rebuild from :meth:`ShrinkageLda.arrays`."""
    return ShrinkageLda(
        arrays["mean"],
        arrays["spread"],
        arrays["weights"],
        arrays["offsets"],
        arrays["trained"].astype(bool),
    )

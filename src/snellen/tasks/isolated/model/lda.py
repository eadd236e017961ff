"""Linear discriminant analysis with Ledoit-Wolf shrinkage on simple features.

Source: scikit-learn's ``LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from snellen.tasks.isolated.model import TrainingData
from snellen.tasks.isolated.model.features import SETTINGS as FEATURES
from snellen.tasks.isolated.model.features import simple_features

__all__ = ["SETTINGS", "ShrinkageLda", "fit", "from_arrays"]

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
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    features = simple_features(data.values, data.mask)
    mean, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1).astype(np.float32)
    trained = np.bincount(data.labels, minlength=data.classes) > 0
    if trained.sum() == 1:
        # One class only: no direction separates anything.
        weights, offsets = np.zeros((features.shape[1], 1)), np.zeros(1)
    else:
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        lda.fit(((features - mean) / spread).astype(np.float64), data.labels)
        weights, offsets = _per_class(lda.coef_, lda.intercept_)
    return ShrinkageLda(mean, spread, weights, offsets, trained)


def _per_class(coefficients: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(coefficients) > 1:
        return coefficients.T, intercepts
    # Two classes share one score, positive for the second.
    row = coefficients[0]
    return np.stack([np.zeros_like(row), row], axis=1), np.array([0.0, float(intercepts[0])])


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ShrinkageLda:
    """Rebuild from :meth:`ShrinkageLda.arrays`."""
    return ShrinkageLda(
        arrays["mean"],
        arrays["spread"],
        arrays["weights"],
        arrays["offsets"],
        arrays["trained"].astype(bool),
    )

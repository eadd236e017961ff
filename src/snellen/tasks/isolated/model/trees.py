"""Extremely randomised trees on simple features: a model that loves a leak.

Source: scikit-learn's ``ExtraTreesClassifier``. Written as plain arrays: the
nodes of all trees one after the other, and for each leaf its class shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.tasks.isolated.model import TrainingData
from snellen.tasks.isolated.model.features import SETTINGS as FEATURES
from snellen.tasks.isolated.model.features import simple_features

__all__ = ["SETTINGS", "ExtraTrees", "fit", "from_arrays"]

TREES = 120

SETTINGS: Mapping[str, object] = {"model": "trees", "trees": TREES, "features": FEATURES}


@dataclass(frozen=True, slots=True)
class ExtraTrees:
    """Nodes of all trees: children (-1 in a leaf), split feature, threshold, leaf shares.

    ``roots`` holds each tree's first node. Leaf shares are stored sparse: leaf
    ``l`` owns entries ``starts[l]:starts[l + 1]`` of ``leaf_class``/``leaf_share``.
    """

    roots: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    leaf_of: np.ndarray
    starts: np.ndarray
    leaf_class: np.ndarray
    leaf_share: np.ndarray
    trained: np.ndarray

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Log of the mean leaf shares over the trees, shape (clips, classes)."""
        features = simple_features(values, mask)
        total = np.zeros((len(values), len(self.trained)))
        for root in self.roots:
            leaf = self.leaf_of[self._fall(features, int(root))]
            counts = self.starts[leaf + 1] - self.starts[leaf]
            rows = np.repeat(np.arange(len(values)), counts)
            first = np.repeat(self.starts[leaf] - np.cumsum(counts) + counts, counts)
            entries = first + np.arange(len(rows))
            total[rows, self.leaf_class[entries]] += self.leaf_share[entries]
        # One more tree that is undecided among the trained classes: a class no
        # tree voted for is improbable, not impossible.
        undecided = self.trained / self.trained.sum()
        with np.errstate(divide="ignore"):
            return np.asarray(np.log((total + undecided) / (len(self.roots) + 1)))

    def _fall(self, features: np.ndarray, root: int) -> np.ndarray:
        node = np.full(len(features), root)
        inner = np.flatnonzero(self.left[node] >= 0)
        while len(inner):
            at = node[inner]
            goes_left = features[inner, self.feature[at]] <= self.threshold[at]
            node[inner] = np.where(goes_left, self.left[at], self.right[at])
            inner = inner[self.left[node[inner]] >= 0]
        return node

    def arrays(self) -> dict[str, np.ndarray]:
        """All node arrays."""
        return {
            "roots": self.roots,
            "left": self.left,
            "right": self.right,
            "feature": self.feature,
            "threshold": self.threshold,
            "leaf_of": self.leaf_of,
            "starts": self.starts,
            "leaf_class": self.leaf_class,
            "leaf_share": self.leaf_share,
            "trained": self.trained,
        }


def fit(data: TrainingData, seed: int) -> ExtraTrees:
    """Grow the trees on the training clips."""
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(TREES, random_state=seed, n_jobs=1)
    forest.fit(simple_features(data.values, data.mask), data.labels)
    trees = [estimator.tree_ for estimator in forest.estimators_]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    placed = list(zip(trees, roots.tolist(), strict=True))
    left = np.concatenate([_moved(tree.children_left, root) for tree, root in placed])
    leaves = np.flatnonzero(left < 0)
    leaf_of = np.full(len(left), -1, dtype=np.int64)
    leaf_of[leaves] = np.arange(len(leaves))
    # Tree by tree: the dense shares of all nodes of all trees would fill gigabytes.
    entries = [_leaf_shares(tree) for tree in trees]
    counts, classes, shares = (np.concatenate(part) for part in zip(*entries, strict=True))
    return ExtraTrees(
        roots=roots,
        left=left,
        right=np.concatenate([_moved(tree.children_right, root) for tree, root in placed]),
        feature=np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        leaf_of=leaf_of,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        leaf_class=forest.classes_[classes].astype(np.int64),
        leaf_share=shares,
        trained=np.bincount(data.labels, minlength=data.classes) > 0,
    )


def _leaf_shares(tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one tree's leaves in order: how many classes each holds, which, and their shares."""
    value = tree.value[tree.children_left < 0, 0, :]
    shares = value / value.sum(axis=1, keepdims=True)
    rows, classes = np.nonzero(shares)
    return np.bincount(rows, minlength=len(value)), classes, shares[rows, classes]


def _moved(children: np.ndarray, root: int) -> np.ndarray:
    return np.where(children >= 0, children + root, -1).astype(np.int64)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ExtraTrees:
    """Rebuild from :meth:`ExtraTrees.arrays`.

    Raises:
        ValueError: a child does not stand after its parent, so that a clip might fall for ever.
    """
    left, right = arrays["left"], arrays["right"]
    node = np.arange(len(left))
    inner = left >= 0
    forward = (left > node) & (right > node) & (left < len(left)) & (right < len(left))
    if left.shape != right.shape or not forward[inner].all():
        raise ValueError("the nodes of these trees do not fit together")
    return ExtraTrees(
        roots=arrays["roots"],
        left=arrays["left"],
        right=arrays["right"],
        feature=arrays["feature"],
        threshold=arrays["threshold"],
        leaf_of=arrays["leaf_of"],
        starts=arrays["starts"],
        leaf_class=arrays["leaf_class"],
        leaf_share=arrays["leaf_share"],
        trained=arrays["trained"].astype(bool),
    )

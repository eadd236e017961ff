"""The order in which a confusion matrix can be read: classes taken for each other side by side."""

from __future__ import annotations

import numpy as np

__all__ = ["by_similarity"]


def by_similarity(counts: np.ndarray) -> tuple[int, ...]:
    """Positions of the classes, neighbours being those most often confused.

    Args:
        counts: (classes, classes), rows truth, columns answer.

    Average linkage on one minus the share of clips that two classes exchange,
    leaves in optimal order. Fewer than three classes keep their order.

    >>> by_similarity(np.array([[2, 0, 2], [0, 4, 0], [2, 0, 2]]))
    (1, 2, 0)
    """
    n = len(counts)
    if n < 3:
        return tuple(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    exchanged = share + share.T
    np.fill_diagonal(exchanged, 0)
    distance = np.round(1 - exchanged / 2, 9)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance), method="average", optimal_ordering=True)
    return tuple(int(k) for k in leaves_list(tree))

"""How often is the answer right, overall and for each class?

*Conventions*: ``truth`` (n,) holds class numbers 0..C-1; ``answer`` (n,) the
same, or -1 where there is no answer, which counts as wrong and never leaves
the denominator. ``ranked`` (n, ranks) holds the best answer first, -1 where
there is none. In :func:`accuracy` and :func:`top_k` a truth of -1 is out of
vocabulary: no answer to it is right. ``weight`` is (..., n) or None, see
:mod:`snellen.metrics.ratio`. Shares lie in [0, 1]; one that is 0/0 says so.

Everything about classes follows from three counts for each class, whether they
come from a confusion matrix or from resampled groups::

    counts = class_counts(confusion(truth, answer, n_classes))
    macro_f1(counts), weighted_recall(counts), precision(counts)

The *label set* of a macro average changes its value, so it has a name:
``support`` averages over classes with clips, ``union`` over classes with clips
or answers, ``vocabulary`` over all. A class in the set whose own figure is 0/0
counts as 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from snellen.metrics.ratio import Ratio, divide, weighted_mean

__all__ = [
    "ClassCounts",
    "Over",
    "accuracy",
    "balanced_accuracy",
    "class_counts",
    "confusion",
    "f1",
    "macro",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "precision",
    "recall",
    "top_k",
    "weighted",
    "weighted_f1",
    "weighted_precision",
    "weighted_recall",
]

Over = Literal["support", "union", "vocabulary"]

# Rows counted at a time: their cell numbers stay in the processor's cache.
ROWS = 1 << 13


class ClassCounts(NamedTuple):
    """For each class, (..., C): clips that are it, answers that say it, and both at once."""

    support: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray


def accuracy(truth: np.ndarray, answer: np.ndarray, weight: np.ndarray | None = None) -> Ratio:
    """Right answers out of all clips; a missing answer is wrong.

    >>> accuracy(np.array([0, 1, 2, 2]), np.array([0, 1, 1, -1])).item()
    0.5
    """
    return weighted_mean((truth == answer) & (truth >= 0), weight)


def top_k(truth: np.ndarray, ranked: np.ndarray, k: int, weight: np.ndarray | None = None) -> Ratio:
    """Clips whose truth is among the first ``k`` answers, out of all clips.

    No ties: the rank is given. Fewer than ``k`` ranks are taken as they are.

    >>> top_k(np.array([0, 1]), np.array([[1, 0], [0, 2]]), 2).item()
    0.5
    """
    found = (ranked[:, :k] == truth[:, np.newaxis]).any(axis=1)
    return weighted_mean(found & (truth >= 0), weight)


def confusion(
    truth: np.ndarray, answer: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Counts (..., C, C+1): rows truth, columns answer, the last column no answer.

    Whole numbers without weights, float64 with them (exact for whole weights).

    Raises:
        ValueError: a truth outside 0..C-1 or an answer outside -1..C-1.

    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, -1]), 2).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    shape = (n_classes, n_classes + 1)
    if weight is None:
        flat = np.zeros(n_classes * (n_classes + 1), dtype=np.int64)
        for start in range(0, len(truth), ROWS):
            rows = slice(start, start + ROWS)
            flat += np.bincount(_cells(truth[rows], answer[rows], n_classes), minlength=flat.size)
    else:
        cells = _cells(truth, answer, n_classes)
        weight = np.asarray(weight, dtype=np.float64)
        flat = np.empty((*weight.shape[:-1], n_classes * (n_classes + 1)))
        # Row by row into place: as fast as one large product and no larger than the result.
        for index in np.ndindex(weight.shape[:-1]):
            flat[index] = np.bincount(cells, weight[index], minlength=flat.shape[-1])
    # Cells are numbered with "no answer" first, where -1 puts it; the table has it last.
    return np.roll(flat.reshape(*flat.shape[:-1], *shape), -1, axis=-1)


def _cells(truth: np.ndarray, answer: np.ndarray, n_classes: int) -> np.ndarray:
    """The number of each row's cell in a flat (C, C+1) table whose column 0 is no answer."""
    cells = np.asarray(truth, dtype=np.int64) * (n_classes + 1)
    column = np.asarray(answer, dtype=np.int64) + 1
    # A stray truth leaves the table, where bincount sees it; a stray answer would stay inside.
    # Seen as unsigned a negative number is huge: one pass finds both kinds.
    if len(column) and column.view(np.uint64).max() > n_classes:
        seen = f"{column.min() - 1}..{column.max() - 1}"
        raise ValueError(f"answer {seen}; allowed: -1..{n_classes - 1}")
    cells += column
    return cells


def class_counts(confusion_counts: np.ndarray) -> ClassCounts:
    """Support, predicted and correct of each class from a confusion (..., C, C+1).

    >>> class_counts(np.array([[1, 1, 0], [0, 0, 1]])).predicted.tolist()
    [1, 1]
    """
    return ClassCounts(
        support=confusion_counts.sum(axis=-1),
        predicted=confusion_counts[..., :-1].sum(axis=-2),
        correct=np.diagonal(confusion_counts, axis1=-2, axis2=-1),
    )


def precision(counts: ClassCounts) -> Ratio:
    """Correct out of the answers that say the class; undefined if none does.

    >>> precision(class_counts(np.array([[1, 1, 0], [0, 0, 1]]))).tolist()
    [1.0, 0.0]
    """
    return divide(counts.correct, counts.predicted)


def recall(counts: ClassCounts) -> Ratio:
    """Correct out of the clips of the class; undefined if there is none.

    >>> recall(class_counts(np.array([[1, 1, 0], [0, 0, 0]]))).tolist()
    [0.5, None]
    """
    return divide(counts.correct, counts.support)


def f1(counts: ClassCounts) -> Ratio:
    """Twice the correct out of clips plus answers of the class; undefined if it has neither.

    The harmonic mean of precision and recall wherever both exist.

    >>> f1(class_counts(np.array([[1, 1, 0], [0, 1, 0]]))).value.round(3).tolist()
    [0.667, 0.667]
    """
    return divide(2 * counts.correct, counts.support + counts.predicted)


def macro(figure: Ratio, counts: ClassCounts, over: Over = "support") -> Ratio:
    """Mean of a figure of each class over a label set; a class of the set without one counts as 0.

    Undefined without clips, whatever the vocabulary.

    >>> counts = class_counts(np.array([[1, 1, 0], [0, 0, 0]]))
    >>> macro(recall(counts), counts).item(), macro(recall(counts), counts, "vocabulary").item()
    (0.5, 0.25)
    """
    included = counts.support > 0
    if over == "union":
        included = included | (counts.predicted > 0)
    elif over == "vocabulary":
        included = np.broadcast_to(included.any(axis=-1, keepdims=True), included.shape)
    return divide(np.vecdot(figure.value, included), included.sum(axis=-1))


def weighted(figure: Ratio, counts: ClassCounts) -> Ratio:
    """Mean of a figure of each class by its share of clips; undefined without clips.

    >>> counts = class_counts(np.array([[3, 0, 0], [1, 0, 0]]))
    >>> weighted(recall(counts), counts).item()
    0.75
    """
    return divide(np.vecdot(figure.value, counts.support), counts.support.sum(axis=-1))


def macro_precision(counts: ClassCounts, over: Over = "support") -> Ratio:
    """Mean precision over a label set; a class never answered counts as 0.

    >>> macro_precision(class_counts(np.array([[1, 1, 0], [0, 0, 1]]))).item()
    0.5
    """
    return macro(precision(counts), counts, over)


def macro_recall(counts: ClassCounts, over: Over = "support") -> Ratio:
    """Mean recall over a label set; a class without clips counts as 0 where the set has it.

    >>> macro_recall(class_counts(np.array([[1, 1, 0], [0, 0, 1]]))).item()
    0.25
    """
    return macro(recall(counts), counts, over)


def macro_f1(counts: ClassCounts, over: Over = "support") -> Ratio:
    """Mean F1 over a label set (the mean of F1s, not the F1 of means; Opitz and Burst 2019).

    >>> counts = class_counts(confusion(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]), 5))
    >>> [round(macro_f1(counts, over).item(), 3) for over in ("support", "union", "vocabulary")]
    [0.833, 0.556, 0.333]
    """
    return macro(f1(counts), counts, over)


def balanced_accuracy(counts: ClassCounts) -> Ratio:
    """Mean recall over the classes with clips, whatever their size.

    >>> balanced_accuracy(class_counts(np.array([[3, 1, 0], [1, 1, 0]]))).item()
    0.625
    """
    return macro_recall(counts, "support")


def weighted_precision(counts: ClassCounts) -> Ratio:
    """Mean precision, each class by its share of clips; a class never answered counts as 0.

    >>> weighted_precision(class_counts(np.array([[3, 0, 0], [1, 0, 0]]))).item()
    0.5625
    """
    return weighted(precision(counts), counts)


def weighted_recall(counts: ClassCounts) -> Ratio:
    """Mean recall, each class by its share of clips: the same number as accuracy.

    >>> weighted_recall(class_counts(np.array([[3, 0, 0], [1, 0, 0]]))).item()
    0.75
    """
    return weighted(recall(counts), counts)


def weighted_f1(counts: ClassCounts) -> Ratio:
    """Mean F1, each class by its share of clips.

    >>> round(weighted_f1(class_counts(np.array([[3, 0, 0], [1, 0, 0]]))).item(), 4)
    0.6429
    """
    return weighted(f1(counts), counts)

"""Shares that say when they do not exist, and sums in which weights stand for repetition.

*Conventions*: a weight says how often a row counts. It comes last, has shape
(..., n) or is None (every row once), and every figure then has shape (...). A
slice is weights 0 and 1; a resample is counts. Weight 2 is the row twice,
weight 0 is the row gone. Sums of whole weights are exact below 2**53.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Ratio", "divide", "weighted_mean", "weighted_sum"]


class Ratio(NamedTuple):
    """A quotient and whether it exists: ``value`` is a placeholder 0 where ``defined`` is False.

    Both arrays have the same shape. Read it through :meth:`item` or
    :meth:`tolist`, which give None where there is nothing to read.
    """

    value: np.ndarray
    defined: np.ndarray

    def item(self) -> float | None:
        """The only figure, or None where it is 0/0.

        >>> divide(1, 4).item(), divide(0, 0).item()
        (0.25, None)
        """
        return float(self.value) if self.defined else None

    def tolist(self) -> list[float | None]:
        """The figures of a one-dimensional ratio, None where they are 0/0.

        >>> divide([1, 0], [4, 0]).tolist()
        [0.25, None]
        """
        pairs = zip(self.value.tolist(), self.defined.tolist(), strict=True)
        return [value if defined else None for value, defined in pairs]


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Ratio:
    """Quotients, undefined where the denominator is not positive."""
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    shape = np.broadcast(top, bottom).shape
    defined = np.asarray(bottom > 0)
    if defined.shape != shape:
        defined = np.broadcast_to(defined, shape).copy()
    return Ratio(np.divide(top, bottom, out=np.zeros(shape), where=defined), defined)


def weighted_sum(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Sum over rows: ``values`` (n,) gives (...), (n, s) gives (..., s).

    >>> weighted_sum(np.array([1, 10]), np.array([[1, 1], [2, 0]])).tolist()
    [11.0, 2.0]
    """
    if weight is None:
        return np.asarray(values.sum(axis=0))
    return np.asarray(np.asarray(weight, dtype=np.float64) @ values.astype(np.float64))


def weighted_mean(values: np.ndarray, weight: np.ndarray | None = None) -> Ratio:
    """Mean over rows, undefined where the weights sum to 0."""
    total = len(values) if weight is None else np.asarray(weight, dtype=np.float64).sum(axis=-1)
    return divide(weighted_sum(values, weight), total)

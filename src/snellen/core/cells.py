"""The states a figure can be in. There is no blank, no NaN and no zero by default.

*Conventions*: shares lie in [0, 1]; ``low`` and ``high`` bound a 95 % interval
and are None only when ``method`` says why no interval exists; ``n`` counts
scored rows, ``groups`` the independent groups behind the interval.
"""

from __future__ import annotations

from msgspec import Struct

from snellen.metrics.intervals import Interval

__all__ = [
    "Cell",
    "Failed",
    "Measured",
    "NotApplicable",
    "NotMeasurable",
    "NotMeasured",
    "measured",
]


class Measured(Struct, frozen=True, kw_only=True, tag="measured", tag_field="state"):
    """A figure that was measured, with its interval and how that was made."""

    value: float
    low: float | None
    high: float | None
    n: int
    groups: int | None = None
    method: str


class NotMeasured(Struct, frozen=True, kw_only=True, tag="not measured", tag_field="state"):
    """It could be measured but was not; ``command`` would measure it."""

    reason: str
    command: str


class NotMeasurable(Struct, frozen=True, kw_only=True, tag="not measurable", tag_field="state"):
    """This data cannot tell: what would be needed, and what there is."""

    reason: str
    needed: str
    have: str


class NotApplicable(Struct, frozen=True, kw_only=True, tag="not applicable", tag_field="state"):
    """The question makes no sense here."""

    reason: str


class Failed(Struct, frozen=True, kw_only=True, tag="failed", tag_field="state"):
    """It was tried and broke."""

    error: str


Cell = Measured | NotMeasured | NotMeasurable | NotApplicable | Failed


def measured(interval: Interval) -> Measured:
    """An interval as a cell."""
    return Measured(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        n=interval.n,
        groups=interval.groups,
        method=interval.method,
    )

"""The fairness contract: what two runs must share before they may be ranked.

*Conventions*: a contract maps a field to a short text or a digest. Its own
digest names it. A field that differs is named with both values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.digest import digest_json
from snellen.errors import Mismatch

__all__ = ["CONTRACT_FIELDS", "contract_digest", "differences", "require_same"]

CONTRACT_FIELDS = (
    "data",
    "split",
    "seed",
    "vocabulary",
    "preprocessing",
    "training",
    "test_set",
    "measures",
)


def contract_digest(contract: Mapping[str, str]) -> str:
    """The digest two comparable runs share."""
    return digest_json(dict(contract))


def differences(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Fields in which two contracts differ, with both values.

    >>> differences({"seed": "0", "data": "x"}, {"seed": "1", "data": "x"})
    {'seed': ('0', '1')}
    """
    fields = sorted(set(a) | set(b))
    absent = "(absent)"
    return {
        field: (a.get(field, absent), b.get(field, absent))
        for field in fields
        if a.get(field) != b.get(field)
    }


def require_same(
    a: Mapping[str, str], b: Mapping[str, str], *, allow: Sequence[str] = ()
) -> dict[str, tuple[str, str]]:
    """Raise Mismatch naming every differing field; those in ``allow`` are returned instead."""
    found = differences(a, b)
    refused = {field: values for field, values in found.items() if field not in allow}
    if refused:
        raise Mismatch(
            "these runs may not be ranked against each other: their contracts differ in", refused
        )
    return found

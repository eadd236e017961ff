"""At what confidence does the live path commit to a sign?

*Conventions*: a threshold lies in [0, 1] and is met by a confidence at or above it.
The environment decides for the machine, a person's profile may move it a little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from snellen.core.gate import SHIPPED_THRESHOLD
from snellen.errors import BadInput, Fault

__all__ = ["PROFILE_REACH", "VARIABLES", "resolve_threshold"]

VARIABLES = ("SNELLEN_CONFIDENCE_THRESHOLD", "ISL_CONFIDENCE_THRESHOLD")
"""Ours, then that of the reference system; the first that is set decides."""
PROFILE_REACH = 0.20
"""How far a profile may move the threshold, as in the reference system."""

ALLOWED = "a number from 0 to 1, such as 0.7"
NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
DECIMALS = 6


def resolve_threshold(env: Mapping[str, str], profile: float | None) -> float:
    """The threshold in force: the environment's or 0.70, and a profile's within 0.2 of that.

    Args:
        env: environment variables.
        profile: what a person's profile asks for, None where it asks for nothing.

    Raises:
        BadInput: a variable or a profile that is no such number; each is named.

    >>> resolve_threshold({}, None), resolve_threshold({"ISL_CONFIDENCE_THRESHOLD": "0.6"}, 0.95)
    (0.7, 0.8)
    """
    stated = [(name, env[name]) for name in VARIABLES if name in env]
    faults = [
        Fault(name, repr(text[:80]), ALLOWED) for name, text in stated if _share(text) is None
    ]
    if profile is not None and not 0 <= profile <= 1:
        faults.append(Fault("profile", f"{profile}", ALLOWED, field="threshold"))
    if faults:
        raise BadInput(faults)
    base = next((share for _, text in stated if (share := _share(text)) is not None), None)
    if base is None:
        base = SHIPPED_THRESHOLD
    if profile is None:
        return base
    return round(min(max(profile, base - PROFILE_REACH), base + PROFILE_REACH), DECIMALS)


def _share(text: str) -> float | None:
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if value <= 1 else None

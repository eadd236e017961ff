"""A frozen split: which clip is trained on, validated on, tested on, in each round.

*Conventions*: ``roles`` has shape (rounds, clips), columns in the order of
``items`` (sorted). A k-fold protocol has k rounds and tests every clip exactly
once; a holdout has one. ``protects`` names the group no member of which may
stand in train (or validation) and test of one round: None for a random split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.digest import digest_json

__all__ = ["TEST", "TRAIN", "UNUSED", "VALIDATION", "Split", "split_from_json", "split_to_json"]

TRAIN, VALIDATION, TEST, UNUSED = 0, 1, 2, 3
FORMAT = "snellen-split/1"


@dataclass(frozen=True, slots=True)
class Split:
    """Roles of all clips in all rounds, and the recipe that made them."""

    protocol: str
    protects: str | None
    seed: int
    items: tuple[str, ...]
    roles: np.ndarray
    settings: Mapping[str, Any]

    @property
    def rounds(self) -> int:
        """How many times a model is trained."""
        return int(self.roles.shape[0])

    def positions(self, round_: int, role: int) -> np.ndarray:
        """Positions (into ``items``) of the clips with a role in a round."""
        return np.flatnonzero(self.roles[round_] == role)

    @property
    def tested_in(self) -> np.ndarray:
        """For each clip the round that tests it, -1 where none does."""
        tested = self.roles == TEST
        return np.where(tested.any(axis=0), tested.argmax(axis=0), -1)

    @property
    def digest(self) -> str:
        """Digest of the frozen file."""
        return digest_json(split_to_json(self))


def split_to_json(split: Split) -> dict[str, Any]:
    """The split as plain JSON: per round the validation and test clips; the rest trains.

    ``unused`` lists clips that a round leaves out altogether.
    """
    names = np.array(split.items, dtype=object)
    rounds = []
    for row in split.roles:
        entry = {
            "validation": names[row == VALIDATION].tolist(),
            "test": names[row == TEST].tolist(),
        }
        if (row == UNUSED).any():
            entry["unused"] = names[row == UNUSED].tolist()
        rounds.append(entry)
    return {
        "format": FORMAT,
        "protocol": split.protocol,
        "protects": split.protects,
        "seed": split.seed,
        "settings": dict(split.settings),
        "items": list(split.items),
        "rounds": rounds,
    }


def split_from_json(data: Mapping[str, Any]) -> Split:
    """The inverse of :func:`split_to_json`; the reader in ``store`` has checked the shape."""
    items = tuple(data["items"])
    position = {item: k for k, item in enumerate(items)}
    roles = np.full((len(data["rounds"]), len(items)), TRAIN, dtype=np.int8)
    for row, entry in zip(roles, data["rounds"], strict=True):
        for key, role in (("validation", VALIDATION), ("test", TEST), ("unused", UNUSED)):
            row[[position[item] for item in entry.get(key, ())]] = role
    return Split(
        protocol=data["protocol"],
        protects=data["protects"],
        seed=data["seed"],
        items=items,
        roles=roles,
        settings=data["settings"],
    )

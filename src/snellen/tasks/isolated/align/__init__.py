"""From ragged recordings to one array all models of a comparison share.

Three recipes, by name: ``snellen-1`` (ours, the default), ``snellen-1-zeros``
(the same, but a missing point is a zero and the mask says nothing, to measure
what imputation and mask are worth) and ``reference`` (that of the reference
evaluation, strict). Nothing is fitted: each clip is treated alone, so no fold
can leak through it. A recipe's settings are stored with every model, and a
model refuses arrays of another recipe.

*Conventions*: values float32 (clips, frames, points * dims), point-major; mask
bool (clips, frames, points), True where the point was really seen (or where a
recipe without a mask cannot say).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snellen.digest import digest_array, digest_json
from snellen.errors import BadInput, Fault
from snellen.signal.keypoints import Keypoints, Layout
from snellen.tasks.isolated.align import reference, snellen

__all__ = ["DEFAULT", "FRAMES", "PREPROCESSINGS", "Prepared", "prepare", "settings_of"]

DEFAULT = "snellen-1"
FRAMES = 64
ZEROS = "snellen-1-zeros"
PREPROCESSINGS = (DEFAULT, ZEROS, "reference")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Arrays of equal length for all clips, aligned with the corpus's items."""

    items: tuple[str, ...]
    values: np.ndarray
    mask: np.ndarray
    settings: dict[str, object]

    @property
    def fingerprint(self) -> str:
        """Digest of the recipe: two models may be compared only if it is the same."""
        return digest_json(self.settings)

    @property
    def digest(self) -> str:
        """Digest of the arrays themselves."""
        return digest_json([digest_array(self.values), digest_array(self.mask), self.settings])


def prepare(
    keypoints: Keypoints, *, preprocessing: str = DEFAULT, frames: int = FRAMES
) -> Prepared:
    """All clips of a corpus as arrays of ``frames`` frames.

    Raises:
        BadInput: no such recipe, or the layout cannot be treated by it.
    """
    settings = settings_of(keypoints.layout, preprocessing=preprocessing, frames=frames)
    if preprocessing == "reference":
        values, mask = reference.aligned(keypoints, frames)
    else:
        values, mask = snellen.aligned(keypoints, frames, zeros=preprocessing == ZEROS)
    flat = values.reshape(*values.shape[:2], -1)
    return Prepared(items=keypoints.items, values=flat, mask=mask, settings=settings)


def settings_of(
    layout: Layout, *, preprocessing: str = DEFAULT, frames: int = FRAMES
) -> dict[str, object]:
    """The recipe as plain JSON, stored with every model and in every contract.

    Raises:
        BadInput: no such recipe.
    """
    if preprocessing not in PREPROCESSINGS:
        allowed = ", ".join(PREPROCESSINGS)
        raise BadInput(Fault("preprocessing", repr(preprocessing), f"one of: {allowed}"))
    if preprocessing == "reference":
        said = reference.settings_of(layout)
    else:
        said = snellen.settings_of(layout, zeros=preprocessing == ZEROS)
    return {"name": preprocessing, "layout": layout.name, "frames": frames, **said}

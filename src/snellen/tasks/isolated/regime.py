"""The fairness contract of training: what every model of a comparison is given alike.

A regime fixes preprocessing, clip length, augmentation, optimiser, callbacks
and the refit. A run has one regime, its digest stands in every card, and cards
of different regimes may not be ranked. ``reference`` is the reference
evaluation's own; ``snellen`` is ours; the others take one thing away from ours,
to measure what it is worth.

*Conventions*: rates are per step; ``epochs`` counts passes over the training
clips; lengths and amplitudes of the augmentation are shares unless named.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from snellen.digest import digest_json
from snellen.errors import BadInput, Fault

__all__ = ["REFERENCE", "REGIMES", "SNELLEN", "Regime", "regime_by_name"]


@dataclass(frozen=True, slots=True)
class Regime:
    """One contract. ``augmentation`` names a recipe of ``model.neural.augment``.

    ``refit_share``: after validation has chosen the epoch, a network is trained on
    train and validation for this share of ``epochs`` more, and any other model is
    fitted again on both. 0: what was fitted on train alone is what is tested.
    ``averaging`` is the decay of the running mean of the weights (0: none),
    ``gradient_norm`` the length that a longer gradient is cut to (0: none is).
    """

    name: str
    preprocessing: str
    frames: int
    augmentation: str
    copies: int
    batch: int
    epochs: int
    patience: int
    learning_rate: float
    weight_decay: float
    schedule: str
    label_smoothing: float
    averaging: float
    gradient_norm: float
    refit_share: float
    refit_start: float

    @property
    def refit_rates(self) -> tuple[float, ...]:
        """Learning rates of the refit, one an epoch: from ``refit_start`` of the first to 0."""
        epochs = math.ceil(self.epochs * self.refit_share)
        waves = (math.cos(math.pi * (k + 0.5) / epochs) for k in range(epochs))
        return tuple(self.refit_start * self.learning_rate * (1 + wave) / 2 for wave in waves)

    @property
    def digest(self) -> str:
        """What cards of one comparison share."""
        return digest_json(asdict(self))

    def to_json(self) -> dict[str, object]:
        """The contract as plain JSON."""
        return asdict(self)


# Read in the reference document and its code; `copies` augmented copies of every clip are
# drawn once, before training.
REFERENCE = Regime(
    name="reference",
    preprocessing="reference",
    frames=30,
    augmentation="reference",
    copies=1,
    batch=32,
    epochs=80,
    patience=12,
    learning_rate=1e-3,
    weight_decay=0.0,
    schedule="plateau",
    label_smoothing=0.05,
    averaging=0.0,
    gradient_norm=0.0,
    refit_share=0.0,
    refit_start=0.0,
)

# `copies` of 0: every clip is augmented anew in every epoch.
SNELLEN = Regime(
    name="snellen",
    preprocessing="snellen-1",
    frames=64,
    augmentation="geometric",
    copies=0,
    batch=32,
    epochs=30,
    patience=30,
    learning_rate=2e-3,
    weight_decay=2e-2,
    schedule="cosine",
    label_smoothing=0.1,
    averaging=0.99,
    gradient_norm=1.0,
    refit_share=0.25,
    refit_start=0.3,
)

REGIMES = {
    regime.name: regime
    for regime in (
        REFERENCE,
        SNELLEN,
        replace(SNELLEN, name="snellen-no-augmentation", augmentation="none"),
        replace(SNELLEN, name="snellen-zeros", preprocessing="snellen-1-zeros"),
    )
}


def regime_by_name(name: str) -> Regime:
    """The contract of that name.

    Raises:
        BadInput: there is none.
    """
    if name not in REGIMES:
        raise BadInput(Fault("regime", repr(name), f"one of: {', '.join(REGIMES)}"))
    return REGIMES[name]

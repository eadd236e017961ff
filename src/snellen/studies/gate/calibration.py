"""Do confidences mean what they say, on the clips that set the gate and on those it is tried on?

*Conventions*: ECE over answered clips in ten bins, beside the band that a perfectly
calibrated model would show on as many.
"""

from __future__ import annotations

import numpy as np

from snellen.core.cells import Measured, NotMeasurable
from snellen.core.gate import Calibration
from snellen.core.study import Judged
from snellen.metrics import calibration

__all__ = ["calibration_of"]

NULL_SEED = 12345
BINS = 10
NO_INTERVAL = "no interval: read it beside the band a perfectly calibrated model would show"


def calibration_of(rows: Judged) -> Calibration:
    """Calibration of the first answers of validation or test rows."""
    answered = rows.ranked[:, 0] >= 0
    confidence, correct = rows.confidence[answered, 0], rows.correct[answered]
    if not len(confidence):
        return Calibration(
            model=rows.model,
            protocol=rows.protocol,
            role=rows.role,
            ece=NotMeasurable(reason="no clip was answered", needed="1 answer", have="0 answers"),
            null_mean=None,
            null_high=None,
        )
    band = calibration.ece_null(confidence, np.random.default_rng(NULL_SEED), BINS)
    error = float(calibration.ece(confidence, correct, BINS).value)
    return Calibration(
        model=rows.model,
        protocol=rows.protocol,
        role=rows.role,
        ece=Measured(value=error, low=None, high=None, n=len(correct), method=NO_INTERVAL),
        null_mean=band.mean,
        null_high=band.high,
    )

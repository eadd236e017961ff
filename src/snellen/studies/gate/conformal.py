"""A gate that answers when every other label can be ruled out.

*Conventions*: prediction sets as in :mod:`snellen.metrics.conformal`; the gate answers
where a set holds one label. Five ranked labels of a clip are stored at most: a truth
below them counts as not covered, and a set that holds them all has no known end. Where
such sets could have kept the promise after all, nobody can say that it is broken.
"""

from __future__ import annotations

import numpy as np

from snellen.core.cells import Cell, Measured, NotMeasurable
from snellen.core.gate import Conformal, Verdict
from snellen.metrics.conformal import (
    conformal_limit,
    fewest_clips,
    prediction_sets,
    truth_scores,
)
from snellen.studies.gate.trial import Trial, share_of, verdict_of

__all__ = ["conformal"]


def conformal(trial: Trial, alpha: float) -> Conformal:
    """Sets calibrated on validation clips of one protocol, on test clips of another."""
    tuning, tried = trial.tuning, trial.tried
    scores = truth_scores(tuning.truth, tuning.ranked, tuning.confidence)
    each = np.array([conformal_limit(scores[kept], alpha) for kept in trial.kept])
    sets = prediction_sets(tried.ranked, tried.confidence, each[trial.round_of])
    size = sets.sum(axis=1)
    covered = (sets & (tried.ranked == tried.truth[:, np.newaxis])).any(axis=1)
    everything = np.ones(len(size), dtype=bool)
    coverage = share_of(covered, tried, everything, "test clip")
    # Of the single label stored of a clip nobody can say that it stands alone.
    single = (size == 1) & (sets.shape[1] > 1)
    return Conformal(
        model=tuning.model,
        tuned_on=tuning.protocol,
        applied_to=tried.protocol,
        least_confident=_least_confident(scores, alpha),
        coverage=coverage,
        singletons=share_of(single, tried, everything, "test clip"),
        singleton_accuracy=share_of(tried.correct, tried, single, "set of one label"),
        unbounded=share_of(size == sets.shape[1], tried, everything, "test clip"),
        verdict=_verdict(coverage, covered | (size == sets.shape[1]), 1 - alpha),
    )


def _verdict(coverage: Cell, possibly: np.ndarray, promised: float) -> Verdict:
    """A promise is broken only if no truth below the stored labels could have kept it."""
    found = verdict_of(coverage, promised)
    return "unknown" if found != "meets" and possibly.mean() >= promised else found


def _least_confident(scores: np.ndarray, alpha: float) -> Cell:
    limit = conformal_limit(scores, alpha)
    if limit == 1:
        return NotMeasurable(
            reason="too many true labels are not among those stored of a clip",
            needed=f"at most {alpha:g} of the clips",
            have=f"{(scores == 1).mean():.3f}",
        )
    if np.isinf(limit):
        return NotMeasurable(
            reason="too few validation clips to rule any label out",
            needed=f"{fewest_clips(alpha)} clips",
            have=str(len(scores)),
        )
    method = "split conformal, over all validation clips of the protocol"
    return Measured(value=1 - limit, low=None, high=None, n=len(scores), method=method)

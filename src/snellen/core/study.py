"""What a study may ask of trained models, whatever the task.

A study (gate, stress, latency, replay) is a question about models that were
trained already. A task opens a run folder as a :class:`Study`; the study then
sees recordings, truth and a way to get answers, and nothing else of the task.

*Conventions*: positions point into ``items``. Labels are int64, -1 where the
truth is out of vocabulary. Log-probabilities are float64 (clips, classes).
Ranked answers are int64 (clips, ranks), -1 for none, with confidences float64
of the same shape. Test clips are answered by the round that did not train on
them, validation clips by the model fitted on the training clips alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.signal.keypoints import Keypoints

__all__ = ["Judged", "Prepare", "Study", "Subject", "Trained"]

# Recordings to what a model reads: values (clips, frames, channels), mask (clips, frames, points).
Prepare = Callable[[Keypoints], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Trained:
    """One trained round: the clips it tests, and how it answers prepared arrays."""

    round: int
    tested: np.ndarray
    answer: Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Subject:
    """One model of a run under one protocol.

    ``load`` reads one round from disk anew; ``parameters`` is None for a model
    that has no such count; ``folder`` holds its files.
    """

    model: str
    rounds: tuple[int, ...]
    load: Callable[[int], Trained]
    parameters: int | None
    folder: Path


@dataclass(frozen=True, slots=True)
class Study:
    """Recordings, truth, groups and models of one protocol of one run.

    ``groups`` is aligned with ``items``, None where the split protects none.
    ``frames`` is the length every clip is brought to by ``prepare``.
    """

    corpus: str
    protocol: str
    protects: str | None
    items: tuple[str, ...]
    labels: np.ndarray
    groups: tuple[str, ...] | None
    vocabulary: tuple[str, ...]
    keypoints: Keypoints
    prepare: Prepare
    preprocessing: str
    frames: int
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Answers of one model under one protocol whose truth is known.

    ``role`` is ``validation``, ``test`` or ``out of vocabulary`` (test clips
    that show no sign of the vocabulary). ``rounds`` says which round answered.
    ``items`` names the clips: what validates in one round is tested in another.
    """

    protocol: str
    model: str
    role: str
    items: tuple[str, ...]
    rounds: np.ndarray
    truth: np.ndarray
    ranked: np.ndarray
    confidence: np.ndarray
    groups: tuple[str, ...] | None

    @property
    def correct(self) -> np.ndarray:
        """Whether each first answer is right."""
        return np.asarray((self.ranked[:, 0] == self.truth) & (self.truth >= 0))

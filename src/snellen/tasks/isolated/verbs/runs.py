"""The main job, what a finished run holds, and what studies may ask of it.

*Conventions*: every verb reads what it is given, checks it whole, writes with
one atomic step a file, and returns what it found. ``progress`` is called with a
stage, how much of it is done, and how much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snellen.core.card import Scorecard
from snellen.core.findings import Audit
from snellen.core.ladder import Ladder
from snellen.core.study import Judged, Study
from snellen.store.folder import RunFolder
from snellen.tasks.isolated import pieces, studying
from snellen.tasks.isolated.answering import Progress
from snellen.tasks.isolated.run import RunResult, RunSettings, run
from snellen.tasks.isolated.verbs.source import Source, with_keypoints

__all__ = ["contents", "judged", "open_study", "run_all"]


def run_all(source: Source, output: Path, settings: RunSettings, progress: Progress) -> RunResult:
    """The main job."""
    return run(source.open(), output, settings, progress)


def contents(root: Path) -> tuple[Audit, Ladder, tuple[Scorecard, ...]]:
    """What a run has to show: its audit, its ladder, and its cards in the ladder's order."""
    folder = RunFolder.read(root)
    ladder = pieces.get_ladder(folder)
    cards = tuple(
        pieces.get_card(folder, rung.protocol, model)
        for rung in reversed(ladder.rungs)
        for model in ladder.models
    )
    return pieces.get_audit(folder), ladder, cards


def judged(root: Path, protocol: str | None, models: Sequence[str] | None) -> tuple[Judged, ...]:
    """Validation, test and out-of-vocabulary answers of a run, by protocol and model.

    ``protocol`` of None means all, ``models`` of None likewise.

    Raises:
        BadInput: a protocol or model the run does not hold.
    """
    return studying.judged(RunFolder.read(root), protocol, models)


def open_study(
    root: Path, source: Source, protocol: str | None, models: Sequence[str] | None
) -> Study:
    """One protocol of a run with its recordings and its trained models.

    ``protocol`` of None means the strictest, ``models`` of None all.

    Raises:
        BadInput: a protocol or model the run does not hold.
        Mismatch: these are not the recordings of the run.
        Missing: the run kept no models.
    """
    recordings, keypoints = with_keypoints(source)
    return studying.open_study(RunFolder.read(root), recordings, keypoints, protocol, models)

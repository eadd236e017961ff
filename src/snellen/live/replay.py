"""Does a model read live what it reads offline?

Recorded test clips go frame by frame through the live path of ``live.loop``, and
the caption that stands at the end is compared with the answer of the same model
to the whole clip. Each clip is shown alone, to an empty buffer; then the clips of
one person are shown in a row with pauses, where the live path has to find out for
itself where a sign begins and ends.

What the buffer asks does not depend on what a model answers. So the windows are
cut once for all models and answered in batches; the votes then run over the
answers. ``live.loop.step`` gives the same captions, frame by frame.

*Conventions*: clips are answered by the round that did not train on them. Frames
count from 0 at the first frame of a clip; ``at`` of a sight is the frame that
caused it, or the length of the recording for the question that ends it. Labels
are int64, -1 for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np

from snellen.core.cells import Cell, Measured, NotMeasurable, measured
from snellen.core.replay import ReplayRow, ReplaySetting, ReplayStudy, Streamed
from snellen.core.study import Study, Trained
from snellen.errors import BadInput, Fault
from snellen.live.loop import (
    Reading,
    Sight,
    Votes,
    decided,
    finished,
    reading_of,
    seen,
    start,
)
from snellen.live.settings import LiveSettings
from snellen.metrics.compare import paired_difference
from snellen.metrics.intervals import share_interval
from snellen.signal.hands import hands_of
from snellen.signal.keypoints import Keypoints, Layout

__all__ = ["Caught", "Recording", "Sighting", "caught", "sightings", "study_replay"]

FRAME_RATE = 30.0
"""Frames a second that recordings are taken to have: they carry no clock."""
PAUSE = 30
"""Frames for which a stream holds the last frame of a clip before the next."""
STREAM = 10
"""Clips in a stream."""
WINDOWS_AT_ONCE = 512

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Recording:
    """Frames on end, and the frame at which each clip in them starts and ends.

    ``values`` (frames, points, dims) with ``present`` (frames, points); ``clips`` are
    positions into the study's items.
    """

    values: np.ndarray
    present: np.ndarray
    clips: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the buffer made of frame ``at``."""

    at: int
    sight: Sight


@dataclass(frozen=True, slots=True)
class Caught:
    """What live captions made of clips, one entry a clip.

    ``said`` is the label that stood last; ``said_at`` the frame at which it began
    to, counted from the end of the clip; ``first_at`` that of the first caption,
    counted from the beginning of the clip; both 0 where nothing was said.
    ``last_read`` is the label of the last answer; ``captions`` counts what was
    announced, ``answers`` what was asked.
    """

    clips: np.ndarray
    said: np.ndarray
    said_at: np.ndarray
    first_at: np.ndarray
    last_read: np.ndarray
    captions: np.ndarray
    answers: np.ndarray


def sightings(
    layout: Layout, values: np.ndarray, present: np.ndarray, settings: LiveSettings
) -> Iterator[Sighting]:
    """What the buffer makes of every frame of a recording, and of its end."""
    buffer = start(layout).buffer
    for at in range(len(values)):
        buffer, sight = seen(buffer, values[at], present[at], at / FRAME_RATE, settings)
        yield Sighting(at, sight)
    _, sight = finished(buffer, settings)
    yield Sighting(len(values), sight)


def caught(
    recording: Recording,
    sighted: Sequence[Sighting],
    readings: Sequence[Reading],
    settings: LiveSettings,
) -> Caught:
    """The captions of a recording, given the answers to its windows in their order."""
    n = len(recording.clips)
    said, last_read = np.full((2, n), -1, dtype=np.int64)
    said_at, first_at, captions, answers = np.zeros((4, n), dtype=np.int64)
    clip_of = np.searchsorted(recording.starts, [x.at for x in sighted], side="right") - 1
    left = iter(readings)
    votes = Votes()
    for k, sighting in zip(clip_of, sighted, strict=True):
        reading = None if sighting.sight.window is None else next(left)
        before, votes = votes.caption, decided(votes, sighting.sight, reading, settings)
        if reading is None:
            # A caption that only stays on screen says nothing about the clip that is shown now.
            continue
        last_read[k] = reading.label
        answers[k] += 1
        caption = votes.caption
        if caption.status != "CONFIDENT" or caption.label is None:
            continue
        if said[k] < 0:
            first_at[k] = sighting.at - recording.starts[k]
        if caption.label != said[k] or before.status != "CONFIDENT":
            said_at[k] = sighting.at - recording.ends[k]
        said[k] = caption.label
        captions[k] += caption.new
    return Caught(recording.clips, said, said_at, first_at, last_read, captions, answers)


def study_replay(
    study: Study,
    settings: Sequence[LiveSettings],
    *,
    seed: int,
    rounds: Sequence[int] | None = None,
    clips: int | None = None,
    progress: Progress | None = None,
) -> ReplayStudy:
    """Replay the test clips of every round under every setting, for every model.

    Args:
        study: models and recordings.
        settings: live settings, each with a name of its own.
        seed: of the order of clips in streams, and of their choice.
        rounds: replay only the test clips of these rounds; all unless given.
        clips: replay at most so many test clips a round; all unless given.
        progress: told (stage, steps done, steps).

    Raises:
        BadInput: the layout has no hands, whose movement the live path waits for, or
            there is no such round.
    """
    layout = study.keypoints.layout
    if not hands_of(layout):
        seen_ = f"layout {layout.name!r} without hands"
        raise BadInput(Fault("replay", seen_, "a layout that shows at least one hand"))
    every = study.subjects[0].rounds
    rounds = tuple(every if rounds is None else rounds)
    absent = sorted(set(rounds) - set(every))
    if absent:
        allowed = ", ".join(map(str, every))
        raise BadInput([Fault("replay", f"no round {r}", f"some of: {allowed}") for r in absent])
    parts: list[_Part] = []
    for done, round_ in enumerate(rounds):
        if progress is not None:
            progress("replay", done, len(rounds))
        parts.append(_round(study, round_, settings, seed, clips))
    if progress is not None:
        progress("replay", len(rounds), len(rounds))
    positions = np.concatenate([part.clips for part in parts])
    return ReplayStudy(
        corpus=study.corpus,
        protocol=study.protocol,
        protects=study.protects,
        preprocessing=study.preprocessing,
        trained_frames=study.frames,
        frame_rate=FRAME_RATE,
        movement_unit="shoulder widths" if layout.shoulders else "of the recordings' own unit",
        pause=PAUSE,
        stream=STREAM,
        seed=seed,
        rounds=rounds,
        of_rounds=len(every),
        clips=len(positions),
        of_clips=sum(part.tested for part in parts),
        median_frames=float(np.median(study.keypoints.lengths[positions])),
        settings=tuple(ReplaySetting(**asdict(setting)) for setting in settings),
        rows=tuple(
            _row(study, subject.model, setting, parts)
            for subject in study.subjects
            for setting in settings
        ),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """One round: its clips, each model's answers to the whole clips, and what was caught.

    ``alone`` and ``streamed`` map (model, setting) to what came of the clips.
    """

    tested: int
    clips: np.ndarray
    offline: Mapping[str, Sequence[Reading]]
    alone: Mapping[tuple[str, str], Caught]
    streamed: Mapping[tuple[str, str], Caught]


def _round(
    study: Study, round_: int, settings: Sequence[LiveSettings], seed: int, most: int | None
) -> _Part:
    trained = {subject.model: subject.load(round_) for subject in study.subjects}
    tested = next(iter(trained.values())).tested
    tested = tested[study.labels[tested] >= 0]
    rng = np.random.default_rng([seed, round_])
    shuffled = rng.permutation(tested)[:most]
    clips = np.sort(shuffled)
    whole = [study.keypoints.clip(int(k)) for k in clips]
    read = _answered(study, whole, trained)
    alone: dict[tuple[str, str], Caught] = {}
    streamed: dict[tuple[str, str], Caught] = {}
    for setting in settings:
        singles = [_joined(study.keypoints, np.array([k]), 0) for k in clips]
        alone |= _caught_by(study, singles, trained, setting)
        streamed |= _caught_by(study, _streams(study, shuffled), trained, setting)
    return _Part(len(tested), clips, read, alone, streamed)


def _joined(keypoints: Keypoints, clips: np.ndarray, pause: int) -> Recording:
    """Clips on end, each followed by its last frame held for ``pause`` frames."""
    pairs = [keypoints.clip(int(k)) for k in clips]
    lengths = np.array([len(values) for values, _ in pairs])
    ends = np.cumsum(lengths + pause) - pause
    values = np.concatenate([part for v, _ in pairs for part in (v, v[-1:].repeat(pause, 0))])
    present = np.concatenate([part for _, p in pairs for part in (p, p[-1:].repeat(pause, 0))])
    return Recording(values, present, clips, ends - lengths, ends)


def _streams(study: Study, clips: np.ndarray) -> list[Recording]:
    """Clips of one group in the order given, a few to a stream, with pauses."""
    names = np.array(["" if study.groups is None else study.groups[k] for k in clips])
    rows = [clips[names == name] for name in np.unique(names)]
    return [
        _joined(study.keypoints, row[first : first + STREAM], PAUSE)
        for row in rows
        for first in range(0, len(row), STREAM)
    ]


def _caught_by(
    study: Study,
    recordings: Sequence[Recording],
    trained: Mapping[str, Trained],
    settings: LiveSettings,
) -> dict[tuple[str, str], Caught]:
    """What every model catches of recordings, sorted by clip."""
    found: dict[str, list[Caught]] = {model: [] for model in trained}
    for recording in recordings:
        layout = study.keypoints.layout
        sighted = list(sightings(layout, recording.values, recording.present, settings))
        windows = [x.sight.window for x in sighted if x.sight.window is not None]
        for model, readings in _answered(study, windows, trained).items():
            found[model].append(caught(recording, sighted, readings, settings))
    return {(model, settings.name): _together(parts) for model, parts in found.items()}


def _together(parts: Sequence[Caught]) -> Caught:
    columns = [np.concatenate(column) for column in zip(*map(astuple, parts), strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Caught(*(column[order] for column in columns))


def _answered(
    study: Study,
    windows: Sequence[tuple[np.ndarray, np.ndarray]],
    trained: Mapping[str, Trained],
) -> dict[str, list[Reading]]:
    """What each model reads in each window; prepared once for all models."""
    read: dict[str, list[Reading]] = {model: [] for model in trained}
    for first in range(0, len(windows), WINDOWS_AT_ONCE):
        some = windows[first : first + WINDOWS_AT_ONCE]
        values, mask = study.prepare(_ragged(study.keypoints.layout, some))
        for model, round_ in trained.items():
            read[model] += [reading_of(row) for row in round_.answer(values, mask)]
    return read


def _ragged(layout: Layout, windows: Sequence[tuple[np.ndarray, np.ndarray]]) -> Keypoints:
    lengths = [len(values) for values, _ in windows]
    return Keypoints(
        layout,
        tuple(f"window {k:06d}" for k in range(len(windows))),
        np.concatenate([values for values, _ in windows]),
        np.concatenate([present for _, present in windows]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    )


def _row(study: Study, model: str, settings: LiveSettings, parts: Sequence[_Part]) -> ReplayRow:
    alone = _together([part.alone[model, settings.name] for part in parts])
    stream = _together([part.streamed[model, settings.name] for part in parts])
    read = [reading for part in parts for reading in part.offline[model]]
    # Captions come sorted by clip, answers round by round.
    order = np.argsort(np.concatenate([part.clips for part in parts]), kind="stable")
    labels = np.array([reading.label for reading in read])[order]
    sure = np.array([reading.confidence for reading in read])[order] >= settings.threshold
    truth = study.labels[alone.clips]
    groups = None if study.groups is None else np.array(study.groups)[alone.clips]
    offline, live, ungated = labels == truth, alone.said == truth, alone.last_read == truth
    gated, in_a_row = offline & sure, stream.said == truth
    committed, asked = alone.said >= 0, alone.answers > 0
    return ReplayRow(
        model=model,
        setting=settings.name,
        offline=measured(share_interval(offline, groups)),
        ungated=measured(share_interval(ungated, groups)),
        ungated_delta=measured(paired_difference(ungated, offline, groups)),
        gated=measured(share_interval(gated, groups)),
        live=measured(share_interval(live, groups)),
        gated_delta=measured(paired_difference(live, gated, groups)),
        live_delta=measured(paired_difference(live, offline, groups)),
        committed=float(committed.mean()),
        uncertain=float((asked & ~committed).mean()),
        unasked=float((~asked).mean()),
        answers=float(alone.answers.mean()),
        captions=float(alone.captions.mean()),
        first_caption=_median(alone.first_at[committed]),
        streamed=Streamed(
            accuracy=measured(share_interval(in_a_row, groups)),
            delta=measured(paired_difference(in_a_row, gated, groups)),
            captions=float(stream.captions.mean()),
            delay=_median(stream.said_at[stream.said >= 0]),
        ),
    )


def _median(frames: np.ndarray) -> Cell:
    if len(frames) == 0:
        return NotMeasurable(
            reason="no clip has a caption", needed="at least one CONFIDENT caption", have="0"
        )
    method = "median over clips with a caption, no interval"
    return Measured(
        value=float(np.median(frames)), low=None, high=None, n=len(frames), method=method
    )

"""Reads INCLUDE and INCLUDE-50: the published lists, and the keypoints if they are there.

*Conventions*: a clip is called by its path in the list, such as
``Animals/4. Bird/MVI_2987.MOV``. Its label is the gloss that
``normalized_glosses.csv`` gives to the word's folder; without that file it is the
folder's name, its number taken off, in capitals with ``_`` for blanks. ``number``
is what the camera counted, ``stream`` the file's ending: the phone that wrote MP4
counted apart from the camera that wrote MOV.

Keypoints are looked for in ``Pose_Signs/`` beside the lists. A listed clip without
a pose file is left out and named in ``left_out``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_CLIPS, MAX_COLLECTION_BYTES
from snellen.signal.keypoints import Keypoints, gather
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.data.clip_features import resolve_inside
from snellen.tasks.isolated.data.include_pickle import read_pose
from snellen.tasks.isolated.data.recordings import Recordings, recordings
from snellen.tasks.isolated.data.tables import read_csv, read_text

__all__ = [
    "read_include",
    "read_include50",
    "read_include50_lists",
    "read_include_lists",
]

GLOSSES = "normalized_glosses.csv"
POSES = "Pose_Signs"
NUMBER = re.compile(r"MVI_(\d{1,9})")
SILENT = (
    "no signer is recorded: nothing can be said about people the model never saw",
    "no session is recorded; sittings can only be guessed from the recording numbers",
)
NO_KEYPOINTS = "there are no keypoints: splits can be audited, models cannot be trained"
ONE_ENDING = (
    "the lists write .MOV for every clip, so two cameras' recording numbers cannot be told apart"
)
NO_GLOSSES = f"{GLOSSES} is not there: labels are the names of the word folders"


@dataclass(frozen=True, slots=True)
class _Clip:
    """One row of a list."""

    path: PurePosixPath
    category: str
    official: str
    where: str
    row: int


def read_include50(folder: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - readers' signature
    """INCLUDE-50 by OpenHands' lists (train, test)."""
    return _read(folder, "include50", _listed_csv(folder, "include50"), both_endings=True)


def read_include(folder: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - as above
    """INCLUDE by OpenHands' lists (train, test)."""
    return _read(folder, "include", _listed_csv(folder, "include"), both_endings=True)


def read_include50_lists(folder: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - as above
    """INCLUDE-50 by its authors' lists (train, val, test)."""
    return _read(folder, "include50-lists", _listed_paths(folder, "include50"), both_endings=False)


def read_include_lists(folder: Path, layout: str | None) -> Recordings:  # noqa: ARG001 - as above
    """INCLUDE by its authors' lists (train, val, test)."""
    return _read(folder, "include-lists", _listed_paths(folder, "include"), both_endings=False)


def _find(folder: Path, prefix: str, subfolder: str, name: str) -> Path:
    candidates = [folder / name, folder / f"{prefix}_{name}", folder / subfolder / name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    allowed = " or ".join(str(path.relative_to(folder)) for path in candidates)
    raise BadInput(Fault(folder.name, f"no {name}", allowed))


def _listed_csv(folder: Path, name: str) -> list[_Clip]:
    clips = []
    for official in ("train", "test"):
        path = _find(folder, "openhands", "Train_Test_Split", f"{official}_{name}.csv")
        header, rows = read_csv(path)
        absent = [column for column in ("Category", "FilePath") if column not in header]
        if absent:
            raise BadInput(Fault(path.name, f"no column {absent}", "Category,Word,Video,FilePath"))
        clips += [
            _Clip(PurePosixPath(cells["FilePath"]), cells["Category"], official, path.name, row)
            for row, cells in enumerate(rows, start=1)
        ]
    return clips


def _listed_paths(folder: Path, name: str) -> list[_Clip]:
    clips = []
    for official in ("train", "val", "test"):
        path = _find(folder, "include_repo", "train_test_paths", f"{name}_{official}.txt")
        for row, line in enumerate(read_text(path).splitlines(), start=1):
            if line.strip():
                file = PurePosixPath(line.strip())
                category = file.parts[0] if file.parts else ""
                clips.append(_Clip(file, category, official, path.name, row))
    return clips


def _read(folder: Path, source: str, clips: list[_Clip], *, both_endings: bool) -> Recordings:
    glosses = _glosses(folder)
    faults = _faults(clips, glosses)
    poses = folder / POSES
    keypoints, left_out = None, []
    if not faults and poses.is_dir():
        left_out = [str(clip.path) for clip in clips if not _pose_path(poses, clip).is_file()]
        absent = set(left_out)
        clips = [clip for clip in clips if str(clip.path) not in absent]
        keypoints = _keypoints(poses, clips, faults)
    if not clips:
        faults.append(Fault(folder.name, "0 clips", "at least one listed clip with its recording"))
    if faults:
        raise BadInput(faults)
    return recordings(
        source.removesuffix("-lists"),
        source,
        [str(clip.path) for clip in clips],
        [_label(clip, glosses) for clip in clips],
        columns={
            "number": [_number(clip) for clip in clips],
            "stream": [clip.path.suffix[1:].upper() if both_endings else None for clip in clips],
            "category": [clip.category.replace("_", " ") for clip in clips],
            "official": [clip.official for clip in clips],
        },
        silent=[
            *SILENT,
            *([] if both_endings else [ONE_ENDING]),
            *([] if glosses else [NO_GLOSSES]),
            *([NO_KEYPOINTS] if keypoints is None else []),
            *([f"{len(left_out)} listed clips have no pose file: left out"] if left_out else []),
        ],
        keypoints=keypoints,
        left_out=left_out,
    )


def _glosses(folder: Path) -> dict[str, str]:
    """From a word's folder to its gloss; empty where the file is absent."""
    try:
        path = _find(folder, "openhands", "Train_Test_Split", GLOSSES)
    except BadInput:
        return {}
    header, rows = read_csv(path)
    if header != ["actual_gloss", "normalized_gloss"]:
        raise BadInput(Fault(path.name, f"columns {header}", "actual_gloss,normalized_gloss"))
    return {cells["actual_gloss"]: cells["normalized_gloss"] for cells in rows}


def _faults(clips: Sequence[_Clip], glosses: dict[str, str]) -> list[Fault]:
    faults = []
    seen: set[PurePosixPath] = set()
    if len(clips) > MAX_CLIPS:
        return [Fault(clips[0].where, f"{len(clips):,} clips", f"at most {MAX_CLIPS:,}")]
    for clip in clips:
        at = (clip.row, "FilePath")
        if len(clip.path.parts) < 3 or not clip.path.suffix or ".." in clip.path.parts:
            allowed = "<category>/<word>/<video>"
            faults.append(Fault(clip.where, f"{str(clip.path)!r}", allowed, *at))
            continue
        if NUMBER.match(clip.path.name) is None:
            faults.append(Fault(clip.where, f"{clip.path.name!r}", "MVI_<number>", *at))
        if glosses and not glosses.get(clip.path.parts[1].strip()):
            faults.append(
                Fault(clip.where, f"word {clip.path.parts[1]!r}", f"a word of {GLOSSES}", *at)
            )
        if clip.path in seen:
            faults.append(Fault(clip.where, f"{str(clip.path)!r} again", "each clip once", *at))
        seen.add(clip.path)
    return faults


def _label(clip: _Clip, glosses: dict[str, str]) -> str:
    word = clip.path.parts[1].strip()
    return glosses.get(word) or re.sub(r"^\d+\.\s*", "", word).upper().replace(" ", "_")


def _number(clip: _Clip) -> int | None:
    match = NUMBER.match(clip.path.name)
    return int(match[1]) if match else None


def _pose_path(poses: Path, clip: _Clip) -> Path:
    return poses / clip.path.with_suffix(".pkl")


def _keypoints(poses: Path, clips: Sequence[_Clip], faults: list[Fault]) -> Keypoints | None:
    """All pose files, read one after the other; only float32 values are kept."""
    layout = layout_by_name("holistic-75")
    arrays = []
    total = 0
    for clip in clips:
        relative = str(clip.path.with_suffix(".pkl"))
        try:
            path = resolve_inside(poses, relative, clip.where)
            arrays.append(read_pose(path, layout, f"{POSES}/{relative}"))
        except BadInput as error:
            faults.extend(error.faults)
            continue
        total += arrays[-1][0].nbytes
        if total > MAX_COLLECTION_BYTES:
            faults.append(Fault(POSES, "too many numbers", f"{MAX_COLLECTION_BYTES:,} bytes"))
            return None
    if faults or not arrays:
        return None
    return gather(layout, [str(clip.path) for clip in clips], arrays)

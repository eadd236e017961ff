"""Reads a generic folder: ``clips.csv`` or ``clips.parquet``, and ``features/``.

*Conventions*: see docs/data-formats.md. Without a features folder and without a
``path`` column the folder is metadata only, which is enough to audit a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_COLLECTION_BYTES
from snellen.signal.keypoints import Keypoints, gather
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.data.clip_features import read_clip, resolve_inside
from snellen.tasks.isolated.data.clip_rows import ClipRow, clip_rows
from snellen.tasks.isolated.data.layout_file import FolderLayout, read_layout_file
from snellen.tasks.isolated.data.recordings import Recordings, recordings
from snellen.tasks.isolated.data.tables import Rows, read_csv, read_parquet

__all__ = ["read"]

CORPUS_COLUMNS = ("signer", "session", "number", "stream", "category", "official")


def read(folder: Path, layout: str | None) -> Recordings:
    """The recordings of a generic folder.

    Raises:
        BadInput: with every fault of the table, the layout and the clips' files.
    """
    folder = folder.resolve()
    faults: list[Fault] = []
    where, header, rows = _table(folder)
    clips = clip_rows(header, rows, where, faults)
    keypoints = None
    if (folder / "features").is_dir() or "path" in header:
        described = _layout(folder, layout, clips, faults)
        if described is not None:
            keypoints = _keypoints(folder, clips, described, where, faults)
    if faults:
        raise BadInput(faults)
    return recordings(
        folder.name,
        "generic",
        [clip.clip_id for clip in clips],
        [clip.label for clip in clips],
        columns={name: [getattr(clip, name) for clip in clips] for name in CORPUS_COLUMNS},
        silent=_silent(clips, keypoints),
        keypoints=keypoints,
    )


def _table(folder: Path) -> tuple[str, list[str], Rows]:
    csv, parquet = folder / "clips.csv", folder / "clips.parquet"
    if csv.exists() and parquet.exists():
        raise BadInput(Fault(folder.name, "both clips.csv and clips.parquet", "one of them"))
    path, read_table = (csv, read_csv) if csv.exists() else (parquet, read_parquet)
    header, rows = read_table(resolve_inside(folder, path.name, path.name))
    return path.name, header, rows


def _layout(
    folder: Path, argument: str | None, clips: Sequence[ClipRow], faults: list[Fault]
) -> FolderLayout | None:
    """The one layout that the folder's file, its column and the caller agree on."""
    declared = {clip.layout for clip in clips if clip.layout is not None}
    if argument is not None:
        declared.add(argument)
    described = None
    try:
        if (folder / "layout.json").exists():
            path = resolve_inside(folder, "layout.json", "layout.json")
            described = read_layout_file(path)
            declared.add(described.layout.name)
        if len(declared) == 1 and described is None:
            described = FolderLayout(layout_by_name(*declared), zeros_are_missing=False)
    except BadInput as error:
        faults.extend(error.faults)
        return None
    if len(declared) != 1:
        named = " and ".join(sorted(declared)) or "no layout named"
        allowed = "one layout for the whole folder: in layout.json, in a column, or by --layout"
        faults.append(Fault(folder.name, named, allowed, None, "layout"))
        return None
    return described


def _keypoints(
    folder: Path,
    clips: Sequence[ClipRow],
    described: FolderLayout,
    where: str,
    faults: list[Fault],
) -> Keypoints | None:
    arrays = []
    total = 0
    before = len(faults)
    for clip in clips:
        try:
            path = _feature_path(folder, clip, where)
            values, present = read_clip(path, described, str(path.relative_to(folder)))
        except BadInput as error:
            faults.extend(error.faults)
            continue
        total += values.nbytes
        if total > MAX_COLLECTION_BYTES:
            faults.append(
                Fault(where, "too many numbers", f"{MAX_COLLECTION_BYTES:,} bytes in all")
            )
            return None
        arrays.append((values, present))
    if len(faults) > before or not arrays:
        return None
    return gather(described.layout, [clip.clip_id for clip in clips], arrays)


def _feature_path(folder: Path, clip: ClipRow, where: str) -> Path:
    """The clip's file: by its path, else ``features/<clip_id>`` with either ending."""
    names = [clip.path] if clip.path else [f"features/{clip.clip_id}{x}" for x in (".npy", ".npz")]
    found = [resolve_inside(folder, name, f"{where}, row {clip.row}") for name in names]
    existing = [path for path in found if path.is_file()]
    if len(existing) != 1:
        seen = "two files" if existing else "no file"
        allowed = " or ".join(names)
        raise BadInput(Fault(where, f"{seen} for {clip.clip_id!r}", allowed, clip.row, "path"))
    return existing[0]


def _silent(clips: Sequence[ClipRow], keypoints: Keypoints | None) -> list[str]:
    """What this folder leaves open, one sentence each."""
    sentences = []
    meaning = {
        "signer": "nothing can be said about people the model never saw",
        "session": "clips of one sitting may stand on both sides of a split unseen",
        "number": "takes cannot be told from recording numbers",
        "official": "there is no published split to audit",
    }
    for name, consequence in meaning.items():
        unknown = sum(getattr(clip, name) is None for clip in clips)
        if unknown == len(clips):
            sentences.append(f"no {name} is recorded: {consequence}")
        elif unknown:
            sentences.append(f"{name} is unknown for {unknown} of {len(clips)} clips")
    signers: dict[str, set[str | None]] = {}
    for clip in clips:
        if clip.session is not None:
            signers.setdefault(clip.session, set()).add(clip.signer)
    shared = sum(len(people) > 1 for people in signers.values())
    if shared:
        sentences.append(f"{shared} session names are used by more than one signer: one group each")
    if keypoints is None:
        sentences.append("there are no keypoints: splits can be audited, models cannot be trained")
        return sentences
    zeros = int((keypoints.present & (keypoints.values == 0).all(axis=2)).sum())
    if zeros:
        share = np.format_float_positional(100 * zeros / keypoints.present.size, precision=2)
        sentences.append(
            f"{zeros} points ({share} %) are exactly zero and count as measured:"
            " layout.json does not say that zeros mean missing"
        )
    return sentences

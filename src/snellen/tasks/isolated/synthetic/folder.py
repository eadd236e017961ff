"""A corpus with its recordings as the generic folder that anybody's own data has.

*Conventions*: the format is docs/data-formats.md: ``clips.csv``, ``layout.json``
and ``features/<clip_id>.npy`` with NaN where a point is missing.
"""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from snellen.core.corpus import Corpus
from snellen.signal.keypoints import Keypoints, Layout
from snellen.store.files import write_atomic, write_json

__all__ = ["write_folder"]

WAITING = 16
COLUMNS = ("signer", "session", "number", "stream", "official")


def write_folder(corpus: Corpus, keypoints: Keypoints, path: Path) -> None:
    """Write ``clips.csv``, ``layout.json`` and one array a clip under ``path``.

    The table is written last, so a folder that was cut short is not taken for a whole one.
    """

    def write_clip(k: int) -> None:
        clip = path / "features" / f"{keypoints.items[k]}.npy"
        write_atomic(clip, _npy(*keypoints.clip(k)))

    # a file costs a wait for the disk and hardly any work, so that many wait at once
    with ThreadPoolExecutor(WAITING) as pool:
        list(pool.map(write_clip, range(len(keypoints))))
    write_json(path / "layout.json", {"layout": _described(keypoints.layout)})
    write_atomic(path / "clips.csv", _clips_csv(corpus))


def _npy(values: np.ndarray, present: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.where(present[..., None], values, np.float32("nan")), allow_pickle=False)
    return buffer.getvalue()


def _described(layout: Layout) -> dict[str, object]:
    described: dict[str, object] = {
        "name": layout.name,
        "points": layout.points,
        "dims": layout.dims,
        "unit": layout.unit,
        "blocks": [
            {"name": block.name, "start": block.start, "stop": block.stop}
            for block in layout.blocks
        ],
    }
    if layout.shoulders is not None:
        described["shoulders"] = [layout.points[k] for k in layout.shoulders]
    return described


def _clips_csv(corpus: Corpus) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("clip_id", "label", *COLUMNS))
    columns = [corpus.column(name) for name in COLUMNS]
    # the csv module writes None as an empty field, which is how the format says unknown
    writer.writerows(zip(corpus.items, corpus.labels, *columns, strict=True))
    return text.getvalue().encode()

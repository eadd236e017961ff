"""What was recorded: clips without labels, their truth, and what the data cannot tell.

*Conventions*: ``clips`` and ``truth`` are Arrow tables sorted by ``item``, one
row a clip. Unknown is null, never an empty string. A ``truth`` label of null
means the clip is out of vocabulary: no answer to it is right. Group columns
(``signer``, ``session``) hold names that are unique over the whole corpus, so
a session name carries its signer where sessions are numbered per signer.
``number`` is the recording number a camera counted up and ``stream`` the
counter it belongs to (two cameras count apart).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snellen.digest import digest_json, digest_table

__all__ = ["CLIPS", "TRUTH", "Corpus", "make_corpus"]

CLIPS = pa.schema(
    [
        pa.field("item", pa.string(), nullable=False),
        pa.field("signer", pa.string()),
        pa.field("session", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("stream", pa.string()),
        pa.field("category", pa.string()),
        pa.field("official", pa.string()),
        pa.field("n_frames", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
TRUTH = pa.schema([pa.field("item", pa.string(), nullable=False), pa.field("label", pa.string())])


@dataclass(frozen=True, slots=True)
class Corpus:
    """Clips, their truth, the frozen vocabulary, and what the data is silent about.

    ``items`` are the clip names, sorted; ``labels`` the true label of each, None
    for out of vocabulary; ``classes`` the same as indices into the vocabulary, -1
    for out of it. ``features`` is the digest of the arrays that go with the clips, or None
    when there is only metadata.
    """

    name: str
    clips: pa.Table
    truth: pa.Table
    vocabulary: tuple[str, ...]
    silent: tuple[str, ...] = ()
    features: str | None = None
    items: tuple[str, ...] = field(init=False, repr=False, compare=False)
    labels: tuple[str | None, ...] = field(init=False, repr=False, compare=False)
    classes: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Take items, labels and classes out of the tables once: loops ask for them a lot."""
        labels = tuple(self.truth.column("label").to_pylist())
        index = {label: k for k, label in enumerate(self.vocabulary)}
        classes = np.array([-1 if x is None else index[x] for x in labels], dtype=np.int64)
        object.__setattr__(self, "items", tuple(self.clips.column("item").to_pylist()))
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "classes", classes)

    def __len__(self) -> int:
        return int(self.clips.num_rows)

    def column(self, name: str) -> list[str | None]:
        """A clip column as a list aligned with :attr:`items`."""
        return list(self.clips.column(name).to_pylist())

    @property
    def digest(self) -> str:
        """One digest over clips, truth, vocabulary and features."""
        return digest_json(
            {
                "clips": digest_table(self.clips),
                "truth": digest_table(self.truth),
                "vocabulary": list(self.vocabulary),
                "features": self.features,
            }
        )

    def known(self, column: str) -> bool:
        """Whether every clip has a value in this column."""
        return len(self) > 0 and self.clips.column(column).null_count == 0


def make_corpus(
    name: str,
    items: Sequence[str],
    labels: Sequence[str | None],
    *,
    columns: Mapping[str, Sequence[object]] | None = None,
    silent: Sequence[str] = (),
    features: str | None = None,
    vocabulary: Sequence[str] | None = None,
) -> Corpus:
    """A corpus from plain lists in any order; rows are sorted by item.

    ``columns`` may hold any of the optional columns of :data:`CLIPS`. The
    vocabulary is the sorted set of labels unless given.
    """
    given = dict(columns or {})
    unknown = sorted(set(given) - set(CLIPS.names))
    if unknown:
        raise ValueError(f"no such clip columns: {unknown}")
    arrays = [
        pa.array(
            items if field.name == "item" else given.get(field.name, [None] * len(items)),
            type=field.type,
        )
        for field in CLIPS
    ]
    clips = pa.table(arrays, schema=CLIPS)
    truth = pa.table([pa.array(items, pa.string()), pa.array(labels, pa.string())], schema=TRUTH)
    order = pc.sort_indices(clips, sort_keys=[("item", "ascending")])
    words = sorted({x for x in labels if x is not None}) if vocabulary is None else vocabulary
    return Corpus(
        name=name,
        clips=clips.take(order).combine_chunks(),
        truth=truth.take(order).combine_chunks(),
        vocabulary=tuple(words),
        silent=tuple(silent),
        features=features,
    )

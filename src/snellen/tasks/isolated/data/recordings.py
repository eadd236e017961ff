"""What every reader gives: a corpus, its keypoints, and what neither can tell.

*Conventions*: items, labels and columns come in any order and are sorted by
item, as the keypoints are. ``present`` is False where a point was not detected;
its values are 0 and mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snellen.core.corpus import Corpus, make_corpus
from snellen.signal.keypoints import Keypoints

__all__ = ["Recordings", "recordings"]


@dataclass(frozen=True, slots=True)
class Recordings:
    """A corpus as it was read; ``keypoints`` is None where there is only metadata.

    ``source`` is the name of the format. ``left_out`` names clips that the data's
    own list has but whose recording is absent: they are in no denominator, and
    ``silent`` says how many they are.
    """

    corpus: Corpus
    keypoints: Keypoints | None
    source: str
    left_out: tuple[str, ...] = ()

    @property
    def silent(self) -> tuple[str, ...]:
        """What this data cannot tell, one sentence each."""
        return self.corpus.silent


def recordings(
    name: str,
    source: str,
    items: Sequence[str],
    labels: Sequence[str | None],
    *,
    columns: Mapping[str, Sequence[object]],
    silent: Sequence[str],
    keypoints: Keypoints | None,
    left_out: Sequence[str] = (),
) -> Recordings:
    """Recordings from plain lists; frame counts and digest come from the keypoints."""
    given = dict(columns)
    if keypoints is not None:
        frames = dict(zip(keypoints.items, keypoints.lengths.tolist(), strict=True))
        given["n_frames"] = [frames[item] for item in items]
    corpus = make_corpus(
        name,
        items,
        labels,
        columns=given,
        silent=silent,
        features=None if keypoints is None else keypoints.digest,
    )
    return Recordings(corpus, keypoints, source, tuple(sorted(left_out)))

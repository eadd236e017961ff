"""Which clips belong together: takes, sittings, sessions and people.

A split that tears such a group apart tests a model on what it has half seen.
Sessions and signers are read from their columns. Where a corpus records neither,
two levels are recovered from what a camera writes anyway, the number it counts
up: the *cluster* (takes of one sign in one go) and the *sitting* (one person
working through the word list of a category).

*Conventions*: a group has a name; ``names`` are aligned with the corpus's sorted
items. Levels run from the smallest to the largest group: cluster, sitting,
session, signer. Gaps are counted in recording numbers. The place of a word in
its list is the number that starts the folder a clip lies in, as in
``Animals/4. Bird/MVI_2987.MOV``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from snellen.core.cells import NotMeasurable
from snellen.core.corpus import Corpus

__all__ = ["GAP", "LEVELS", "LINK", "Groups", "groups_of", "joined", "list_order"]

LEVELS = ("cluster", "sitting", "session", "signer")
GAP = 10
"""Recording numbers of one sign further apart than this are two takes."""
LINK = 60
"""A sitting ends where no clip of its category follows within so many numbers: about
fifteen words of four takes, so a corpus that keeps few words of a list still links up."""
LISTED = re.compile(r"(\d{1,2})\.\s")


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each clip at one level, and the sentence that says what a group is."""

    level: str
    definition: str
    names: tuple[str, ...]

    @property
    def codes(self) -> np.ndarray:
        """The group of each clip as an index into the sorted group names."""
        return np.asarray(np.unique(self.names, return_inverse=True)[1], dtype=np.int64)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(set(self.names))


def groups_of(corpus: Corpus, level: str, *, gap: int = GAP) -> Groups | NotMeasurable:
    """The groups of a level, or why this corpus cannot tell them.

    Raises:
        ValueError: ``level`` is none of :data:`LEVELS`.
    """
    if level in ("session", "signer"):
        names = tuple(str(name) for name in corpus.column(level))
        definition = f"clips with the same {level} in the corpus's own records"
        return _unknown(corpus, level, (level,)) or Groups(level, definition, names)
    if level == "cluster":
        return _unknown(corpus, level, ("number",)) or _clusters(corpus, gap)
    if level == "sitting":
        return _unknown(corpus, level, ("number", "category")) or _sittings(corpus, gap)
    raise ValueError(f"no level {level!r}; allowed: {', '.join(LEVELS)}")


def joined(a: Groups, b: Groups) -> Groups:
    """The smallest groups that tear neither a group of ``a`` nor one of ``b`` apart.

    The result is of level ``a``; a joined group is called by the first of its names in ``a``.
    """
    count = a.count + b.count
    edges = (np.ones(len(a.names)), (a.codes, b.codes + a.count))
    graph = coo_array(edges, shape=(count, count))
    parts = connected_components(graph, directed=False)[1][a.codes].tolist()
    first: dict[int, str] = {}
    for part, name in zip(parts, a.names, strict=True):
        first[part] = min(first.get(part, name), name)
    definition = f"{a.definition}; two are one where they share a {b.level}"
    return Groups(a.level, definition, tuple(first[part] for part in parts))


def _unknown(corpus: Corpus, level: str, columns: Sequence[str]) -> NotMeasurable | None:
    absent = [column for column in columns if not corpus.known(column)]
    if not absent:
        return None
    have = [
        f"{column} of {len(corpus) - corpus.clips.column(column).null_count} of {len(corpus)} clips"
        for column in absent
    ]
    return _not_measurable(level, f"{' and '.join(columns)} of every clip", ", ".join(have))


def _not_measurable(level: str, needed: str, have: str) -> NotMeasurable:
    reason = f"nothing here tells which clips share a {level}"
    return NotMeasurable(reason=reason, needed=needed, have=have)


@dataclass(frozen=True, slots=True)
class _Take:
    """Clips of one word recorded in one go: ``rows`` with numbers ``first`` to ``last``."""

    first: int
    last: int
    rows: tuple[int, ...]
    place: int | None


def _takes(
    numbers: np.ndarray, rows: Sequence[int], gap: int, place: int | None = None
) -> list[_Take]:
    """Runs of numbers without a gap above ``gap``, in order."""
    order = np.array(sorted(rows, key=lambda row: (numbers[row], row)))
    cuts = np.flatnonzero(np.diff(numbers[order]) > gap) + 1
    return [
        _Take(int(numbers[run[0]]), int(numbers[run[-1]]), tuple(run.tolist()), place)
        for run in np.split(order, cuts)
    ]


def _rows_by(*keys: Sequence[Hashable]) -> dict[tuple[Hashable, ...], list[int]]:
    """Rows that agree in all keys, in order of the first such row."""
    rows: defaultdict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*keys, strict=True)):
        rows[key].append(row)
    return rows


def _numbers(corpus: Corpus) -> np.ndarray:
    return np.array(corpus.clips.column("number").to_pylist(), dtype=np.int64)


def _clusters(corpus: Corpus, gap: int) -> Groups:
    names = [""] * len(corpus)
    numbers = _numbers(corpus)
    for (label, stream), rows in _rows_by(corpus.labels, corpus.column("stream")).items():
        for take in _takes(numbers, rows, gap):
            for row in take.rows:
                names[row] = f"{label or ''}:{take.first}-{take.last}|{stream or ''}"
    definition = (
        "clips of one class from one camera, in order of their recording numbers, "
        f"cut where two numbers lie more than {gap} apart"
    )
    return Groups("cluster", definition, tuple(names))


def _sittings(corpus: Corpus, gap: int) -> Groups | NotMeasurable:
    places = [_place(item) for item in corpus.items]
    if not any(places):
        needed = "clips in folders that are numbered in the order of the word list"
        return _not_measurable("sitting", needed, "no numbered folder")
    categories, streams = corpus.column("category"), corpus.column("stream")
    numbers = _numbers(corpus)
    recorded: defaultdict[tuple[Hashable, Hashable], list[_Take]] = defaultdict(list)
    for (category, stream, place), rows in _rows_by(categories, streams, places).items():
        listed = place if isinstance(place, int) else None
        recorded[category, stream] += _takes(numbers, rows, gap, listed)
    used = _rows_by(categories)
    names = [""] * len(corpus)
    for (category, stream), takes in recorded.items():
        rank = list_order(places[row] for row in used[(category,)])
        for sitting in _overlapping(_chains(takes, rank)):
            name = f"{category}|{stream or ''}|{min(take.first for take in sitting):04d}"
            for row in (row for take in sitting for row in take.rows):
                names[row] = name
    definition = (
        "clips of one category from one camera that run through its word list once, each word's "
        f"takes within {LINK} recording numbers of the word before; two whose recording numbers "
        "overlap are one"
    )
    return Groups("sitting", definition, tuple(names))


def _place(item: str) -> int | None:
    """The number that starts the name of the clip's folder, None where there is none."""
    found = [LISTED.match(part) for part in PurePosixPath(item).parts[:-1]]
    numbered = [int(match[1]) for match in found if match is not None]
    return numbered[-1] if numbered else None


def list_order(places: Iterable[int | None]) -> dict[int, int]:
    """The rank of each place in a word list whose numbers may run over from 99 to 1.

    A list starts after the widest hole in its numbers, going round: one that was
    numbered 78 to 99 and on from 1 to 39 starts with 78.

    >>> list_order([1, 2, 78, 99])
    {78: 0, 99: 1, 1: 2, 2: 3}
    >>> list_order([4, None, 1])
    {1: 0, 4: 1}
    """
    order = sorted({place for place in places if place is not None})
    if not order:
        return {}
    holes = np.diff([*order, order[0] + 100])
    start = len(order) - int(np.argmax(holes[::-1]))
    return {place: rank for rank, place in enumerate(order[start:] + order[:start])}


def _chains(takes: Sequence[_Take], rank: Mapping[int, int]) -> list[list[_Take]]:
    """Takes strung together for as long as the word list moves on.

    A take joins the chain that came closest to its word without reaching it: two
    people recorded in turn, their numbers interleaved, stay apart. A word that is
    not in the list stands alone.
    """
    alone = [[take] for take in takes if take.place is None]
    steps = [(take.first, rank[take.place], take) for take in takes if take.place is not None]
    chains: list[tuple[int, list[_Take]]] = []
    for first, place, take in sorted(steps, key=lambda step: step[:2]):
        able = [
            k
            for k, (reached, chain) in enumerate(chains)
            if reached < place and first - chain[-1].last <= LINK
        ]
        if able:
            best = max(able, key=lambda k: (chains[k][0], chains[k][1][-1].last))
            chains[best] = (place, [*chains[best][1], take])
        else:
            chains.append((place, [take]))
    return alone + [chain for _, chain in chains]


def _overlapping(chains: Sequence[list[_Take]]) -> list[list[_Take]]:
    """Chains whose recording numbers overlap put together: the cautious reading."""
    merged: list[list[_Take]] = []
    reach = 0
    for chain in sorted(chains, key=lambda chain: min(take.first for take in chain)):
        if merged and min(take.first for take in chain) <= reach:
            merged[-1] += chain
        else:
            merged.append(chain)
            reach = 0
        reach = max(reach, *(take.last for take in chain))
    return merged

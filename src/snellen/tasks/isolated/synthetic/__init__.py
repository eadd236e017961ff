"""A corpus whose truth is known: signers, habits, sessions, duplicates and a split that leaks.

It serves the demo, the tests and the benches. What an audit must find in it is
returned beside it: the planted pairs, and how many groups cross the official
split at every level. It stands in for recordings and claims nothing about any
language.

*Conventions*: everything is drawn from one generator, so a seed and the
settings give the same bytes. Positions in metres, rounded to the 0.1 mm that a
depth sensor could tell; layout ``arms-12``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snellen.core import corpus as nouns
from snellen.signal.keypoints import Keypoints
from snellen.tasks.isolated.synthetic.body import ARMS, pose_points, turn
from snellen.tasks.isolated.synthetic.folder import write_folder
from snellen.tasks.isolated.synthetic.motion import (
    Cast,
    Takes,
    draw_cast,
    draw_signs,
    draw_takes,
    joint_angles,
)
from snellen.tasks.isolated.synthetic.plan import (
    Crossing,
    Plan,
    Settings,
    crossings,
    make_plan,
    signer_name,
)

__all__ = ["ARMS", "Crossing", "Planted", "Settings", "make_corpus", "write_folder"]

SENSOR_NOISE = 0.004  # metres
BLOCK = 2_000  # clips worked on at once: bounds the memory of large corpora
STREAM = "camera-1"


@dataclass(frozen=True, slots=True)
class Planted:
    """A corpus with its recordings and the truth about both.

    ``near_pairs`` and ``exact_pairs`` hold the planted (original, copy) items;
    an exact pair is not repeated among the near ones. ``crossings`` maps a
    level of the audit to what crosses between train and test in the official
    split; there an exact pair counts as a near one as well.
    """

    settings: Settings
    corpus: nouns.Corpus
    keypoints: Keypoints
    near_pairs: tuple[tuple[str, str], ...]
    exact_pairs: tuple[tuple[str, str], ...]
    crossings: dict[str, Crossing]


def make_corpus(settings: Settings, rng: np.random.Generator) -> Planted:
    """Record a whole corpus; 10,000 clips take a few seconds.

    >>> planted = make_corpus(Settings(), np.random.default_rng(0))
    >>> len(planted.corpus), planted.crossings["cluster"].crossing
    (576, 10)
    """
    plan = make_plan(settings)
    signs, cast = draw_signs(settings, rng), draw_cast(settings, rng)
    takes = draw_takes(plan, cast, rng)
    items, words = plan.items, plan.words
    keypoints = _record(plan, signs, cast, takes, rng)
    corpus = nouns.make_corpus(
        "synthetic",
        items,
        [words[k] for k in plan.sign.tolist()],
        columns={
            "signer": [signer_name(k) for k in plan.signer.tolist()],
            "session": [
                f"{signer_name(k)}/{session + 1}"
                for k, session in zip(plan.signer.tolist(), plan.session.tolist(), strict=True)
            ],
            "number": plan.number.tolist(),
            "stream": [STREAM] * settings.clips,
            "official": plan.official,
            "n_frames": (takes.frames - takes.skipped).tolist(),
        },
        features=keypoints.digest,
    )
    return Planted(
        settings=settings,
        corpus=corpus,
        keypoints=keypoints,
        near_pairs=tuple((items[a], items[b]) for a, b in plan.near.tolist()),
        exact_pairs=tuple((items[a], items[b]) for a, b in plan.exact.tolist()),
        crossings=crossings(settings),
    )


def _record(
    plan: Plan, signs: np.ndarray, cast: Cast, takes: Takes, rng: np.random.Generator
) -> Keypoints:
    """All clips, one after the other in the order of their names."""
    names = plan.items
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    lengths = (takes.frames - takes.skipped)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.empty((int(offsets[-1]), len(ARMS.points), 3), dtype=np.float32)
    present = np.empty(values.shape[:2], dtype=bool)
    for start in range(0, len(order), BLOCK):
        stop = min(start + BLOCK, len(order))
        rows = slice(int(offsets[start]), int(offsets[stop]))
        clip = np.repeat(order[start:stop], lengths[start:stop])
        frame = np.arange(rows.start, rows.stop) - np.repeat(
            offsets[start:stop], lengths[start:stop]
        )
        u = (frame + takes.skipped[clip]) / (takes.frames[clip] - 1)
        seen = _present(takes, clip, u)
        points = _points(plan, signs, cast, takes, clip, u, rng)
        values[rows] = np.where(seen[..., None], np.round(points, 4), 0.0)
        present[rows] = seen
    position = np.argsort(order)
    for original, copy in position[plan.exact]:
        to, of = slice(*offsets[copy : copy + 2]), slice(*offsets[original : original + 2])
        values[to], present[to] = values[of], present[of]
    items = tuple(names[k] for k in order.tolist())
    return Keypoints(ARMS, items, values, present, offsets.astype(np.int64))


def _points(
    plan: Plan,
    signs: np.ndarray,
    cast: Cast,
    takes: Takes,
    clip: np.ndarray,
    u: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """What the sensor gives for frames at ``u`` of their ``clip``: (frames, points, 3)."""
    signer, session = plan.signer[clip], plan.session[clip]
    body = pose_points(joint_angles(plan, signs, cast, takes, clip, u), cast.scale[signer])
    seen = turn(body, cast.yaw[signer, session], cast.shift[signer, session])
    return np.asarray(seen + SENSOR_NOISE * rng.standard_normal(seen.shape))


def _present(takes: Takes, clip: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Which points were detected; a hand is lost whole, for a burst of frames."""
    seen = np.ones((len(clip), len(ARMS.points)), dtype=bool)
    for hand, block in enumerate(ARMS.blocks[1:]):
        start, stop = takes.lost[clip, hand].T
        seen[:, block.start : block.stop] = ~((u >= start) & (u < stop))[:, None]
    return seen

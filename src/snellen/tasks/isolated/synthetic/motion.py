"""How a sign moves, and what each signer makes of it.

A sign is a held pose plus slow swings of the joints. Every signer has a resting
pose, a size, a tempo, and habits that change each sign in a way of their own. A
habit can be learnt from that signer's other takes and says nothing about
anybody else: the reason why a random split flatters.

*Conventions*: angles in radians, joints as in ``body.JOINTS``, arm 0 is the
left one. ``u`` runs from 0 to 1 over a clip. A shape has the axes (arm, joint,
term): the pose, then sine and cosine of one and of two swings a clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snellen.tasks.isolated.synthetic.plan import Plan, Settings

__all__ = ["Cast", "Takes", "draw_cast", "draw_signs", "draw_takes", "joint_angles"]

# Joints in order: hands in the lap, hands in signing space, and how far signs spread around that.
REST = np.array([0.33, 0.53, 0.35, 1.2, 0.1, 0.15])
READY = np.array([0.35, 0.7, 0.45, 1.6, 0.1, 0.2])
JOINT_SPREAD = np.array([0.22, 0.22, 0.30, 0.30, 0.30, 0.45])
# Spread of each term, in units of the joint's spread.
SIGN = np.array([0.53, 0.22, 0.22, 0.17, 0.17])
HABIT = np.array([0.70, 0.19, 0.19, 0.13, 0.13])
TAKE = np.array([0.16, 0.19, 0.19, 0.14, 0.14])
SWINGS = (1, 2)
RESTING = 0.35
TAKE_GAIN = 0.06
CUT = 0.8  # how far the hands are up where a clip begins and ends
STILL = (0.0, 0.15)  # before the hands rise, and after they fell
ONE_HANDED = 0.5
LIKENESS = 0.5  # what a similar sign takes over from its model
BURST_CHANCE, BURST = 0.35, (0.05, 0.25)
FRAMES = (30, 70)
ELBOW, ELBOW_RANGE = 3, (0.05, 2.6)


@dataclass(frozen=True, slots=True)
class Cast:
    """The signers, and where the camera stood: arrays over signers (and signs or sessions)."""

    scale: np.ndarray
    tempo: np.ndarray
    rest: np.ndarray
    habit: np.ndarray
    yaw: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True, slots=True)
class Takes:
    """What differs from take to take, one row a clip.

    A clip shows the performance of ``frames`` frames from frame ``skipped`` on;
    ``still`` is the share of it before the hands rise and after they fell.
    ``lost`` has shape (clips, 2, 2): from where to where in u the detector
    loses the left and the right hand.
    """

    frames: np.ndarray
    skipped: np.ndarray
    gain: np.ndarray
    still: np.ndarray
    shape: np.ndarray
    lost: np.ndarray


def draw_signs(settings: Settings, rng: np.random.Generator) -> np.ndarray:
    """Shapes (signs, 2, 6, 5); sign 2k + 1 of the first ``similar_pairs`` resembles sign 2k."""
    shape = _shapes((settings.signs,), SIGN, rng)
    shape[..., 0] += READY - REST
    one_handed = rng.random(settings.signs) < ONE_HANDED
    for model in range(0, 2 * settings.similar_pairs, 2):
        shape[model + 1] += LIKENESS * (shape[model] - shape[model + 1])
        one_handed[model + 1] = one_handed[model]
    shape[one_handed, 0] = 0.0
    return shape


def draw_cast(settings: Settings, rng: np.random.Generator) -> Cast:
    """Bodies and habits of all signers, and where the camera stood in each session."""
    signers, sittings = settings.signers, (settings.signers, settings.sessions)
    rest = RESTING * JOINT_SPREAD * rng.standard_normal((signers, 2, len(REST)))
    return Cast(
        scale=rng.uniform(0.88, 1.12, signers),
        tempo=rng.uniform(0.8, 1.25, signers),
        rest=REST + rest,
        habit=_shapes((signers, settings.signs), HABIT, rng),
        yaw=rng.normal(0, 0.12, (signers, 1)) + rng.normal(0, 0.05, sittings),
        shift=np.array([0.0, 0.2, 2.2]) + rng.normal(0, 0.05, (*sittings, 3)),
    )


def draw_takes(plan: Plan, cast: Cast, rng: np.random.Generator) -> Takes:
    """Variation of every clip; a planted copy repeats its original."""
    clips = plan.settings.clips
    length = rng.normal(48, 4, clips) / cast.tempo[plan.signer]
    lost_at = rng.random((clips, 2))
    lost_for = rng.uniform(*BURST, (clips, 2)) * (rng.random((clips, 2)) < BURST_CHANCE)
    takes = Takes(
        frames=np.clip(np.rint(length), *FRAMES).astype(np.int64),
        skipped=np.zeros(clips, dtype=np.int64),
        gain=1 + TAKE_GAIN * rng.standard_normal(clips),
        still=rng.uniform(*STILL, (clips, 2)),
        shape=_shapes((clips,), TAKE, rng),
        lost=np.stack([lost_at, lost_at + lost_for], axis=-1),
    )
    original, copy = np.concatenate([plan.near, plan.exact]).T
    takes.lost[original] = 0.0  # a hand lost in both would hide how alike they are
    for drawn in (takes.frames, takes.gain, takes.still, takes.shape, takes.lost):
        drawn[copy] = drawn[original]
    # a near-duplicate is the same performance, cut a little later and detected anew
    takes.skipped[plan.near[:, 1]] = 1
    return takes


def joint_angles(
    plan: Plan, signs: np.ndarray, cast: Cast, takes: Takes, clip: np.ndarray, u: np.ndarray
) -> np.ndarray:
    """Joint angles (frames, 2, 6) of frames at ``u`` of their ``clip``."""
    signer, sign = plan.signer[clip], plan.sign[clip]
    before, after = takes.still[clip].T
    at = (u - before) / (1 - before - after)
    swings = [wave(2 * np.pi * cycles * at) for cycles in SWINGS for wave in (np.sin, np.cos)]
    terms = np.stack([np.ones_like(at), *swings], axis=-1)
    # most of the way up from the resting pose, all of it, and back
    up = _smooth(at / 0.25) * _smooth((1 - at) / 0.25)
    raised = takes.gain[clip] * (CUT + (1 - CUT) * up)
    shape = signs[sign] + cast.habit[signer, sign] + takes.shape[clip]
    angles = cast.rest[signer] + np.einsum("fajt,ft->faj", shape, raised[:, None] * terms)
    angles[..., ELBOW] = np.clip(angles[..., ELBOW], *ELBOW_RANGE)
    return np.asarray(angles)


def _shapes(size: tuple[int, ...], spread: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal draws of shape (*size, 2, 6, 5)."""
    draws = rng.standard_normal((*size, 2, len(JOINT_SPREAD), len(spread)))
    return np.asarray(draws * JOINT_SPREAD[:, None] * spread)


def _smooth(x: np.ndarray) -> np.ndarray:
    """0 below 0, 1 above 1, and a smooth step between."""
    x = np.clip(x, 0, 1)
    return np.asarray(x * x * (3 - 2 * x))

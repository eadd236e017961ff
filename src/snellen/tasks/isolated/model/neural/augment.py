"""Clips as they could also have been recorded: what networks are trained on.

Three recipes. ``none`` changes nothing. ``reference`` is the reference
document's: a temporal crop of up to 10 %, frames repeated with p .10, whole
groups of points zeroed with p .05 a frame, jitter of sigma .01. ``geometric``
is ours: another camera, another body, another pace, and points lost for a while
the way a detector loses them. None mirrors: which hand signs carries meaning.

*Conventions*: values float32 (clips, frames, points * dims), point-major; mask
bool (clips, frames, points). New arrays are returned. Lengths and amplitudes
are shares of the clip or shoulder widths; for sensors without geometry (one
dim a point), shares of each channel's spread.
"""

from __future__ import annotations

import numpy as np

__all__ = ["RECIPES", "augmented"]

RECIPES = ("none", "reference", "geometric")

# The reference document's.
CROP, REPEAT, GROUP_DROPOUT, JITTER = 0.10, 0.10, 0.05, 0.01
# Its groups are pose, left hand and right hand; other layouts are one group.
HOLISTIC_POINTS, HOLISTIC_GROUPS = 75, ((0, 33), (33, 54), (54, 75))

# Ours. Standard deviations unless named.
YAW_PITCH_ROLL = np.deg2rad([18.0, 7.0, 7.0])
SIZE, STRETCH = 0.15, 0.08  # of the whole body, of each axis (logarithms)
SHIFT, POINT_SHIFT = 0.1, 0.03
WANDER, NOISE = 0.02, 0.01
CUT, BEND = 0.15, 0.45  # at most this share off each end, and how far the pace varies
SENSOR_GAIN, SENSOR_OFFSET, SENSOR_WANDER = 0.2, 0.3, 0.05
HIDDEN_CLIPS, HIDDEN_POINTS, HIDDEN_SPAN = 0.5, 0.2, (0.1, 0.5)


def augmented(
    values: np.ndarray,
    mask: np.ndarray,
    dims: int,
    recipe: str,
    rng: np.random.Generator,
    *,
    zeros: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Every clip once, changed by ``recipe``.

    ``zeros``: the preprocessing writes missing points as zeros and does not tell;
    then so do points that are hidden here.
    """
    if recipe == "none":
        return values, mask
    clips, frames, _ = values.shape
    points = values.reshape(clips, frames, -1, dims)
    if recipe == "reference":
        points, mask = _reference(points, mask, rng)
    else:
        points, mask = _geometric(points, mask, rng, zeros=zeros)
    return points.reshape(clips, frames, -1).astype(np.float32, copy=False), mask


def _reference(
    values: np.ndarray, mask: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    clips, frames, points, _ = values.shape
    cut = rng.uniform(0, CROP, (clips, 1))
    kept = rng.uniform(0, cut) + (1 - cut) * np.linspace(0, 1, frames)
    values, mask = _resampled(values, mask, kept)
    repeated = rng.random((clips, frames)) < REPEAT
    before = np.maximum(np.arange(frames) - repeated, 0)
    rows = np.arange(clips)[:, None]
    values, mask = values[rows, before], mask[rows, before]
    for start, stop in HOLISTIC_GROUPS if points == HOLISTIC_POINTS else ((0, points),):
        dropped = rng.random((clips, frames, 1, 1)) < GROUP_DROPOUT
        values[:, :, start:stop] *= ~dropped
    return values + JITTER * rng.standard_normal(values.shape, np.float32), mask


def _geometric(
    values: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, zeros: bool
) -> tuple[np.ndarray, np.ndarray]:
    clips, frames, _, dims = values.shape
    # Where nothing tells which points are missing, a zero does.
    seen = np.asarray(values.any(axis=-1)) if zeros else mask
    spread = values.std(axis=(0, 1))
    values, seen = _resampled(values, seen, _pace(clips, frames, rng))
    values = (
        _other_sensor(values, spread, rng) if dims == 1 else _other_camera_and_body(values, rng)
    )
    gone, imputed = _hidden(values, rng)
    seen = seen & ~gone
    if zeros:
        return values * seen[..., None], np.ones_like(seen)
    # A point that a clip never shows is zero, as the preprocessing has it.
    ever = seen.any(axis=1)[:, None, :, None]
    return np.where(gone[..., None], imputed, values) * ever, seen


def _pace(clips: int, frames: int, rng: np.random.Generator) -> np.ndarray:
    """Places in [0, 1] of a clip to read frames from: other ends, a pace that varies smoothly."""
    start, end = rng.uniform(-CUT / 2, CUT, (2, clips, 1))
    pace = np.cumsum(np.exp(BEND * _smooth_noise((clips, frames), 5, rng)), axis=1)
    pace = (pace - pace[:, :1]) / (pace[:, -1:] - pace[:, :1])
    return np.asarray(np.clip(start + (1 - end - start) * pace, 0, 1))


def _resampled(
    values: np.ndarray, mask: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Clips read at other places of [0, 1], by straight lines; the mask of the nearest frame."""
    frames = values.shape[1]
    at = at * (frames - 1)
    before = np.minimum(at.astype(np.int64), frames - 2)
    share = (at - before).astype(np.float32)[..., None, None]
    rows = np.arange(len(values))[:, None]
    between = values[rows, before] * (1 - share) + values[rows, before + 1] * share
    return between, mask[rows, np.rint(at).astype(np.int64)]


def _other_camera_and_body(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    clips, _, points, dims = values.shape
    turned = np.einsum("cfpd,ced->cfpe", values, _rotations(clips, dims, rng), optimize=True)
    size = SIZE * rng.standard_normal((clips, 1, 1, 1), np.float32)
    stretch = STRETCH * rng.standard_normal((clips, 1, 1, dims), np.float32)
    shift = SHIFT * rng.standard_normal((clips, 1, 1, dims), np.float32)
    point_shift = POINT_SHIFT * rng.standard_normal((clips, 1, points, dims), np.float32)
    moved = turned * np.exp(size + stretch) + (shift + point_shift)
    moved += WANDER * _smooth_noise(values.shape, 8, rng)
    moved += NOISE * rng.standard_normal(values.shape, np.float32)
    return np.asarray(moved)


def _rotations(clips: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """A rotation a clip, (clips, dims, dims); in two dimensions a roll."""
    yaw, pitch, roll = YAW_PITCH_ROLL[:, None] * rng.standard_normal((3, clips))
    about_z = _turn(roll, 0, 1, dims)
    if dims == 2:
        return about_z
    return np.asarray(_turn(yaw, 0, 2, dims) @ _turn(pitch, 1, 2, dims) @ about_z)


def _turn(angle: np.ndarray, a: int, b: int, dims: int) -> np.ndarray:
    """Rotation by ``angle`` in the plane of the axes ``a`` and ``b``."""
    matrix = np.tile(np.eye(dims, dtype=np.float32), (len(angle), 1, 1))
    matrix[:, a, a] = matrix[:, b, b] = np.cos(angle)
    matrix[:, a, b], matrix[:, b, a] = np.sin(angle), -np.sin(angle)
    return matrix


def _other_sensor(values: np.ndarray, spread: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another gain about the clip's mean, another offset, slow drift and noise, by channel."""
    gain, offset = rng.standard_normal((2, len(values), 1, *values.shape[2:]), np.float32)
    mean = values.mean(axis=1, keepdims=True)
    moved = (values - mean) * np.exp(SENSOR_GAIN * gain) + mean
    drift = SENSOR_OFFSET * offset + SENSOR_WANDER * _smooth_noise(values.shape, 8, rng)
    drift += NOISE * rng.standard_normal(values.shape, np.float32)
    return np.asarray(moved + spread * drift)


def _smooth_noise(shape: tuple[int, ...], knots: int, rng: np.random.Generator) -> np.ndarray:
    """Straight lines in time (the second axis) between ``knots`` draws of unit variance."""
    clips, frames, *rest = shape
    drawn = rng.standard_normal((clips, knots, *rest), np.float32)
    at = np.linspace(0, knots - 1, frames)
    before = np.minimum(at.astype(np.int64), knots - 2)
    share = (at - before).astype(np.float32).reshape(frames, *(1 for _ in rest))
    return np.asarray(drawn[:, before] * (1 - share) + drawn[:, before + 1] * share)


def _hidden(values: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which points are lost for a span (clips, frames, points), and straight lines across it."""
    clips, frames, points, _ = values.shape
    some = (rng.random((clips, 1)) < HIDDEN_CLIPS) & (rng.random((clips, points)) < HIDDEN_POINTS)
    length = rng.uniform(*HIDDEN_SPAN, (clips, points)) * frames
    first = rng.uniform(0, frames - length).astype(np.int64)
    last = np.minimum((first + length).astype(np.int64) + 1, frames - 1)
    time = np.arange(frames)[None, :, None]
    start, stop = first[:, None], last[:, None]
    gone = some[:, None] & (time > start) & (time < stop)
    at = np.arange(clips)[:, None], np.arange(points)
    left, right = (values[at[0], edge, at[1]][:, None] for edge in (first, last))
    share = np.clip((time - start) / np.maximum(stop - start, 1), 0, 1).astype(np.float32)
    return gone, left + (right - left) * share[..., None]

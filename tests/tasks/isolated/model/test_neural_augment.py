import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.tasks.isolated.model.neural.augment import augmented


def clips(n=40, frames=24, points=6, dims=3, seed=0):
    """Points far apart that all move, every one seen."""
    rng = np.random.default_rng(seed)
    places = 5 * rng.standard_normal((1, 1, points, dims))
    paths = np.cumsum(rng.standard_normal((n, frames, points, dims)), axis=1) / 10
    values = (places + paths).astype(np.float32).reshape(n, frames, points * dims)
    return values, np.ones((n, frames, points), bool)


def drawn(recipe, values, mask, dims=3, seed=1, *, zeros=False):
    return augmented(values, mask, dims, recipe, np.random.default_rng(seed), zeros=zeros)


def test_no_augmentation_changes_nothing():
    values, mask = clips()

    changed = drawn("none", values, mask)

    np.testing.assert_array_equal(changed[0], values)
    np.testing.assert_array_equal(changed[1], mask)


@given(
    recipe=st.sampled_from(["reference", "geometric"]),
    dims=st.sampled_from([1, 2, 3]),
    points=st.sampled_from([1, 8, 75]),
    zeros=st.booleans(),
    seed=st.integers(0, 99),
)
def test_clips_keep_their_shape_and_stay_finite_and_the_input_stays_as_it_was(
    recipe, dims, points, zeros, seed
):
    values, mask = clips(n=3, frames=12, points=points, dims=dims, seed=seed)
    mask = np.random.default_rng(seed).random(mask.shape) < 0.7
    values_before, mask_before = values.copy(), mask.copy()

    changed, seen = drawn(recipe, values, mask, dims, seed, zeros=zeros)

    assert changed.shape == values.shape
    assert changed.dtype == np.float32
    assert seen.shape == mask.shape
    assert seen.dtype == bool
    assert np.isfinite(changed).all()
    np.testing.assert_array_equal(values, values_before)
    np.testing.assert_array_equal(mask, mask_before)


@pytest.mark.parametrize("recipe", ["reference", "geometric"])
def test_the_same_generator_draws_the_same_clips_and_another_draws_others(recipe):
    values, mask = clips()

    first, again, other = (drawn(recipe, values, mask, seed=k)[0] for k in (1, 1, 2))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_reference_zeroes_a_whole_hand_in_about_one_frame_of_twenty():
    values, mask = clips(n=200, points=75)

    changed, _ = drawn("reference", values, mask)

    size = np.abs(changed.reshape(200, 24, 75, 3)).max(axis=3)
    for start, stop in ((0, 33), (33, 54), (54, 75)):
        # Jitter of .01 stays below .1, and a point at the origin is rare.
        gone = (size[:, :, start:stop] < 0.1).mean(axis=2) > 0.9
        # 4,800 frames with p .05: 240 expected, standard deviation 15.
        assert 180 < gone.sum() < 300


def test_the_reference_repeats_about_one_frame_of_ten():
    values, mask = clips(n=200, points=1)

    changed, _ = drawn("reference", values, mask)

    # A repeated frame differs from the one before only by jitter, a new one by a step of .1.
    still = np.abs(np.diff(changed, axis=1)).max(axis=2) < 0.03
    moving = np.abs(changed).max(axis=2) > 0.1
    share = (still & moving[:, 1:] & moving[:, :-1]).sum() / (moving[:, 1:] & moving[:, :-1]).sum()
    assert 0.07 < share < 0.2


def test_the_geometric_recipe_keeps_the_hand_on_its_side():
    values, mask = clips(n=100, points=4)
    body = values.reshape(100, 24, 4, 3).copy()
    body[..., 0, :], body[..., 1, :], body[..., 2, :], body[..., 3, :] = (
        np.array(place, np.float32) for place in ([2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 0, 0])
    )

    changed, _ = drawn("geometric", body.reshape(100, 24, -1), mask)

    # The orientation of three axes survives every rotation and no mirror.
    first = changed.reshape(100, 24, 4, 3).mean(axis=1)
    assert (np.linalg.det(first[:, :3] - first[:, 3:]) > 0).all()


def test_hidden_points_lie_on_straight_lines_and_are_marked():
    values, mask = clips()

    changed, seen = drawn("geometric", values, mask)

    paths = changed.reshape(40, 24, 6, 3)
    bends = np.abs(paths[:, 2:] - 2 * paths[:, 1:-1] + paths[:, :-2]).max(axis=3)
    hidden = ~seen[:, 1:-1]
    assert hidden.any()
    assert bends[hidden].max() < 1e-3
    assert np.median(bends[~hidden]) > 0.01
    # Half of the clips hide a fifth of their points for .1 to .5 of the time: about 3 %.
    assert 0.01 < hidden.mean() < 0.06


def test_where_missing_points_are_zeros_hidden_ones_are_too_and_the_mask_says_nothing():
    values, mask = clips()
    lost = values.reshape(40, 24, 6, 3).copy()
    lost[:, :, 2] = 0

    changed, seen = drawn("geometric", lost.reshape(values.shape), mask, zeros=True)

    points = changed.reshape(40, 24, 6, 3)
    assert seen.all()
    assert not points[:, :, 2].any()
    zero = ~points.any(axis=3)
    assert 0.01 < zero[:, :, [0, 1, 3, 4, 5]].mean() < 0.06


def test_a_point_that_a_clip_never_shows_stays_zero():
    values, mask = clips()
    lost = values.reshape(40, 24, 6, 3).copy()
    lost[:, :, 2], mask[:, :, 2] = 0, False

    changed, seen = drawn("geometric", lost.reshape(values.shape), mask)

    assert not changed.reshape(40, 24, 6, 3)[:, :, 2].any()
    assert not seen[:, :, 2].any()


def test_a_sensor_keeps_its_rhythm_under_another_gain_and_offset():
    values, mask = clips(n=300, points=2, dims=1)

    changed, _ = drawn("geometric", values, mask, dims=1)

    spread = values.std(axis=(0, 1))
    moved = (changed.mean(axis=1) - values.mean(axis=1)) / spread
    # Offsets are drawn with a standard deviation of .3 of the spread.
    assert 0.2 < moved.std() < 0.5

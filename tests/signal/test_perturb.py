"""Every condition counted by hand on a few frames, and the laws that hold on any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.errors import BadInput
from snellen.signal.hands import hands_of
from snellen.signal.keypoints import Block, Layout, gather
from snellen.signal.layouts import layout_by_name
from snellen.signal.perturb import (
    CLEAN,
    CONDITIONS,
    CURVES,
    Condition,
    condition_of,
    conditions_by_name,
    inapplicable,
    perturbed,
    perturbed_arrays,
)

BY_NAME = {condition.name: condition for condition in CONDITIONS}
BODY = Layout(
    "own",
    ("left_shoulder", "right_shoulder", "left_hand", "right_hand"),
    ("x", "y", "z"),
    (Block("body", 0, 4),),
    "metre",
    (0, 1),
)
HANDS = hands_of(BODY)


def rng():
    return np.random.default_rng(7)


def recorded(*lengths, layout=BODY, absent=()):
    """Clips whose frame t of clip k holds 100 k + t + 1 everywhere; ``absent`` are (frame, point)."""
    clips = []
    for k, length in enumerate(lengths):
        number = 100 * k + 1 + np.arange(length, dtype=np.float32)
        values = np.tile(number[:, None, None], (1, len(layout.points), len(layout.dims)))
        clips.append((values, np.ones(values.shape[:2], dtype=bool)))
    made = gather(layout, [f"c{k}" for k in range(len(clips))], clips)
    for frame, point in absent:
        made.values[frame, point], made.present[frame, point] = 0, False
    return made


def drawn(seed, lengths):
    """Keypoints with random values, of which about a third are missing."""
    generator = np.random.default_rng(seed)
    clips = [(generator.normal(size=(n, 4, 3)), generator.random((n, 4)) < 0.7) for n in lengths]
    return gather(BODY, [f"c{k:03d}" for k in range(len(clips))], clips)


def numbers(keypoints):
    """The frames of each clip by their number, for recordings of :func:`recorded`."""
    return [keypoints.clip(k)[0][:, 0, 0].astype(int).tolist() for k in range(len(keypoints))]


def test_there_are_fourteen_conditions_each_with_its_own_name():
    assert len(CONDITIONS) == 14
    assert len({condition.name for condition in CONDITIONS}) == 14
    assert len({condition.title for condition in CONDITIONS}) == 14


def test_every_condition_with_a_severity_lies_on_its_curve_and_curves_rise():
    points = {point for curve in CURVES for point in curve}

    assert {c for c in CONDITIONS if c.severity} <= points
    for curve in CURVES:
        severities = [point.severity for point in curve]
        assert severities == sorted(set(severities))
        assert len({point.kind for point in curve}) == 1


def test_a_removed_hand_is_missing_in_every_frame_and_nothing_else_changes():
    clean = recorded(2, absent=[(0, 0)])

    left = perturbed(clean, BY_NAME["left_hand_missing"], rng())

    assert left.present.tolist() == [[False, True, False, True], [True, True, False, True]]
    assert left.values[:, 2].tolist() == [[0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(left.values[:, [0, 1, 3]], clean.values[:, [0, 1, 3]])


def test_both_hands_are_the_left_and_the_right_one():
    both = perturbed(recorded(1), BY_NAME["both_hands_missing"], rng())

    assert both.present.tolist() == [[True, True, False, False]]
    assert both.values[0, :, 0].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("layout", "condition", "why"),
    [
        ("powerglove-8", "left_hand_missing", "layout powerglove-8 has no left hand"),
        ("powerglove-8", "both_hands_missing", "layout powerglove-8 has no left hand"),
        ("powerglove-8", "right_hand_missing", None),
        ("powerglove-8", "dropout_10", None),
        ("kinect-12", "both_hands_missing", None),
    ],
)
def test_a_hand_that_the_layout_lacks_cannot_be_removed(layout, condition, why):
    assert inapplicable(BY_NAME[condition], layout_by_name(layout)) == why


def test_a_layout_without_hands_says_so_for_both():
    face = Layout("face", ("nose",), ("x", "y"), (), "pixel")

    why = inapplicable(BY_NAME["both_hands_missing"], face)

    assert why == "layout face has no left and no right hand"


def test_the_right_hand_of_a_glove_is_everything():
    glove = recorded(2, layout=layout_by_name("powerglove-8"))

    bare = perturbed(glove, BY_NAME["right_hand_missing"], rng())

    assert not bare.present.any()
    assert not bare.values.any()


def test_every_second_frame_starts_anew_in_each_clip():
    halved = perturbed(recorded(3, 1, 4), BY_NAME["subsample_2x"], rng())

    assert numbers(halved) == [[1, 3], [101], [201, 203]]
    assert halved.offsets.tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize(("share", "left"), [(0.2, [8, 1]), (0.4, [6, 1]), (0.9, [1, 1])])
def test_so_many_frames_are_dropped_and_the_rest_closes_up_in_order(share, left):
    short = perturbed(recorded(10, 1), condition_of("frame drop", share), rng())

    assert short.lengths.tolist() == left
    assert numbers(short)[0] == sorted(set(numbers(short)[0]))
    assert numbers(short)[1] == [101]


def test_noise_is_counted_in_shoulder_widths_of_the_clip():
    clips = []
    for width in (0.5, 2.0):
        values = np.zeros((4000, 4, 3))
        values[:, 1, 0] = width
        clips.append((values, np.ones((4000, 4), dtype=bool)))
    clean = gather(BODY, ["narrow", "wide"], clips)

    noisy = perturbed(clean, BY_NAME["jitter_0.50"], rng())

    for k, expected in enumerate((0.25, 1.0)):
        noise = noisy.clip(k)[0] - clean.clip(k)[0]
        assert noise.std() == pytest.approx(expected, rel=0.02)


def test_a_clip_that_never_shows_both_shoulders_takes_the_width_of_the_others():
    values = np.zeros((2000, 4, 3))
    values[:, 1, 0] = 3.0
    hidden = np.ones((2000, 4), dtype=bool)
    hidden[:, 0] = False
    clean = gather(BODY, ["a", "b"], [(values, np.ones((2000, 4), bool)), (values.copy(), hidden)])

    noisy = perturbed(clean, condition_of("jitter", 1.0), rng())

    noise = (noisy.clip(1)[0] - clean.clip(1)[0])[:, 1:]
    assert noise.std() == pytest.approx(3.0, rel=0.05)


def test_depth_of_a_picture_is_no_part_of_the_shoulder_width():
    flat = Layout("own", BODY.points, BODY.dims, BODY.blocks, "image", (0, 1))
    values = np.zeros((2000, 4, 3))
    values[:, 1] = (0.3, 0.4, 9.0)
    clean = gather(flat, ["a"], [(values, np.ones((2000, 4), dtype=bool))])

    noise = perturbed(clean, condition_of("jitter", 1.0), rng()).values - clean.values

    assert noise.std() == pytest.approx(0.5, rel=0.03)


def test_without_shoulders_noise_follows_the_spread_of_each_channel():
    glove = layout_by_name("powerglove-8")
    values = np.zeros((4000, 8, 1))
    values[::2, 0] = 2.0  # a spread of 1
    values[::2, 1] = 20.0  # a spread of 10, and channels 2.. stand still
    seen = np.ones((4000, 8), dtype=bool)
    seen[::2, 1] = False
    clean = gather(glove, ["a"], [(values, seen)])

    noise = perturbed(clean, condition_of("jitter", 0.5), rng()).values - clean.values

    assert noise[:, 0].std() == pytest.approx(0.5, rel=0.05)
    assert not noise[:, 1:].any()  # channel 1 is 0 wherever it is seen


def test_the_mask_is_no_part_of_recordings():
    with pytest.raises(ValueError, match="not in recordings"):
        perturbed(recorded(2), BY_NAME["mask_missing"], rng())


def test_conditions_are_found_by_name_in_their_order():
    found = conditions_by_name(["jitter_0.25", "clean"])

    assert found == (CLEAN, BY_NAME["jitter_0.25"])


def test_every_unknown_condition_is_named_with_what_is_allowed():
    with pytest.raises(BadInput) as raised:
        conditions_by_name(["clean", "fog", "rain"])

    assert [fault.seen for fault in raised.value.faults] == [
        "no condition 'fog'",
        "no condition 'rain'",
    ]
    assert "subsample_2x, mask_missing" in raised.value.faults[0].allowed


RAW = [c for c in CONDITIONS if c.kind != "mask"]
LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(st.integers(0, 2**32), LENGTHS, st.sampled_from(RAW))
def test_what_is_missing_stays_missing_and_is_0(seed, lengths, condition):
    clean = drawn(seed, lengths)
    before = clean.digest

    disturbed = perturbed(clean, condition, np.random.default_rng(seed))

    assert clean.digest == before  # the input is not written to
    assert not disturbed.values[~disturbed.present].any()
    assert disturbed.values.dtype == np.float32
    assert disturbed.offsets[-1] == len(disturbed.values) == len(disturbed.present)
    assert (disturbed.lengths >= 1).all()
    if condition.kind not in ("frame drop", "subsample"):
        assert not (disturbed.present & ~clean.present).any()


@given(st.integers(0, 2**32), LENGTHS, st.sampled_from([0.1, 0.3, 0.7]))
def test_dropout_takes_points_away_and_touches_no_other(seed, lengths, share):
    clean = drawn(seed, lengths)

    disturbed = perturbed(clean, condition_of("dropout", share), np.random.default_rng(seed))

    kept = disturbed.present
    assert not (kept & ~clean.present).any()
    np.testing.assert_array_equal(disturbed.values[kept], clean.values[kept])
    assert disturbed.offsets.tolist() == clean.offsets.tolist()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_dropout_loses_its_share_of_the_points_seen(share):
    clean = drawn(3, [5000, 5000])

    kept = perturbed(clean, condition_of("dropout", share), rng()).present

    n = clean.present.sum()
    assert n - kept.sum() == pytest.approx(share * n, abs=4 * np.sqrt(n * share * (1 - share)))


@given(st.integers(0, 2**32), LENGTHS, st.sampled_from([0.2, 0.6, 0.9]))
def test_dropped_frames_leave_the_others_as_they_were_and_in_order(seed, lengths, share):
    clean = recorded(*lengths)

    short = perturbed(clean, condition_of("frame drop", share), np.random.default_rng(seed))

    for before, after in zip(numbers(clean), numbers(short), strict=True):
        lost = round(share * len(before))
        assert len(after) == max(1, len(before) - lost)
        assert after == [number for number in before if number in after]


@given(st.integers(0, 2**32), LENGTHS)
def test_no_severity_is_no_change(seed, lengths):
    clean = drawn(seed, lengths)
    generator = np.random.default_rng(seed)

    for kind in ("clean", "dropout", "jitter", "frame drop"):
        same = perturbed(clean, Condition("none", "none", kind, 0.0), generator)
        assert same.digest == clean.digest


@pytest.mark.parametrize("condition", RAW, ids=lambda c: c.name)
def test_the_same_generator_gives_the_same_recordings(condition):
    clean = drawn(5, [9, 4, 12])

    first, second = (perturbed(clean, condition, rng()).digest for _ in range(2))

    assert first == second
    assert (first == clean.digest) == (condition == CLEAN)


# What a model is fed: 2 clips of 4 frames, 4 points of 3 coordinates, one point unseen but filled.
FED = np.arange(1, 97, dtype=np.float32).reshape(2, 4, 12)
SEEN = np.ones((2, 4, 4), dtype=bool)
SEEN[0, 1, 2] = False


def strictly(condition, values=FED, mask=SEEN, *, in_shoulder_widths=True):
    before = values.copy(), mask.copy()
    found = perturbed_arrays(
        values, mask, condition, HANDS, rng(), in_shoulder_widths=in_shoulder_widths
    )
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(mask, before[1])
    assert found[0].shape == values.shape
    assert found[1].shape == mask.shape
    assert found[0].dtype == np.float32
    return found


def test_a_hand_taken_from_the_models_input_is_0_even_where_it_was_filled_in():
    values, mask = strictly(BY_NAME["left_hand_missing"])

    assert not mask[:, :, 2].any()
    assert not values[:, :, 6:9].any()
    np.testing.assert_array_equal(values[:, :, :6], FED[:, :, :6])
    np.testing.assert_array_equal(values[:, :, 9:], FED[:, :, 9:])


def test_noise_on_the_models_input_leaves_what_was_filled_in():
    values, mask = strictly(BY_NAME["jitter_0.10"])

    np.testing.assert_array_equal(mask, SEEN)
    assert values[0, 1, 6:9].tolist() == FED[0, 1, 6:9].tolist()
    changed = (values != FED).reshape(2, 4, 4, 3).all(axis=3)
    np.testing.assert_array_equal(changed, SEEN)


def test_a_zero_in_all_coordinates_counts_as_missing_where_there_is_no_mask():
    zeros = FED.copy()
    zeros[1, 2, 3:6] = 0

    values, _ = strictly(BY_NAME["jitter_0.50"], zeros, np.ones_like(SEEN))

    assert values[1, 2, 3:6].tolist() == [0, 0, 0]
    assert (values != zeros).sum() == 2 * 4 * 12 - 3


def test_noise_on_a_gloves_input_follows_its_channels_and_reaches_their_zeros():
    values = np.zeros((1, 2000, 2), dtype=np.float32)
    values[0, ::2, 0] = 6.0  # a spread of 3

    found, _ = perturbed_arrays(
        values,
        np.ones(values.shape, dtype=bool),
        condition_of("jitter", 1.0),
        {},
        rng(),
        in_shoulder_widths=False,
    )

    assert (found - values)[0, :, 0].std() == pytest.approx(3.0, rel=0.05)
    assert (found != values)[0, 1::2, 0].all()
    assert not found[0, :, 1].any()


def test_dropped_points_of_the_models_input_are_0_and_unseen():
    values, mask = strictly(condition_of("dropout", 0.5))

    lost = SEEN & ~mask
    assert 0 < lost.sum() < SEEN.sum()
    points = values.reshape(2, 4, 4, 3)
    assert not points[lost].any()
    np.testing.assert_array_equal(points[~lost], FED.reshape(2, 4, 4, 3)[~lost])


def test_every_second_frame_of_the_models_input_is_held():
    values, mask = strictly(BY_NAME["subsample_2x"])

    np.testing.assert_array_equal(values, FED[:, [0, 0, 2, 2]])
    np.testing.assert_array_equal(mask, SEEN[:, [0, 0, 2, 2]])


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([0.2, 0.6, 0.9]))
def test_dropped_frames_of_the_models_input_hold_the_last_one_kept(seed, frames, share):
    values = np.tile(np.arange(1, frames + 1, dtype=np.float32)[None, :, None], (3, 1, 2))
    mask = np.ones((3, frames, 1), dtype=bool)

    found, _ = perturbed_arrays(
        values,
        mask,
        condition_of("frame drop", share),
        {},
        np.random.default_rng(seed),
        in_shoulder_widths=True,
    )

    for clip in found[:, :, 0].astype(int).tolist():
        kept = sorted(set(clip))
        assert len(kept) == max(1, frames - round(share * frames))
        held = [max([k for k in kept if k <= t], default=kept[0]) for t in range(1, frames + 1)]
        assert clip == held


def test_the_mask_is_zeroed_and_the_values_stay():
    values, mask = strictly(BY_NAME["mask_missing"])

    assert not mask.any()
    np.testing.assert_array_equal(values, FED)

import numpy as np
import pytest

from snellen.signal.keypoints import Block, Keypoints, Layout, gather
from snellen.tasks.isolated.align import prepare
from snellen.tasks.isolated.align.resample import resampling
from snellen.tasks.isolated.align.snellen import filled_in_time, in_body_frame, points_used

TWO_SHOULDERS = Layout(
    name="toy-3",
    points=("left_shoulder", "right_shoulder", "left_wrist"),
    dims=("x", "y", "z"),
    blocks=(Block("body", 0, 3),),
    unit="metre",
    shoulders=(0, 1),
)
GLOVE = Layout("toy-glove", ("x", "roll"), ("value",), (Block("glove", 0, 2),), "sensor")


def one_clip(values, present=None, layout=TWO_SHOULDERS):
    values = np.asarray(values, dtype=np.float32)
    present = np.ones(values.shape[:2], bool) if present is None else np.asarray(present)
    return gather(layout, ["clip"], [(values, present)])


def standing(frames, wrist=(0.0, 0.0, 2.0), width=0.4, turn=0.0, at=(0.0, 0.0, 2.0)):
    half = width / 2 * np.array([np.cos(turn), 0, np.sin(turn)])
    frame = np.array([np.array(at) - half, np.array(at) + half, wrist])
    return np.tile(frame, (frames, 1, 1))


def test_a_gap_is_filled_on_the_straight_line_between_its_ends():
    values = np.array([[[0.0]], [[9.0]], [[9.0]], [[3.0]]], dtype=np.float32)
    present = np.array([[True], [False], [False], [True]])

    filled = filled_in_time(values, present, np.array([0, 4]))

    assert filled[:, 0, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_before_the_first_and_after_the_last_sighting_the_point_is_held():
    values = np.array([[[0.0]], [[5.0]], [[0.0]]], dtype=np.float32)
    present = np.array([[False], [True], [False]])

    filled = filled_in_time(values, present, np.array([0, 3]))

    assert filled[:, 0, 0].tolist() == [5.0, 5.0, 5.0]


def test_a_gap_never_borrows_from_the_neighbouring_clip():
    values = np.array([[[1.0]], [[0.0]], [[0.0]], [[7.0]]], dtype=np.float32)
    present = np.array([[True], [False], [False], [True]])

    filled = filled_in_time(values, present, np.array([0, 2, 4]))

    assert filled[:, 0, 0].tolist() == [1.0, 1.0, 7.0, 7.0]


def test_a_point_never_seen_in_a_clip_stays_zero_and_its_mask_false():
    values = standing(5)
    present = np.ones((5, 3), bool)
    present[:, 2] = False

    prepared = prepare(one_clip(values, present), frames=4)

    assert prepared.mask[0].tolist() == [[True, True, False]] * 4
    assert prepared.values[0].reshape(4, 3, 3)[:, 2].tolist() == [[0.0, 0.0, 0.0]] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"at": (3.0, -1.0, 4.0), "wrist": (3.2, -1.0, 4.0)},
        {"width": 0.8, "wrist": (0.4, 0.0, 2.0)},
    ],
)
def test_place_and_size_of_the_body_do_not_matter(change):
    plain = prepare(one_clip(standing(6, wrist=(0.2, 0.0, 2.0))))
    moved = prepare(one_clip(standing(6, **change)))

    np.testing.assert_allclose(moved.values, plain.values, atol=1e-5)


def test_a_metric_body_turned_from_the_sensor_is_turned_back():
    turn = 0.5
    wrist = np.array([0.0, 0.0, 2.0]) + 0.3 * np.array([np.cos(turn), 0, np.sin(turn)])
    turned = standing(6, wrist=tuple(wrist), turn=turn)

    values = prepare(one_clip(turned)).values[0].reshape(-1, 3, 3)

    np.testing.assert_allclose(values[0, 2], [0.3 / 0.4, 0, 0], atol=1e-5)


def test_without_shoulders_sensor_values_stay_as_they_are():
    prepared = prepare(one_clip([[[1.0], [2.0]], [[3.0], [4.0]]], layout=GLOVE), frames=3)

    assert prepared.values[0].tolist() == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]


def test_a_clip_whose_shoulders_are_never_seen_is_centred_on_itself():
    values = standing(4)
    present = np.ones((4, 3), bool)
    present[:, 0] = False

    framed = in_body_frame(values.astype(np.float32), present, np.array([0, 4]), TWO_SHOULDERS)

    np.testing.assert_allclose(framed.mean(axis=(0, 1)), 0, atol=1e-6)


def test_legs_and_face_are_left_out():
    layout = Layout(
        "toy-4",
        ("nose", "face_1", "left_knee", "left_hand"),
        ("x",),
        (Block("body", 0, 1), Block("face", 1, 2), Block("rest", 2, 4)),
        "metre",
    )

    assert points_used(layout).tolist() == [0, 3]


def test_resampling_reads_the_first_and_the_last_frame_of_every_clip():
    before, after, share = resampling(np.array([0, 1, 8]), 3)

    assert before.tolist() == [[0, 0, 0], [1, 4, 7]]
    assert after.tolist() == [[0, 0, 0], [2, 5, 7]]
    assert share.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_each_clip_is_prepared_alike_whatever_stands_beside_it():
    rng = np.random.default_rng(0)
    clips = [
        (rng.normal(size=(n, 3, 3)).astype(np.float32), rng.random((n, 3)) < 0.8)
        for n in (5, 30, 9)
    ]
    together = prepare(gather(TWO_SHOULDERS, ["a", "b", "c"], clips))

    alone = prepare(gather(TWO_SHOULDERS, ["b"], clips[1:2]))

    np.testing.assert_array_equal(together.values[1], alone.values[0])
    np.testing.assert_array_equal(together.mask[1], alone.mask[0])


def test_the_fingerprint_changes_with_the_recipe_and_not_with_the_clips():
    one = prepare(one_clip(standing(5)))
    other = prepare(one_clip(standing(9, wrist=(0.3, 0.1, 2.0))))

    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != prepare(one_clip(standing(5)), frames=32).fingerprint
    assert one.digest != other.digest


def test_keypoints_are_not_changed():
    keypoints: Keypoints = one_clip(standing(5))
    before = keypoints.values.copy()

    prepare(keypoints)

    np.testing.assert_array_equal(keypoints.values, before)


def test_without_imputation_a_missing_point_is_zero_and_the_mask_says_nothing():
    values = standing(4, wrist=(0.4, 0.0, 2.0))
    present = np.ones((4, 3), bool)
    present[1:3, 2] = False

    zeros = prepare(one_clip(values, present), preprocessing="snellen-1-zeros", frames=4)
    filled = prepare(one_clip(values, present), frames=4)

    assert zeros.values[0].reshape(4, 3, 3)[:, 2, 0].tolist() == [1.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(filled.values[0].reshape(4, 3, 3)[:, 2, 0], 1.0, rtol=1e-6)
    assert zeros.mask.all()
    assert filled.mask[0, :, 2].tolist() == [True, False, False, True]
    assert zeros.fingerprint != filled.fingerprint

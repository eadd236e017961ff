"""Keypoints: ragged clips, sorted by name, always with their presence."""

import numpy as np

from snellen.signal.keypoints import Block, Layout, gather

DOT = Layout("dot", ("tip",), ("x", "y"), (Block("all", 0, 1),), "image")


def clip(*rows, present=None):
    values = np.array(rows, np.float32).reshape(-1, 1, 2)
    mask = np.ones(values.shape[:2], bool) if present is None else np.array(present).reshape(-1, 1)
    return values, mask


def test_clips_are_sorted_by_name_and_keep_their_lengths():
    keypoints = gather(DOT, ["b", "a"], [clip((1, 2), (3, 4)), clip((5, 6))])

    assert keypoints.items == ("a", "b")
    assert keypoints.lengths.tolist() == [1, 2]
    assert keypoints.offsets.tolist() == [0, 1, 3]
    assert keypoints.clip(1)[0].tolist() == [[[1, 2]], [[3, 4]]]


def test_the_values_of_a_missing_point_are_zero_whatever_they_were():
    keypoints = gather(DOT, ["a"], [clip((7, np.nan), (3, 4), present=[False, True])])

    values, present = keypoints.clip(0)
    assert values.tolist() == [[[0, 0]], [[3, 4]]]
    assert present.tolist() == [[False], [True]]


def test_the_digest_tells_a_missing_point_from_a_point_at_the_origin():
    missing = gather(DOT, ["a"], [clip((0, 0), present=[False])])
    origin = gather(DOT, ["a"], [clip((0, 0))])

    assert missing.digest != origin.digest


def test_the_digest_does_not_depend_on_the_order_given():
    one, two = clip((1, 2)), clip((3, 4))

    assert gather(DOT, ["a", "b"], [one, two]).digest == gather(DOT, ["b", "a"], [two, one]).digest

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.signal.keypoints import Block, Layout, gather
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.align import prepare, settings_of
from snellen.tasks.isolated.align.reference import in_frame, points_used

BODY = Layout(
    name="toy-3",
    points=("left_shoulder", "right_shoulder", "left_knee"),
    dims=("x", "y", "z"),
    blocks=(Block("body", 0, 3),),
    unit="metre",
    shoulders=(0, 1),
)
FRAME = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.4], [0.15, 1.0, 0.2]]  # shoulders 0.5 apart, in 3-D


def prepared(values, present, frames):
    keypoints = gather(
        BODY, ["clip"], [(np.asarray(values, np.float32), np.asarray(present, bool))]
    )
    return prepare(keypoints, preprocessing="reference", frames=frames)


def test_each_frame_stands_about_its_own_middle_in_its_own_3d_shoulder_widths():
    twice = [[[2 * x for x in point] for point in FRAME]]

    values = in_frame(np.array([FRAME, *twice], np.float32), np.ones((2, 3), bool), BODY)

    expected = [[-0.3, 0, -0.4], [0.3, 0, 0.4], [0.0, 2.0, 0.0]]
    np.testing.assert_allclose(values, [expected, expected], atol=1e-6)


def test_a_missing_point_becomes_the_origin_and_resampling_invents_places_between():
    present = [[True, True, True], [True, True, False]]

    made = prepared([FRAME, FRAME], present, frames=3)

    knee = made.values[0].reshape(3, 3, 3)[:, 2, 1]
    assert knee.tolist() == [2.0, 1.0, 0.0]  # the middle one never was
    assert made.mask.all()


@pytest.mark.parametrize("what", ["a shoulder is missing", "both shoulders in one place"])
def test_a_frame_without_a_unit_is_zero_as_a_whole(what):
    frame, seen = np.array([FRAME], np.float32), np.ones((1, 3), bool)
    if what.startswith("a shoulder"):
        seen[0, 1] = False
    else:
        frame[0, 1] = frame[0, 0]

    assert not in_frame(frame, seen, BODY).any()


def test_legs_are_kept_and_the_holistic_body_has_the_225_numbers_of_the_document():
    layout = layout_by_name("holistic-75")

    assert len(points_used(layout)) * len(layout.dims) == 225
    assert len(points_used(layout_by_name("holistic-543"))) == 75


def test_an_unknown_recipe_is_named_with_those_there_are():
    with pytest.raises(BadInput, match="one of: snellen-1, snellen-1-zeros, reference"):
        settings_of(BODY, preprocessing="other")

import pytest

from snellen.signal.hands import hands_of
from snellen.signal.keypoints import Block, Layout
from snellen.signal.layouts import LAYOUTS, layout_by_name


def hand_names(layout, side):
    return [layout.points[k] for k in hands_of(layout)[side]]


def test_a_holistic_hand_is_its_block_and_the_bodys_wrist_and_fingers():
    layout = layout_by_name("holistic-75")

    names = hand_names(layout, "left")

    assert names[:4] == ["left_wrist", "left_pinky", "left_index", "left_thumb"]
    assert names[4] == "left_hand_wrist"
    assert names[-1] == "left_hand_pinky_tip"
    assert len(names) == 4 + 21


@pytest.mark.parametrize("name", ["kinect-12", "kinect-20"])
def test_a_hand_without_fingers_takes_its_elbow_along(name):
    assert hand_names(layout_by_name(name), "right") == [
        "right_elbow",
        "right_wrist",
        "right_hand",
    ]


def test_a_body_with_fingers_keeps_its_elbow():
    assert hand_names(layout_by_name("pose-33"), "right") == [
        "right_wrist",
        "right_pinky",
        "right_index",
        "right_thumb",
    ]


def test_hands_alone_are_their_blocks():
    hands = hands_of(layout_by_name("hands-42"))

    assert hands["left"].tolist() == list(range(21))
    assert hands["right"].tolist() == list(range(21, 42))


def test_a_glove_is_a_right_hand_and_no_left_one():
    hands = hands_of(layout_by_name("powerglove-8"))

    assert set(hands) == {"right"}
    assert hands["right"].tolist() == list(range(8))


def test_a_layout_of_ones_own_has_its_hands_by_name_and_may_have_none():
    own = Layout(
        "own", ("nose", "left_hand", "x1", "x2"), ("x",), (Block("right_hand", 2, 4),), "pixel"
    )
    face = Layout("face", ("nose", "left_eye"), ("x",), (), "pixel")

    assert {side: at.tolist() for side, at in hands_of(own).items()} == {
        "left": [1],
        "right": [2, 3],
    }
    assert hands_of(face) == {}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_no_point_is_in_both_hands(layout):
    hands = hands_of(layout)

    assert not set(hands.get("left", ())) & set(hands.get("right", ()))

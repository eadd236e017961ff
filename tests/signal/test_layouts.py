"""Named layouts: every point has one name, blocks tile them, shoulders are the shoulders."""

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.signal.layouts import LAYOUTS, from_flat, layout_by_name


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_blocks_tile_the_points_and_names_are_unique(layout):
    covered = [k for block in layout.blocks for k in range(block.start, block.stop)]

    assert covered == list(range(len(layout.points)))
    assert len(set(layout.points)) == len(layout.points)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_shoulders_are_left_then_right_wherever_there_are_any(layout):
    if layout.shoulders is None:
        assert "left_shoulder" not in layout.points
    else:
        left, right = layout.shoulders
        assert (layout.points[left], layout.points[right]) == ("left_shoulder", "right_shoulder")


@pytest.mark.parametrize(
    ("name", "points", "dims", "shoulders"),
    [
        ("holistic-75", 75, 3, (11, 12)),
        ("holistic-543", 543, 3, (11, 12)),
        ("holistic-67-msl", 67, 3, (11, 12)),
        ("pose-33", 33, 3, (11, 12)),
        ("hands-42", 42, 3, None),
        ("kinect-20", 20, 3, (2, 3)),
        ("kinect-12", 12, 3, (2, 3)),
        ("powerglove-8", 8, 1, None),
    ],
)
def test_sizes_and_shoulders_are_those_of_the_detectors(name, points, dims, shoulders):
    layout = layout_by_name(name)

    assert (len(layout.points), len(layout.dims), layout.shoulders) == (points, dims, shoulders)


def test_holistic_has_pose_then_left_then_right_hand():
    blocks = {b.name: (b.start, b.stop) for b in layout_by_name("holistic-75").blocks}

    assert blocks == {"pose": (0, 33), "left_hand": (33, 54), "right_hand": (54, 75)}


def test_the_order_of_all_layouts_is_a_table_without_repeats():
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS) == 8


def test_an_unknown_layout_names_its_nearest():
    with pytest.raises(BadInput, match=r"did you mean 'holistic-75'\?"):
        layout_by_name("holistic75")


def test_flat_numbers_run_point_by_point():
    flat = np.arange(2 * 60).reshape(2, 60)

    values = from_flat(flat, layout_by_name("kinect-20"))

    assert values.shape == (2, 20, 3)
    assert values[1, 2].tolist() == [66, 67, 68]

"""Which format is this? Recognised by name, never guessed."""

from pathlib import Path

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.data import FORMATS, read


def write_clips(folder):
    (folder / "clips.csv").write_text("clip_id,label\na,X\n")


def fault_of(path, **options):
    with pytest.raises(BadInput) as caught:
        read(path, **options)
    (fault,) = caught.value.faults
    return fault


def test_an_empty_folder_lists_every_format_and_how_to_make_ones_own(tmp_path):
    fault = fault_of(tmp_path)

    assert "no data that is recognised" in fault.seen
    for entry in FORMATS:
        assert entry.about in fault.allowed
    assert "features/<clip_id>.npy" in fault.allowed


def test_a_folder_that_is_not_there_says_so(tmp_path):
    assert fault_of(tmp_path / "none").seen == "no such file or folder"


def test_two_kinds_of_data_are_ambiguous_until_one_is_named(tmp_path):
    write_clips(tmp_path)
    np.savez(tmp_path / "auslan_uci.npz", x=np.zeros(1))

    assert fault_of(tmp_path).seen == "data of auslan and generic"
    assert read(tmp_path, format="generic").source == "generic"


def test_a_misspelt_format_suggests_the_right_one(tmp_path):
    assert fault_of(tmp_path, format="include-50").allowed.endswith("did you mean 'include50'?")


def test_a_named_format_that_is_not_there_names_its_files(tmp_path):
    fault = fault_of(tmp_path, format="generic")

    assert fault.seen == "nothing of format generic"
    assert fault.allowed == "clips.csv or clips.parquet"


def test_a_layout_for_a_format_that_has_its_own_is_refused(tmp_path):
    np.savez(tmp_path / "auslan_uci.npz", x=np.zeros(1))

    assert "layout 'pose-33'" in fault_of(tmp_path, layout="pose-33").seen


def test_a_file_of_an_unknown_name_is_not_recognised(tmp_path):
    np.savez(tmp_path / "mine.npz", x=np.zeros(1))

    assert "no data that is recognised" in fault_of(tmp_path / "mine.npz").seen


def test_every_format_is_documented_in_the_order_in_which_it_is_looked_for():
    page = (Path(__file__).parents[3] / "docs" / "data-formats.md").read_text()
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("|")]
    documented = [name for row in rows[2:10] for name in row.split(", ")]

    assert documented == [entry.name for entry in FORMATS]

"""A frozen split from a stranger: what is refused before it is used."""

import numpy as np
import pytest

from snellen.core.corpus import make_corpus
from snellen.core.split import TEST, TRAIN, Split, split_to_json
from snellen.core.split_file import read_split
from snellen.errors import BadInput
from snellen.store.files import write_json

CORPUS = make_corpus("toy", ["a", "b", "c"], ["X", "Y", "X"])
ROLES = np.array([[TRAIN, TRAIN, TEST]], np.int8)


def plain(**changed):
    split = Split("cluster", "cluster", 0, CORPUS.items, ROLES, {"gap": 10})
    return split_to_json(split) | changed


def faults(path, value):
    write_json(path, value)
    with pytest.raises(BadInput) as caught:
        read_split(path, CORPUS)
    return [(fault.field, fault.seen) for fault in caught.value.faults]


@pytest.mark.parametrize("settings", [{"gap": 1}, {"gap": 10}, {}])
def test_a_gap_is_a_whole_number_or_is_not_there(tmp_path, settings):
    write_json(tmp_path / "x.json", plain(settings=settings))

    assert read_split(tmp_path / "x.json", CORPUS).settings == settings


@pytest.mark.parametrize("gap", ["ten", 0, -1, 2.5, True, None, [10]])
def test_any_other_gap_is_a_fault_of_the_file(tmp_path, gap):
    assert faults(tmp_path / "x.json", plain(settings={"gap": gap})) == [
        ("settings.gap", repr(gap))
    ]


def test_a_protocol_that_is_no_plain_name_is_refused_before_anything_else(tmp_path):
    value = plain(protocol="../../x", protects="nobody", settings={"gap": 0})

    assert faults(tmp_path / "x.json", value) == [(None, "'../../x'")]


def test_all_faults_of_the_head_are_named_together(tmp_path):
    value = plain(format="other/1", protects="nobody", settings={"gap": 0})

    assert faults(tmp_path / "x.json", value) == [
        ("format", "'other/1'"),
        ("protects", "'nobody'"),
        ("settings.gap", "0"),
    ]

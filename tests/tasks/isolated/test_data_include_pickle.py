"""The restricted reader of pickles: arrays come through, nothing else does, and nothing runs."""

import collections
import os
import pickle
import pickletools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.errors import BadInput
from snellen.limits import MAX_PICKLE_STEPS
from snellen.signal.layouts import layout_by_name
from snellen.tasks.isolated.data import include_pickle
from snellen.tasks.isolated.data.include_pickle import arrays_from_pickle


class Runs:
    """Pickles to a call."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def refusal(data):
    with pytest.raises(BadInput) as caught:
        arrays_from_pickle(data, "clip.pkl")
    return str(caught.value)


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 4, 3),
        np.asfortranarray(np.arange(24.0).reshape(2, 4, 3)),
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.array([[True, False]]),
        np.zeros((0, 3), np.int16),
    ],
    ids=["plain", "fortran", "big-endian", "bool", "empty"],
)
def test_arrays_come_through_unchanged(protocol, array):
    read = arrays_from_pickle(pickle.dumps({"keypoints": array}, protocol), "clip.pkl")["keypoints"]

    assert read.shape == array.shape
    assert read.dtype == array.dtype
    assert np.array_equal(read, array)


@pytest.mark.parametrize("shape", [(1080, 1920), [1080, 1920], np.array([1080, 1920])])
def test_a_picture_size_may_be_a_tuple_a_list_or_an_array(shape):
    read = arrays_from_pickle(pickle.dumps({"vid_shape": shape}, 4), "clip.pkl")["vid_shape"]

    assert [float(size) for size in read] == [1080, 1920]


def test_numpy_numbers_in_a_picture_size_can_be_read_as_numbers():
    data = pickle.dumps({"vid_shape": (np.int64(1080), np.float64(1920))}, 4)

    assert [float(x) for x in arrays_from_pickle(data, "clip.pkl")["vid_shape"]] == [1080, 1920]


def test_files_of_older_numpy_use_another_module_name():
    data = pickle.dumps({"a": np.ones(2)}, 4).replace(
        b"\x8c\x16numpy._core.multiarray", b"\x8c\x15numpy.core.multiarray"
    )
    # The frame is one byte shorter now: its length stands in the eight bytes after the frame mark.
    assert b"numpy.core.multiarray" in data
    data = data[:3] + (len(data) - 11).to_bytes(8, "little") + data[11:]

    assert arrays_from_pickle(data, "clip.pkl")["a"].tolist() == [1, 1]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_code_in_a_pickle_is_refused_and_does_not_run(tmp_path, protocol):
    target = tmp_path / "ran"
    data = pickle.dumps({"keypoints": Runs(os.mkdir, str(target))}, protocol)

    refusal(data)

    assert not target.exists()
    pickle.loads(data)  # noqa: S301 - shows that the file would have run
    assert target.exists()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (collections.OrderedDict(a=1), "it asks for collections.OrderedDict"),
        (Runs(eval, "1"), "it asks for builtins.eval"),
        (Runs(np.load, "x"), "it asks for numpy.load"),
        (np.array([{}, []], dtype=object), "an array of objects"),
        (np.array(["text"]), "an array of objects"),
        (np.zeros(2, [("a", "f4")]), "an array of objects"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(value, words):
    assert words in refusal(pickle.dumps({"keypoints": value}, 4))


@pytest.mark.parametrize("value", [[1, 2], "text", {1: 2}, None])
def test_only_a_dict_with_names_is_admitted(value):
    assert "clip.pkl: a pickled" in refusal(pickle.dumps(value, 4))


def array_program(shape, data):
    """An array written by hand, so that its shape and its bytes may lie."""
    name = b"\x8c\x15numpy.core.multiarray\x8c\x0c_reconstruct\x93"
    array_class = b"\x8c\x05numpy\x8c\x07ndarray\x93"
    start = name + array_class + b"K\x00\x85C\x01b\x87R"
    kind = b"\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02f8\x89\x88\x87R(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    size = b"J" + shape.to_bytes(4, "little", signed=True)
    state = b"(K\x01" + size + b"\x85" + kind + b"\x89" + b"C" + bytes([len(data)]) + data + b"tb"
    return b"\x80\x04}\x8c\x01a" + start + state + b"s."


def test_an_array_written_by_hand_is_read_when_it_is_honest():
    data = np.array([1.5, 2.5]).tobytes()

    assert arrays_from_pickle(array_program(2, data), "clip.pkl")["a"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("shape", [3, 2**31 - 1, -2])
def test_an_array_whose_shape_lies_is_refused(shape):
    refusal(array_program(shape, np.array([1.5, 2.5]).tobytes()))


def test_numpy_itself_cannot_be_called_to_allocate():
    # numpy.ndarray((2 ** 31 - 1,)) would take 16 GB.
    call = b"\x8c\x05numpy\x8c\x07ndarray\x93J\xff\xff\xff\x7f\x85\x85R"

    assert "not callable" in refusal(b"\x80\x04}\x8c\x01a" + call + b"s.")


@pytest.mark.parametrize(
    "name",
    ["numpy.core.multiarray _reconstruct", "numpy.core.multiarray scalar", "numpy dtype"],
)
def test_nothing_of_the_reader_can_be_changed_by_a_file(name):
    # BUILD with a pair of dicts sets attributes; here it is aimed at the reader's own classes.
    module, function = (part.encode() for part in name.split())
    asks = b"\x8c" + bytes([len(module)]) + module + b"\x8c" + bytes([len(function)]) + function
    attack = b"\x80\x04" + asks + b"\x93N}\x8c\x06marked\x8c\x01xs\x86b."

    refusal(attack)

    for stand_in in (include_pickle._Array, include_pickle._Scalar, include_pickle._Type):
        assert not hasattr(stand_in, "marked")


def test_a_pose_file_over_the_size_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(include_pickle, "MAX_PICKLE_BYTES", 100)
    (tmp_path / "a.pkl").write_bytes(b"x" * 101)

    with pytest.raises(BadInput, match="more than 100 bytes"):
        include_pickle.read_pose(tmp_path / "a.pkl", layout_by_name("holistic-75"), "a.pkl")


def test_a_program_of_too_many_steps_is_refused_before_it_starts():
    data = pickle.dumps({"a": list(range(MAX_PICKLE_STEPS))}, 4)

    assert "more than 1000 instructions" in refusal(data)


def test_a_promise_of_bytes_that_are_not_there_is_refused():
    assert "clip.pkl" in refusal(b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"x.")
    assert "BYTEARRAY8" in refusal(b"\x80\x05\x96" + (2).to_bytes(8, "little") + b"xx.")


def test_a_memory_slot_far_out_is_refused():
    assert "LONG_BINPUT" in refusal(b"\x80\x02}r\xff\xff\xff\x7f.")


GOOD = pickle.dumps(
    {"keypoints": np.ones((2, 3)), "confidences": np.ones(2), "vid_shape": (1080, 1920)}, 4
)


def test_a_cut_pickle_is_a_bad_input_at_every_length():
    for length in range(len(GOOD)):
        refusal(GOOD[:length])


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_a_spoilt_pickle_is_read_or_refused_but_never_crashes(data):
    spoilt = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))

    try:
        read = arrays_from_pickle(bytes(spoilt), "clip.pkl")
    except BadInput:
        return
    assert isinstance(read, dict)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([op.code for op in pickletools.opcodes]), max_size=30), st.binary())
def test_any_mix_of_instructions_is_read_or_refused_but_never_crashes(codes, tail):
    try:
        arrays_from_pickle("".join(codes).encode("latin-1") + tail + b".", "clip.pkl")
    except BadInput:
        return

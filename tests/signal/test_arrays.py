"""Arrays from strangers: what NumPy wrote is read back; everything else is a BadInput."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snellen import limits
from snellen.errors import BadInput
from snellen.signal import arrays
from snellen.signal.arrays import npy_from_bytes, npy_header, read_bytes, read_npy, read_npz


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), **options)
    return file.getvalue()


def npy_declaring(descr, shape, numbers=b""):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + numbers


def npz(**members):
    file = io.BytesIO()
    np.savez_compressed(file, **members)
    return file.getvalue()


@settings(max_examples=60)
@given(
    hnp.arrays(
        st.sampled_from(["<f4", ">f8", "<f2", "<i2", "|u1", "|b1", "<U3"]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    st.booleans(),
)
def test_whatever_numpy_writes_is_read_back_alike(array, fortran):
    array = np.asfortranarray(array) if fortran else array

    read = npy_from_bytes(npy(array), "a.npy")

    assert read.dtype == array.dtype
    assert read.shape == array.shape
    assert read.tobytes() == np.ascontiguousarray(array).reshape(array.shape).tobytes()


def test_format_2_is_read_too():
    assert npy_from_bytes(npy(np.arange(3), version=(2, 0)), "a.npy").tolist() == [0, 1, 2]


def test_the_header_is_read_without_the_numbers():
    header = npy_header(npy_declaring("'<f4'", "(7, 2)"), "a.npy")

    assert header.shape == (7, 2)
    assert header.nbytes == 7 * 2 * 4


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b"PK\x03\x04 not this", "not an .npy file"),
        (npy(np.arange(3), version=(1, 0)).replace(b"NUMPY\x01", b"NUMPY\x03"), "format 3.0"),
        (npy_declaring("'|O'", "(1,)", b"\0" * 8), "objects, which can run code"),
        (npy_declaring("[('a', '|O')]", "(1,)"), "objects, which can run code"),
        (npy_declaring("[('a', '<f4')]", "(1,)"), "type"),
        (npy_declaring("'<c8'", "(1,)", b"\0" * 8), "type '<c8'"),
        (npy_declaring("'<M8[s]'", "(1,)", b"\0" * 8), "type"),
        (npy_declaring("'<f4'", "(100000000, 128, 3)"), "declares shape"),
        (npy_declaring("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", b"\0" * 4), "declares shape"),
        (npy_declaring("'<f4'", "(1 2)", b"\0" * 4), "shape (1 2)"),
        (npy_declaring("'<f4'", "(" + "[" * 900 + ",)"), "damaged .npy header"),
        (npy_declaring("'<U1'", "(1,)", b"\0\0\x11\0"), "letters that do not exist"),
        (npy_declaring("'>U1'", "(1,)", b"\0\0\xd8\0"), "letters that do not exist"),
        (npy_declaring("'<f4'", "(3,)", b"\0" * 11), "11 bytes of numbers"),
        (npy_declaring("'<f4'", "(3,)", b"\0" * 13), "13 bytes of numbers"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "a header of 65535 bytes"),
    ],
)
def test_a_bad_npy_is_refused_and_says_why(data, words):
    with pytest.raises(BadInput) as caught:
        npy_from_bytes(data, "clip.npy")

    assert "clip.npy" in str(caught.value)
    assert words in str(caught.value)


def test_a_boolean_byte_of_two_is_simply_true():
    mask = npy_from_bytes(npy_declaring("'|b1'", "(3,)", b"\0\1\2"), "a.npy")

    assert (mask & np.ones(3, bool)).tolist() == [False, True, True]


def test_a_pickle_renamed_to_npy_never_runs(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")

    with pytest.raises(BadInput, match=r"not an \.npy file"):
        read_npy(tmp_path / "a.npy")


def test_a_missing_file_a_folder_and_a_large_file_are_faults(tmp_path):
    (tmp_path / "large").write_bytes(b"12345")

    with pytest.raises(BadInput, match="no such file"):
        read_bytes(tmp_path / "none", 4)
    with pytest.raises(BadInput, match="not a regular file"):
        read_bytes(tmp_path, 4)
    with pytest.raises(BadInput, match="more than 4 bytes"):
        read_bytes(tmp_path / "large", 4)
    assert read_bytes(tmp_path / "large", 5) == b"12345"


def test_an_npz_gives_the_needed_and_the_optional_arrays(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(values=np.arange(4), present=np.ones(2), extra=np.eye(2)))

    read = read_npz(tmp_path / "a.npz", ["values"], optional=["present", "absent"])

    assert sorted(read) == ["present", "values"]
    assert read["values"].tolist() == [0, 1, 2, 3]


def test_every_absent_array_is_named(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(values=np.arange(4)))

    with pytest.raises(BadInput) as caught:
        read_npz(tmp_path / "a.npz", ["values", "sign", "signer"])

    assert [fault.field for fault in caught.value.faults] == ["sign", "signer"]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    size = limits.NPZ_RATIO_FREE_BYTES + 1024
    (tmp_path / "a.npz").write_bytes(npz(values=np.zeros(size, np.uint8)))

    with pytest.raises(BadInput, match="a packing of at most 100 to 1"):
        read_npz(tmp_path / "a.npz", ["values"])


def test_a_mask_of_ones_is_no_bomb(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(present=np.ones((3000, 543), bool)))

    assert read_npz(tmp_path / "a.npz", ["present"])["present"].all()


def test_a_member_over_the_size_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAX_NPY_BYTES", 100)
    (tmp_path / "a.npz").write_bytes(npz(values=np.arange(4)))

    with pytest.raises(BadInput, match="at most 100"):
        read_npz(tmp_path / "a.npz", ["values"])


def test_members_are_limited_in_number_and_may_not_share_a_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for k in range(limits.MAX_NPZ_MEMBERS + 1):
            archive.writestr(f"a{k}.npy", npy(np.arange(1)))
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("a.npy", npy(np.arange(1)))
        archive.writestr("a", npy(np.arange(1)))

    with pytest.raises(BadInput, match="65 members"):
        read_npz(tmp_path / "many.npz", ["a1"])
    with pytest.raises(BadInput, match="two members named 'a'"):
        read_npz(tmp_path / "twice.npz", ["a"])


def test_exotic_packing_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("values.npy", npy(np.arange(4)))

    with pytest.raises(BadInput, match="packing method 14"):
        read_npz(tmp_path / "a.npz", ["values"])


def test_a_member_that_holds_objects_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("values.npy", npy_declaring("'|O'", "(1,)", b"\0" * 8))

    with pytest.raises(BadInput, match=r"a\.npz\[values\].*objects"):
        read_npz(tmp_path / "a.npz", ["values"])


@pytest.mark.parametrize("kind", ["packed", "stored"])
def test_a_cut_npz_is_a_bad_input_at_every_length(tmp_path, kind):
    rng = np.random.default_rng(0)
    members = {
        "values": rng.normal(size=(9, 3)).astype(np.float32),
        "present": np.ones((9, 1), bool),
    }
    whole = io.BytesIO()
    (np.savez_compressed if kind == "packed" else np.savez)(whole, **members)
    path = tmp_path / "cut.npz"

    for length in range(len(whole.getvalue())):
        path.write_bytes(whole.getvalue()[:length])
        with pytest.raises(BadInput):
            read_npz(path, ["values"], optional=["present"])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_spoilt_npz_is_read_or_refused_but_never_crashes(tmp_path_factory, data):
    whole = bytearray(npz(values=np.arange(24.0).reshape(4, 3, 2), present=np.ones((4, 3), bool)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "spoilt.npz"
    path.write_bytes(bytes(whole))

    try:
        read = read_npz(path, ["values"], optional=["present"])
    except BadInput:
        return
    assert read["values"].size <= 24


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 127), st.binary(min_size=1, max_size=6))
def test_a_spoilt_npy_header_is_read_or_refused_but_never_crashes(at, bytes_):
    whole = npy(np.arange(6.0).reshape(2, 3))

    try:
        read = npy_from_bytes(whole[:at] + bytes_ + whole[at + len(bytes_) :], "a.npy")
    except BadInput:
        return
    assert read.nbytes == 48

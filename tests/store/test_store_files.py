import json
import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.digest import canonical_json
from snellen.errors import BadInput, SnellenError
from snellen.store import files
from snellen.store.files import (
    JSON_DEPTH,
    parse_json,
    read_json,
    read_limited,
    safe_name,
    sweep_temps,
    try_lock,
    write_atomic,
    write_atomic_from,
    write_json,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and limits of POSIX")


def faults(data):
    with pytest.raises(BadInput) as caught:
        parse_json(data, "x.json")
    return [str(fault) for fault in caught.value.faults]


# Writing


def test_a_file_is_written_with_its_folders_and_replaced_whole(tmp_path):
    path = tmp_path / "a" / "b" / "card.json"

    write_atomic(path, b"one")
    write_atomic(path, b"two")

    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


@posix
def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path):
    write_atomic(tmp_path / "a", b"")
    (tmp_path / "b").touch()

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "b").stat().st_mode
    )


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_whatever_interrupts_a_write_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, step, kind
):
    path = tmp_path / "card.json"
    path.write_bytes(b"old")

    def stop(*_):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(os, step, stop)
        with pytest.raises(kind):
            write_atomic(path, b"new")

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path):
    import resource

    path = tmp_path / "card.json"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(SnellenError, match=r"cannot write .*card\.json: .*free some space"):
            write_atomic(path, bytes(60_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_bit_by_bit_is_there_whole_or_not_at_all(tmp_path):
    def one_and_two(file):
        file.write(b"one")
        file.write(b"two")

    def one_and_trouble(file):
        file.write(b"one")
        raise MemoryError

    write_atomic_from(tmp_path / "x", one_and_two)
    with pytest.raises(MemoryError):
        write_atomic_from(tmp_path / "x", one_and_trouble)

    assert (tmp_path / "x").read_bytes() == b"onetwo"
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(SnellenError, match=r"cannot write .*file.x"):
        write_atomic(tmp_path / "file" / "x", b"")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_folder_that_may_only_be_read_is_named(tmp_path):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(SnellenError, match="Permission denied"):
            write_atomic(tmp_path / "x", b"")
    finally:
        tmp_path.chmod(0o755)


@posix
def test_a_sweep_takes_the_files_of_dead_writers_and_leaves_those_of_living_ones(tmp_path):
    program = (
        "import os, sys, pathlib; from snellen.store.files import _locked_temp;"
        "fd, temp = _locked_temp(pathlib.Path(sys.argv[1])); print(temp.name, flush=True);"
        "sys.stdin.read(); os._exit(0)"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    name = writer.stdout.readline().decode().strip()
    bystander = tmp_path / "notes.tmp"
    bystander.touch()

    assert sweep_temps(tmp_path) == 0
    assert (tmp_path / name).exists()

    writer.communicate()

    assert sweep_temps(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [bystander]


@posix
def test_a_temporary_file_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, calls = files.fcntl.flock, []

    def swept_first(fd, how):
        calls.append(how)
        if len(calls) == 1:
            (temp,) = tmp_path.glob(".*.tmp")
            temp.unlink()
        return real(fd, how)

    monkeypatch.setattr(files.fcntl, "flock", swept_first)
    write_atomic(tmp_path / "card.json", b"x")

    assert len(calls) == 2
    assert (tmp_path / "card.json").read_bytes() == b"x"


@posix
def test_a_lock_has_one_holder(tmp_path):
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open("w") as two:
        assert try_lock(one.fileno())
        assert not try_lock(two.fileno())


# Reading


def test_a_file_is_read_up_to_its_limit(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")

    assert read_limited(tmp_path / "x", 5) == b"12345"
    with pytest.raises(BadInput, match="more than 4 bytes; allowed: at most 4 bytes"):
        read_limited(tmp_path / "x", 4)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="gone: no such file"):
        read_limited(tmp_path / "gone", 5)
    with pytest.raises(BadInput, match="not a regular file"):
        read_limited(tmp_path, 5)


@posix
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(BadInput, match="not a regular file"):
        read_limited(tmp_path / "pipe", 5)


# JSON


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(JSON_VALUES)
def test_what_is_written_is_read_back(value):
    assert parse_json(canonical_json(value), "x.json") == value
    assert parse_json(json.dumps(value, indent=2).encode(), "x.json") == value


def test_a_value_has_one_file_whatever_the_order_of_its_keys(tmp_path):
    write_json(tmp_path / "a", {"b": [1, 0.1 + 0.2], "a": "é"})
    write_json(tmp_path / "b", {"a": "é", "b": [1, 0.3]})

    expected = '{\n "a": "é",\n "b": [\n  1,\n  0.3\n ]\n}\n'
    assert (tmp_path / "a").read_text("utf-8") == expected
    assert (tmp_path / "b").read_text("utf-8") == expected
    assert read_json(tmp_path / "a") == {"a": "é", "b": [1, 0.3]}


def test_a_byte_order_mark_is_accepted():
    assert parse_json(b'\xef\xbb\xbf{"a": 1}', "x.json") == {"a": 1}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused(encoding):
    (fault,) = faults('{"a": 1}'.encode(encoding))

    assert fault.endswith("allowed: UTF-8")


def test_bytes_that_are_no_text_are_named_with_their_line():
    assert faults(b'{"a":\n"\xff"}') == ["x.json, row 2: byte 7 is no UTF-8; allowed: UTF-8"]


def test_all_faults_of_a_file_are_named_with_their_places():
    text = b'{"a": 1, "b": [0, {"c": NaN, "d d": 1e999}], "a": 2, "e": "\\ud800", "f": -Infinity}'

    assert faults(text) == [
        "x.json, $.b[1].c: nan; allowed: a finite number or null",
        "x.json, $.b[1]['d d']: inf; allowed: a finite number or null",
        "x.json, $.a: the same key twice; allowed: each key once",
        "x.json, $.e: a lone surrogate; allowed: text",
        "x.json, $.f: -inf; allowed: a finite number or null",
    ]


def test_a_surrogate_in_a_key_is_refused_and_a_pair_of_them_is_a_character():
    assert faults(b'{"\\ud800": 1}') == [
        "x.json, $['\\ud800']: a key with a lone surrogate; allowed: text"
    ]
    assert parse_json(b'"\\ud83d\\ude00"', "x.json") == "\N{GRINNING FACE}"


def test_a_file_may_be_as_deep_as_the_limit_and_no_deeper():
    def nested(depth):
        return b"[" * depth + b"]" * depth

    assert parse_json(nested(JSON_DEPTH), "x.json") is not None
    (fault,) = faults(nested(JSON_DEPTH + 1))
    assert fault.endswith("nested too deeply; allowed: at most 64 levels")
    (fault,) = faults(nested(100_000))
    assert fault == "x.json: nested too deeply; allowed: at most 64 levels"


def test_broken_json_is_named_with_its_line_and_column():
    assert faults(b'{"a": 1,\n "b" 2}') == [
        "x.json, row 2: Expecting ':' delimiter at column 6; allowed: JSON"
    ]
    assert faults(b"") == ["x.json, row 1: Expecting value at column 1; allowed: JSON"]


def test_an_endless_number_is_refused():
    (fault,) = faults(b"1" * 5000)

    assert fault.endswith("allowed: JSON numbers of ordinary length")


# Names


@pytest.mark.parametrize("name", ["a", "EQ26_0001.npy", "0-1", "a" * 128, "console", "com10"])
def test_a_plain_name_may_be_a_file(name):
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "a\n",
        "-a",
        ".hidden",
        "a.",
        "a b",
        "a:b",
        "é",
        "a\0",
        "a" * 129,
        "EQ26\u202e",
        "CON",
        "nul.txt",
        "Com1",
        "lpt9.json",
    ],
)
def test_what_could_be_a_path_or_a_trick_is_refused(name):
    with pytest.raises(BadInput, match="allowed: 1 to 128 of"):
        safe_name(name)

import json
import os
import signal
import subprocess
import sys

import pytest

from snellen.digest import digest_bytes
from snellen.errors import BadInput, Missing, SnellenError
from snellen.store.folder import RunFolder

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def tree(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_index_vouches_for_every_piece(tmp_path):
    with RunFolder.write(tmp_path / "run") as run:
        run.put("cards/signer/rocket.json", b"{}")
        digest = run.put("audit.json", b"[]")
        run.seal()

    assert digest == digest_bytes(b"[]")
    index = (tmp_path / "run" / "run.json").read_bytes()
    assert json.loads(index) == {
        "format": "snellen-run/1",
        "pieces": {
            "audit.json": digest_bytes(b"[]"),
            "cards/signer/rocket.json": digest_bytes(b"{}"),
        },
        "sealed": True,
    }
    run = RunFolder.read(tmp_path / "run")
    assert run.names() == ("audit.json", "cards/signer/rocket.json")
    assert run.get("cards/signer/rocket.json") == b"{}"
    assert run.sealed
    assert run.digest == digest_bytes(index)


def test_the_same_pieces_in_any_order_give_the_same_folder(tmp_path):
    for name, pieces in {"a": ["x", "y/z"], "b": ["y/z", "x", "x"]}.items():
        with RunFolder.write(tmp_path / name) as run:
            for piece in pieces:
                run.put(piece, piece.encode())
            run.seal()

    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_a_run_goes_on_where_it_was_left(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("a", b"1")
    with RunFolder.write(tmp_path) as run:
        assert run.names() == ("a",)
        run.put("b", b"2")
        run.put("a", b"changed")

    assert [RunFolder.read(tmp_path).get(name) for name in ("a", "b")] == [b"changed", b"2"]


def test_a_piece_that_is_there_already_is_not_rewritten(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("a", b"1")
        before = (tmp_path / "a").stat().st_ino
        run.put("a", b"1")
        assert (tmp_path / "a").stat().st_ino == before


def test_a_crash_while_a_piece_is_replaced_leaves_it_absent_and_the_rest_sound(
    tmp_path, monkeypatch
):
    with RunFolder.write(tmp_path) as run:
        run.put("a", b"old")
        run.put("b", b"2")
        with monkeypatch.context() as patch:
            patch.setattr("snellen.store.folder.write_atomic", interrupt)
            with pytest.raises(KeyboardInterrupt):
                run.put("a", b"new")

    again = RunFolder.read(tmp_path)
    assert again.names() == ("b",)
    assert again.faults() == ()


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_damaged_or_missing_piece_is_an_error_that_names_it(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("a", b"1")
        run.put("b", b"2")
        run.put("c", b"3")
        (tmp_path / "a").write_bytes(b"X")
        (tmp_path / "b").unlink()

        with pytest.raises(BadInput, match=r"a: not the bytes that were written"):
            run.get("a")
        with pytest.raises(Missing, match=r"b is listed in .* but its file is gone"):
            run.get("b")
        with pytest.raises(Missing, match="has no d"):
            run.get("d")
        assert [fault.where for fault in run.faults()] == [str(tmp_path / "a"), str(tmp_path / "b")]
        with pytest.raises(BadInput, match=r"a: not the bytes.*\n.*b: gone"):
            run.seal()

        run.put("a", b"1")
        run.put("b", b"2")
        run.seal()


def test_a_sealed_run_can_be_repeated_and_repaired_but_not_changed(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("a", b"1")
        sealed = run.seal()

    with RunFolder.write(tmp_path) as run:
        run.put("a", b"1")
        (tmp_path / "a").write_bytes(b"X")
        run.put("a", b"1")
        assert run.get("a") == b"1"
        with pytest.raises(SnellenError, match="is sealed and its a is not the one"):
            run.put("a", b"2")
        with pytest.raises(SnellenError, match="is sealed and its b is not the one"):
            run.put("b", b"2")
        assert run.seal() == sealed


def test_a_run_opened_to_be_read_or_closed_is_not_written(tmp_path):
    with RunFolder.write(tmp_path) as run:
        pass

    for handle in (run, RunFolder.read(tmp_path)):
        with pytest.raises(SnellenError, match="not open for writing"):
            handle.put("a", b"")
        with pytest.raises(SnellenError, match="not open for writing"):
            handle.seal()


def test_a_folder_without_a_run_is_missing(tmp_path):
    with pytest.raises(Missing, match=r"it has no run\.json"):
        RunFolder.read(tmp_path)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(SnellenError, match=r"holds 'thesis\.tex' but no run"):
        RunFolder.write(tmp_path)

    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".lock", "run.json", "Run.JSON", "a\\b"],
)
def test_no_name_leads_out_of_the_run_or_to_its_index(tmp_path, name):
    with RunFolder.write(tmp_path) as run, pytest.raises(BadInput):
        run.put(name, b"")


def test_names_that_differ_only_in_case_are_refused(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("cards/A.json", b"")
        with pytest.raises(BadInput, match=r"differs from 'cards/A.json' in more than case"):
            run.put("cards/a.json", b"")


@posix
def test_a_link_out_of_the_run_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"1")
    with RunFolder.write(tmp_path / "run") as run:
        run.put("a", b"1")
    (tmp_path / "run" / "a").unlink()
    (tmp_path / "run" / "a").symlink_to(tmp_path / "secret")

    with pytest.raises(BadInput, match="a link out of the run"):
        RunFolder.read(tmp_path / "run").get("a")


@pytest.mark.parametrize(
    ("index", "seen"),
    [
        (b"{", "Expecting property name"),
        (b'{"format": "snellen-run/1", "pieces": {}}', "missing required field `sealed`"),
        (b'{"format": "snellen-run/1", "pieces": {"a": 1}, "sealed": true}', "Expected `str`"),
        (b'{"format": "snellen-run/2", "pieces": {}, "sealed": true}', "snellen-run/2"),
        (b'{"format": "snellen-run/1", "pieces": {"../x": ""}, "sealed": true}', "'..'"),
        (b'{"format": "snellen-run/1", "pieces": {}, "sealed": true, "x": 1}', "unknown field `x`"),
    ],
)
def test_a_damaged_index_is_refused(tmp_path, index, seen):
    (tmp_path / "run.json").write_bytes(index)

    with pytest.raises(BadInput) as caught:
        RunFolder.read(tmp_path)
    assert seen in str(caught.value)
    assert "run.json" in str(caught.value)
    with pytest.raises(BadInput):
        RunFolder.write(tmp_path)


@posix
def test_one_process_writes_a_run_until_it_ends_however_it_ends(tmp_path):
    program = (
        "import sys, pathlib; from snellen.store.folder import RunFolder;"
        "run = RunFolder.write(pathlib.Path(sys.argv[1])); run.put('a', b'1');"
        "print('open', flush=True); sys.stdin.read()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout.readline() == b"open\n"

    with pytest.raises(SnellenError, match=f"process {writer.pid} is writing the run"):
        RunFolder.write(tmp_path)
    assert RunFolder.read(tmp_path).get("a") == b"1"

    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    with RunFolder.write(tmp_path) as run:
        assert run.get("a") == b"1"


def test_opening_sweeps_what_a_dead_writer_left(tmp_path):
    with RunFolder.write(tmp_path) as run:
        run.put("cards/a", b"1")
    temp = tmp_path / "cards" / ".0123456789abcdef.tmp"
    temp.touch()

    with RunFolder.write(tmp_path):
        assert not temp.exists()

"""How the program fails: one line, the right exit code, nothing half-written."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder

PROGRAM = "from snellen.cli import main; main()"
SMALL = Settings(
    signers=4,
    sessions=1,
    signs=4,
    takes=3,
    similar_pairs=1,
    test_signers=1,
    leaky_clusters=2,
    near_duplicates=1,
    near_leaks=1,
    exact_duplicates=1,
    exact_leaks=1,
)


def snellen(*words, program=PROGRAM, **options):
    """Run the program as a user does; its output, its complaints and its exit code."""
    command = [sys.executable, "-c", program, *map(str, words)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(command, text=True, timeout=300, check=False, **options)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "data"
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, folder)
    return folder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_program_says_how_to_go_on(data, number, code):
    # The reader waits for ever, after it has said that it was reached.
    program = (
        "import time\n"
        "from snellen.cli import main\n"
        "from snellen.tasks.isolated import verbs\n"
        "verbs.audit = lambda *a, **k: (print('there', flush=True), time.sleep(60))\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "audit", "isolated", str(data)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "there\n"
    child.send_signal(number)
    _, error = child.communicate(timeout=30)

    assert child.returncode == code
    assert error == "error: stopped; what is finished is kept, run the same command to go on\n"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("OSError(28, 'No space left on device', 'x.npy')", "x.npy: No space left on device"),
        ("MemoryError()", "not enough memory"),
        ("RecursionError()", "nested too deeply"),
    ],
)
def test_what_the_machine_cannot_do_is_one_line_and_no_finding(data, fault, said):
    program = (
        "from snellen.cli import main\n"
        "from snellen.tasks.isolated import verbs\n"
        "def audit(*_, **__):\n"
        f"    raise {fault}\n"
        "verbs.audit = audit\n"
        "main()"
    )
    code, _, error = snellen("audit", "isolated", data, program=program)

    assert code == 2
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("form", [("--json",), ()])
def test_output_that_cannot_be_written_is_no_finding(data, form):
    with Path("/dev/full").open("w") as full:
        code, _, error = snellen("audit", "isolated", data, *form, stdout=full)

    assert code == 2
    assert error == "error: No space left on device\n"


def test_a_reader_that_has_gone_away_is_no_finding(data):
    here, there = os.pipe()
    os.close(here)
    with os.fdopen(there, "w") as gone:
        code, _, error = snellen("audit", "isolated", data, "--json", stdout=gone)

    assert code == 2
    assert error == "error: Broken pipe\n"


@pytest.mark.parametrize("place", ["file", "/proc/x"])
def test_a_model_that_cannot_be_written_there_is_refused_before_it_is_trained(
    data, place, tmp_path
):
    split, output = tmp_path / "signer.json", tmp_path / place
    snellen("split", "isolated", data, "--protocol", "signer", "-o", split)
    (tmp_path / "file").write_text("mine")

    words = ("train", "isolated", data, "--split", split, "--model", "majority", "-o", output)
    code, _, error = snellen(*words)

    assert code == 2
    assert f"cannot write a model to {output}" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "names", "said"),
    [
        ("--models", "", "''"),
        ("--models", ",", "','"),
        ("--models", "lda,lda", "'lda' twice"),
        ("--protocols", "", "''"),
        ("--protocols", "random,random", "'random' twice"),
    ],
)
def test_no_name_or_a_name_twice_is_refused_before_anything_is_written(
    data, option, names, said, tmp_path
):
    code, _, error = snellen("run", "isolated", data, "-o", tmp_path / "run", option, names)

    assert code == 2
    assert f"{option}: {said}" in error
    assert not (tmp_path / "run").exists()


def test_an_impossible_split_leaves_no_folder_behind(data, tmp_path):
    words = ("--models", "majority", "--protocols", "signer", "--folds", 9)
    code, _, error = snellen("run", "isolated", data, "-o", tmp_path / "run", *words)

    assert code == 2
    assert "9" in error
    assert not (tmp_path / "run").exists()


def test_answers_of_no_known_format_are_refused_before_the_model_is_read(data, tmp_path):
    words = ("predict", "isolated", data, "--models", tmp_path / "none", "-o", tmp_path / "a.xlsx")
    code, _, error = snellen(*words)

    assert code == 2
    assert "one ending in .parquet or .csv" in error


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("run") / "one"
    chosen = ("--models", "majority", "--protocols", "random,signer", "--workers", 1)
    code, _, error = snellen("run", "isolated", data, "-o", root, *chosen)
    assert code == 0, error
    return root


def test_a_report_that_cannot_be_written_there_is_one_line(finished, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, _, error = snellen("report", finished, "-o", tmp_path / "file")

    assert code == 2
    assert f"cannot write {tmp_path / 'file'}" in error
    assert error.count("\n") == 1


def test_a_field_no_contract_has_cannot_be_let_through(finished):
    code, _, error = snellen("compare", finished, "--allow", "sede")

    assert code == 2
    assert "no field 'sede'" in error
    assert "any of: data, split, seed, vocabulary" in error


def test_a_model_that_is_not_there_is_named_once(finished):
    code, _, error = snellen("compare", f"{finished}:nope")

    assert code == 2
    assert error.count("no model 'nope'") == 1


def test_a_run_or_card_that_is_not_there_says_so(tmp_path):
    code, _, error = snellen("verify", tmp_path / "none")

    assert code == 2
    assert f"{tmp_path / 'none'}: no such file or folder" in error


def test_a_damaged_piece_of_a_run_is_a_finding(finished, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(finished, root)
    assert "not part of it: report.html" in snellen("verify", root)[1]
    (root / "cards" / "signer" / "majority.json").write_text("{}")

    code, _, error = snellen("verify", root)

    assert code == 1
    assert "cards/signer/majority.json: not the bytes that were written" in error


@pytest.fixture(scope="module")
def mine(data, tmp_path_factory):
    """A folder with a frozen split, answers that are all right, and their card."""
    folder = tmp_path_factory.mktemp("mine")
    snellen("split", "isolated", data, "--protocol", "signer", "-o", folder / "split.json")
    rows = list(csv.DictReader((data / "clips.csv").read_text().splitlines()))
    lines = [f"{row['clip_id']},{row['label']}\n" for row in rows]
    (folder / "right.csv").write_text("clip_id,label\n" + "".join(lines))
    (folder / "fewer.csv").write_text("clip_id,label\n" + "".join(lines[:-5]))
    for name in ("right", "fewer"):
        code, _, error = score(data, folder, name)
        assert code == 0, error
    return folder


def score(data, folder, name):
    files = ("--data", data, "--split", folder / "split.json", "-o", folder / f"{name}.json")
    return snellen("score", "isolated", folder / f"{name}.csv", *files)


def verify(data, folder, card, answers):
    files = ("--data", data, "--split", folder / "split.json", "--answers", folder / answers)
    return snellen("verify", card, *files)


def test_a_card_held_against_other_answers_says_that_they_are_others(data, mine):
    code, _, error = verify(data, mine, mine / "right.json", "fewer.csv")
    right, fewer = (
        dict(json.loads((mine / name).read_bytes())["signature"])["answers"][:12]
        for name in ("right.json", "fewer.json")
    )

    assert code == 1
    assert "not the answers the card was made from" in error
    assert f"answers: {right} against {fewer}" in error


def test_a_figure_changed_in_a_card_is_named_to_the_leaf(data, mine, tmp_path):
    card = json.loads((mine / "right.json").read_bytes())
    card["scores"][0]["cell"]["value"] = 0.5
    (tmp_path / "card.json").write_text(json.dumps(card, sort_keys=True))

    code, _, error = verify(data, mine, tmp_path / "card.json", "right.csv")

    assert code == 1
    assert "  scores/0/cell/value: 0.5 against 1.0\n" in error


def test_a_card_has_its_outcomes_beside_it_clip_by_clip(mine):
    table = pq.read_table(mine / "fewer.outcomes.parquet")

    assert table.column_names == ["item", "truth", "answer", "group"]
    assert (table.num_rows, table.column("answer").null_count) == (48, 5)
    assert len(set(table.column("group").to_pylist())) == 4


def test_two_cards_are_compared_only_where_what_nobody_stated_may_differ(mine):
    sides = (mine / "right.json", mine / "fewer.json")
    code, _, error = snellen("compare", *sides)
    assert code == 2
    assert "--allow seed,preprocessing,training lets through what is not stated" in error
    assert "seed: not stated against not stated either" in error

    code, out, error = snellen(
        "compare", *sides, "--allow", "seed,preprocessing,training", "--json"
    )
    assert code == 0, error
    pair = json.loads(out)["pairs"][0]
    # All 48 right, against 43: the last five clips were not answered.
    assert (pair["clips"], pair["only_a"], pair["only_b"]) == (48, 5, 0)
    assert pair["accuracy_b"] == pytest.approx(43 / 48)


def test_a_card_is_compared_with_a_model_of_a_run_under_its_protocol(finished, mine):
    sides = (f"{finished}:majority", mine / "right.json")
    code, out, error = snellen(
        "compare", *sides, "--allow", "seed,preprocessing,training", "--json"
    )

    assert code == 0, error
    found = json.loads(out)
    card = json.loads((finished / "cards" / "signer" / "majority.json").read_bytes())
    assert [pair["protocol"] for pair in found["pairs"]] == ["signer"]
    assert found["pairs"][0]["accuracy_a"] == card["scores"][0]["cell"]["value"]
    assert found["pairs"][0]["accuracy_b"] == 1
    assert set(found["allowed"]) == {"seed", "preprocessing", "training"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{mine}/right.json",), "one card; allowed: two cards"),
        (("{mine}/right.json", "{run}"), "a run without a model"),
        (("{mine}/right.json", "{run}:nope"), "no model 'nope'"),
        (("{mine}/right.json", "{mine}/fewer.json", "--protocol", "random"), "--protocol: random"),
        (("{mine}/right.csv", "{mine}/fewer.json"), "right.csv"),
    ],
)
def test_sides_that_cannot_be_paired_are_refused_in_one_line(finished, mine, words, said):
    code, _, error = snellen("compare", *(x.format(mine=mine, run=finished) for x in words))

    assert code == 2
    assert said in error
    assert error.count("\n") == 1


def test_outcomes_that_are_not_the_cards_are_refused(mine, tmp_path):
    for name in ("right.json", "fewer.json", "fewer.outcomes.parquet"):
        shutil.copy(mine / name, tmp_path / name)
    sides = (tmp_path / "right.json", tmp_path / "fewer.json")
    assert "right.outcomes.parquet: no such file" in snellen("compare", *sides)[2]
    shutil.copy(mine / "fewer.outcomes.parquet", tmp_path / "right.outcomes.parquet")

    code, _, error = snellen("compare", *sides)

    assert code == 2
    assert "right.outcomes.parquet: other outcomes than the card counts" in error


def test_one_card_has_a_report_of_its_own(mine, tmp_path):
    assert "-o FOLDER" in snellen("report", mine / "fewer.json")[2]

    code, out, error = snellen("report", mine / "fewer.json", "-o", tmp_path / "mine")

    assert code == 0, error
    assert out == f"{tmp_path / 'mine' / 'report.html'}\n"
    assert "fewer" in (tmp_path / "mine" / "report.md").read_text()


@pytest.mark.parametrize("name", ["clips.csv", "layout.json"])
def test_a_table_or_layout_that_is_a_link_out_of_the_folder_is_refused(data, name, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / name).rename(tmp_path / name)
    (tmp_path / "data" / name).symlink_to(tmp_path / name)

    code, _, error = snellen("audit", "isolated", tmp_path / "data")

    assert code == 2
    assert f"{name}: '{name}' leads out of the folder" in error


OWN = {"name": "mine", "points": ["tip"], "dims": ["x"], "unit": "pixel"}


@pytest.mark.parametrize(
    ("file", "allowed"),
    [
        ({"layout": {**OWN, "unit": "inch"}}, "allowed: one of: metre, image, pixel, sensor"),
        ({"layout": "mine", "zeroes": True}, "allowed: fields layout, zeros_are_missing"),
        ({"layout": {**OWN, "point": 1}}, "allowed: fields name, points, dims, unit, blocks"),
        (
            {"layout": {**OWN, "blocks": [{"name": "a", "start": 0, "stop": 1, "end": 1}]}},
            "allowed: fields name, start, stop",
        ),
    ],
)
def test_a_fault_of_the_layout_file_names_what_may_stand_there(data, file, allowed, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / "layout.json").write_text(json.dumps(file))

    code, _, error = snellen("audit", "isolated", tmp_path / "data")

    assert code == 2
    assert allowed in error

import json
from pathlib import Path

import pytest

from snellen.core.answers import SPANS, spans
from snellen.core.answers_file import read_answers
from snellen.digest import digest_table
from snellen.errors import BadInput
from snellen.store.tables import write_table

EXPECTED = spans(
    ["a", "a", "b", "c"], [1, 2, 1, 1], ["yes", "no", None, "no"], [0.75, 0.25, None, 1.0]
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def given(tmp_path):
    """Write a file and name it relative to here, as messages will."""

    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return Path(name)

    return write


def faults(path):
    with pytest.raises(BadInput) as caught:
        read_answers(path)
    return [str(fault) for fault in caught.value.faults]


CSV = "clip_id,label,confidence,rank\nc,no,1,1\na,no,.25,2\na,yes,7.5e-1,1\nb,,,1\n"
OBJECTS = [
    {"item": "c", "label": "no", "confidence": 1, "rank": 1},
    {"item": "a", "label": "no", "confidence": 0.25, "rank": 2},
    {"clip_id": "a", "label": "yes", "confidence": 0.75},
    {"item": "b", "label": None, "confidence": None},
]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.csv", CSV),
        ("x.CSV", "\ufeff" + CSV.replace("clip_id", "item").replace("\n", "\r\n")),
        ("x.json", json.dumps(OBJECTS)),
        ("x.jsonl", "\n\n".join(json.dumps(entry) for entry in OBJECTS)),
    ],
)
def test_the_same_answers_in_any_format_and_order_are_the_same_table(given, name, data):
    answers = read_answers(given(name, data))

    assert answers.schema == SPANS
    assert answers.equals(EXPECTED)
    assert digest_table(answers) == digest_table(EXPECTED)


def test_parquet_holds_the_whole_table(tmp_path):
    write_table(tmp_path / "x.parquet", EXPECTED.take([3, 1, 0, 2]))

    assert read_answers(tmp_path / "x.parquet").equals(EXPECTED)


def test_confidence_and_rank_may_be_left_out(given):
    answers = read_answers(given("x.csv", "item,label\na,yes\n"))

    assert answers.equals(spans(["a"], [1], ["yes"], [None]))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.csv", "item,label\n  cafe\u0301\t,\u00a0ha\u0301 \nb, \n"),
        (
            "x.json",
            json.dumps(
                [{"clip_id": "  cafe\u0301\t", "label": "ha\u0301 "}, {"item": "b", "label": None}]
            ),
        ),
        ("x.jsonl", '{"item": "cafe\u0301 ", "label": " ha\u0301"}\n{"item": "b", "label": null}'),
    ],
)
def test_names_are_cleaned_as_those_of_a_clip_table(given, name, data):
    expected = spans(["b", "caf\u00e9"], [1, 1], [None, "h\u00e1"], [None, None])

    assert read_answers(given(name, data)).equals(expected)


def test_two_spellings_of_one_clip_are_one_clip_twice(given):
    (fault,) = faults(given("x.csv", "item,label\ncafe\u0301,x\ncaf\u00e9,y\n"))

    assert "has rank 1 again, first in row 2" in fault


def test_names_are_as_long_as_a_clip_table_allows(given):
    longest = given("x.csv", f"item,label\n{'a' * 200},{'b' * 128}\n")
    longer = given("y.csv", f"item,label\n{'a' * 201},{'b' * 129}\n")

    assert read_answers(longest).column("item").to_pylist() == ["a" * 200]
    assert [fault.split("allowed: ")[1] for fault in faults(longer)] == [
        "text of 1 to 200 characters",
        "text of 1 to 128 characters, or null",
    ]


def test_no_answers_at_all_are_an_empty_table(given):
    assert read_answers(given("x.json", "[]")).equals(spans([], [], [], []))
    assert read_answers(given("x.csv", "item,label\n")).num_rows == 0


def test_every_fault_of_a_csv_file_is_named_with_its_row(given):
    rows = [
        "item,label,confidence,rank",
        "a,yes,0.5,1",
        "b,yes",
        "c,yes,nan,1",
        'd,yes,"0,5",1',
        "e,yes,1.5,0",
        ",yes,,1",
        "a,no,0.5,1",
        "f,no,0.5,",
        f"g,{'x' * 129},0.5,1.0",
    ]

    assert faults(given("x.csv", "\n".join(rows))) == [
        "x.csv, row 3: 2 cells; allowed: 4",
        "x.csv, row 4, confidence: 'nan'; allowed: a number from 0 to 1, or null",
        "x.csv, row 5, confidence: '0,5'; allowed: a number from 0 to 1, or null",
        "x.csv, row 6, confidence: 1.5; allowed: a number from 0 to 1, or null",
        "x.csv, row 6, rank: 0; allowed: 1 for the answer, 2.. for further candidates",
        "x.csv, row 7, item: None; allowed: text of 1 to 200 characters",
        "x.csv, row 8: 'a' has rank 1 again, first in row 2; allowed: one answer of each rank",
        "x.csv, row 9, rank: None; allowed: 1 for the answer, 2.. for further candidates",
        (
            f"x.csv, row 10, label: {repr('x' * 129)[:80]}...; "
            "allowed: text of 1 to 128 characters, or null"
        ),
        "x.csv, row 10, rank: '1.0'; allowed: 1 for the answer, 2.. for further candidates",
    ]


def test_a_header_that_is_wrong_is_named_alone(given):
    assert faults(given("x.csv", "video;sign\na;yes\n")) == [
        (
            "x.csv, row 1, video;sign: unexpected column; "
            "allowed: only clip_id, item, label, confidence, rank"
        ),
        "x.csv, row 1: columns video;sign; allowed: a column clip_id or item",
        "x.csv, row 1: columns video;sign; allowed: a column label",
    ]


def test_every_fault_of_a_json_file_is_named_with_its_entry(given):
    entries = [
        {"item": "a", "label": "yes", "confidence": True},
        {"item": "b", "label": "yes", "confidence": "0.5"},
        {"item": "c", "label": 3, "rank": True},
        "d",
        {"item": "e", "clip_id": "e", "label": ""},
        {"label": "yes", "speed": 1},
        {"item": "f"},
        {"item": "g", "label": "yes", "rank": 40000},
    ]

    assert faults(given("x.json", json.dumps(entries))) == [
        "x.json, row 1, confidence: True; allowed: a number from 0 to 1, or null",
        "x.json, row 2, confidence: '0.5'; allowed: a number from 0 to 1, or null",
        "x.json, row 3, label: 3; allowed: text of 1 to 128 characters, or null",
        "x.json, row 3, rank: True; allowed: 1 for the answer, 2.. for further candidates",
        "x.json, row 4: str; allowed: an object with item and label",
        "x.json, row 5, item: 2 names of the clip; allowed: one of item and clip_id",
        "x.json, row 5, label: ''; allowed: text of 1 to 128 characters, or null",
        (
            "x.json, row 6, speed: unexpected field; "
            "allowed: only clip_id, item, label, confidence, rank"
        ),
        "x.json, row 6, item: 0 names of the clip; allowed: one of item and clip_id",
        "x.json, row 7, label: no label; allowed: text, or null to abstain",
        "x.json, row 8, rank: 40000; allowed: 1 for the answer, 2.. for further candidates",
    ]


def test_every_bad_line_of_a_jsonl_file_is_named(given):
    lines = ['{"item": "a", "label": "x"}', "{", '{"item": "b", "label": "x", "label": "y"}', "[]"]

    assert faults(given("x.jsonl", "\n".join(lines))) == [
        (
            "x.jsonl, row 2: Expecting property name enclosed in double quotes at column 2; "
            "allowed: JSON"
        ),
        "x.jsonl, row 3, $.label: the same key twice; allowed: each key once",
        "x.jsonl, row 4: list; allowed: an object with item and label",
    ]


def test_a_json_file_that_is_no_list_is_refused(given):
    assert faults(given("x.json", "{}")) == ["x.json: dict; allowed: a list of objects"]


def test_parquet_with_impossible_values_is_refused_with_its_rows(tmp_path):
    bad = spans(["a", "b", "c"], [1, 0, 1], ["x", "x", "x"], [0.5, 0.5, 2.0])
    twice = spans(["a", "a"], [1, 1], ["x", "y"], [0.5, 0.5])
    write_table(tmp_path / "bad.parquet", bad)
    write_table(tmp_path / "twice.parquet", twice)

    assert faults(Path("bad.parquet")) == [
        "bad.parquet, row 2, rank: 0; allowed: 1 for the answer, 2.. for further candidates",
        "bad.parquet, row 3, confidence: 2.0; allowed: a number from 0 to 1, or null",
    ]
    (fault,) = faults(Path("twice.parquet"))
    assert "'a' has rank 1 again, first in row 1" in fault


def test_another_kind_of_file_is_refused(given):
    assert faults(given("x.xlsx", "")) == [
        "x.xlsx: a file named x.xlsx; allowed: one ending in .csv, .json, .jsonl, .parquet"
    ]

"""Outside answers to validation clips: read whole, refused when they answer other clips."""

import numpy as np
import pytest

from snellen.core.corpus import make_corpus
from snellen.core.split import TEST, TRAIN, VALIDATION, Split
from snellen.errors import BadInput, Leak
from snellen.studies.gate.file import judged_from_file

ITEMS = ("a", "b", "c", "d")
CORPUS = make_corpus(
    "four",
    ITEMS,
    ["yes", "no", "yes", "no"],
    columns={"signer": ["S1", "S1", "S2", "S3"]},
)
# Round 0 validates c and tests d, round 1 validates a and b and tests c.
SPLIT = Split(
    protocol="signer",
    protects="signer",
    seed=0,
    items=ITEMS,
    roles=np.array(
        [[TRAIN, TRAIN, VALIDATION, TEST], [VALIDATION, VALIDATION, TEST, TRAIN]], dtype=np.int8
    ),
    settings={},
)
GOOD = "round,item,rank,label,confidence\n1,a,1,yes,0.75\n1,a,2,no,0.25\n0,c,1,no,0.5\n"


def read(tmp_path, text, split=SPLIT):
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return judged_from_file(path, CORPUS, split, "mine")


def test_every_validation_clip_of_every_round_is_asked_whether_it_is_answered_or_not(tmp_path):
    rows = read(tmp_path, GOOD)

    assert (rows.model, rows.protocol, rows.role) == ("mine", "signer", "validation")
    assert rows.items == ("c", "a", "b")
    assert rows.rounds.tolist() == [0, 1, 1]
    assert rows.groups == ("S2", "S1", "S1")
    # The vocabulary is (no, yes).
    assert rows.truth.tolist() == [1, 1, 0]
    assert rows.ranked.tolist() == [[0, -1], [1, 0], [-1, -1]]
    assert rows.confidence.tolist() == [[0.5, 0.0], [0.75, 0.25], [0.0, 0.0]]
    assert rows.correct.tolist() == [False, True, False]


def test_a_file_without_ranks_holds_answers_and_an_empty_label_abstains(tmp_path):
    rows = read(tmp_path, "round,item,label,confidence\n0,c,,\n1,b,no,1\n")

    assert rows.ranked.tolist() == [[-1], [-1], [0]]


def test_an_answer_to_a_test_clip_is_a_leak_that_names_the_clip_and_its_round(tmp_path):
    with pytest.raises(Leak) as caught:
        read(tmp_path, GOOD + "0,d,1,no,0.9\n1,c,1,no,0.9\n")

    assert "2 test clips: 'd' (round 0), 'c' (round 1)" in str(caught.value)
    assert "validation clips alone" in str(caught.value)


def test_an_answer_to_a_clip_the_round_trained_on_is_a_leak_too(tmp_path):
    with pytest.raises(Leak, match=r"1 training clips: 'b' \(round 0\)"):
        read(tmp_path, GOOD + "0,b,1,no,0.9\n")


def test_of_many_leaking_clips_five_are_named_and_the_rest_counted(tmp_path):
    items = tuple(f"k{n}" for n in range(9))
    corpus = make_corpus("nine", items, ["yes", "no", "yes"] * 3)
    roles = np.array([[TEST] * 7 + [VALIDATION, TRAIN]], dtype=np.int8)
    split = Split("random", None, 0, items, roles, {})
    path = tmp_path / "mine.csv"
    lines = [f"0,k{n},yes,0.5" for n in range(7)]
    path.write_text("\n".join(["round,item,label,confidence", *lines]), encoding="utf-8")

    with pytest.raises(Leak, match=r"7 test clips: 'k0' .*'k4' \(round 0\) and 2 more"):
        judged_from_file(path, corpus, split, "mine")


def test_every_fault_of_a_file_is_named_with_its_row_and_column(tmp_path):
    with pytest.raises(BadInput) as caught:
        read(
            tmp_path,
            "round,item,rank,label,confidence\n"
            "2,a,1,yes,0.5\n"
            "x,a,1,yes,0.5\n"
            "1,z,1,yes,0.5\n"
            "1,a,0,yes,0.5\n"
            "1,a,1,maybe,0.5\n"
            "1,a,1,yes,1.5\n"
            "1,a,1,yes,\n"
            "1,b,1,no,0.5\n"
            "1,b,1,yes,0.5\n"
            "1,b,1\n",
        )

    found = [(fault.row, fault.field) for fault in caught.value.faults]
    assert found == [
        (2, "round"), (3, "round"), (4, "item"), (5, "rank"), (6, "label"), (7, "confidence"),
        (8, "confidence"), (10, None), (11, None),
    ]  # fmt: skip
    assert "'b' has rank 1 again, first in row 9" in str(caught.value)
    assert "one of the 2 labels of the corpus" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("item,label,confidence", "round: no such column"),
        ("round,item,label", "confidence: no such column"),
        ("round,item,label,confidence,truth", "truth: unexpected column"),
    ],
)
def test_a_header_that_lacks_or_adds_a_column_is_named_before_any_row(tmp_path, header, named):
    with pytest.raises(BadInput, match=named):
        read(tmp_path, header + "\n1,a,yes,0.5\n")


def test_a_file_without_answers_is_no_file_of_answers(tmp_path):
    with pytest.raises(BadInput, match="no answer"):
        read(tmp_path, "round,item,label,confidence\n")

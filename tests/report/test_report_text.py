import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.answers import Intake
from snellen.core.cells import Failed, Measured, NotApplicable, NotMeasurable, NotMeasured
from snellen.report import text

MEASURED = Measured(value=0.885185, low=0.866, high=0.904, n=2700, groups=10, method="Wilson")
NOT_MEASURED = NotMeasured(reason="no timing was taken", command="snellen bench RUN")
NOT_MEASURABLE = NotMeasurable(reason="no sessions", needed="a column", have="none")


def test_a_measured_share_reads_in_percent_with_its_interval():
    assert text.short(MEASURED) == "88.5 [86.6, 90.4]"
    assert text.words(MEASURED) == "88.5 [86.6, 90.4]: Wilson"


def test_a_figure_without_an_interval_says_so():
    cell = Measured(value=0.5, low=None, high=None, n=4, method="too few clips")
    assert text.words(cell) == "50.0 (no interval): too few clips"


def test_a_difference_carries_its_sign_and_is_never_minus_zero():
    cell = Measured(value=-0.031, low=-0.07, high=0.0001, n=154, method="paired")
    assert text.short(cell, "difference") == "-3.1 [-7.0, 0.0]"


def test_a_brier_score_is_no_percentage():
    cell = Measured(value=0.1842, low=0.17, high=0.2, n=154, method="bootstrap")
    assert text.short(cell, text.unit_of("brier")) == "0.184 [0.170, 0.200]"


@pytest.mark.parametrize(
    ("cell", "short", "words"),
    [
        (NOT_MEASURED, "not measured", "no timing was taken; to measure it: snellen bench RUN"),
        (NOT_MEASURABLE, "not measurable", "no sessions; needs a column, has none"),
        (NotApplicable(reason="one class"), "not applicable", "one class"),
        (Failed(error="singular matrix"), "failed", "singular matrix"),
    ],
)
def test_every_state_without_a_figure_reads_as_its_name_and_its_reason(cell, short, words):
    assert text.short(cell) == short
    assert text.words(cell) == f"{short}: {words}"


def test_a_count_that_is_unknown_reads_as_its_reason():
    assert text.quantity(57_312) == "57,312"
    assert text.quantity(NOT_MEASURABLE).startswith("not measurable: no sessions")


def test_a_share_that_is_not_nothing_does_not_round_to_nothing():
    assert text.part_of(3, 40_000) == "3 of 40,000 (below 0.1 %)"
    assert text.part_of(39_999, 40_000) == "39,999 of 40,000 (above 99.9 %)"
    assert text.part_of(0, 40_000) == "0 of 40,000 (0.0 %)"


def test_missing_failed_and_unasked_clips_are_named():
    intake = Intake(expected=10, answered=6, abstained=1, missing=2, failed=1, unasked=3)
    assert text.intake_sentence(intake) == (
        "10 clips were asked: 6 answered, 1 abstained, 2 missing, 1 failed. "
        "Missing and failed clips count as wrong. Answers to 3 other clips were not scored."
    )


@given(st.text())
def test_cleaned_text_is_one_line_without_control_or_direction_marks(value):
    cleaned = text.clean(value)
    assert not {unicodedata.category(c) for c in cleaned} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(c) for c in cleaned} & {"RLO", "LRO", "RLE", "LRE", "RLI"}
    assert text.clean(cleaned) == cleaned


def test_devanagari_keeps_its_joiners():
    word = "क्\u200dष"
    assert text.clean(word) == word


@given(st.lists(st.text(max_size=8), max_size=12))
def test_labels_on_an_axis_stay_distinct_and_none_is_empty(labels):
    names = text.distinct(labels, 4)
    assert len(set(names)) == len(labels)
    assert all(names)


@given(st.integers(0, 500), st.integers(2, 60))
def test_a_spread_keeps_both_ends_and_the_order(length, limit):
    kept = text.spread(range(length), limit)
    assert len(kept) == min(length, limit)
    assert list(kept) == sorted(set(kept))
    if length:
        assert (kept[0], kept[-1]) == (0, length - 1)

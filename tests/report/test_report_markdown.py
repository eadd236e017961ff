import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from snellen.report.markdown import escape, markdown_report, table


def test_the_headline_comes_first_with_its_interval(bundle):
    lines = markdown_report(bundle).splitlines()
    assert lines[0] == "# Auslan, three models"
    assert lines[2] == "## The honest figure"
    assert lines[4] == "**MiniRocket + ridge, signer out: 37.7 [33.2, 42.2]** (right, %)"
    assert lines[6] == "> The leaky protocol picks Extra trees, the honest one MiniRocket + ridge."


def test_a_leaking_headline_has_no_honest_title(bundle):
    leaky = replace(bundle, ladder=changed(bundle.ladder, headline="random"))
    report = markdown_report(leaky)
    assert "honest figure" not in report
    assert report.splitlines()[2] == "## The figure, with a leak"
    assert report.splitlines()[4].startswith("**This figure leaks.** Even the strictest protocol")


def test_a_run_of_one_protocol_says_that_no_two_were_compared(bundle):
    one = changed(bundle.ladder, rungs=bundle.ladder.rungs[:1], gaps=(), models=("lda",))
    report = markdown_report(replace(bundle, ladder=one))
    assert "What the leak is worth: no two protocols were compared." in report
    assert "What the leak is worth:\n" not in report
    assert "1 model under 1 protocol." in report


def test_every_row_of_a_table_has_as_many_cells_as_its_head(bundle):
    cells = None
    for line in markdown_report(bundle).splitlines():
        if not line.startswith("|"):
            cells = None
            continue
        here = len(re.split(r"(?<!\\)\|", line))
        assert cells in (None, here), line
        cells = here


def test_no_label_opens_a_tag_a_link_or_an_address(bundle):
    report = markdown_report(bundle)
    assert set(re.findall(r"(?<!\\)<[^>]*>", report)) == {
        "<details>",
        "<summary>",
        "</summary>",
        "</details>",
    }
    assert not re.findall(r"(?<!\\)\]\(", report)
    assert "http://" not in report


def test_counts_of_groups_over_several_rounds_say_that_they_are_sums(bundle):
    assert "| On both sides, summed over 2 rounds |" in markdown_report(bundle)


def test_states_are_words_and_not_dashes(bundle):
    report = markdown_report(bundle)
    for words in ("not measured", "not measurable", "not applicable", "failed", "| not measurable"):
        assert words in report
    assert not re.findall(r"\|[ \t]*\|", report)


@given(st.text(min_size=1))
def test_an_escaped_text_is_one_line_and_one_cell(value):
    shown = escape(value)
    assert len(shown.splitlines()) <= 1
    assert not re.findall(r"(?<!\\)(?:\\\\)*[|<>`*_~#]", shown)


def test_what_starts_a_list_or_a_link_at_the_start_of_a_line_is_escaped():
    assert escape("- item") == r"\- item"
    assert escape("1. item") == r"1\. item"
    assert escape("[x](javascript:alert(1))") == r"\[x\](javascript:alert(1))"
    assert escape("see www.evil.example") == r"see www\.evil.example"


def test_a_table_of_one_row():
    assert table(["A", "B"], [["x", "y|z"]]) == "| A | B |\n| --- | --- |\n| x | y\\|z |"


def test_an_empty_bundle_says_what_is_not_there(empty_bundle):
    report = markdown_report(empty_bundle)
    assert "No protocol ladder is here." in report
    assert "No scorecard is here." in report
    assert "No audit is here." in report

import csv
import io
from dataclasses import replace

from snellen.report.tables import csv_tables


def rows(bundle, name):
    return list(csv.DictReader(io.StringIO(csv_tables(bundle)[name])))


def test_no_field_of_any_table_is_empty(bundle):
    for name, text in csv_tables(bundle).items():
        lines = list(csv.reader(io.StringIO(text)))
        assert len(lines) > 1, name
        assert all(field for line in lines for field in line), name
        assert len({len(line) for line in lines}) == 1, name


def test_a_label_that_a_spreadsheet_would_run_is_quoted_and_numbers_are_not(bundle):
    labels = {row["label"] for row in rows(bundle, "classes")}
    assert "'=cmd|' /C calc'!A0" in labels
    for name, text in csv_tables(bundle).items():
        for line in csv.reader(io.StringIO(text)):
            for field in line:
                assert not field.lstrip().startswith(("=", "+", "@")), name


def test_a_negative_number_stays_a_number(bundle):
    lows = [row["low"] for row in rows(bundle, "gaps")]
    assert all(float(low) for low in lows)


def test_shares_stay_shares(bundle):
    row = rows(bundle, "ladder")[0]
    assert (row["model"], row["state"], row["value"], row["n"]) == (
        "Extra trees",
        "measured",
        "0.801",
        "1000",
    )


def test_a_figure_that_is_not_there_names_its_state_in_every_number(bundle):
    row = next(r for r in rows(bundle, "ladder") if r["state"] == "failed")
    assert {row[k] for k in ("value", "low", "high", "n", "groups")} == {"failed"}
    assert row["note"] == "singular covariance in round 3"


def test_undefined_precision_and_empty_bins_are_words(bundle):
    assert "undefined" in {row["precision"] for row in rows(bundle, "classes")}
    assert rows(bundle, "reliability")[0]["confidence"] == "no clips"
    assert rows(bundle, "coverage")[100]["selective_accuracy"] == "nothing answered"


def test_confusions_count_every_clip_of_every_card(bundle):
    total = sum(int(row["count"]) for row in rows(bundle, "confusion"))
    assert total == sum(sum(map(sum, card.confusion.counts)) for card in bundle.cards)


def test_file_names_never_depend_on_labels(bundle, empty_bundle):
    without_studies = replace(bundle, sections=())
    assert csv_tables(without_studies).keys() == csv_tables(empty_bundle).keys()


def test_the_duplicates_of_a_set_share_its_number(bundle):
    sets = [(row["set"], row["item"]) for row in rows(bundle, "duplicates")]
    assert sets == [
        ("1", "clip_001"),
        ("1", "clip_002"),
        ("2", "<script>alert(1)</script>"),
        ("2", "clip_009"),
    ]

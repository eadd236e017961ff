"""The section of a live replay, from a result whose every number was chosen by hand."""

import csv
import io
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from snellen.core.cells import Measured, NotMeasurable
from snellen.core.replay import ReplayRow, ReplaySetting, ReplayStudy, Streamed
from snellen.report.figures import svg
from snellen.report.section_files import table_csv
from snellen.report.studies.replay import section

SHORT = ReplaySetting(
    name="document",
    window="last",
    frames=30,
    seconds=None,
    fewest=30,
    every=1,
    threshold=0.7,
    ballots=3,
    votes=2,
    stable=3,
    look_back=30,
    hand_presence=0.3,
    hand_motion=0.01,
)
WHOLE = replace(
    SHORT, name="default", window="movement", frames=240, fewest=15, every=None, look_back=15
)


def cell(value, low, high):
    return Measured(value=value, low=low, high=high, n=200, groups=10, method="by hand")


def frames(value):
    return Measured(value=value, low=None, high=None, n=150, method="median")


def row(model, setting, *, offline, live, ungated, certain):
    def gap(share):
        high = share + 0.02 if certain else 0.01
        return cell(share - offline, share - offline - 0.02, high - offline if certain else high)

    return ReplayRow(
        model=model,
        setting=setting,
        offline=cell(offline, offline - 0.05, offline + 0.05),
        live=cell(live, live - 0.05, live + 0.05),
        live_delta=gap(live),
        gated=cell(offline - 0.1, offline - 0.15, offline - 0.05),
        gated_delta=cell(live - offline + 0.1, live - offline + 0.08, live - offline + 0.12),
        ungated=cell(ungated, ungated - 0.05, ungated + 0.05),
        ungated_delta=gap(ungated),
        committed=0.75,
        uncertain=0.20,
        unasked=0.05,
        answers=41.5,
        captions=1.25,
        first_caption=frames(33.0),
        streamed=Streamed(
            accuracy=cell(0.5, 0.4, 0.6),
            delta=cell(0.5 - offline, -0.4, -0.2),
            captions=2.125,
            delay=frames(-12.0),
        ),
    )


ROWS = (
    row("net", "document", offline=0.9, live=0.6, ungated=0.7, certain=True),
    row("net", "default", offline=0.9, live=0.8, ungated=0.89, certain=False),
    row("tree", "document", offline=0.8, live=0.5, ungated=0.6, certain=True),
    row("tree", "default", offline=0.8, live=0.7, ungated=0.79, certain=False),
)


def study(**changes):
    made = ReplayStudy(
        corpus="made up",
        protocol="signer",
        protects="signer",
        preprocessing="snellen-1",
        trained_frames=64,
        frame_rate=30.0,
        movement_unit="shoulder widths",
        pause=30,
        stream=10,
        seed=42,
        rounds=(0, 1),
        of_rounds=2,
        clips=200,
        of_clips=200,
        median_frames=71.0,
        settings=(SHORT, WHOLE),
        rows=ROWS,
    )
    return replace(made, **changes)


def csv_rows(table):
    return list(csv.DictReader(io.StringIO(table_csv(table).decode())))


def test_every_model_has_a_row_a_setting():
    table = section(study()).tables[0]

    assert table.name == "live_replay"
    assert table.rows[0] == (
        "net",
        "document",
        "90.0 [85.0, 95.0]",
        "70.0 [65.0, 75.0]",
        "-20.0 [-22.0, -18.0]",
        "80.0 [75.0, 85.0]",
        "60.0 [55.0, 65.0]",
        "-20.0 [-22.0, -18.0]",
    )
    assert [line[:2] for line in table.rows[1:]] == [
        ("net", "default"),
        ("tree", "document"),
        ("tree", "default"),
    ]


def test_the_csv_holds_every_figure_and_no_empty_field():
    rows = csv_rows(section(study()).tables[0])

    assert len(rows) == 4
    assert all(field for line in rows for field in line.values())
    first = rows[0]
    assert (first["live"], first["offline"], first["offline_low"]) == ("0.6", "0.9", "0.85")
    assert (first["committed"], first["uncertain"], first["unasked"]) == ("0.75", "0.2", "0.05")
    assert (first["first_caption_frames"], first["streamed_delay_frames"]) == ("33.0", "-12.0")
    assert (first["streamed"], first["streamed_captions"], first["n"]) == ("0.5", "2.125", "200")


def test_what_clips_got_adds_up():
    table = section(study()).tables[1]

    assert table.rows[0] == ("net", "document", "75.0", "20.0", "5.0", "41.5", "33")


def test_a_layout_without_shoulders_has_no_bound_for_rest_of_its_own():
    glove = section(study(movement_unit="of the recordings' own unit"))

    assert any("which bound tells rest" in line for line in glove.not_measured)
    assert not any("which bound" in line for line in section(study()).not_measured)


def test_clips_in_a_row_have_a_table_of_their_own():
    table = section(study()).tables[2]

    assert "up to 10 in a row" in table.caption
    assert table.rows[0] == (
        "net",
        "document",
        "50.0 [40.0, 60.0]",
        "-40.0 [-40.0, -20.0]",
        "2.12",
        "-12",
    )


def test_the_settings_are_said_in_words():
    rows = section(study()).tables[3].rows

    assert rows[0][:5] == (
        "document",
        "the last 30 frames, at least 30",
        "every frame",
        "70.0",
        "2 of the last 3, 3 answers in a row",
    )
    assert rows[1][1:3] == (
        "from the first movement to rest, at least 15, at most 240 frames",
        "when the hands rest",
    )
    assert "0.01 shoulder widths a frame" in rows[0][5]


def test_a_window_in_seconds_and_a_stride_are_said_in_words():
    seconds = replace(SHORT, seconds=2.0, every=5)

    rows = section(study(settings=(seconds, WHOLE))).tables[3].rows

    assert rows[0][1:3] == ("the last 2 seconds, at least 30 frames", "every 5 frames")


def test_sentences_take_their_numbers_from_the_best_model_offline():
    said = " ".join(section(study()).sentences)

    assert "half of the recordings are longer than 71 frames" in said
    assert "the window alone changes net by -20.0 [-22.0, -18.0] points" in said
    assert "it reads 80.0 % offline and 60.0 % live, a change of -20.0 [-22.0, -18.0]" in said
    assert "clips in a row of -40.0 [-40.0, -20.0]" in said
    assert "tree" not in said


def test_certain_losses_are_counted():
    said = " ".join(section(study()).sentences)

    assert (
        "losses under document: by the window alone for 2, with clips in a row for 2 of 2" in said
    )
    assert "losses under default: by the window alone for 0, with clips in a row for 2" in said


def test_clips_that_were_not_drawn_are_named_as_not_measured():
    shown = section(study(clips=50))

    assert shown.sentences[0].startswith("50 of 200 test clips")
    assert "150 test clips that were not drawn" in shown.not_measured
    assert not any("not drawn" in line for line in section(study()).not_measured)


def test_rounds_that_were_left_out_are_named():
    shown = section(study(of_rounds=5))

    assert "under the protocol signer in 2 of 5 rounds, each" in shown.sentences[0]
    assert "3 rounds left out" in shown.not_measured


def test_no_caption_at_all_is_a_state_and_no_number():
    none = NotMeasurable(reason="no clip has a caption", needed="one", have="0")
    silent = replace(ROWS[0], first_caption=none, streamed=replace(ROWS[0].streamed, delay=none))

    shown = section(study(rows=(silent, *ROWS[1:])))

    assert shown.tables[1].rows[0][-1] == "not measurable"
    assert csv_rows(shown.tables[0])[0]["first_caption_frames"] == "not measurable"
    assert shown.tables[2].rows[0][-1] == "not measurable"


def test_one_group_gives_no_interval_and_the_csv_says_so():
    lone = replace(ROWS[0], live=cell(0.6, None, None), gated_delta=cell(-0.2, None, None))

    shown = section(study(rows=(lone, *ROWS[1:])))

    assert shown.tables[0].rows[0][7] == "-20.0 (no interval)"
    assert csv_rows(shown.tables[0])[0]["gated_delta_low"] == "no interval"


@pytest.mark.parametrize("models", [("net", "tree"), ("<b>", "=cmd|'/c'!A1")])
def test_the_figure_is_drawn_and_names_every_model(models):
    names = dict(zip(("net", "tree"), models, strict=True))
    rows = tuple(replace(line, model=names[line.model]) for line in ROWS)

    figure = section(study(rows=rows)).figures[0]
    drawn = ET.fromstring(svg(figure.spec, "k"))  # noqa: S314 - our own output

    texts = {"".join(node.itertext()) for node in drawn.iter() if node.tag.endswith("text")}
    assert {*models, "document", "default"} <= texts
    assert figure.name == "live_replay"

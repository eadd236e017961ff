import csv
import io
import struct
from dataclasses import replace

import pytest
from rich.console import Console

from snellen.errors import BadInput
from snellen.report import figures
from snellen.report.html import html_report
from snellen.report.markdown import markdown_report, section_markdown
from snellen.report.section_files import figure_png, table_csv, write_section
from snellen.report.tables import csv_tables
from snellen.report.terminal import section_tables


def shown(renderable):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def size_of(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def test_a_section_is_the_same_text_in_markdown_as_ever(section, golden):
    golden("section.md", section_markdown(section).encode())


def test_a_section_is_the_same_text_in_the_terminal_as_ever(section, golden):
    lines = [line.rstrip() for line in shown(section_tables(section)).splitlines()]
    golden("section.txt", ("\n".join(lines) + "\n").encode())


def test_the_table_of_a_section_is_the_same_csv_as_ever(section, golden):
    golden("section.csv", table_csv(section.tables[0]))


def test_the_page_shows_a_section_word_for_word_as_ever(section, empty_bundle, golden):
    page = html_report(replace(empty_bundle, sections=(section,))).decode()
    start = page.index('<section id="studies"')
    part = page[start : page.index("</section>", start)]
    # The picture is the renderer's; the words around it are ours.
    before, _, rest = part.partition("<svg")
    golden("section.html", f"{before}...{rest.partition('</svg>')[2]}\n".encode())


def test_a_section_of_one_protocol_says_so_in_its_heading(section):
    assert section.heading == "Confidence gate, signer out"
    assert replace(section, protocol=None).heading == "Confidence gate"


def test_csv_keeps_numbers_whole_and_defuses_formulas(section):
    rows = list(csv.reader(io.StringIO(table_csv(section.tables[0]).decode())))

    assert rows[1] == ["'=cmd|' /C calc'!A0", "0.7", "0.7012345"]
    assert rows[2] == ["a|b", "0.9", "nothing answered"]


def test_no_label_of_a_section_is_markup_on_the_page(section, empty_bundle):
    page = html_report(replace(empty_bundle, sections=(section,))).decode()

    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_no_label_of_a_section_opens_a_cell_or_a_tag_in_markdown(section):
    lines = section_markdown(section).splitlines()

    assert "| a\\|b | 0.90 | nothing answered |" in lines
    assert not any("<script" in line.replace("\\<", "") for line in lines)


def test_square_brackets_of_a_label_are_no_markup_in_the_terminal(section):
    table = replace(section.tables[0], rows=(("[bold red]markup[/]", "1", "2"),))

    assert "[bold red]markup[/]" in shown(section_tables(replace(section, tables=(table,))))


def test_a_figure_becomes_a_picture_of_a_readable_size(section):
    width, height = size_of(figure_png(section.figures[0]))

    # 360 px at twice their size; 200 px with room for axis and legend, at twice their size.
    assert width == 720
    assert 400 < height < 800


def test_framing_a_figure_twice_is_framing_it_once(section):
    once = figures.framed(section.figures[0].spec)

    assert figures.framed(once) == once


def test_files_of_a_section_carry_the_names_of_its_tables_and_figures(section, tmp_path):
    paths = write_section(tmp_path / "new", section)

    assert [path.name for path in paths] == ["threshold_sweep.csv", "threshold_sweep.png"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "threshold_sweep.csv",
        "threshold_sweep.png",
    ]
    assert size_of(paths[1].read_bytes())[0] > 0


def test_a_table_whose_name_is_a_path_is_refused(section, tmp_path):
    table = replace(section.tables[0], name="../sweep")

    with pytest.raises(BadInput):
        write_section(tmp_path / "new", replace(section, tables=(table,)))
    assert not (tmp_path / "sweep.csv").exists()


def test_the_report_has_the_table_of_each_study_and_protocol(bundle):
    names = [name for name in csv_tables(bundle) if name.startswith("gate-")]

    assert names == ["gate-signer out-threshold_sweep", "gate-random-threshold_sweep"]


def test_studies_of_the_headline_protocol_are_open_and_others_folded(bundle):
    page = html_report(bundle).decode()
    start = page.index('<section id="studies"')
    studies = page[start : page.index("</section>", start)]

    assert studies.count("<details") == 2
    assert studies.count('<details class="card" open>') == 1
    assert studies.index(" open>") < studies.index("Confidence gate, signer out")


def test_a_report_without_studies_does_not_speak_of_any(empty_bundle):
    assert "tudies" not in html_report(empty_bundle).decode()
    assert "tudies" not in markdown_report(empty_bundle)

"""Run the main job and write what a person reads."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from snellen.cli.show import bars, print_json, print_table
from snellen.cli.studies import seeds_section, stored_sections
from snellen.report.bundle import Bundle
from snellen.report.html import html_report
from snellen.report.markdown import markdown_report
from snellen.report.tables import csv_tables
from snellen.report.terminal import ladder_table
from snellen.store.files import write_atomic

__all__ = ["bundle_of", "run_and_report", "write_reports"]


def bundle_of(verbs: ModuleType, root: Path) -> Bundle:
    """What the report of a run, or of one card, shows."""
    if root.is_file():
        card = verbs.read_card(root)
        title = dict(card.signature).get("corpus", card.model)
        return Bundle(title=title, audit=None, ladder=None, cards=(card,))
    audit, ladder, cards = verbs.contents(root)
    # The headline protocol first; sorting keeps the order of the rest.
    studies = sorted(stored_sections(root), key=lambda x: x.protocol != ladder.headline)
    sections = (*seeds_section(root), *studies)
    return Bundle(title=ladder.corpus, audit=audit, ladder=ladder, cards=cards, sections=sections)


def write_reports(bundle: Bundle, folder: Path) -> Path:
    """Write report.html, report.md and tables/ into a folder; returns the page's path."""
    for name, text in csv_tables(bundle).items():
        write_atomic(folder / "tables" / f"{name}.csv", text.encode("utf-8"))
    write_atomic(folder / "report.md", markdown_report(bundle).encode("utf-8"))
    page = folder / "report.html"
    write_atomic(page, html_report(bundle))
    return page


def run_and_report(
    verbs: ModuleType, source: Any, output: Path, settings: Any, *, json: bool
) -> tuple[Path, bool]:
    """Run, show the ladder, write the reports; the page, and whether the strictest rung leaks."""
    with bars() as progress:
        result = verbs.run_all(source, output, settings, progress)
        progress("report", 0, 1)
        page = write_reports(bundle_of(verbs, output), output)
        progress("report", 1, 1)
    if json:
        print_json(result.ladder)
    else:
        print_table(ladder_table(result.ladder))
    return page, bool(result.ladder.rungs[-1].leaks)

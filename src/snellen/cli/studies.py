"""Studies of a run: stored beside it, shown, and read again for its report."""

from __future__ import annotations

from pathlib import Path

import msgspec
import typer

from snellen.cli.show import print_json, print_table
from snellen.digest import canonical_json
from snellen.report.section import Section
from snellen.report.section_files import write_section
from snellen.report.terminal import section_tables
from snellen.store.files import safe_name, write_atomic

__all__ = ["show_and_store"]

FOLDER = "studies"


def show_and_store(
    run: Path, protocol: str, name: str, result: msgspec.Struct, section: Section, *, json: bool
) -> None:
    """Store a study as RUN/studies/PROTOCOL/NAME.json with its CSV and PNG files, and print it."""
    folder = run / FOLDER / safe_name(protocol, "protocol")
    stored = folder / safe_name(f"{name}.json", "study")
    write_atomic(stored, canonical_json(msgspec.to_builtins(result), indent=1))
    files = write_section(folder, section)
    if json:
        print_json(result)
        return
    print_table(section_tables(section))
    # Not through rich, which would break a long path at the terminal's edge.
    typer.echo(f"stored: {stored}" + (f" and {len(files)} files beside it" if files else ""))

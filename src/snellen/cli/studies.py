"""Studies of a run: stored beside it, shown, and read again for its report.

*Conventions*: a study lies under RUN/studies/PROTOCOL/ as NAME.json with the CSV
and PNG files of its section beside it. ``STUDIES`` names what a report can show;
other files there are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import typer

from snellen.cli.show import print_json, print_table
from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault
from snellen.report.section import Section
from snellen.report.section_files import write_section
from snellen.report.terminal import section_tables
from snellen.store.files import JSON_LIMIT, parse_json, read_limited, safe_name, write_atomic
from snellen.store.folder import RunFolder

__all__ = [
    "STUDIES",
    "decode_study",
    "read_study",
    "seeds_section",
    "show_and_store",
    "stored_sections",
    "stored_study",
]

FOLDER = "studies"
SEEDS = "seeds.json"

STUDIES = {
    "seeds": ("snellen.core.seeds:Seeds", "snellen.report.studies.seeds:section"),
    "gate": ("snellen.core.gate:GateStudy", "snellen.report.studies.gate:section"),
    "stress": ("snellen.core.stress:StressStudy", "snellen.report.studies.stress:section"),
    "stress-strict": ("snellen.core.stress:StressStudy", "snellen.report.studies.stress:section"),
    "replay": ("snellen.core.replay:ReplayStudy", "snellen.report.studies.replay:section"),
    "latency": ("snellen.core.latency:LatencyStudy", "snellen.report.studies.latency:section"),
}
"""Name to the type of the result and the function that shows it, in the order of a report."""


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
    print_table(section_tables(replace(section, protocol=protocol)))
    # Not through rich, which would break a long path at the terminal's edge.
    typer.echo(f"stored: {stored}" + (f" and {len(files)} files beside it" if files else ""))


def stored_sections(run: Path) -> tuple[Section, ...]:
    """The studies of a run as sections, by protocol and in the order of ``STUDIES``.

    Raises:
        BadInput: files that are damaged or of another kind; each is named.
    """
    found: list[Section] = []
    faults: list[Fault] = []
    for folder in sorted(path for path in (run / FOLDER).glob("*") if path.is_dir()):
        for name in STUDIES:
            path = folder / f"{name}.json"
            if not path.exists():
                continue
            try:
                _, section = read_study(path, name)
            except BadInput as error:
                faults += error.faults
            else:
                found.append(replace(section, protocol=folder.name))
    if faults:
        raise BadInput(faults)
    return tuple(found)


def seeds_section(run: Path) -> tuple[Section, ...]:
    """What several training seeds say together, a piece of the run; nothing where one was run."""
    folder = RunFolder.read(run)
    if SEEDS not in folder.names():
        return ()
    _, section = decode_study(folder.get(SEEDS), "seeds", str(run / SEEDS))
    return (section,)


def stored_study(run: Path, name: str, headline: str) -> tuple[Any, Section] | None:
    """One study of a run: that of its headline protocol, else of another; None where none is.

    Raises:
        BadInput: its file is damaged or of another kind.
    """
    found = sorted((run / FOLDER).glob(f"*/{name}.json"), key=lambda x: x.parent.name != headline)
    return read_study(found[0], name) if found else None


def read_study(path: Path, name: str) -> tuple[Any, Section]:
    """The result of a study in a file, and the section that shows it.

    Raises:
        BadInput: no such file, damaged, or not this study.
    """
    return decode_study(read_limited(path, JSON_LIMIT), name, str(path))


def decode_study(data: bytes, name: str, where: str) -> tuple[Any, Section]:
    """As :func:`read_study`, of bytes; ``where`` names them in messages."""
    kind, show = STUDIES[name]
    try:
        result = msgspec.convert(parse_json(data, where), type=_named(kind))
    except msgspec.ValidationError as error:
        again = f"a {name} study that this version of snellen wrote"
        raise BadInput(Fault(where, str(error), again)) from error
    section: Callable[[Any], Section] = _named(show)
    return result, section(result)


def _named(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)

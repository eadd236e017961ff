"""``snellen gate``: when a model should keep quiet, and whether that promise is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import (
    Format,
    Json,
    Layout,
    Models,
    Protocol,
    TaskOption,
    Threshold,
    names_of,
    threshold_of,
)
from snellen.cli.show import bars, print_json, print_table
from snellen.core.gate import GateStudy
from snellen.core.study import Judged
from snellen.errors import BadInput, Fault

__all__ = ["gate"]

RunOrNone = Annotated[
    Path | None, typer.Argument(help="A run folder, from snellen run.", show_default=False)
]
Targets = Annotated[
    str, typer.Option("--target", help="Accuracy among the answered to reach; several by commas.")
]
Answers = Annotated[
    Path | None,
    typer.Option(help="CSV of round, item, rank, label, confidence: answers to validation clips."),
]
DataOption = Annotated[Path | None, typer.Option("--data", help="With --answers: the recordings.")]
SplitOption = Annotated[Path | None, typer.Option("--split", help="With --answers: the split.")]


def gate(
    run: RunOrNone = None,
    protocol: Protocol = None,
    models: Models = None,
    target: Targets = "0.9,0.95",
    threshold: Threshold = None,
    answers: Answers = None,
    data: DataOption = None,
    split: SplitOption = None,
    task: TaskOption = "isolated",
    format_: Format = None,
    layout: Layout = None,
    json: Json = False,
) -> None:
    """Sweep confidence thresholds on validation clips and try them on test clips.

    With --answers, thresholds for a model trained elsewhere; test clips are refused.
    Exit code 1: a target that validation promised is missed on the test clips of the
    strictest protocol (or of --protocol), or test clips were offered for tuning.
    """
    from snellen.cli.studies import show_and_store
    from snellen.core.split_file import read_split
    from snellen.report.studies.gate import section
    from snellen.report.terminal import section_tables
    from snellen.studies.gate import study_gate
    from snellen.studies.gate.file import judged_from_file
    from snellen.tasks import task_verbs

    targets = _shares_of(target)
    verbs = task_verbs(task)
    with bars() as progress:
        judged: tuple[Judged, ...]
        if run is not None and answers is None and data is None and split is None:
            judged = verbs.judged(run, None, names_of(models, "--models"))
        elif run is None and answers is not None and data is not None and split is not None:
            corpus = verbs.Source(data, format_, layout).open().corpus
            judged = (judged_from_file(answers, corpus, read_split(split, corpus), answers.stem),)
        else:
            seen = "neither a run alone nor answers with their data and split"
            raise BadInput(Fault("gate", seen, "RUN, or --answers with --data and --split"))
        found: GateStudy = study_gate(
            judged,
            targets=targets,
            threshold=threshold_of(threshold),
            protocol=protocol,
            progress=progress,
        )
    if run is not None:
        show_and_store(run, found.protocol, "gate", found, section(found), json=json)
    elif json:
        print_json(found)
    else:
        print_table(section_tables(section(found)))
    if found.missed:
        raise typer.Exit(1)


def _shares_of(text: str) -> tuple[float, ...]:
    """Targets separated by commas; whether they are shares is for the study to say."""
    faults, values = [], []
    for name in names_of(text, "--target") or ():
        try:
            values.append(float(name))
        except ValueError:
            faults.append(Fault("--target", repr(name[:80]), "numbers such as 0.9,0.95"))
    faults += [
        Fault("--target", f"{value} twice", "each target once")
        for value in sorted({value for value in values if values.count(value) > 1})
    ]
    if faults:
        raise BadInput(faults)
    return tuple(values)

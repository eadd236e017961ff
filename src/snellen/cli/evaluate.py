"""The evaluation of a finished run, under the names of the reference evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import Json, Run, TaskOption

__all__ = ["evaluate"]

FOLDER = "evaluation"


def evaluate(
    run: Run,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write; RUN/evaluation by default."),
    ] = None,
    task: TaskOption = "isolated",
    json: Json = False,
) -> None:
    """Write a run's evaluation: summary, per-class table, confusions, paired tests, pictures."""
    from snellen.cli.show import print_json, print_table
    from snellen.cli.studies import stored_study
    from snellen.report.evaluation import evaluations
    from snellen.report.evaluation_files import LATENCY_FIGURE, evaluation_files
    from snellen.report.evaluation_section import evaluation_section
    from snellen.report.terminal import section_tables
    from snellen.store.files import write_atomic
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    _, ladder, cards = verbs.contents(run)
    timed = stored_study(run, "latency", ladder.headline)
    latency, pictures = (None, None) if timed is None else timed
    comparison = verbs.compare(str(run), str(run), protocols=None, allow=())
    found = evaluations(ladder, cards, comparison, latency)
    section = evaluation_section(found)
    folder = output or run / FOLDER
    files = evaluation_files(found, cards, section, pictures)
    for name, data in files.items():
        write_atomic(folder / name, data)
    if json:
        print_json(found)
        return
    print_table(section_tables(section))
    typer.echo(f"written: {len(files)} files in {folder}")
    if f"{LATENCY_FIGURE}.png" not in files:
        typer.echo(f"no {LATENCY_FIGURE}.png: not measured; snellen latency {run} DATA measures it")

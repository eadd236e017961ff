"""The evaluation of a finished run, under the names of the reference evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import Json, Run, TaskOption
from snellen.cli.show import print_json, print_table
from snellen.cli.studies import stored_study
from snellen.report.evaluation import Speed, evaluations
from snellen.report.evaluation_files import LATENCY_FIGURE, evaluation_files
from snellen.report.evaluation_section import evaluation_section
from snellen.report.section import Section
from snellen.report.terminal import section_tables
from snellen.store.files import write_atomic
from snellen.tasks import task_verbs

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
    verbs = task_verbs(task)
    _, ladder, cards = verbs.contents(run)
    speeds, latency = _latency(run, ladder.headline)
    comparison = verbs.compare(str(run), str(run), protocols=None, allow=())
    found = evaluations(ladder, cards, comparison, speeds, run=str(run))
    section = evaluation_section(found)
    folder = output or run / FOLDER
    files = evaluation_files(found, cards, section, latency)
    for name, data in files.items():
        write_atomic(folder / name, data)
    if json:
        print_json(found)
        return
    print_table(section_tables(section))
    typer.echo(f"written: {len(files)} files in {folder}")
    if f"{LATENCY_FIGURE}.png" not in files:
        typer.echo(f"no {LATENCY_FIGURE}.png: not measured; snellen latency {run} DATA measures it")


def _latency(run: Path, headline: str) -> tuple[dict[str, Speed], Section | None]:
    """What the latency study of the run says of each model, and the study as a section."""
    stored = stored_study(run, "latency", headline)
    if stored is None:
        return {}, None
    found, section = stored
    return {row.model: Speed(row.parameters, row.model_ms) for row in found.rows}, section

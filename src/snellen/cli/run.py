"""The main job, and its demonstration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import (
    DEFAULT_GAP,
    DEFAULT_REGIME,
    DEFAULT_SEED,
    Data,
    Format,
    Gap,
    Json,
    Layout,
    Regime,
    Seed,
    Task,
    ToFolder,
    Workers,
    names_of,
    seeds_of,
)

__all__ = ["demo", "run"]


def run(
    task: Task,
    data: Data,
    output: ToFolder,
    models: Annotated[
        str | None,
        typer.Option(help="Models, separated by commas; majority, lda, trees, rocket by default."),
    ] = None,
    protocols: Annotated[
        str | None,
        typer.Option(help="Protocols, separated by commas; all the corpus admits by default."),
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of every protocol.")] = None,
    regime: Regime = DEFAULT_REGIME,
    seeds: Annotated[
        str | None,
        typer.Option(help="Training seeds, separated by commas; the first makes the cards."),
    ] = None,
    withhold: Annotated[
        int, typer.Option(min=0, help="Classes to keep out of the vocabulary, drawn by the seed.")
    ] = 0,
    format_: Format = None,
    layout: Layout = None,
    seed: Seed = DEFAULT_SEED,
    gap: Gap = DEFAULT_GAP,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """The main job: audit, protocol ladder, train, predict, score, report.

    Stopped half-way, it goes on where it was. Exit code 1: even the strictest
    protocol leaks.
    """
    from snellen.cli.reports import run_and_report
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    options = {"folds": folds, "seed": seed, "gap": gap, "workers": workers or os.cpu_count() or 1}
    chosen = names_of(models, "--models")
    settings = verbs.RunSettings(
        **options,
        protocols=names_of(protocols, "--protocols"),
        seeds=seeds_of(seeds),
        regime=regime,
        withhold=withhold,
        **({} if chosen is None else {"models": chosen}),
    )
    page, leaks = run_and_report(
        verbs, verbs.Source(data, format_, layout), output, settings, json=json
    )
    if not json:
        typer.echo(f"\nreport: {page}")
    if leaks:
        raise typer.Exit(1)


def demo(
    output: ToFolder = Path("runs/demo"),
    seed: Seed = DEFAULT_SEED,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Plant leaks in a made-up corpus, run the main job on it, and check what the audit finds."""
    from snellen.cli.demo import run_demo

    if not run_demo(output, seed=seed, workers=workers or os.cpu_count() or 1, json=json):
        raise typer.Exit(1)

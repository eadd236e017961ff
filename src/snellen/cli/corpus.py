"""What is there and how it is split: no model is involved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import (
    DEFAULT_GAP,
    DEFAULT_SEED,
    Data,
    Format,
    Gap,
    Json,
    Layout,
    Seed,
    Task,
    ToFile,
)
from snellen.cli.show import bars, print_json, print_table

__all__ = ["audit", "split"]


def audit(
    task: Task,
    data: Data,
    split: Annotated[
        list[Path] | None, typer.Option("--split", help="Split file to audit; may be repeated.")
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", help="Protocol to audit; may be repeated.")
    ] = None,
    format_: Format = None,
    layout: Layout = None,
    seed: Seed = DEFAULT_SEED,
    gap: Gap = DEFAULT_GAP,
    json: Json = False,
) -> None:
    """Say what is in a corpus, which splits leak, and what the data cannot tell.

    Exit code 1: a split that was named leaks; or, where none was named, the
    corpus's own official split leaks or the corpus itself holds duplicates.
    """
    from snellen.report.terminal import audit_tables
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    source = verbs.Source(data, format_, layout)
    with bars() as progress:
        found = verbs.audit(
            source,
            split_files=split or [],
            protocols=protocol or None,
            seed=seed,
            gap=gap,
            progress=progress,
        )
    print_json(found) if json else print_table(audit_tables(found))
    named = bool(split or protocol)
    leaking = any(x.leaks and (named or x.protocol == "official") for x in found.splits)
    grave = any(finding.severity == "leak" for finding in found.corpus.findings)
    if leaking or (grave and not named):
        raise typer.Exit(1)


def split(
    task: Task,
    data: Data,
    protocol: Annotated[
        str,
        typer.Option(
            help="random, official, session_disjoint, cluster, sitting, session or signer."
        ),
    ],
    output: ToFile,
    folds: Annotated[int | None, typer.Option(min=2, help="Number of folds.")] = None,
    format_: Format = None,
    layout: Layout = None,
    seed: Seed = DEFAULT_SEED,
    gap: Gap = DEFAULT_GAP,
) -> None:
    """Freeze a split into a JSON file with a digest."""
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    made = verbs.split(
        verbs.Source(data, format_, layout),
        protocol,
        seed=seed,
        folds=folds,
        gap=gap,
        output=output,
    )
    tested = int((made.tested_in >= 0).sum())
    typer.echo(
        f"{output}: {made.protocol}, {made.rounds} rounds, {tested} test clips, {made.digest[:12]}"
    )

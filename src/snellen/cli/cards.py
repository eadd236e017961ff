"""Score, recompute, compare and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import (
    DEFAULT_GAP,
    Format,
    Gap,
    Json,
    Layout,
    SplitFile,
    Task,
    ToFile,
    names_of,
)
from snellen.cli.show import bars, complain, print_json, print_table
from snellen.errors import BadInput, Fault, Mismatch

__all__ = ["compare", "report", "score", "verify"]


def score(
    task: Task,
    answers: Annotated[Path, typer.Argument(help=".parquet, .csv, .json or .jsonl of answers.")],
    data: Annotated[Path, typer.Option(help="Folder or file of recordings, or metadata alone.")],
    split: SplitFile,
    output: ToFile,
    name: Annotated[str | None, typer.Option(help="Name of the model in the card.")] = None,
    format_: Format = None,
    layout: Layout = None,
    gap: Gap = DEFAULT_GAP,
    json: Json = False,
) -> None:
    """Score answers from any model into a card. Exit code 1: the split leaks."""
    from snellen.report.terminal import card_table
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    with bars() as progress:
        card = verbs.score(
            answers,
            verbs.Source(data, format_, layout),
            split,
            name=name,
            gap=gap,
            output=output,
            progress=progress,
        )
    print_json(card) if json else print_table(card_table(card))
    if card.leaks:
        raise typer.Exit(1)


def verify(
    target: Annotated[Path, typer.Argument(help="A run folder, or a card.")],
    task: Annotated[str, typer.Option(help="The task.")] = "isolated",
    answers: Annotated[Path | None, typer.Option(help="For a card: its answers.")] = None,
    data: Annotated[Path | None, typer.Option(help="For a card: its recordings.")] = None,
    split: Annotated[Path | None, typer.Option("--split", help="For a card: its split.")] = None,
    format_: Format = None,
    layout: Layout = None,
    gap: Gap = DEFAULT_GAP,
) -> None:
    """Recompute a run or a card from its stored answers. Exit code 1: it differs."""
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    if not target.exists():
        raise BadInput(Fault(str(target), "no such file or folder", "a run folder, or a card"))
    try:
        if target.is_dir():
            found = verbs.verify(target)
            typer.echo(
                f"{target}: {found.cards} cards over {found.clips} answers recomputed, all the "
                "same\nnot part of it: report.html, report.md and tables/, which snellen report "
                "makes again"
            )
            return
        if answers is None or data is None or split is None:
            needed = "--answers, --data and --split with a card, or a run folder alone"
            raise BadInput(Fault(str(target), "a card by itself", needed))
        source = verbs.Source(data, format_, layout)
        with bars() as progress:
            verbs.verify_card(target, answers, source, split, gap=gap, progress=progress)
    except Mismatch as error:
        complain(str(error))
        raise typer.Exit(1) from error
    typer.echo(f"{target}: recomputed, the same")


def compare(
    a: Annotated[str, typer.Argument(help="A run, one of its models as RUN:MODEL, or a card.")],
    b: Annotated[
        str | None, typer.Argument(help="Another; leave out to compare all models of A.")
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", help="Only this protocol; may be repeated.")
    ] = None,
    allow: Annotated[
        str | None, typer.Option(help="Contract fields that may differ, separated by commas.")
    ] = None,
    task: Annotated[str, typer.Option(help="The task.")] = "isolated",
    json: Json = False,
) -> None:
    """Compare models clip by clip, with intervals and corrected p-values.

    Refused (exit code 2) when data, split, seed, classes, preprocessing,
    training regime, test set or measures differ; each field that does is named.
    A card of answers made elsewhere states no seed, preprocessing or training:
    --allow seed,preprocessing,training.
    """
    from snellen.report.comparison import comparison_table
    from snellen.tasks import task_verbs

    found = task_verbs(task).compare(
        a, b or a, protocols=protocol, allow=names_of(allow, "--allow") or ()
    )
    print_json(found) if json else print_table(comparison_table(found))


def report(
    target: Annotated[Path, typer.Argument(help="A run folder, or a card.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder; the run itself by default.")
    ] = None,
    task: Annotated[str, typer.Option(help="The task.")] = "isolated",
) -> None:
    """Write report.html, report.md and the tables behind every figure."""
    from snellen.cli.reports import bundle_of, write_reports
    from snellen.tasks import task_verbs

    if output is None and target.is_file():
        raise BadInput(Fault(str(target), "a card, and no folder to write to", "-o FOLDER"))
    page = write_reports(bundle_of(task_verbs(task), target), output or target)
    typer.echo(str(page))

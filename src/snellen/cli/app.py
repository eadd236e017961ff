"""The verbs. Each reads its options, asks a task, and shows what came back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from snellen import __version__
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
    SplitFile,
    Task,
    ToFile,
    ToFolder,
    Workers,
    names_of,
    seeds_of,
)
from snellen.cli.show import bars, complain, print_json, print_table
from snellen.errors import BadInput, Fault, Mismatch

__all__ = ["app"]

app = typer.Typer(
    name="snellen",
    help="An eye chart for models that watch people: leak audits, honest splits, scorecards "
    "with intervals.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """An eye chart for models that watch people."""
    if show:
        typer.echo(f"snellen {__version__}")
        raise typer.Exit


@app.command()
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


@app.command()
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


@app.command()
def train(
    task: Task,
    data: Data,
    split: SplitFile,
    output: ToFolder,
    model: Annotated[
        str,
        typer.Option(
            help="majority, lda, trees, rocket, lstm, gru, gru_mha, landolt or a plugged-in model."
        ),
    ],
    regime: Regime = DEFAULT_REGIME,
    format_: Format = None,
    layout: Layout = None,
    seed: Seed = DEFAULT_SEED,
) -> None:
    """Train one model on every round of a split; a stopped training goes on."""
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    with bars() as progress:
        card = verbs.train(
            verbs.Source(data, format_, layout),
            split,
            model,
            seed=seed,
            regime=regime,
            output=output,
            progress=progress,
        )
    typer.echo(f"{output}: {card.model}, {len(card.rounds)} rounds, recipe {card.recipe[:12]}")


@app.command()
def predict(
    task: Task,
    data: Data,
    models: Annotated[Path, typer.Option(help="Folder from snellen train.")],
    output: ToFile,
    split: Annotated[
        Path | None,
        typer.Option("--split", help="The split it was trained on; leave out for new recordings."),
    ] = None,
    round_: Annotated[
        int, typer.Option("--round", min=0, help="Round to use without a split.")
    ] = 0,
    format_: Format = None,
    layout: Layout = None,
) -> None:
    """Answer clips: those a split tests, or all of a new corpus."""
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    with bars() as progress:
        answers = verbs.predict(
            verbs.Source(data, format_, layout),
            models,
            split_file=split,
            round_=round_,
            output=output,
            progress=progress,
        )
    clips = len(set(answers.column("item").to_pylist()))
    typer.echo(f"{output}: answers to {clips} clips")


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def run(
    task: Task,
    data: Data,
    output: ToFolder,
    models: Annotated[
        str | None, typer.Option(help="Models, separated by commas; all in the box by default.")
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


@app.command()
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

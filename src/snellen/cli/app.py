"""The command line: its verbs, in the order of ``snellen --help``."""

from __future__ import annotations

from typing import Annotated

import typer

from snellen import __version__
from snellen.cli.cards import compare, report, score, verify
from snellen.cli.corpus import audit, split
from snellen.cli.evaluate import evaluate
from snellen.cli.export import export
from snellen.cli.gate import gate
from snellen.cli.latency import latency
from snellen.cli.models import predict, train
from snellen.cli.replay import replay
from snellen.cli.run import demo, run
from snellen.cli.stress import stress

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


for verb in (
    audit,
    split,
    train,
    predict,
    score,
    verify,
    compare,
    report,
    run,
    evaluate,
    gate,
    stress,
    replay,
    latency,
    export,
    demo,
):
    app.command()(verb)

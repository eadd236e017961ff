"""Train models, and have trained ones answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import (
    DEFAULT_REGIME,
    DEFAULT_SEED,
    Data,
    Format,
    Layout,
    Regime,
    Seed,
    SplitFile,
    Task,
    ToFile,
    ToFolder,
)
from snellen.cli.show import bars

__all__ = ["predict", "train"]


def train(
    task: Task,
    data: Data,
    split: SplitFile,
    output: ToFolder,
    model: Annotated[
        str,
        typer.Option(
            help="majority, lda, trees, rocket, lstm, gru, gru_mha, landolt, landolt_rocket "
            "or a plugged-in model."
        ),
    ],
    regime: Regime = DEFAULT_REGIME,
    format_: Format = None,
    layout: Layout = None,
    seed: Seed = DEFAULT_SEED,
) -> None:
    """Train one model on every round of a split."""
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


def predict(
    task: Task,
    data: Data,
    models: Annotated[
        Path, typer.Option(help="Folder from snellen train, or one .onnx from snellen export.")
    ],
    output: ToFile,
    split: Annotated[
        Path | None,
        typer.Option("--split", help="The split it was trained on; leave out for new recordings."),
    ] = None,
    round_: Annotated[
        int | None,
        typer.Option("--round", min=0, help="Round to use without a split; the first by default."),
    ] = None,
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

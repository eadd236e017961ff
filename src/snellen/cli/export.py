"""``snellen export``: a trained network as a file that needs neither Snellen nor Keras."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.options import TaskOption, Threshold, ToFile, threshold_of
from snellen.errors import BadInput, Fault

__all__ = ["export"]

Trained = Annotated[Path, typer.Argument(help="Folder from snellen train.", show_default=False)]
Round = Annotated[int, typer.Option("--round", min=0, help="Round to export.")]
Licence = Annotated[str, typer.Option(help="Licence of the model, as it is to stand in the file.")]


def export(
    models: Trained,
    output: ToFile,
    round_: Round = 0,
    threshold: Threshold = None,
    licence: Licence = "not stated",
    task: TaskOption = "isolated",
) -> None:
    """Write one trained round as ONNX, with labels, preprocessing and origin in its metadata."""
    from snellen.tasks import task_verbs

    if output.suffix.lower() != ".onnx":
        raise BadInput(Fault(str(output), f"a file named {output.name}", "one ending in .onnx"))
    written = task_verbs(task).export(
        models, round_, output=output, threshold=threshold_of(threshold), licence=licence
    )
    typer.echo(
        f"{output}: {written.model}, round {written.round}, {len(written.labels)} labels, "
        f"licence {written.licence}"
    )

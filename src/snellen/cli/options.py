"""Options that several verbs share, each with its one explanation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from snellen.errors import BadInput, Fault

__all__ = [
    "DEFAULT_GAP",
    "DEFAULT_REGIME",
    "DEFAULT_SEED",
    "Data",
    "Format",
    "Gap",
    "Json",
    "Layout",
    "Models",
    "Protocol",
    "Regime",
    "Run",
    "Seed",
    "SplitFile",
    "Task",
    "TaskOption",
    "Threshold",
    "ToFile",
    "ToFolder",
    "Workers",
    "names_of",
    "seeds_of",
    "threshold_of",
]

Task = Annotated[str, typer.Argument(help="The task, such as isolated.", show_default=False)]
Data = Annotated[Path, typer.Argument(help="Folder or file of recordings.", show_default=False)]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Read the data as this format instead of detecting it."),
]
Layout = Annotated[str | None, typer.Option(help="Landmark layout of the recordings, by name.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of splits and training.")]
Gap = Annotated[
    int, typer.Option(min=1, help="Recording numbers of one sign further apart are two takes.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes to train in; all cores by default.")
]
SplitFile = Annotated[Path, typer.Option("--split", help="Frozen split, from snellen split.")]
ToFile = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
ToFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")]

Regime = Annotated[
    str,
    typer.Option(
        help="Fairness contract of training: snellen, reference (the reference evaluation's), "
        "snellen-no-augmentation or snellen-zeros."
    ),
]

Threshold = Annotated[
    float | None,
    typer.Option(
        help="Confidence an answer needs; else that of SNELLEN_CONFIDENCE_THRESHOLD, or 0.7."
    ),
]

DEFAULT_REGIME = "snellen"
DEFAULT_GAP = 10
# The reference evaluation drew its splits with this one.
DEFAULT_SEED = 42
HIGHEST_SEED = 2**31 - 1
Run = Annotated[Path, typer.Argument(help="A run folder, from snellen run.", show_default=False)]
TaskOption = Annotated[str, typer.Option("--task", help="The task.")]
Protocol = Annotated[
    str | None,
    typer.Option(help="One protocol of the run; its strictest by default."),
]
Models = Annotated[
    str | None, typer.Option(help="Models of the run, separated by commas; all by default.")
]


def names_of(text: str | None, option: str) -> tuple[str, ...] | None:
    """Names separated by commas, as they were given; None where the option was not."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    twice = sorted({name for name in names if names.count(name) > 1 and name})
    faults = [Fault(option, f"{name!r} twice", "each name once") for name in twice]
    if "" in names:
        faults.append(Fault(option, f"{text!r}", "names separated by commas, none of them empty"))
    if faults:
        raise BadInput(faults)
    return names


def seeds_of(text: str | None) -> tuple[int, ...] | None:
    """Seeds separated by commas; None where the option was not given."""
    names = names_of(text, "--seeds")
    if names is None:
        return None
    faults = [
        Fault("--seeds", repr(name[:20]), f"whole numbers from 0 to {HIGHEST_SEED:,}")
        for name in names
        if not (name.isascii() and name.isdigit() and len(name) <= len(str(HIGHEST_SEED)))
        or int(name) > HIGHEST_SEED
    ]
    if faults:
        raise BadInput(faults)
    seeds = tuple(int(name) for name in names)
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise BadInput([Fault("--seeds", f"{seed} twice", "each seed once") for seed in twice])
    return seeds


def threshold_of(given: float | None) -> float:
    """The threshold in force: the option's, the environment's, or the shipped one."""
    from snellen.live.threshold import resolve_threshold

    if given is None:
        return resolve_threshold(os.environ, None)
    if not 0 <= given <= 1:
        raise BadInput(Fault("threshold", str(given), "0 to 1"))
    return given

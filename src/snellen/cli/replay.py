"""``snellen replay``: what the live path makes of recorded test clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from snellen.cli.options import (
    DEFAULT_SEED,
    Data,
    Format,
    Json,
    Layout,
    Models,
    Protocol,
    Run,
    TaskOption,
    Threshold,
    names_of,
    threshold_of,
)
from snellen.cli.show import bars
from snellen.errors import BadInput, Fault
from snellen.live.settings import DOCUMENT, SETTINGS, LiveSettings

__all__ = ["replay"]

Settings = Annotated[
    str | None,
    typer.Option(
        "--settings",
        help=f"Live settings, separated by commas; all by default: {', '.join(SETTINGS)}.",
    ),
]
Frames = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="Replay a window of the last so many frames as well."),
]
Rounds = Annotated[
    str | None,
    typer.Option(help="Rounds of the protocol, separated by commas; all by default."),
]
Clips = Annotated[
    int | None,
    typer.Option(min=1, help="Replay at most so many test clips a round; all by default."),
]
StreamSeed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the order of clips in a row.")
]


def replay(
    run: Run,
    data: Data,
    protocol: Protocol = None,
    models: Models = None,
    settings: Settings = None,
    frames: Frames = None,
    threshold: Threshold = None,
    rounds: Rounds = None,
    clips: Clips = None,
    seed: StreamSeed = DEFAULT_SEED,
    task: TaskOption = "isolated",
    format_: Format = None,
    layout: Layout = None,
    json: Json = False,
) -> None:
    """Stream test clips frame by frame through the live path; live and offline side by side."""
    from snellen.cli.studies import show_and_store
    from snellen.live.replay import study_replay
    from snellen.report.studies.replay import section
    from snellen.tasks import task_verbs

    gate = threshold_of(threshold)
    chosen = _chosen(names_of(settings, "--settings"), frames, gate)
    only = _numbers(names_of(rounds, "--rounds"))
    verbs = task_verbs(task)
    source = verbs.Source(data, format_, layout)
    study = verbs.open_study(run, source, protocol, names_of(models, "--models"))
    with bars() as progress:
        found = study_replay(study, chosen, seed=seed, rounds=only, clips=clips, progress=progress)
    show_and_store(run, study.protocol, "replay", found, section(found), json=json)


def _chosen(
    names: Sequence[str] | None, frames: int | None, threshold: float
) -> tuple[LiveSettings, ...]:
    """The named settings, and the document's with another window, all behind one gate."""
    unknown = [name for name in names or () if name not in SETTINGS]
    if unknown:
        allowed = f"some of: {', '.join(SETTINGS)}"
        raise BadInput([Fault("--settings", f"no setting {x!r}", allowed) for x in unknown])
    chosen = [SETTINGS[name] for name in (names or SETTINGS)]
    if frames is not None:
        chosen.append(
            replace(DOCUMENT, name=f"last-{frames}", frames=frames, fewest=frames, look_back=frames)
        )
    return tuple(replace(setting, threshold=threshold) for setting in chosen)


def _numbers(names: Sequence[str] | None) -> tuple[int, ...] | None:
    """Rounds as they were given; None where the option was not."""
    if names is None:
        return None
    wrong = [name for name in names if not (name.isascii() and name.isdigit())]
    if wrong:
        allowed = "numbers of rounds from 0, separated by commas"
        raise BadInput([Fault("--rounds", repr(name), allowed) for name in wrong])
    return tuple(int(name) for name in names)

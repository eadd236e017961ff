"""``snellen stress``: what worse recordings cost the models of a run."""

from __future__ import annotations

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
    names_of,
)
from snellen.cli.show import bars
from snellen.signal.perturb import CONDITIONS, conditions_by_name

__all__ = ["stress"]

Conditions = Annotated[
    str | None,
    typer.Option(
        help="Conditions, separated by commas; all by default: "
        f"{', '.join(condition.name for condition in CONDITIONS)}."
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Disturb what the models are fed, after preprocessing in place of before."
    ),
]
Curves = Annotated[bool, typer.Option(help="Measure curves over severities as well.")]
DrawSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of what is disturbed.")]


def stress(
    run: Run,
    data: Data,
    protocol: Protocol = None,
    models: Models = None,
    conditions: Conditions = None,
    strict: Strict = False,
    curves: Curves = True,
    seed: DrawSeed = DEFAULT_SEED,
    task: TaskOption = "isolated",
    format_: Format = None,
    layout: Layout = None,
    json: Json = False,
) -> None:
    """Disturb recordings (lost points, hands and frames, noise) and count what is still read."""
    from snellen.cli.studies import show_and_store
    from snellen.report.studies.stress import section
    from snellen.studies.stress import study_stress
    from snellen.tasks import task_verbs

    named = names_of(conditions, "--conditions")
    chosen = CONDITIONS if named is None else conditions_by_name(named, where="--conditions")
    verbs = task_verbs(task)
    source = verbs.Source(data, format_, layout)
    study = verbs.open_study(run, source, protocol, names_of(models, "--models"))
    with bars() as progress:
        found = study_stress(
            study, conditions=chosen, curves=curves, strict=strict, seed=seed, progress=progress
        )
    name = "stress-strict" if strict else "stress"
    show_and_store(run, study.protocol, name, found, section(found), json=json)

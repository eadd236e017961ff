"""``snellen latency``: how long the models of a run take."""

from __future__ import annotations

from snellen.cli.options import (
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

__all__ = ["latency"]


def latency(
    run: Run,
    data: Data,
    protocol: Protocol = None,
    models: Models = None,
    task: TaskOption = "isolated",
    format_: Format = None,
    layout: Layout = None,
    json: Json = False,
) -> None:
    """Time the models of a run: one clip, batches, loading, memory, and what comes before.

    The first model is what the others are compared with: name it first in --models.
    """
    from snellen.cli.studies import show_and_store
    from snellen.report.studies.latency import section
    from snellen.studies.latency import measure_latency
    from snellen.tasks import task_verbs

    verbs = task_verbs(task)
    source = verbs.Source(data, format_, layout)
    study = verbs.open_study(run, source, protocol, names_of(models, "--models"))
    with bars() as progress:
        found = measure_latency(study, source.open, progress=progress)
    show_and_store(run, study.protocol, "latency", found, section(found), json=json)

"""Show what Snellen does on a corpus whose truth is known."""

from __future__ import annotations

from pathlib import Path

import typer
from rich import box
from rich.table import Table

from snellen.cli.reports import run_and_report
from snellen.cli.show import print_table

__all__ = ["run_demo"]

# Leakiest, planted and strictest: enough to see what a leak is worth, in under a minute.
PROTOCOLS = ("random", "official", "signer")


def run_demo(output: Path, *, seed: int, workers: int, json: bool) -> bool:
    """Plant, run, compare; whether the audit found exactly what was planted."""
    from snellen.tasks.isolated import verbs
    from snellen.tasks.isolated.demo import plant, planted_and_found

    recordings = output.with_name(output.name + "-data")
    planted = plant(recordings, seed=seed)
    settings = verbs.RunSettings(protocols=PROTOCOLS, seed=seed, workers=workers)
    page, _ = run_and_report(verbs, verbs.Source(recordings), output, settings, json=json)
    audit, _, _ = verbs.contents(output)
    checks = planted_and_found(planted, recordings, audit)
    if not json:
        table = Table(
            title="What was planted and what the audit found",
            box=box.SIMPLE_HEAD,
            title_justify="left",
            pad_edge=False,
        )
        for head in ("", "planted", "found", ""):
            table.add_column(head, overflow="fold")
        for check in checks:
            table.add_row(check.what, check.planted, check.found, "yes" if check.met else "NO")
        print_table(table)
        # Not through rich, which would break a long path at the terminal's edge.
        typer.echo(f"recordings: {recordings}\nreport: {page}")
    return all(check.met for check in checks)

"""Audit a corpus and freeze splits: no model is involved yet.

*Conventions*: every verb reads what it is given, checks it whole, writes with
one atomic step a file, and returns what it found. ``progress`` is called with a
stage, how much of it is done, and how much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from snellen.core.allocate import Infeasible
from snellen.core.findings import Audit, Finding
from snellen.core.protocols import ladder_protocols, make_split
from snellen.core.split import Split, split_to_json
from snellen.core.split_file import read_split
from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault
from snellen.store.files import write_atomic
from snellen.tasks.isolated.answering import Progress
from snellen.tasks.isolated.audit import audit_recordings, require_labels
from snellen.tasks.isolated.verbs.source import Source

__all__ = ["audit", "split"]


def audit(
    source: Source,
    *,
    split_files: Sequence[Path],
    protocols: Sequence[str] | None,
    seed: int,
    gap: int,
    progress: Progress,
) -> Audit:
    """Audit a corpus and splits: given files, named protocols, or all it admits."""
    recordings = source.open()
    corpus = recordings.corpus
    require_labels(corpus)
    admitted, reasons = ladder_protocols(corpus, gap=gap)
    splits = [read_split(path, corpus) for path in split_files]
    if protocols is None and not split_files:
        names: Sequence[str] = admitted
    else:
        names = protocols or ()
    faults = [
        Fault(
            "protocol",
            f"{name!r}: {reasons[name].reason if name in reasons else 'no such protocol'}",
            f"one of: {', '.join(admitted)}",
        )
        for name in names
        if name not in admitted
    ]
    if faults:
        raise BadInput(faults)
    impossible: list[Finding] = []
    for k, name in enumerate(names):
        progress("splits", k, len(names))
        try:
            splits.append(make_split(corpus, name, seed=seed, gap=gap))
        except Infeasible as error:
            if protocols is not None:
                raise
            sentence = f"no {name} split can be built: {error.faults[0]}"
            impossible.append(Finding(code=f"no-{name}-split", severity="note", sentence=sentence))
    progress("splits", len(names), len(names))
    found = audit_recordings(recordings, splits, gap=gap, progress=progress)
    findings = (*found.corpus.findings, *impossible)
    return replace(found, corpus=replace(found.corpus, findings=findings))


def split(
    source: Source, protocol: str, *, seed: int, folds: int | None, gap: int, output: Path
) -> Split:
    """Freeze a split into a JSON file."""
    made = make_split(source.open().corpus, protocol, seed=seed, folds=folds, gap=gap)
    write_atomic(output, canonical_json(split_to_json(made), indent=1))
    return made

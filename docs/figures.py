"""Figures for the pages, read from the result files that the program wrote.

The pages call these through cog (``make docs``), so that no figure in prose is
typed by hand; a test compares.
"""

import json
from pathlib import Path

import msgspec

from snellen.core.findings import Audit
from snellen.core.ladder import Ladder
from snellen.report import text
from snellen.report.bundle import clips_scored
from snellen.report.markdown import ladder_markdown

RESULTS = Path(__file__).parent / "results"


def _ladder(name: str) -> Ladder:
    return msgspec.json.decode((RESULTS / f"{name}.ladder.json").read_bytes(), type=Ladder)


def ladder(name: str) -> str:
    """The protocol ladder of a corpus as a table, and who wins."""
    found = _ladder(name)
    head = f"{found.corpus}: {clips_scored(found)}, {found.classes} signs. "
    head += "Right, % of test clips, and macro F1, each with its 95 % interval."
    return f"{head}\n\n{ladder_markdown(found)}\n\n{found.flip_sentence}"


def include_audit() -> str:
    """What the audit says of INCLUDE-50's splits, from file names alone."""
    audit = msgspec.json.decode((RESULTS / "include50.audit.json").read_bytes(), type=Audit)
    lines = []
    for split in audit.splits:
        if split.protocol not in {"official", "session_disjoint", "sitting"}:
            continue
        lines += [
            f"| {split.protocol} | {level.level} | {level.crossing_seen} of {level.groups} "
            f"| {text.part_of(level.test_clips_seen, level.test_clips)} "
            f"| {text.count(level.test_clips_seen_in_train)} |"
            for level in split.levels
        ]
    head = (
        "| split | level | groups on both sides | test clips seen in training "
        "| in training alone |\n|---|---|---|---|---|"
    )
    return "\n".join([head, *lines])


def bench() -> str:
    """The measured speed ratios, against five separate calls and against three."""
    report = json.loads((RESULTS / "bench-report.json").read_text())
    resamples = json.loads((RESULTS / "bench-bootstrap.json").read_text())
    lines = [
        f"| whole report, {text.count(row['labels'])} labels "
        f"| {row['ratio_three_calls']:.0f} times three calls, "
        f"{row['ratio_five_calls']:.0f} times five |"
        for row in report["results"]
    ]
    lines.append(
        f"| {text.count(resamples['resamples'])} cluster resamples of accuracy and macro F1, "
        f"154 clips | {resamples['ratio']:.0f} times a loop over scikit-learn |"
    )
    calls = (
        "Three calls are `classification_report`, `confusion_matrix` and `accuracy_score`; five "
        "are those that give exactly these figures. The goal, "
        f"{report['goal']:.0f} times at {text.count(report['goal_at'])} labels, is held against "
        "the three."
    )
    return "\n".join(["| what | measured |", "|---|---|", *lines, "", calls])


def predict_bench() -> str:
    """How much faster one clip is read than by Keras on TensorFlow, and how near the bound."""
    found = json.loads((RESULTS / "bench-predict.json").read_text())
    lines = [
        f"| {row['network']} | {row['snellen_ms']:.2f} "
        f"| {row['ratio_shortest_tf_function']:.1f} "
        f"(median {row['ratio_tf_function']['median']:.1f}) "
        f"| {row['times_bound']:.1f} |"
        for row in found["results"]
    ]
    head = "| network | one clip, ms | times faster than a compiled Keras call | times the bound |"
    missed = [row["network"] for row in found["results"] if not row["near_the_bound"]]
    goals = (
        f"The goal of {found['goal']:.0f} times a compiled call is held against the shortest calls "
        f"of both; the goal of at most {found['bound_goal']} times the arithmetic bound is "
        + (f"missed by {', '.join(missed)}." if missed else "met by all.")
    )
    return "\n".join([head, "|---|---|---|---|", *lines, "", goals])

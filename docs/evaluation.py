"""Write evaluation.md from result files, so that no figure in it is typed by hand.

    python docs/evaluation.py

``make evaluation`` fills docs/results/evaluation/ with what the program wrote:
KEY.ladder.json, KEY.evaluation.json (the headline's evaluation_summary),
KEY.seeds.json, KEY.gate.json, KEY.stress.json, KEY.latency.json, KEY.replay.json
and KEY.ablation.WHAT.json (a comparison), for every run KEY, and timing.json
(step to seconds). A file that is not there is named on the page.

*Conventions*: the words stand in evaluation.md.j2, which holds no numeral; every
figure comes from a file through the same sections that a report shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from snellen.cli.studies import read_study
from snellen.core.cells import Cell
from snellen.core.comparison import Comparison
from snellen.core.evaluation import Evaluation
from snellen.core.ladder import Ladder
from snellen.report import text
from snellen.report.bundle import clips_scored
from snellen.report.evaluation_section import (
    gaps_table,
    pairs_table,
    per_class_table,
    summary_table,
)
from snellen.report.markdown import escape, ladder_markdown, section_markdown, table
from snellen.report.section import Table

DOCS = Path(__file__).parent
RESULTS = DOCS / "results" / "evaluation"
PAGE, TEMPLATE = DOCS / "evaluation.md", "evaluation.md.j2"
STUDIES = ("seeds", "gate", "stress", "latency", "replay")
LADDER = ".ladder.json"
SEVERAL_SEEDS = "snellen run isolated DATA --seeds A,B,C"


@dataclass(frozen=True)
class Run:
    """One run and what was measured of it; every part is Markdown."""

    key: str
    ladder: Ladder
    evaluation: Evaluation | None
    parts: dict[str, str]


def runs(results: Path) -> tuple[Run, ...]:
    """Every run whose ladder is there, by name."""
    return tuple(
        _run(results, path.name.removesuffix(LADDER)) for path in sorted(results.glob(f"*{LADDER}"))
    )


def _run(results: Path, key: str) -> Run:
    ladder = _read(results / f"{key}{LADDER}", Ladder)
    evaluation = _read(results / f"{key}.evaluation.json", Evaluation)
    parts = {
        "headline": _tables(evaluation, lambda x: [summary_table([x])], f"{key}.evaluation"),
        "classes": _tables(evaluation, lambda x: [per_class_table([x])], f"{key}.evaluation"),
        "pairs": _tables(evaluation, lambda x: [pairs_table([x])], f"{key}.evaluation"),
        "gaps": _tables(evaluation, lambda x: [gaps_table([x])], f"{key}.evaluation"),
        "ablation": _ablation(results, key),
        "unseen": _unseen(results, key),
    }
    for name in STUDIES:
        path = results / f"{key}.{name}.json"
        there = path.exists()
        parts[name] = section_markdown(read_study(path, name)[1]) if there else _absent(path.stem)
    return Run(key, ladder, evaluation, parts)


def _read(path: Path, kind: type) -> Any:
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None


def _absent(name: str) -> str:
    command = SEVERAL_SEEDS if name.endswith(".seeds") else "make evaluation"
    return f"Not measured: there is no `{name}.json`. `{command}` measures it."


def _tables(
    evaluation: Evaluation | None, make: Callable[[Evaluation], Sequence[Table]], name: str
) -> str:
    if evaluation is None:
        return _absent(name)
    return "\n\n".join(f"{escape(x.caption)}.\n\n{table(x.head, x.rows)}" for x in make(evaluation))


def _ablation(results: Path, key: str) -> str:
    """What each part of our regime is worth: the run against one with another regime."""
    paths = sorted(results.glob(f"{key}.ablation.*.json"))
    if not paths:
        return _absent(f"{key}.ablation.WHAT")
    rows = []
    for path in paths:
        what = path.name.removeprefix(f"{key}.ablation.").removesuffix(".json")
        for pair in _read(path, Comparison).pairs:
            model = pair.a.rpartition(":")[2]
            shares = text.percent(pair.accuracy_a), text.percent(pair.accuracy_b)
            gap = text.short(pair.difference, "difference")
            rows.append((what, pair.protocol, model, *shares, gap))
    head = ("regime", "protocol", "model", "ours, %", "with it, %", "ours - with it, points")
    return table(head, rows)


def _unseen(results: Path, key: str) -> str:
    """The headline over the people that no recipe was chosen on."""
    found = _read(results / f"{key}.unseen.json", dict[str, Any])
    if found is None:
        return _absent(f"{key}.unseen")
    cells = msgspec.convert(found["accuracy"], type=dict[str, Cell])
    rows = [(model, text.short(cell), f"{cell.n:,}") for model, cell in cells.items()]
    left_out = ", ".join(escape(name) for name in found["left_out"])
    shown = table(("model", "accuracy", "clips"), rows)
    return f"Without {left_out}, under {escape(found['protocol'])}.\n\n{shown}"


def published(results: Path, key: str) -> tuple[str, ...]:
    """Sentences on figures that others published on the same recordings."""
    found = msgspec.json.decode((results.parent / "published.json").read_bytes())
    return tuple(
        f"{row['model']} under {row['protocol']}: {text.percent(row['accuracy'])} ({row['source']})"
        for row in found.get(key, ())
    )


def timing(results: Path) -> str:
    """How long each step of the evaluation took, and all of it."""
    steps = _read(results / "timing.json", dict[str, float])
    if steps is None:
        return _absent("timing")
    rows = [(name, _minutes(seconds)) for name, seconds in steps.items()]
    return table(("step", "minutes"), [*rows, ("all", _minutes(sum(steps.values())))])


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}"


def page(results: Path) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(DOCS),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (Markdown, escaped where it is made)
    )
    return environment.get_template(TEMPLATE).render(
        runs=runs(results),
        published=lambda key: published(results, key),
        timing=timing(results),
        further={path.name.split(".")[0].rpartition("-")[2] for path in results.glob("*-*.json")},
        clips_scored=clips_scored,
        count=text.count,
        counted=text.counted,
        escape=escape,
        ladder_table=ladder_markdown,
        reason=text.reason,
        state=text.state,
    )


if __name__ == "__main__":
    PAGE.write_text(page(RESULTS), encoding="utf-8")

"""An evaluation as files, under the names of the reference evaluation.

*Conventions*: what the headline protocol has a picture of stands at the top;
confusions under another protocol in a folder of its name. A model or protocol
becomes part of a file name only where it may be one. There is no picture of
latencies where none were measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from snellen.core.card import Scorecard
from snellen.core.evaluation import Evaluation
from snellen.digest import canonical_json
from snellen.report.matrix import confusion_png
from snellen.report.section import Section
from snellen.report.section_files import figure_png, table_csv
from snellen.store.files import safe_name

__all__ = ["LATENCY_FIGURE", "evaluation_files"]

LATENCY_FIGURE = "latency_comparison"


def evaluation_files(
    found: Sequence[Evaluation],
    cards: Sequence[Scorecard],
    section: Section,
    latency: Section | None,
) -> dict[str, bytes]:
    """Relative path to content.

    Args:
        found: one evaluation a protocol, the headline first.
        cards: every card of the run, for its confusions.
        section: the tables and figures of ``found``.
        latency: the latency study of the run as a section, if there is one.
    """
    files = {f"{table.name}.csv": table_csv(table) for table in section.tables}
    files |= {f"{figure.name}.png": figure_png(figure) for figure in section.figures}
    for figure in latency.figures if latency is not None else ():
        if figure.name == LATENCY_FIGURE:
            files[f"{LATENCY_FIGURE}.png"] = figure_png(figure)
    for one in found:
        name = safe_name(f"evaluation_summary_{one.protocol}.json", "protocol")
        files[name] = canonical_json(msgspec.to_builtins(one), indent=1)
    for card in cards:
        name = safe_name(f"confusion_{card.model}.png", "model")
        headline = card.protocol == found[0].protocol
        folder = "" if headline else f"{safe_name(card.protocol, 'protocol')}/"
        files[folder + name] = confusion_png(card.confusion)
    return files

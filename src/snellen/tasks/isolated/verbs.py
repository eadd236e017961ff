"""What the command line can ask of isolated signs: files in, files out.

*Conventions*: every verb reads what it is given, checks it whole, writes with
one atomic step a file, and returns what it found. ``progress`` is called with a
stage, how much of it is done, and how much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from pyarrow import csv

from snellen.core.allocate import Infeasible
from snellen.core.answers import SPANS, in_order
from snellen.core.answers_file import read_answers
from snellen.core.card import Scorecard, card_from_json, card_to_json
from snellen.core.comparison import Comparison
from snellen.core.corpus import Corpus
from snellen.core.findings import Audit, Finding
from snellen.core.ladder import Ladder
from snellen.core.protocols import ladder_protocols, make_split
from snellen.core.split import TEST, Split, split_to_json
from snellen.core.split_file import read_split
from snellen.digest import canonical_json, digest_json, digest_table
from snellen.errors import BadInput, Fault, Mismatch
from snellen.store.files import parse_json, read_limited, write_atomic
from snellen.store.folder import RunFolder
from snellen.store.tables import table_bytes
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.align import Prepared, prepare
from snellen.tasks.isolated.audit import audit_recordings, group_names, require_labels
from snellen.tasks.isolated.card import build_card, contract_of
from snellen.tasks.isolated.compare import CARD_LIMIT, compare_sides, read_card, side_of
from snellen.tasks.isolated.data import Recordings, read
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.model_file import (
    ModelCard,
    load_round,
    read_model_card,
    require_fit,
    save_round,
    start_folder,
    write_model_card,
)
from snellen.tasks.isolated.outcomes_file import outcomes_table, write_outcomes
from snellen.tasks.isolated.recipe_file import Recipe, read_recipe, recipe_path, write_recipe
from snellen.tasks.isolated.run import Progress, RunResult, RunSettings, run
from snellen.tasks.isolated.scores import outcomes_of
from snellen.tasks.isolated.training import answers_of, fit_round, recipe
from snellen.tasks.isolated.verify import Verified, first_difference, recompute_card, verify_run

__all__ = [
    "RunSettings",
    "Source",
    "audit",
    "compare",
    "contents",
    "predict",
    "read_card",
    "run_all",
    "score",
    "split",
    "train",
    "verify",
    "verify_card",
]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the recordings are and, where that is not plain from the folder, what they are."""

    path: Path
    format: str | None = None
    layout: str | None = None

    def open(self) -> Recordings:
        """Read them."""
        return read(self.path, format=self.format, layout=self.layout)


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


def train(
    source: Source,
    split_file: Path,
    model: str,
    *,
    seed: int,
    output: Path,
    progress: Progress,
) -> ModelCard:
    """Train one model on every round of a split, into a folder."""
    module = model_module(model)
    recordings, prepared = _prepared(source)
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    start_folder(output)
    saved = []
    for k in range(frozen.rounds):
        progress(f"training {model}", k, frozen.rounds)
        trained = fit_round(
            module, prepared, corpus.classes, len(corpus.vocabulary), frozen, k, seed
        )
        saved.append(save_round(output, k, trained))
    progress(f"training {model}", frozen.rounds, frozen.rounds)
    card = ModelCard(
        model=model,
        seed=seed,
        recipe=digest_json(recipe(module, prepared, seed)),
        layout=str(prepared.settings["layout"]),
        preprocessing=prepared.fingerprint,
        vocabulary=corpus.vocabulary,
        data=corpus.digest,
        split=frozen.digest,
        protocol=frozen.protocol,
        rounds=tuple(saved),
    )
    write_model_card(output, card)
    return card


def predict(
    source: Source,
    models: Path,
    *,
    split_file: Path | None,
    round_: int,
    output: Path,
    progress: Progress,
) -> pa.Table:
    """Answer the test clips of a split, each by the round that did not train on it.

    Without a split every clip is answered by one round: for recordings that the
    model has never seen.
    """
    _require_ending(output)
    card = read_model_card(models)
    recordings, prepared = _prepared(source)
    require_fit(card, prepared)
    corpus = recordings.corpus
    if split_file is None:
        if corpus.digest == card.data:
            seen = "the recordings this model was trained on, without a split"
            raise BadInput(
                Fault(
                    str(source.path),
                    seen,
                    "--split, so that no clip is answered by a round that trained on it",
                )
            )
        asked = [(round_, np.arange(len(corpus)))]
    else:
        frozen = read_split(split_file, corpus)
        _require_same_split(card, frozen, corpus)
        asked = [(k, frozen.positions(k, TEST)) for k in range(frozen.rounds)]
    parts = []
    for done, (k, positions) in enumerate(asked):
        progress(f"answering with {card.model}", done, len(asked))
        trained = load_round(models, card, k)
        parts.append(answers_of(trained, prepared, card.vocabulary, positions))
    progress(f"answering with {card.model}", len(asked), len(asked))
    answers = in_order(pa.concat_tables(parts))
    _write_answers(output, answers)
    write_recipe(
        recipe_path(output),
        Recipe(
            model=card.model,
            recipe=card.recipe,
            seed=str(card.seed),
            preprocessing=card.preprocessing,
        ),
    )
    return answers


def score(
    answers_file: Path,
    source: Source,
    split_file: Path,
    *,
    name: str | None,
    gap: int,
    output: Path,
    progress: Progress,
) -> Scorecard:
    """Score answers, from this package or from anywhere, into a card and its outcomes."""
    answers = read_answers(answers_file)
    recordings = source.open()
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    _require_some_asked(answers, frozen, str(answers_file))
    found = audit_recordings(recordings, [frozen], gap=gap, progress=progress)
    stated = read_recipe(recipe_path(answers_file))
    groups = group_names(corpus, frozen)
    card = build_card(
        corpus,
        frozen,
        answers,
        model=name or stated.model or answers_file.stem,
        recipe=stated.recipe,
        contract=contract_of(corpus, frozen, seed=stated.seed, preprocessing=stated.preprocessing),
        groups=groups,
        leaks=found.splits[0].leaks,
        silent=corpus.silent,
        where=str(answers_file),
    )
    outcomes = outcomes_of(corpus, frozen, answers, groups)
    write_outcomes(output, outcomes_table(corpus, outcomes))
    write_atomic(output, card_to_json(card))
    return card


def verify(root: Path) -> Verified:
    """Recompute a whole run."""
    return verify_run(root)


def verify_card(
    card_file: Path,
    answers_file: Path,
    source: Source,
    split_file: Path,
    *,
    gap: int,
    progress: Progress,
) -> Scorecard:
    """Recompute one card from the answers, data and split it was made of.

    Raises:
        Mismatch: the first place where it differs.
    """
    stored_bytes = read_limited(card_file, CARD_LIMIT)
    stored = card_from_json(stored_bytes, str(card_file))
    answers = read_answers(answers_file)
    stated, given = dict(stored.signature).get("answers", "(absent)"), digest_table(answers)
    if stated != given:
        what = "these are not the answers the card was made from (card against given)"
        raise Mismatch(what, {"answers": (stated[:12], given[:12])})
    recordings = source.open()
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    found = audit_recordings(recordings, [frozen], gap=gap, progress=progress)
    contract = contract_of(
        corpus,
        frozen,
        seed=stored.contract["seed"],
        preprocessing=stored.contract["preprocessing"],
    )
    same = replace(stored, contract=contract, leaks=found.splits[0].leaks, silent=corpus.silent)
    again = recompute_card(corpus, frozen, answers, same, group_names(corpus, frozen))
    again_bytes = card_to_json(again)
    if again_bytes != stored_bytes:
        place, was, now = first_difference(
            parse_json(stored_bytes, str(card_file)), parse_json(again_bytes, "recomputed")
        )
        what = f"{card_file} does not come out as stored (stored against recomputed)"
        raise Mismatch(what, {place: (was, now)})
    return again


def compare(a: str, b: str, *, protocols: Sequence[str] | None, allow: Sequence[str]) -> Comparison:
    """Compare two runs, two models, or two cards."""
    return compare_sides(side_of(a), side_of(b), protocols=protocols, allow=allow)


def run_all(source: Source, output: Path, settings: RunSettings, progress: Progress) -> RunResult:
    """The main job."""
    return run(source.open(), output, settings, progress)


def contents(root: Path) -> tuple[Audit, Ladder, tuple[Scorecard, ...]]:
    """What a run has to show: its audit, its ladder, and its cards in the ladder's order."""
    folder = RunFolder.read(root)
    ladder = pieces.get_ladder(folder)
    cards = tuple(
        pieces.get_card(folder, rung.protocol, model)
        for rung in reversed(ladder.rungs)
        for model in ladder.models
    )
    return pieces.get_audit(folder), ladder, cards


def _prepared(source: Source) -> tuple[Recordings, Prepared]:
    recordings = source.open()
    if recordings.keypoints is None:
        raise BadInput(
            Fault(str(source.path), "metadata only", "recordings; snellen audit needs none")
        )
    return recordings, prepare(recordings.keypoints)


def _require_some_asked(answers: pa.Table, frozen: Split, where: str) -> None:
    """Answers to other clips altogether are a mistake of names, not a model at 0 %."""
    given = set(answers.column("item").to_pylist())
    tested = {item for item, k in zip(frozen.items, frozen.tested_in, strict=True) if k >= 0}
    if given and not given & tested:
        seen = f"{len(given)} clips such as {min(given)!r}, none of which the split tests"
        raise BadInput(Fault(where, seen, f"clips such as {min(tested)!r}", field="item"))


def _require_same_split(card: ModelCard, frozen: Split, corpus: Corpus) -> None:
    fields: dict[str, tuple[str, str]] = {}
    if card.split != frozen.digest:
        fields["split"] = (card.split[:12], frozen.digest[:12])
    if card.data != corpus.digest:
        fields["data"] = (card.data[:12], corpus.digest[:12])
    if card.vocabulary != corpus.vocabulary:
        words = digest_json(list(card.vocabulary)), digest_json(list(corpus.vocabulary))
        fields["vocabulary"] = (words[0][:12], words[1][:12])
    if fields:
        raise Mismatch(
            "this model was trained on another split or data (model against given)", fields
        )


def _write_answers(path: Path, answers: pa.Table) -> None:
    """Write answers as Parquet, or as CSV where the name ends so."""
    if path.suffix.lower() == ".parquet":
        write_atomic(path, table_bytes(answers.cast(SPANS)))
    else:
        # An exchange file: nothing in it is altered, not even what a spreadsheet would run.
        plain = answers.select(["item", "rank", "label", "confidence"])
        sink = pa.BufferOutputStream()
        csv.write_csv(plain, sink)
        write_atomic(path, sink.getvalue().to_pybytes())


def _require_ending(path: Path) -> None:
    """Refuse a name that says of no format how to write it, before any work is done."""
    if path.suffix.lower() not in (".parquet", ".csv"):
        allowed = "one ending in .parquet or .csv"
        raise BadInput(Fault(str(path), f"a file named {path.name}", allowed))

"""Train models on a frozen split, and have trained ones answer.

*Conventions*: every verb reads what it is given, checks it whole, writes with
one atomic step a file, and returns what it found. ``progress`` is called with a
stage, how much of it is done, and how much there is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from snellen.core.answers import SPANS, in_order
from snellen.core.corpus import Corpus
from snellen.core.split import TEST, Split
from snellen.core.split_file import read_split
from snellen.digest import digest_json
from snellen.errors import BadInput, Fault, Mismatch
from snellen.store.files import write_atomic
from snellen.store.tables import table_bytes
from snellen.tasks.isolated.align import prepare
from snellen.tasks.isolated.answering import Plan, Progress, model_card
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
from snellen.tasks.isolated.onnx_file import OnnxModel, card_of_onnx, read_onnx
from snellen.tasks.isolated.recipe_file import Recipe, recipe_path, write_recipe
from snellen.tasks.isolated.regime import regime_by_name
from snellen.tasks.isolated.training import (
    Trained,
    Tuition,
    answers_of,
    clear_checkpoints,
    fit_round,
)
from snellen.tasks.isolated.verbs.source import Source, with_keypoints

__all__ = ["predict", "train"]

ONNX = ".onnx"


def train(
    source: Source,
    split_file: Path,
    model: str,
    *,
    seed: int,
    regime: str,
    output: Path,
    progress: Progress,
) -> ModelCard:
    """Train one model on every round of a split, into a folder.

    A stopped training goes on in the round it was stopped in; earlier rounds are trained again.
    """
    module = model_module(model)
    contract = regime_by_name(regime)
    recordings, keypoints = with_keypoints(source)
    corpus = recordings.corpus
    frozen = read_split(split_file, corpus)
    prepared = prepare(keypoints, preprocessing=contract.preprocessing, frames=contract.frames)
    plan = Plan(corpus, prepared, (frozen,), (model,), (seed,), contract)
    start_folder(output)
    saved = []
    for k in range(frozen.rounds):
        progress(f"training {model}", k, frozen.rounds)

        def heard(phase: str, done: int, most: int, at: int = k) -> None:
            progress(f"round {at + 1}, {phase}: epochs", done, most)

        tuition = Tuition(contract, seed, checkpoints=output, on_epoch=heard)
        fitted = fit_round(
            module, prepared, corpus.classes, len(corpus.vocabulary), frozen, k, tuition
        )
        saved.append(save_round(output, k, fitted.trained))
        clear_checkpoints(tuition, k)
    progress(f"training {model}", frozen.rounds, frozen.rounds)
    card = model_card(plan, frozen, model, seed, saved)
    write_model_card(output, card)
    return card


def predict(
    source: Source,
    models: Path,
    *,
    split_file: Path | None,
    round_: int | None,
    output: Path,
    progress: Progress,
) -> pa.Table:
    """Answer the test clips of a split, each by the round that did not train on it.

    Without a split every clip is answered by one round: for recordings that the
    model has never seen. ``models`` is a folder of trained rounds, or one round
    exported as ``.onnx``, which answers the clips that its round tests.
    """
    _require_ending(output)
    card, load = _opened(models)
    recordings, keypoints = with_keypoints(source)
    prepared = prepare(keypoints, preprocessing=card.prepared_by, frames=card.frames)
    require_fit(card, prepared)
    corpus = recordings.corpus
    if split_file is None:
        if corpus.features == card.recordings:
            seen = "the recordings this model was trained on, without a split"
            raise BadInput(
                Fault(
                    str(source.path),
                    seen,
                    "--split, so that no clip is answered by a round that trained on it",
                )
            )
        only = card.rounds[0].round if round_ is None else round_
        asked = [(only, np.arange(len(corpus)))]
    else:
        frozen = read_split(split_file, corpus)
        _require_same_split(card, frozen, corpus)
        asked = [(entry.round, frozen.positions(entry.round, TEST)) for entry in card.rounds]
    parts = []
    for done, (k, positions) in enumerate(asked):
        progress(f"answering with {card.model}", done, len(asked))
        parts.append(answers_of(load(k), prepared, card.vocabulary, positions))
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
            training=card.training,
        ),
    )
    return answers


def _opened(models: Path) -> tuple[ModelCard, Callable[[int], Trained]]:
    """What trained models say of themselves, and how to load one round of them."""
    if models.suffix.lower() == ONNX:
        model = read_onnx(models)
        return card_of_onnx(model), partial(_only_round, model)
    card = read_model_card(models)
    return card, partial(load_round, models, card)


def _only_round(model: OnnxModel, round_: int) -> Trained:
    if round_ != model.metadata.round:
        allowed = f"its own round, {model.metadata.round}"
        raise BadInput(Fault(str(model.path), f"no round {round_}", allowed, field="round"))
    # The temperature is inside the file.
    return Trained(model, None)


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

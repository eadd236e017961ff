"""What a finished run lets a study ask: its answers, its recordings, its trained models.

*Conventions*: as in :mod:`snellen.core.study`. Models are those of the run's
first training seed, as its cards are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snellen.core.answers import ranked_answers
from snellen.core.corpus import Corpus
from snellen.core.ladder import Ladder
from snellen.core.split import TEST, VALIDATION, Split
from snellen.core.study import Judged, Study, Subject, Trained
from snellen.digest import digest_json
from snellen.errors import BadInput, Fault, Mismatch, Missing
from snellen.signal.keypoints import Keypoints
from snellen.store.folder import RunFolder
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.align import prepare, settings_of
from snellen.tasks.isolated.audit import group_names
from snellen.tasks.isolated.data import Recordings
from snellen.tasks.isolated.model_file import ModelCard, load_round, read_model_card
from snellen.tasks.isolated.regime import Regime, regime_by_name
from snellen.tasks.isolated.rounds import model_folder
from snellen.tasks.isolated.withheld import withheld

__all__ = ["judged", "open_study"]


def judged(
    run: RunFolder, protocol: str | None, models: Sequence[str] | None
) -> tuple[Judged, ...]:
    """Answers whose truth is known, of every chosen protocol, model and role."""
    ladder = pieces.get_ladder(run)
    corpus = pieces.get_corpus(run)
    held = tuple(rung.protocol for rung in ladder.rungs)
    protocols = held if protocol is None else (_one_of(run, "protocol", protocol, held),)
    chosen = _models(run, ladder, models)
    found: list[Judged] = []
    for name in protocols:
        split = pieces.get_split(run, name)
        groups = group_names(corpus, split)
        for model in chosen:
            found += _validation(run, corpus, split, groups, model)
            found += _tested(run, corpus, split, groups, model)
    return tuple(found)


def _one_of(run: RunFolder, field: str, name: str, allowed: Sequence[str]) -> str:
    if name not in allowed:
        said = ", ".join(allowed)
        raise BadInput(Fault(str(run.root), f"no {field} {name!r}", f"one of: {said}", field=field))
    return name


def _models(run: RunFolder, ladder: Ladder, models: Sequence[str] | None) -> tuple[str, ...]:
    if models is None:
        return ladder.models
    return tuple(_one_of(run, "models", name, ladder.models) for name in models)


def _validation(
    run: RunFolder, corpus: Corpus, split: Split, groups: Sequence[str] | None, model: str
) -> list[Judged]:
    table = pieces.get_held(run, split.protocol, model)
    parts = []
    for k in range(split.rounds):
        positions = split.positions(k, VALIDATION)
        positions = positions[corpus.classes[positions] >= 0]
        if len(positions):
            rows = table.filter(pc.equal(table.column("round"), k))
            parts.append((k, positions, _ranked(rows, corpus, positions)))
    if not parts:
        return []
    return [
        Judged(
            protocol=split.protocol,
            model=model,
            role="validation",
            items=tuple(corpus.items[k] for _, at, _ in parts for k in at),
            rounds=np.concatenate([np.full(len(at), k) for k, at, _ in parts]),
            truth=np.concatenate([corpus.classes[at] for _, at, _ in parts]),
            ranked=np.concatenate([labels for _, _, (labels, _) in parts]),
            confidence=np.concatenate([confidence for _, _, (_, confidence) in parts]),
            groups=None if groups is None else tuple(groups[k] for _, at, _ in parts for k in at),
        )
    ]


def _tested(
    run: RunFolder, corpus: Corpus, split: Split, groups: Sequence[str] | None, model: str
) -> list[Judged]:
    answers = pieces.get_answers(run, split.protocol, model)
    tested = split.tested_in >= 0
    found = []
    for role, inside in (("test", corpus.classes >= 0), ("out of vocabulary", corpus.classes < 0)):
        positions = np.flatnonzero(tested & inside)
        if len(positions) == 0:
            continue
        labels, confidence = _ranked(answers, corpus, positions)
        found.append(
            Judged(
                protocol=split.protocol,
                model=model,
                role=role,
                items=tuple(corpus.items[k] for k in positions),
                rounds=split.tested_in[positions].astype(np.int64),
                truth=corpus.classes[positions],
                ranked=labels,
                confidence=confidence,
                groups=None if groups is None else tuple(groups[k] for k in positions),
            )
        )
    return found


def _ranked(
    table: pa.Table, corpus: Corpus, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    items = [corpus.items[k] for k in positions]
    ranked = ranked_answers(table, items, corpus.vocabulary)
    return ranked.labels, ranked.confidence


def open_study(
    run: RunFolder,
    recordings: Recordings,
    keypoints: Keypoints,
    protocol: str | None,
    models: Sequence[str] | None,
) -> Study:
    """One protocol of a run, with recordings and trained models."""
    settings = pieces.get_settings(run)
    ladder = pieces.get_ladder(run)
    stored = pieces.get_corpus(run)
    corpus = withheld(recordings.corpus, settings["withhold"], settings["seed"])
    if corpus.digest != stored.digest:
        what = f"these are not the recordings of {run.root} (run against given)"
        raise Mismatch(what, {"data": (stored.digest[:12], corpus.digest[:12])})
    held = tuple(rung.protocol for rung in ladder.rungs)
    name = ladder.headline if protocol is None else _one_of(run, "protocol", protocol, held)
    split = pieces.get_split(run, name)
    regime = regime_by_name(settings["regime"])
    here = settings_of(keypoints.layout, preprocessing=regime.preprocessing, frames=regime.frames)
    scored = pieces.get_card(run, name, ladder.models[0]).contract["preprocessing"]
    if digest_json(here) != scored:
        what = f"this version prepares recordings otherwise than {run.root} did (run, here)"
        raise Mismatch(what, {"preprocessing": (scored[:12], digest_json(here)[:12])})
    return Study(
        corpus=corpus.name,
        protocol=name,
        protects=split.protects,
        items=corpus.items,
        labels=corpus.classes,
        groups=group_names(corpus, split),
        vocabulary=corpus.vocabulary,
        keypoints=keypoints,
        prepare=partial(_prepared, regime=regime),
        preprocessing=regime.preprocessing,
        frames=regime.frames,
        subjects=tuple(
            _subject(run, split, model, int(settings["seeds"][0]))
            for model in _models(run, ladder, models)
        ),
    )


def _prepared(keypoints: Keypoints, *, regime: Regime) -> tuple[np.ndarray, np.ndarray]:
    made = prepare(keypoints, preprocessing=regime.preprocessing, frames=regime.frames)
    return made.values, made.mask


def _subject(run: RunFolder, split: Split, model: str, seed: int) -> Subject:
    folder = model_folder(run.root, split.protocol, model, seed)
    if not folder.exists():
        raise Missing(
            f"{run.root} kept no {model} of {split.protocol}: train it by a run into another folder"
        )
    card = read_model_card(folder)
    _require_of_run(run, split, card, folder)
    return Subject(
        model=model,
        rounds=tuple(entry.round for entry in card.rounds),
        load=partial(_load, folder, card, split),
        parameters=load_round(folder, card, card.rounds[0].round).parameters,
        folder=folder,
    )


def _require_of_run(run: RunFolder, split: Split, card: ModelCard, folder: Path) -> None:
    """Trained rounds must be those whose answers the run scored, not some of another split."""
    scored = pieces.get_card(run, split.protocol, card.model)
    pairs = {
        "split": (card.split, scored.contract["split"]),
        "data": (card.data, scored.contract["data"]),
        "preprocessing": (card.preprocessing, scored.contract["preprocessing"]),
        "training": (card.training, scored.contract["training"]),
        "seed": (str(card.seed), scored.contract["seed"]),
        "recipe": (card.recipe, dict(scored.signature)["recipe"]),
        "rounds": (str(len(card.rounds)), str(split.rounds)),
    }
    fields = {name: (a[:12], b[:12]) for name, (a, b) in pairs.items() if a != b}
    if fields:
        raise Mismatch(f"{folder} holds other models than the run scored (there, run)", fields)


def _load(folder: Path, card: ModelCard, split: Split, round_: int) -> Trained:
    trained = load_round(folder, card, round_)
    return Trained(
        round=round_,
        tested=split.positions(round_, TEST),
        answer=trained.log_probabilities,
    )

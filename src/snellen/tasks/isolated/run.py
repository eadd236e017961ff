"""The main job: audit, protocol ladder, train, predict, score, in one resumable run.

*Conventions*: everything a run says is a piece of its folder, and the same
recordings and settings give the same pieces for any number of workers. What only
speeds a run up (prepared arrays, finished rounds) lies beside the pieces, in
``work/`` and ``objects/``, and may be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snellen.core.allocate import Infeasible
from snellen.core.card import Scorecard
from snellen.core.cells import NotMeasurable, NotMeasured
from snellen.core.corpus import Corpus
from snellen.core.findings import Audit
from snellen.core.groups import GAP
from snellen.core.ladder import Ladder
from snellen.core.protocols import ladder_protocols, make_split
from snellen.core.split import Split
from snellen.errors import BadInput, Fault, Mismatch
from snellen.store.folder import RunFolder
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.align import prepare
from snellen.tasks.isolated.answering import Answered, Plan, Progress, answer_all
from snellen.tasks.isolated.audit import (
    audit_recordings,
    duplicates_of,
    group_names,
    require_labels,
    silent_of,
)
from snellen.tasks.isolated.card import build_card
from snellen.tasks.isolated.data import Recordings
from snellen.tasks.isolated.ladder import build_ladder
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.regime import SNELLEN, regime_by_name
from snellen.tasks.isolated.scores import Outcomes, outcomes_of
from snellen.tasks.isolated.seeds import build_seeds
from snellen.tasks.isolated.withheld import withheld

__all__ = ["Progress", "RunResult", "RunSettings", "run"]

DEFAULT_MODELS = ("majority", "lda", "trees", "rocket")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What to run.

    ``protocols`` of None means all the corpus admits, ``folds`` of None each
    protocol's own number. ``seed`` draws the splits; every model is trained once
    with each of ``seeds`` (None: with ``seed``), and the first of them makes the
    cards. ``withhold`` classes are kept out of the vocabulary.
    """

    models: tuple[str, ...] = DEFAULT_MODELS
    protocols: tuple[str, ...] | None = None
    folds: int | None = None
    seed: int = 42
    seeds: tuple[int, ...] | None = None
    gap: int = GAP
    regime: str = SNELLEN.name
    withhold: int = 0
    workers: int = 1

    @property
    def training_seeds(self) -> tuple[int, ...]:
        """The seeds of training, the first of which makes the cards."""
        return self.seeds or (self.seed,)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run found."""

    audit: Audit
    ladder: Ladder
    cards: tuple[Scorecard, ...]


def run(recordings: Recordings, root: Path, settings: RunSettings, progress: Progress) -> RunResult:
    """Run the whole ladder into a folder; run again to go on where it stopped.

    Raises:
        BadInput: no keypoints, no protocol, or a name that does not exist.
        Mismatch: the folder holds a run of other data or settings; each is named.
        SnellenError: a round broke; each is named.
    """
    keypoints = recordings.keypoints
    if keypoints is None:
        seen = f"{recordings.corpus.name} holds metadata only"
        raise BadInput(
            Fault(recordings.source, seen, "recordings to train on; snellen audit needs none")
        )
    for name in settings.models:
        model_module(name)  # an unknown name is refused before anything is written
    regime = regime_by_name(settings.regime)
    recordings = replace(
        recordings, corpus=withheld(recordings.corpus, settings.withhold, settings.seed)
    )
    corpus = recordings.corpus
    require_labels(corpus)
    protocols, missing = _protocols(corpus, settings)
    # Before the folder is made: a split that cannot be built leaves nothing behind.
    splits = _splits(corpus, protocols, missing, settings, progress)
    with RunFolder.write(root) as folder:
        asked = _settings_json(settings, protocols)
        _require_same_run(folder, asked, corpus)
        if folder.sealed:
            return _finished(folder)
        pieces.put_struct(folder, "settings.json", asked)
        pieces.put_corpus(folder, corpus)
        for split in splits:
            pieces.put_split(folder, split)
        duplicates = duplicates_of(recordings)
        pieces.put_duplicates(folder, corpus, duplicates)
        audit = audit_recordings(
            recordings, splits, gap=settings.gap, progress=progress, duplicates=duplicates
        )
        pieces.put_struct(folder, "audit.json", audit)
        prepared = prepare(keypoints, preprocessing=regime.preprocessing, frames=regime.frames)
        plan = Plan(
            corpus=corpus,
            prepared=prepared,
            splits=tuple(splits),
            models=settings.models,
            seeds=settings.training_seeds,
            regime=regime,
        )
        answered = answer_all(root, plan, workers=settings.workers, progress=progress)
        results = _cards(folder, plan, answered, audit, progress)
        leaks = {split.protocol: split.leaks for split in audit.splits}
        ladder = build_ladder(corpus, splits, leaks, results, settings.models, missing)
        pieces.put_struct(folder, "ladder.json", ladder)
        _put_seeds(folder, plan, answered)
        folder.seal()
    return RunResult(audit, ladder, tuple(card for card, _ in results.values()))


def _finished(folder: RunFolder) -> RunResult:
    """What a finished run found: whoever wants it made anew chooses another folder."""
    cards = tuple(pieces.get_card(folder, *at) for at in pieces.cards_in(folder))
    return RunResult(pieces.get_audit(folder), pieces.get_ladder(folder), cards)


def _put_seeds(
    folder: RunFolder, plan: Plan, answered: Mapping[tuple[str, str, int], Answered]
) -> None:
    """Keep what the further seeds answered, and what all seeds together say."""
    if len(plan.seeds) == 1:
        return
    for (protocol, model, seed), found in answered.items():
        if seed != plan.seeds[0]:
            pieces.put_seed_answers(folder, protocol, model, seed, found.answers)
    outcomes = {
        (split.protocol, model): [
            outcomes_of(
                plan.corpus,
                split,
                answered[split.protocol, model, seed].answers,
                group_names(plan.corpus, split),
            )
            for seed in plan.seeds
        ]
        for split in plan.splits
        for model in plan.models
    }
    pieces.put_struct(folder, "seeds.json", build_seeds(plan.seeds, outcomes))


def _require_same_run(folder: RunFolder, asked: Mapping[str, object], corpus: Corpus) -> None:
    """Refuse to mix two runs in one folder; going on with the same one is what it is for."""
    if "corpus/about.json" not in folder.names():
        return
    stored = pieces.get_settings(folder)
    fields = {
        name: (str(stored.get(name)), str(asked.get(name)))
        for name in sorted(set(stored) | set(asked))
        if stored.get(name) != asked.get(name)
    }
    data = pieces.get_corpus(folder).digest
    if data != corpus.digest:
        fields["data"] = (data[:12], corpus.digest[:12])
    if fields:
        what = f"{folder.root} holds another run (there against asked); choose another folder"
        raise Mismatch(what, fields)


def _splits(
    corpus: Corpus,
    protocols: Sequence[str],
    missing: dict[str, NotMeasurable | NotMeasured],
    settings: RunSettings,
    progress: Progress,
) -> list[Split]:
    """Build every rung; one that nobody asked for by name and that cannot be built goes missing."""
    splits = []
    for k, name in enumerate(protocols):
        progress("splits", k, len(protocols))
        try:
            made = make_split(
                corpus, name, seed=settings.seed, folds=settings.folds, gap=settings.gap
            )
        except Infeasible as error:
            if settings.protocols is not None:
                raise
            first = error.faults[0]
            missing[name] = NotMeasurable(
                reason="no such split can be built", needed=first.allowed, have=first.seen
            )
            continue
        splits.append(made)
    progress("splits", len(protocols), len(protocols))
    return splits


def _cards(
    folder: RunFolder,
    plan: Plan,
    answered: Mapping[tuple[str, str, int], Answered],
    audit: Audit,
    progress: Progress,
) -> dict[tuple[str, str], tuple[Scorecard, Outcomes]]:
    """Score every model under every split; answers and cards become pieces of the run."""
    results: dict[tuple[str, str], tuple[Scorecard, Outcomes]] = {}
    corpus, seed = plan.corpus, plan.seeds[0]
    total = len(plan.splits) * len(plan.models)
    for split, audited in zip(plan.splits, audit.splits, strict=True):
        groups = group_names(corpus, split)
        for model in plan.models:
            progress("cards", len(results), total)
            given = answered[split.protocol, model, seed]
            card = build_card(
                corpus,
                split,
                given.answers,
                model=model,
                recipe=plan.recipe(model, seed),
                contract=plan.contract(split, seed),
                groups=groups,
                leaks=audited.leaks,
                silent=silent_of(corpus, len(plan.seeds)),
            )
            pieces.put_answers(folder, split.protocol, model, given.answers)
            pieces.put_held(folder, split.protocol, model, given.held)
            pieces.put_card(folder, card)
            outcomes = outcomes_of(corpus, split, given.answers, groups)
            results[split.protocol, model] = card, outcomes
    progress("cards", total, total)
    return results


def _settings_json(settings: RunSettings, protocols: Sequence[str]) -> dict[str, object]:
    # The number of workers is left out: it changes nothing.
    return {
        "task": "isolated",
        "models": list(settings.models),
        "protocols": list(protocols),
        "folds": settings.folds,
        "seed": settings.seed,
        "seeds": list(settings.training_seeds),
        "gap": settings.gap,
        "regime": settings.regime,
        "withhold": settings.withhold,
    }


def _protocols(
    corpus: Corpus, settings: RunSettings
) -> tuple[tuple[str, ...], dict[str, NotMeasurable | NotMeasured]]:
    admitted, reasons = ladder_protocols(corpus, gap=settings.gap)
    missing: dict[str, NotMeasurable | NotMeasured] = dict(reasons)
    if settings.protocols is None:
        chosen = tuple(admitted)
    else:
        faults = [
            Fault("protocols", f"{name!r}: {_why(name, reasons)}", f"one of: {', '.join(admitted)}")
            for name in settings.protocols
            if name not in admitted
        ]
        if faults:
            raise BadInput(faults)
        chosen = tuple(name for name in admitted if name in settings.protocols)
        for name in admitted:
            if name not in chosen:
                command = f"snellen run isolated DATA -o RUN --protocols {name}"
                missing[name] = NotMeasured(reason="not asked for", command=command)
    if not chosen:
        raise BadInput(Fault("protocols", "none", f"at least one of: {', '.join(admitted)}"))
    return chosen, missing


def _why(name: str, reasons: Mapping[str, NotMeasurable]) -> str:
    return reasons[name].reason if name in reasons else "no such protocol"

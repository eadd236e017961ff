"""The main job: audit, protocol ladder, train, predict, score, in one resumable run.

*Conventions*: everything a run says is a piece of its folder, and the same
recordings and settings give the same pieces for any number of workers. What only
speeds a run up (prepared arrays, finished rounds) lies beside the pieces, in
``work/`` and ``objects/``, and may be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from snellen.core.allocate import Infeasible
from snellen.core.answers import in_order
from snellen.core.card import Scorecard
from snellen.core.cells import NotMeasurable, NotMeasured
from snellen.core.corpus import Corpus
from snellen.core.findings import Audit
from snellen.core.groups import GAP
from snellen.core.ladder import Ladder
from snellen.core.protocols import ladder_protocols, make_split
from snellen.core.runner import Receipt, run_map
from snellen.core.split import Split, split_to_json
from snellen.digest import digest_json
from snellen.errors import BadInput, Fault, Mismatch, SnellenError
from snellen.store.folder import RunFolder
from snellen.store.objects import ObjectStore
from snellen.tasks.isolated import pieces, rounds
from snellen.tasks.isolated.align import Prepared, prepare
from snellen.tasks.isolated.audit import (
    audit_recordings,
    duplicates_of,
    group_names,
    require_labels,
    silent_of,
)
from snellen.tasks.isolated.card import build_card, contract_of
from snellen.tasks.isolated.code import code_id
from snellen.tasks.isolated.data import Recordings
from snellen.tasks.isolated.ladder import build_ladder
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.scores import Outcomes, outcomes_of
from snellen.tasks.isolated.training import recipe

__all__ = ["Progress", "RunResult", "RunSettings", "run"]

DEFAULT_MODELS = ("majority", "lda", "trees", "rocket")

# Called with a stage's name, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What to run.

    ``protocols`` of None means all the corpus admits, ``folds`` of None each
    protocol's own number.
    """

    models: tuple[str, ...] = DEFAULT_MODELS
    protocols: tuple[str, ...] | None = None
    folds: int | None = None
    seed: int = 42
    gap: int = GAP
    workers: int = 1


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
    if recordings.keypoints is None:
        seen = f"{recordings.corpus.name} holds metadata only"
        raise BadInput(
            Fault(recordings.source, seen, "recordings to train on; snellen audit needs none")
        )
    for name in settings.models:
        model_module(name)  # an unknown name is refused before anything is written
    corpus = recordings.corpus
    require_labels(corpus)
    protocols, missing = _protocols(corpus, settings)
    # Before the folder is made: a split that cannot be built leaves nothing behind.
    splits = _splits(corpus, protocols, missing, settings, progress)
    with RunFolder.write(root) as folder:
        asked = _settings_json(settings, protocols)
        _require_same_run(folder, asked, corpus)
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
        prepared = prepare(recordings.keypoints)
        answers = _answers(root, prepared, corpus, splits, settings, progress)
        results = _cards(folder, corpus, splits, answers, prepared, audit, settings, progress)
        leaks = {split.protocol: split.leaks for split in audit.splits}
        ladder = build_ladder(corpus, splits, leaks, results, settings.models, missing)
        pieces.put_struct(folder, "ladder.json", ladder)
        folder.seal()
    return RunResult(audit, ladder, tuple(card for card, _ in results.values()))


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
    corpus: Corpus,
    splits: Sequence[Split],
    answers: Mapping[tuple[str, str], pa.Table],
    prepared: Prepared,
    audit: Audit,
    settings: RunSettings,
    progress: Progress,
) -> dict[tuple[str, str], tuple[Scorecard, Outcomes]]:
    """Score every model under every split; answers and cards become pieces of the run."""
    results: dict[tuple[str, str], tuple[Scorecard, Outcomes]] = {}
    for split, audited in zip(splits, audit.splits, strict=True):
        groups = group_names(corpus, split)
        contract = contract_of(
            corpus, split, seed=str(settings.seed), preprocessing=prepared.fingerprint
        )
        for model in settings.models:
            progress("cards", len(results), len(answers))
            given = answers[split.protocol, model]
            card = build_card(
                corpus,
                split,
                given,
                model=model,
                recipe=digest_json(recipe(model_module(model), prepared, settings.seed)),
                contract=contract,
                groups=groups,
                leaks=audited.leaks,
                silent=silent_of(corpus),
            )
            pieces.put_answers(folder, split.protocol, model, given)
            pieces.put_card(folder, card)
            results[split.protocol, model] = card, outcomes_of(corpus, split, given, groups)
    progress("cards", len(answers), len(answers))
    return results


def _settings_json(settings: RunSettings, protocols: Sequence[str]) -> dict[str, object]:
    # The number of workers is left out: it changes nothing.
    return {
        "task": "isolated",
        "models": list(settings.models),
        "protocols": list(protocols),
        "folds": settings.folds,
        "seed": settings.seed,
        "gap": settings.gap,
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


def _answers(
    root: Path,
    prepared: Prepared,
    corpus: Corpus,
    splits: Sequence[Split],
    settings: RunSettings,
    progress: Progress,
) -> dict[tuple[str, str], pa.Table]:
    """Train and answer every round of every model under every split, in any number of processes."""
    plain = {split.protocol: split_to_json(split) for split in splits}
    digest = rounds.write_context(root / "work", prepared, corpus.classes, corpus.vocabulary, plain)
    code = {model: code_id(model) for model in settings.models}
    specs = [
        {
            "model": model,
            "code": code[model],
            "protocol": split.protocol,
            "round": k,
            "seed": settings.seed,
        }
        for split in splits
        for model in settings.models
        for k in range(split.rounds)
    ]
    _warm_up(settings.models, progress)
    store = ObjectStore(root / "objects")
    done: list[Receipt] = []
    progress("rounds", 0, len(specs))

    def heard(receipt: Receipt) -> None:
        done.append(receipt)
        progress("rounds", len(done), len(specs))

    receipts = run_map(
        rounds.CALL,
        specs,
        store=store,
        code_id=rounds.RESULT_FORMAT,
        setup=rounds.SETUP,
        setup_spec={"folder": str((root / "work").resolve())},
        setup_digest=digest_json([digest, plain]),
        workers=settings.workers,
        on_receipt=heard,
    )
    _raise_failed(receipts)
    parts: dict[tuple[str, str], list[pa.Table]] = {}
    for receipt in receipts:
        at = receipt.spec["protocol"], receipt.spec["model"]
        parts.setdefault(at, []).append(rounds.read_result(store.get(receipt.key)))
    return {at: in_order(pa.concat_tables(tables)) for at, tables in parts.items()}


def _warm_up(models: Sequence[str], progress: Progress) -> None:
    for name in models:
        warm = getattr(model_module(name), "warm_up", None)
        if warm is not None:
            progress(f"preparing {name} (compiled once, half a minute the first time)", 0, 1)
            warm()
            progress(f"preparing {name} (compiled once, half a minute the first time)", 1, 1)


def _raise_failed(receipts: Iterable[Receipt]) -> None:
    failed = [receipt for receipt in receipts if receipt.state != "ok"]
    if failed:
        lines = [
            f"  {x.spec['model']}, {x.spec['protocol']}, round {x.spec['round']}: "
            f"{x.state}: {x.message}"
            for x in failed
        ]
        head = f"{len(failed)} rounds failed; what is done is kept, run again to try these anew:"
        raise SnellenError("\n".join([head, *lines]))

"""Every round of every model under every split with every seed, trained and answered.

*Conventions*: rounds run in any number of processes and are kept as soon as
they are done, so that a stopped run goes on. Trained rounds lie in
``models/PROTOCOL/MODEL/SEED`` of the run, in the format of ``snellen train``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from snellen.core.answers import in_order
from snellen.core.corpus import Corpus
from snellen.core.runner import Receipt, run_map
from snellen.core.split import Split, split_to_json
from snellen.digest import digest_bytes, digest_json
from snellen.errors import SnellenError
from snellen.store.objects import ObjectStore
from snellen.tasks.isolated import rounds
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.card import contract_of
from snellen.tasks.isolated.code import code_id
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.model_file import ModelCard, RoundFile, write_model_card
from snellen.tasks.isolated.regime import Regime
from snellen.tasks.isolated.training import Tuition, recipe

__all__ = ["Answered", "Plan", "Progress", "answer_all", "model_card"]

# Called with a stage's name, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained on what: all that decides a run's answers."""

    corpus: Corpus
    prepared: Prepared
    splits: tuple[Split, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    regime: Regime

    def recipe(self, model: str, seed: int) -> str:
        """The digest of how a model is made."""
        return digest_json(recipe(model_module(model), self.prepared, Tuition(self.regime, seed)))

    def contract(self, split: Split, seed: int) -> dict[str, str]:
        """What another run must share before its models may be ranked against these."""
        return contract_of(
            self.corpus,
            split,
            seed=str(seed),
            preprocessing=self.prepared.fingerprint,
            training=self.regime.digest,
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers to all test clips (SPANS) and all validation clips (HELD) of one model."""

    answers: pa.Table
    held: pa.Table


def answer_all(
    root: Path, plan: Plan, *, workers: int, progress: Progress
) -> dict[tuple[str, str, int], Answered]:
    """Train and answer; the result by (protocol, model, seed)."""
    plain = {split.protocol: split_to_json(split) for split in plan.splits}
    corpus = plan.corpus
    digest = rounds.write_context(
        root / "work", plan.prepared, corpus.classes, corpus.vocabulary, plain, plan.regime
    )
    _warm_up(plan.models, progress)
    store = ObjectStore(root / "objects")
    receipts = _rounds(root, store, plan, digest, workers, progress)
    lost = [receipt.key for receipt in receipts if not _is_kept(root, store, receipt)]
    if lost:
        # Its answers are known, but a trained round that is gone cannot be asked anything.
        for key in lost:
            store.discard(key)
        receipts = _rounds(root, store, plan, digest, workers, progress)
    parts: dict[tuple[str, str, int], list[rounds.RoundResult]] = {}
    for receipt in receipts:
        at = receipt.spec["protocol"], receipt.spec["model"], receipt.spec["seed"]
        parts.setdefault(at, []).append(rounds.read_result(store.get(receipt.key)))
    by_name = {split.protocol: split for split in plan.splits}
    for (protocol, model, seed), found in parts.items():
        files = tuple(result.file for result in found)
        folder = rounds.model_folder(root, protocol, model, seed)
        write_model_card(folder, model_card(plan, by_name[protocol], model, seed, files))
    return {
        at: Answered(
            answers=in_order(pa.concat_tables([result.answers for result in found])),
            held=pa.concat_tables([result.held for result in found]).combine_chunks(),
        )
        for at, found in parts.items()
    }


def _rounds(
    root: Path, store: ObjectStore, plan: Plan, digest: str, workers: int, progress: Progress
) -> list[Receipt]:
    specs = _specs(plan)
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
        setup_digest=digest,
        workers=workers,
        on_receipt=heard,
    )
    _raise_failed(receipts)
    return receipts


def _is_kept(root: Path, store: ObjectStore, receipt: Receipt) -> bool:
    """Whether the trained round still lies where it was written, as it was written."""
    spec, file = receipt.spec, rounds.read_result(store.get(receipt.key)).file
    path = rounds.model_folder(root, spec["protocol"], spec["model"], spec["seed"]) / file.file
    return path.exists() and digest_bytes(path.read_bytes()) == file.sha256


def model_card(
    plan: Plan, split: Split, model: str, seed: int, files: Sequence[RoundFile]
) -> ModelCard:
    """What a folder of trained rounds says of itself."""
    prepared, regime = plan.prepared, plan.regime
    return ModelCard(
        model=model,
        seed=seed,
        recipe=plan.recipe(model, seed),
        regime=regime.name,
        training=regime.digest,
        layout=str(prepared.settings["layout"]),
        preprocessing=prepared.fingerprint,
        prepared_by=regime.preprocessing,
        frames=regime.frames,
        vocabulary=plan.corpus.vocabulary,
        data=plan.corpus.digest,
        recordings=plan.corpus.features or "none",
        split=split.digest,
        protocol=split.protocol,
        rounds=tuple(files),
    )


def _specs(plan: Plan) -> list[dict[str, object]]:
    code = {model: code_id(model) for model in plan.models}
    return [
        {
            "model": model,
            "code": code[model],
            "protocol": split.protocol,
            # A round is the same whatever other protocols are run beside it.
            "split": split.digest,
            "round": k,
            "seed": seed,
        }
        for seed in plan.seeds
        for split in plan.splits
        for model in plan.models
        for k in range(split.rounds)
    ]


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

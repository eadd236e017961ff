"""What a run folder holds, typed: corpus, splits, audit, answers, cards, ladder.

*Conventions*: pieces are named ``corpus/...``, ``splits/PROTOCOL.json``,
``answers/PROTOCOL/MODEL.parquet``, ``validation/PROTOCOL/MODEL.parquet``,
``seeds/PROTOCOL/MODEL/SEED.parquet``, ``cards/PROTOCOL/MODEL.json``, ``audit.json``,
``ladder.json``, ``seeds.json``. A piece is verified against the run's index whenever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from snellen.core.answers import SPANS
from snellen.core.card import Scorecard, card_from_json, card_to_json
from snellen.core.corpus import CLIPS, TRUTH, Corpus
from snellen.core.duplicates import NearPairs
from snellen.core.findings import Audit
from snellen.core.ladder import Ladder
from snellen.core.seeds import Seeds
from snellen.core.split import Split, split_from_json, split_to_json
from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault
from snellen.store.files import parse_json
from snellen.store.folder import RunFolder
from snellen.store.tables import table_bytes, table_from_bytes
from snellen.tasks.isolated.audit import Duplicates
from snellen.tasks.isolated.training import HELD

__all__ = [
    "cards_in",
    "get_answers",
    "get_audit",
    "get_card",
    "get_corpus",
    "get_duplicates",
    "get_held",
    "get_ladder",
    "get_seed_answers",
    "get_seeds",
    "get_settings",
    "get_split",
    "put_answers",
    "put_card",
    "put_corpus",
    "put_duplicates",
    "put_held",
    "put_seed_answers",
    "put_split",
    "put_struct",
]


def put_corpus(run: RunFolder, corpus: Corpus) -> None:
    """Store clips, truth and what else makes the corpus; not the recordings."""
    run.put("corpus/clips.parquet", table_bytes(corpus.clips))
    run.put("corpus/truth.parquet", table_bytes(corpus.truth))
    about = {
        "name": corpus.name,
        "vocabulary": list(corpus.vocabulary),
        "silent": list(corpus.silent),
        "features": corpus.features,
    }
    run.put("corpus/about.json", canonical_json(about, indent=1))


def get_corpus(run: RunFolder) -> Corpus:
    """The corpus of a run."""
    about = parse_json(run.get("corpus/about.json"), "corpus/about.json")
    clips = run.get("corpus/clips.parquet")
    truth = run.get("corpus/truth.parquet")
    return Corpus(
        name=about["name"],
        clips=table_from_bytes(clips, CLIPS, "corpus/clips.parquet"),
        truth=table_from_bytes(truth, TRUTH, "corpus/truth.parquet"),
        vocabulary=tuple(about["vocabulary"]),
        silent=tuple(about["silent"]),
        features=about["features"],
    )


def put_duplicates(run: RunFolder, corpus: Corpus, duplicates: Duplicates) -> None:
    """Store which clips are equal or move alike, so that an audit can be made again."""
    items = corpus.items
    exact, near = duplicates.exact, duplicates.near
    plain = {
        "exact": None if exact is None else [[items[k] for k in same] for same in exact],
        "near": None
        if near is None
        else {
            "threshold": near.threshold,
            "pairs": [[items[a], items[b]] for a, b in near.pairs.tolist()],
            "within_pairs": near.within_pairs,
            "within_median": near.within_median,
            "between_pairs": near.between_pairs,
            "between_above": near.between_above,
        },
    }
    run.put("duplicates.json", canonical_json(plain, indent=1))


def get_duplicates(run: RunFolder, corpus: Corpus) -> Duplicates:
    """Which clips of a run are equal or move alike."""
    plain = parse_json(run.get("duplicates.json"), "duplicates.json")
    at = {item: k for k, item in enumerate(corpus.items)}
    exact, near = plain["exact"], plain["near"]
    if near is not None:
        pairs = np.array([[at[a], at[b]] for a, b in near["pairs"]], dtype=np.int64)
        near = NearPairs(**{**near, "pairs": pairs.reshape(-1, 2)})
    sets = None if exact is None else tuple(tuple(at[item] for item in same) for same in exact)
    return Duplicates(sets, near)


def put_split(run: RunFolder, split: Split) -> None:
    """Store a frozen split."""
    run.put(f"splits/{split.protocol}.json", canonical_json(split_to_json(split), indent=1))


def get_split(run: RunFolder, protocol: str) -> Split:
    """A frozen split of a run."""
    name = f"splits/{protocol}.json"
    return split_from_json(parse_json(run.get(name), name))


def put_answers(run: RunFolder, protocol: str, model: str, answers: pa.Table) -> None:
    """Store the answers of one model under one protocol."""
    run.put(f"answers/{protocol}/{model}.parquet", table_bytes(answers))


def get_answers(run: RunFolder, protocol: str, model: str) -> pa.Table:
    """The answers of one model under one protocol."""
    name = f"answers/{protocol}/{model}.parquet"
    return table_from_bytes(run.get(name), SPANS, name)


def put_held(run: RunFolder, protocol: str, model: str, held: pa.Table) -> None:
    """Store what one model said of its validation clips before the refit."""
    run.put(f"validation/{protocol}/{model}.parquet", table_bytes(held))


def get_held(run: RunFolder, protocol: str, model: str) -> pa.Table:
    """What one model said of its validation clips before the refit: HELD rows."""
    name = f"validation/{protocol}/{model}.parquet"
    return table_from_bytes(run.get(name), HELD, name)


def put_seed_answers(
    run: RunFolder, protocol: str, model: str, seed: int, answers: pa.Table
) -> None:
    """Store the answers of a model trained with a further seed."""
    run.put(_seed_name(protocol, model, seed), table_bytes(answers))


def get_seed_answers(run: RunFolder, protocol: str, model: str, seed: int) -> pa.Table:
    """The answers of a model trained with a further seed."""
    name = _seed_name(protocol, model, seed)
    return table_from_bytes(run.get(name), SPANS, name)


def _seed_name(protocol: str, model: str, seed: int) -> str:
    return f"seeds/{protocol}/{model}/{seed}.parquet"


def get_seeds(run: RunFolder) -> Seeds | None:
    """What several training seeds say together; None where one was run."""
    if "seeds.json" not in run.names():
        return None
    seeds: Seeds = _struct(run, "seeds.json", Seeds)
    return seeds


def put_card(run: RunFolder, card: Scorecard) -> None:
    """Store a scorecard."""
    run.put(card_name(card.protocol, card.model), card_to_json(card))


def get_card(run: RunFolder, protocol: str, model: str) -> Scorecard:
    """A scorecard of a run."""
    name = card_name(protocol, model)
    return card_from_json(run.get(name), name)


def card_name(protocol: str, model: str) -> str:
    """The piece that holds the card of a model under a protocol."""
    return f"cards/{protocol}/{model}.json"


def cards_in(run: RunFolder) -> tuple[tuple[str, str], ...]:
    """(protocol, model) of every card in a run."""
    parts = [name.split("/") for name in run.names()]
    return tuple(
        (part[1], part[2].removesuffix(".json"))
        for part in parts
        if len(part) == 3 and part[0] == "cards"
    )


def put_struct(
    run: RunFolder, name: str, value: Audit | Ladder | Seeds | Mapping[str, Any]
) -> None:
    """Store an audit, a ladder or plain settings as canonical JSON."""
    run.put(name, canonical_json(msgspec.to_builtins(value), indent=1))


def get_audit(run: RunFolder) -> Audit:
    """The audit of a run."""
    audit: Audit = _struct(run, "audit.json", Audit)
    return audit


def get_ladder(run: RunFolder) -> Ladder:
    """The protocol ladder of a run."""
    ladder: Ladder = _struct(run, "ladder.json", Ladder)
    return ladder


def get_settings(run: RunFolder) -> dict[str, Any]:
    """What the run was asked to do."""
    settings: dict[str, Any] = parse_json(run.get("settings.json"), "settings.json")
    return settings


def _struct(run: RunFolder, name: str, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(run.get(name), type=kind)
    except msgspec.MsgspecError as error:
        raise BadInput(Fault(str(run.root / name), str(error), f"a {kind.__name__}")) from error

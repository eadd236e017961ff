"""Bundles made by hand: a realistic one with hostile labels, and one of full size."""

import os
from pathlib import Path

import pytest

from snellen.core.answers import Intake
from snellen.core.card import (
    Bin,
    ClassRow,
    Confused,
    Confusion,
    CoveragePoint,
    LeakMark,
    Reliability,
    Score,
    Scorecard,
)
from snellen.core.cells import Failed, Measured, NotApplicable, NotMeasurable, NotMeasured
from snellen.core.findings import (
    Audit,
    Balance,
    CorpusAudit,
    Finding,
    Level,
    NearDuplicates,
    Share,
    SplitAudit,
)
from snellen.core.ladder import Gap, Ladder, LadderCell, Rung, Winner
from snellen.report import figures
from snellen.report.bundle import Bundle
from snellen.report.section import Figure, Section, Table

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = (
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "a|b",
    "invoice\u202egpj.exe",
    "x" * 128,
    "नमस्ते",
    "line\nbreak\tand\x07bell",
    "[bold red]markup[/]",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "{{ 7 * 7 }}${7*7}",
)
WORDS = ("hello", "thank you", "mother", "father", "school", "water", "eat", "doctor", "name", "go")
MODELS = ("Extra trees", "MiniRocket + ridge", "Shrinkage LDA")
PROTOCOLS = ("random", "session out", "signer out")
# Right of 1,000 clips, by model and protocol: the leaky split picks another model.
RIGHT = {
    "Extra trees": (801, 479, 239),
    "MiniRocket + ridge": (757, 634, 377),
    "Shrinkage LDA": (526, 437, 271),
    "Nearest neighbour": (702, 401, 221),
}
MARKS = {
    "random": (
        LeakMark(
            level="session",
            test_clips_touched=1000,
            test_clips=1000,
            sentence="1,000 of 1,000 test clips come from a session that is also in training",
        ),
        LeakMark(
            level="signer",
            test_clips_touched=1000,
            test_clips=1000,
            sentence="1,000 of 1,000 test clips show a person who is also in training",
        ),
    ),
    "session out": (
        LeakMark(
            level="signer",
            test_clips_touched=1000,
            test_clips=1000,
            sentence="1,000 of 1,000 test clips show a person who is also in training",
        ),
    ),
    "signer out": (),
}
PROTECTS = {"random": None, "session out": "session", "signer out": "signer"}
ROUNDS = {"random": 5, "session out": 5, "signer out": 5}


def share(right, n=1000, groups=5, wide=0.045):
    value = right / n
    return Measured(
        value=value,
        low=max(0.0, value - wide),
        high=min(1.0, value + wide),
        n=n,
        groups=groups,
        method="Wilson on the effective sample size, t with 4 degrees of freedom",
    )


def difference(value):
    return Measured(
        value=value,
        low=value - 0.031,
        high=value + 0.031,
        n=1000,
        groups=5,
        method="paired by clip, clustered by signer",
    )


def make_classes(labels, right_of_ten):
    rows = []
    for k, label in enumerate(labels):
        support = 10 + k % 4
        correct = min(support, max(0, right_of_ten + (k * 7) % 5 - 2))
        rows.append(
            ClassRow(
                label=label,
                support=support,
                predicted=correct + k % 3,
                correct=correct,
                precision=correct / (correct + k % 3) if correct + k % 3 else None,
                f1=2 * correct / (support + correct + k % 3),
                recall=Measured(
                    value=correct / support,
                    low=max(0.0, correct / support - 0.25),
                    high=min(1.0, correct / support + 0.2),
                    n=support,
                    groups=5,
                    method="Wilson",
                ),
            )
        )
    return rows


def make_confusion(rows):
    labels = tuple(row.label for row in rows)
    n = len(labels)
    counts = [[0] * (n + 1) for _ in labels]
    for k, row in enumerate(rows):
        counts[k][k] = row.correct
        wrong = row.support - row.correct
        for step in range(wrong):
            other = (k + 1 + (step * step + k) % 6) % n
            counts[k][n if other == k or (k + step) % 9 == 0 else other] += 1
    pairs = sorted(
        (-count, k, j)
        for k, line in enumerate(counts)
        for j, count in enumerate(line)
        if j != k and count
    )
    top = tuple(
        Confused(truth=labels[k], answer=None if j == n else labels[j], count=-count)
        for count, k, j in pairs[:8]
    )
    return Confusion(
        labels=labels, counts=tuple(map(tuple, counts)), order=tuple(reversed(range(n))), top=top
    )


def make_reliability():
    bins = []
    for k in range(10):
        empty = k == 0
        bins.append(
            Bin(
                low=k / 10,
                high=(k + 1) / 10,
                n=0 if empty else 20 + 17 * k,
                confidence=None if empty else (k + 0.5) / 10,
                accuracy=None if empty else round(0.02 + 0.075 * k, 3),
            )
        )
    ece = Measured(
        value=0.135,
        low=None,
        high=None,
        n=1000,
        groups=None,
        method="no interval: read it against its null band",
    )
    return Reliability(bins=tuple(bins), ece=ece, null_mean=0.031, null_high=0.044)


def make_coverage(accuracy, points=101):
    curve = []
    for k in range(points):
        threshold = k / (points - 1)
        answered = round(1000 * (1 - threshold) ** 1.4)
        good = min(1.0, accuracy + (1 - accuracy) * threshold**0.8)
        right = round(answered * good)
        curve.append(
            CoveragePoint(
                threshold=threshold,
                answered=answered,
                right=right,
                coverage=answered / 1000,
                selective_accuracy=right / answered if answered else None,
                floor=max(0.0, right / answered - 0.6 / answered**0.5) if answered else None,
                pessimistic_accuracy=right / 1000,
            )
        )
    return tuple(curve)


def card_of(model, protocol, labels, *, unknown_class=False):
    k = PROTOCOLS.index(protocol)
    right = RIGHT[model][k]
    rows = make_classes(labels, right // 100)
    if unknown_class:
        rows[0] = ClassRow(
            label=rows[0].label,
            support=0,
            predicted=0,
            correct=0,
            precision=None,
            f1=None,
            recall=NotMeasurable(
                reason="no test clip of this class", needed="1 clip", have="0 clips"
            ),
        )
    scores = (
        Score(measure="accuracy", slice="all", better="higher", cell=share(right)),
        Score(measure="macro_f1", slice="all", better="higher", cell=share(right - 14)),
        Score(measure="top_3", slice="all", better="higher", cell=share(min(1000, right + 160))),
        Score(
            measure="brier",
            slice="all",
            better="lower",
            cell=Measured(
                value=0.1842,
                low=0.171,
                high=0.198,
                n=1000,
                groups=5,
                method="cluster bootstrap, 2,000 draws",
            ),
        ),
        Score(
            measure="accuracy",
            slice="two-handed signs",
            better="higher",
            cell=NotMeasurable(
                reason="the data does not say which signs need two hands",
                needed="a column that says so",
                have="no such column",
            ),
        ),
        *(
            Score(
                measure="accuracy",
                slice=f"signer=S{k}",
                better="higher",
                cell=share(right // 5, n=200),
            )
            for k in range(1, 6)
        ),
        Score(
            measure="latency",
            slice="all",
            better="lower",
            cell=NotMeasured(reason="no timing was taken", command="snellen bench RUN"),
        ),
        Score(
            measure="aurc",
            slice="out of vocabulary",
            better="lower",
            cell=NotApplicable(reason="every clip is in the vocabulary"),
        ),
        Score(
            measure="robustness",
            slice="left hand missing",
            better="higher",
            cell=Failed(error="the perturbed clips changed nothing: 0 of 1,000 arrays differ"),
        ),
    )
    return Scorecard(
        task="isolated",
        model=model,
        protocol=protocol,
        protects=PROTECTS[protocol],
        signature=(
            ("data", "a" * 64),
            ("split", "b" * 64),
            ("model", model),
            ("seed", "42"),
            ("version", "0.1.0"),
        ),
        contract={
            "seed": "42",
            "data": "a" * 64,
            "split": "b" * 64,
            "vocabulary": "c" * 64,
            "preprocessing": "clip median scale",
            "test_set": "d" * 64,
            "measures": "accuracy, macro F1",
        },
        intake=Intake(expected=1000, answered=989, abstained=4, missing=5, failed=2, unasked=12),
        scores=scores,
        classes=tuple(rows),
        confusion=make_confusion(rows),
        reliability=make_reliability(),
        coverage=make_coverage(right / 1000),
        leaks=MARKS[protocol],
        silent=("Whether two sessions were recorded on one day.",),
    )


def make_ladder(models):
    rungs = tuple(
        Rung(
            protocol=p,
            protects=PROTECTS[p],
            rounds=ROUNDS[p],
            test_clips=1000,
            split="b" * 64,
            leaks=MARKS[p],
        )
        for p in PROTOCOLS
    )
    cells = tuple(
        LadderCell(
            model=m, protocol=p, accuracy=share(RIGHT[m][k]), macro_f1=share(RIGHT[m][k] - 14)
        )
        for m in models
        for k, p in enumerate(PROTOCOLS)
    )
    # The hardest model of all under the middle rung was not run to its end.
    cells = (
        *cells[:-2],
        LadderCell(
            model=models[-1],
            protocol="session out",
            accuracy=Failed(error="singular covariance in round 3"),
            macro_f1=NotMeasured(reason="accuracy failed", command="snellen train --resume"),
        ),
        cells[-1],
    )
    gaps = tuple(
        Gap(
            model=m,
            leaky="random",
            honest="signer out",
            difference=difference((RIGHT[m][0] - RIGHT[m][2]) / 1000),
        )
        for m in models
    )
    winners = (
        Winner(
            protocol="random",
            model="Extra trees",
            runner_up="MiniRocket + ridge",
            lead=difference(0.044),
            p=0.012,
            test="sign-flip over 5 signers, Holm over 9",
        ),
        Winner(
            protocol="session out",
            model="MiniRocket + ridge",
            runner_up="Extra trees",
            lead=difference(0.155),
            p=0.0002,
            test="sign-flip over 5 signers, Holm over 9",
        ),
        Winner(
            protocol="signer out",
            model="MiniRocket + ridge",
            runner_up="Shrinkage LDA",
            lead=difference(0.106),
            p=None,
            test="with 5 signers no sign-flip can go below 0.06",
        ),
    )
    return Ladder(
        task="isolated",
        corpus="auslan",
        corpus_digest="a" * 64,
        clips=1000,
        classes=95,
        models=models,
        rungs=rungs,
        missing_rungs={
            "official": NotMeasurable(
                reason="the data brings no official split",
                needed="a column 'official'",
                have="no such column",
            )
        },
        cells=cells,
        gaps=gaps,
        winners=winners,
        headline="signer out",
        flip=True,
        flip_sure=True,
        flip_sentence="The leaky protocol picks Extra trees, the honest one MiniRocket + ridge.",
    )


def make_audit():
    levels = tuple(
        Level(
            level=name,
            definition=definition,
            groups=groups,
            crossing_any=groups,
            crossing_seen=groups,
            pairs={"train-test": groups, "validation-test": groups - 1, "train-validation": groups},
            test_clips=1000,
            test_clips_seen=1000,
            test_clips_seen_in_train=990,
            seen_definition=f"a clip of the same {name} is in train",
            expected_seen=999.4,
        )
        for name, groups, definition in (
            ("session", 18, "one sitting of one signer"),
            ("signer", 5, "one person"),
        )
    )

    def split(protocol, levels, leaks):
        return SplitAudit(
            protocol=protocol,
            protects=PROTECTS[protocol],
            digest="b" * 64,
            rounds=2,
            sizes=((700, 100, 200), (701, 99, 200)),
            tested=1000,
            untested=0,
            levels=levels,
            unknown_levels={
                "sitting": NotMeasurable(
                    reason="clips carry no recording number",
                    needed="a column 'number'",
                    have="no such column",
                )
            },
            balance=Balance(
                classes_in_every_test=94,
                classes=95,
                fewest_test_clips=0,
                fewest_label=HOSTILE[2],
                most_test_clips=14,
            ),
            leaks=leaks,
        )

    corpus = CorpusAudit(
        name="auslan",
        digest="a" * 64,
        clips=1000,
        classes=95,
        out_of_vocabulary=108,
        clips_per_class_min=10,
        clips_per_class_max=13,
        frames=57_312,
        missing=(
            Share(
                name="left hand",
                part=1203,
                whole=57_312,
                definition="Frames without any point of the hand.",
            ),
        ),
        groups={
            "signer": 5,
            "session": 18,
            "cluster": NotMeasurable(
                reason="clips carry no recording number",
                needed="a column 'number'",
                have="no such column",
            ),
        },
        definitions={"session": "one sitting of one signer", "signer": "one person"},
        exact_duplicates=(("clip_001", "clip_002"), (HOSTILE[0], "clip_009")),
        near_duplicates=NearDuplicates(
            definition="Cosine of the mean-free trajectories.",
            threshold=0.999,
            within_pairs=8935,
            within_above=167,
            within_median=0.961,
            between_pairs=40_000,
            between_above=3,
            clips_touched=201,
        ),
        findings=(
            Finding(
                code="A04",
                severity="note",
                sentence="108 clips are out of vocabulary; no answer to them is right.",
            ),
            Finding(
                code="A02", severity="warning", sentence=f"Class {HOSTILE[0]} has 10 clips only."
            ),
            Finding(
                code="A01",
                severity="leak",
                sentence="Under random every test clip has its own session in training.",
            ),
        ),
        silent=(
            "Which hand each signer prefers.",
            "Whether two sessions were recorded on one day.",
        ),
    )
    return Audit(
        task="isolated",
        corpus=corpus,
        splits=(split("random", levels, MARKS["random"]), split("signer out", levels[1:], ())),
    )


def section_of(protocol):
    """A study of two models by threshold, with names that try to be more than names."""
    points = [
        {"threshold": x, "right": y, "model": model}
        for model, rise in ((HOSTILE[0], 0.1), (HOSTILE[1], 0.2))
        for x, y in ((0.5, 0.6), (0.7, 0.6 + rise), (0.9, 0.7 + rise))
    ]
    spec = {
        "height": 200,
        "data": {"values": points},
        "mark": "line",
        "encoding": {
            "x": figures.percent_axis("x", "threshold", "threshold, %"),
            "y": figures.percent_axis("y", "right", "right, %"),
            "color": {"field": "model", "legend": figures.LEGEND | {"columns": 1}},
        },
    }
    sweep = Table(
        name="threshold_sweep",
        caption="Right among the answered, %",
        head=("model", "threshold", "right"),
        rows=((HOSTILE[0], "0.70", "70.0 [61.2, 78.8]"), (HOSTILE[2], "0.90", "nothing answered")),
        csv_head=("model", "threshold", "right"),
        csv_rows=((HOSTILE[1], 0.7, 0.7012345), (HOSTILE[2], 0.9, "nothing answered")),
    )
    return Section(
        key="gate",
        title="Confidence gate",
        sentences=("At 0.70 the gate lets 80.1 % through.", f"Hardest: {HOSTILE[8]}."),
        tables=(sweep,),
        figures=(Figure("threshold_sweep", "By threshold", "Two lines that rise.", spec),),
        not_measured=("What a user would wait for.",),
        protocol=protocol,
    )


@pytest.fixture(scope="session")
def section():
    return section_of("signer out")


@pytest.fixture(scope="session")
def bundle():
    labels = (*HOSTILE, *WORDS)
    cards = tuple(
        card_of(m, p, labels, unknown_class=m == MODELS[1]) for m in MODELS for p in PROTOCOLS
    )
    return Bundle(
        title="Auslan, three models",
        audit=make_audit(),
        ladder=make_ladder(MODELS),
        cards=cards,
        sections=(section_of("signer out"), section_of("random")),
    )


@pytest.fixture(scope="session")
def large_bundle():
    labels = tuple(f"sign number {k}" for k in range(95))
    models = tuple(RIGHT)
    cards = tuple(card_of(m, p, labels) for m in models for p in PROTOCOLS)
    return Bundle(
        title="Auslan, four models", audit=make_audit(), ladder=make_ladder(models), cards=cards
    )


@pytest.fixture(scope="session")
def make_card():
    return card_of


@pytest.fixture(scope="session")
def empty_bundle():
    return Bundle(title="Nothing yet", audit=None, ladder=None, cards=())


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM.exists():
        return CHROMIUM
    if os.environ.get("SNELLEN_REQUIRE_BROWSER") == "1":
        pytest.fail(f"SNELLEN_REQUIRE_BROWSER=1 and no {CHROMIUM}")
    pytest.skip(f"no Chromium at {CHROMIUM}")

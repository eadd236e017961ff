import numpy as np
import pytest

from snellen.core.answers import spans
from snellen.core.cells import Measured, NotApplicable
from snellen.core.comparison import Pairing, compare_pairs
from snellen.core.corpus import make_corpus
from snellen.core.split import TEST, Split
from snellen.tasks.isolated.card import build_card, contract_of
from snellen.tasks.isolated.ladder import build_ladder
from snellen.tasks.isolated.scores import outcomes_of

SIGNERS = 8
EACH = 10


def corpus():
    items = [f"S{s}_{k}" for s in range(SIGNERS) for k in range(EACH)]
    labels = ["a" if k % 2 else "b" for _ in range(SIGNERS) for k in range(EACH)]
    return make_corpus("toy", items, labels, columns={"signer": [x[:2] for x in items]})


def split(protocol, protects):
    items = corpus().items
    return Split(protocol, protects, 0, items, np.full((1, len(items)), TEST, np.int8), {})


def result(protocol, protects, wrong_each):
    """A model that is wrong on the first ``wrong_each`` clips of every signer."""
    made, frozen = corpus(), split(protocol, protects)
    flip = {"a": "b", "b": "a"}
    labels = [
        flip[label] if int(item.split("_")[1]) < wrong_each else label
        for item, label in zip(made.items, made.labels, strict=True)
    ]
    answers = spans(list(made.items), [1] * len(labels), labels, [0.9] * len(labels))
    groups = made.column("signer") if protects else None
    card = build_card(
        made,
        frozen,
        answers,
        model="toy",
        recipe="none",
        contract=contract_of(made, frozen, seed="0", preprocessing="toy", training="toy"),
        groups=groups,
        leaks=(),
        silent=(),
    )
    return card, outcomes_of(made, frozen, answers, groups)


def ladder(wrong):
    """``wrong`` maps a model to wrong clips a signer under random and under signer."""
    results = {
        (protocol, model): result(protocol, protects, counts[k])
        for model, counts in wrong.items()
        for k, (protocol, protects) in enumerate((("random", None), ("signer", "signer")))
    }
    splits = [split("random", None), split("signer", "signer")]
    return build_ladder(corpus(), splits, {"random": (), "signer": ()}, results, tuple(wrong), {})


def test_the_gap_is_paired_over_all_clips_and_grouped_by_the_honest_rung():
    found = ladder({"x": (1, 4)})

    (gap,) = found.gaps
    assert (gap.leaky, gap.honest) == ("random", "signer")
    assert gap.difference.value == pytest.approx(0.3)  # 9 of 10 right, then 6 of 10
    assert (gap.difference.n, gap.difference.groups) == (80, 8)


def test_a_flip_compares_the_same_two_models_at_both_ends():
    # Under random x has 9 of 10 and y 6 of 10; under signer x has 3 and y 5.
    found = ladder({"x": (1, 7), "y": (4, 5)})

    assert [winner.model for winner in found.winners] == ["x", "y"]
    assert (found.flip, found.flip_sure) == (True, True)
    assert "under random x is right on 90.0 % and y on 60.0 %, +30.0 [" in found.flip_sentence
    assert "under signer y is right on 50.0 % and x on 30.0 %, +20.0 [" in found.flip_sentence


def test_a_change_of_winner_within_chance_is_not_called_a_flip_for_sure():
    made = corpus()
    same = ladder({"x": (4, 4), "y": (4, 5)})
    assert (same.flip, same.flip_sure) == (False, False)

    found = ladder({"x": (4, 5), "y": (4, 4)})
    # Equal counts under random keep the order of the models, so x leads by nothing.
    assert [winner.model for winner in found.winners] == ["x", "y"]
    assert (found.flip, found.flip_sure) == (True, False)
    assert "by a lead that chance can explain" in found.flip_sentence
    assert len(made) == 80


def test_one_model_wins_against_nobody():
    (first, _) = ladder({"x": (1, 4)}).winners

    assert (first.model, first.runner_up, first.p) == ("x", None, None)
    assert isinstance(first.lead, NotApplicable)


def test_the_strictest_rung_is_the_headline():
    assert ladder({"x": (1, 4)}).headline == "signer"


def pairing(protocol, groups):
    a = np.array([True] * 20)
    b = np.array([True] * 8 + [False] * 12)
    return Pairing(protocol, "x", "y", np.zeros(20, int), a, b, groups)


def test_pairs_of_one_protocol_are_corrected_together_and_others_apart():
    alone = compare_pairs([pairing("random", None)], ["a"])
    three = [pairing("random", None)] * 3
    together = compare_pairs([*three, pairing("signer", np.repeat(np.arange(4), 5))], ["a"])

    # 12 clips only x gets right: exact McNemar 2 / 2**12, times 1 and times 3.
    assert alone[0].p_holm == pytest.approx(2 / 4096)
    assert together[0].p_holm == pytest.approx(3 * 2 / 4096)
    assert together[3].p_holm == together[3].p


def test_a_test_that_could_reject_nothing_says_so():
    # Four groups: at best 2 of 16 sign patterns, p = 0.125.
    (pair,) = compare_pairs([pairing("signer", np.repeat(np.arange(4), 5))], ["a"])

    assert pair.smallest_p > 0.05
    assert isinstance(pair.difference, Measured)

import numpy as np
import pytest

from snellen.core.answers import spans
from snellen.core.card import card_from_json, card_to_json
from snellen.core.cells import Measured, NotApplicable, NotMeasured
from snellen.core.corpus import make_corpus
from snellen.core.split import TEST, TRAIN, UNUSED, Split
from snellen.errors import BadInput
from snellen.tasks.isolated.card import build_card, contract_of

# Eight clips of four signers, classes a and b, and one clip that shows neither.
ITEMS = [f"c{k}" for k in range(9)]
LABELS = ["a", "a", "a", "a", "b", "b", "b", "b", None]
SIGNERS = ["S1", "S1", "S2", "S2", "S3", "S3", "S4", "S4", "S4"]


def corpus():
    return make_corpus("toy", ITEMS, LABELS, columns={"signer": SIGNERS})


def split(roles=None, protects="signer"):
    roles = np.array([[TEST] * 9] if roles is None else [roles], np.int8)
    return Split("toy", protects, 0, tuple(ITEMS), roles, {})


def answers(labels, confidence=None, items=ITEMS):
    confidence = [0.9] * len(labels) if confidence is None else confidence
    return spans(items[: len(labels)], [1] * len(labels), labels, confidence)


def card(given, frozen=None, leaks=(), **options):
    frozen = frozen or split()
    contract = contract_of(corpus(), frozen, seed="0", preprocessing="toy", training="toy")
    return build_card(
        corpus(),
        frozen,
        given,
        model="toy",
        recipe="none",
        contract=contract,
        groups=SIGNERS if frozen.protects else None,
        leaks=leaks,
        silent=("nothing",),
        **options,
    )


RIGHT_BUT_ONE = ["a", "a", "a", "b", "b", "b", "b", "b", "a"]


def test_accuracy_counts_right_answers_over_scored_clips():
    cell = card(answers(RIGHT_BUT_ONE)).score("accuracy")

    assert isinstance(cell, Measured)
    assert (cell.value, cell.n, cell.groups) == (7 / 8, 8, 4)
    assert cell.low < 7 / 8 < cell.high


def test_macro_f1_is_the_mean_of_both_classes():
    # a: 3 of 4 found, 3 answers; b: 4 found, 5 answers. F1 6/7 and 8/9.
    cell = card(answers(RIGHT_BUT_ONE)).score("macro_f1")

    assert cell.value == pytest.approx((6 / 7 + 8 / 9) / 2)


@pytest.mark.parametrize(
    "measure",
    ["macro_f1", "balanced_accuracy", "macro_precision", "weighted_f1", "weighted_precision"],
)
def test_figures_by_class_resample_counts_and_so_afford_2000_resamples(measure):
    cell = card(answers(RIGHT_BUT_ONE)).score(measure)

    assert cell.method.startswith("Wilson on the variance of 2000 resamples of 4 groups")


def test_a_missing_answer_is_wrong_and_counted():
    made = card(answers(["a", "a", "a", "a", "b", "b"]))

    assert made.score("accuracy").value == 6 / 8
    assert (made.intake.expected, made.intake.answered, made.intake.missing) == (9, 6, 3)
    assert sum(row[-1] for row in made.confusion.counts) == 2


def test_an_abstention_is_wrong_and_counted_apart():
    made = card(answers(["a", "a", "a", None, "b", "b", "b", "b", None]))

    assert made.score("accuracy").value == 7 / 8
    assert (made.intake.abstained, made.intake.missing) == (2, 0)
    assert made.score("false_alarms", "out of vocabulary").value == 0


def test_no_answer_at_all_never_wins():
    made = card(answers([]))

    assert made.score("accuracy").value == 0
    assert made.score("macro_f1").value == 0
    assert made.intake.missing == 9
    for score in made.scores:
        if score.better == "lower" and score.slice == "all":
            assert not isinstance(score.cell, Measured), score.measure


def test_withholding_wrong_answers_does_not_sharpen_the_brier_score_for_what_is_said():
    # Eight answers at .9, one of them wrong: 7 times .01 and once .81.
    full = card(answers(RIGHT_BUT_ONE)).score("brier")
    held_back = card(answers(["a", "a", "a", None, "b", "b", "b", "b"])).score("brier")

    assert full.value == pytest.approx((7 * 0.01 + 0.81) / 8)
    assert (held_back.value, held_back.n) == (pytest.approx(0.01), 7)


def test_an_abstention_is_scored_alike_whatever_confidence_stands_beside_it():
    labels = ["a", "a", "a", None, "b", "b", "b", "b"]
    stated = card(answers(labels, [0.9] * 8))
    silent = card(answers(labels, [0.9] * 3 + [None] + [0.9] * 4))

    assert stated.score("aurc") == silent.score("aurc")
    assert stated.score("brier") == silent.score("brier")


def test_a_further_candidate_without_confidence_leaves_the_risk_measurable():
    given = spans([*ITEMS, "c0"], [1] * 9 + [2], [*RIGHT_BUT_ONE, "b"], [0.9] * 9 + [None])

    assert isinstance(card(given).score("aurc"), Measured)


def test_an_answer_to_a_clip_that_shows_no_sign_is_a_false_alarm():
    cell = card(answers(RIGHT_BUT_ONE)).score("false_alarms", "out of vocabulary")

    assert (cell.value, cell.n) == (1.0, 1)


def test_without_such_clips_false_alarms_do_not_apply():
    cell = card(answers(RIGHT_BUT_ONE), split([TEST] * 8 + [UNUSED])).score(
        "false_alarms", "out of vocabulary"
    )

    assert isinstance(cell, NotApplicable)


def test_answers_nobody_asked_for_are_counted_and_change_nothing():
    frozen = split([TEST] * 4 + [TRAIN] * 4 + [UNUSED])
    made = card(answers(RIGHT_BUT_ONE), frozen)

    assert made.score("accuracy").value == 3 / 4
    assert made.intake.unasked == 5


def test_a_split_that_protects_nothing_says_so_in_the_interval():
    cell = card(answers(RIGHT_BUT_ONE), split(protects=None)).score("accuracy")

    assert cell.groups is None
    assert "assumes independent clips" in cell.method


def test_without_confidence_calibration_is_not_measured_and_says_what_would():
    made = card(answers(RIGHT_BUT_ONE, [None] * 9))

    assert made.reliability is None
    assert made.coverage == ()
    cell = made.score("aurc")
    assert isinstance(cell, NotMeasured)
    assert "confidence" in cell.command


def test_fewer_ranks_than_k_are_not_measured():
    assert isinstance(card(answers(RIGHT_BUT_ONE)).score("top_3"), NotMeasured)


def test_the_order_of_answers_does_not_change_a_byte():
    given = answers(RIGHT_BUT_ONE, [0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.8, 0.7, 0.3])

    shuffled = given.take([4, 2, 8, 0, 1, 7, 6, 5, 3])

    assert card_to_json(card(shuffled)) == card_to_json(card(given))


def test_a_card_survives_being_written_and_read():
    made = card(answers(RIGHT_BUT_ONE))

    again = card_from_json(card_to_json(made), "card.json")

    assert card_to_json(again) == card_to_json(made)


def test_every_unknown_label_is_named_with_a_suggestion():
    given = answers(["a", "a", "aa", "a", "b", "zz", "b", "b", "a"])

    with pytest.raises(BadInput) as caught:
        card(given, where="mine.csv")

    message = str(caught.value)
    assert "unknown label 'aa' for 'c2'" in message
    assert "did you mean 'a'" in message
    assert "unknown label 'zz' for 'c5'" in message


def test_accuracy_is_also_given_for_each_signer():
    made = card(answers(RIGHT_BUT_ONE))

    assert made.score("accuracy", "signer=S1").value == 1.0
    assert made.score("accuracy", "signer=S2").value == 0.5


def test_the_most_frequent_confusions_are_listed_first():
    made = card(answers(["b", "b", "a", "a", "b", "b", "b", "a"]))

    top = [(row.truth, row.answer, row.count) for row in made.confusion.top]
    assert top == [("a", "b", 2), ("b", "a", 1)]


def test_coverage_counts_answers_at_or_above_each_threshold():
    made = card(answers(RIGHT_BUT_ONE, [0.9, 0.8, 0.7, 0.7, 0.5, 0.9, 0.8, 0.7, 0.3]))

    at = {point.threshold: point for point in made.coverage}[0.7]
    assert (at.answered, at.right) == (7, 6)
    assert at.coverage == 7 / 8
    assert at.pessimistic_accuracy == 6 / 8


def test_contracts_of_another_test_set_differ_in_the_test_set():
    one = contract_of(corpus(), split(), seed="0", preprocessing="toy", training="toy")
    other = contract_of(
        corpus(), split([TRAIN] + [TEST] * 8), seed="0", preprocessing="toy", training="toy"
    )

    assert {key for key in one if one[key] != other[key]} == {"split", "test_set"}

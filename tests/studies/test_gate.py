"""The gate study on rows made by hand: the document's table, leaks, choices, transfer."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from snellen.core.cells import Measured, NotMeasurable
from snellen.core.gate import GateStudy
from snellen.core.study import Judged
from snellen.digest import canonical_json
from snellen.errors import BadInput, Leak, Missing
from snellen.studies.gate import study_gate
from snellen.studies.gate.conformal import conformal
from snellen.studies.gate.sweep import sweep_validation
from snellen.studies.gate.thresholds import Gate, applied, choice, let_through, lowest_thresholds
from snellen.studies.gate.trial import Trial, verdict_of

# The gate table of the isolated-signs document: answered and right of 152 clips.
GATE = {0.50: (122, 101), 0.60: (101, 84), 0.70: (88, 75), 0.75: (82, 71), 0.85: (67, 59)}
GATE[0.95] = (18, 18)
CLIPS = 152


def rows(confidence, correct, *, role="validation", **given):
    """Rows of two ranked labels; the right label is 0, the other 1; -1 confidence abstains."""
    confidence = np.asarray(confidence, dtype=float)
    n = len(confidence)
    first = np.where(correct, 0, 1)
    silent = confidence < 0
    ranked = np.stack([first, 1 - first], axis=1)
    ranked[silent] = -1
    shares = np.stack([confidence, 1 - confidence], axis=1)
    shares[silent] = 0
    return Judged(
        protocol=given.get("protocol", "signer"),
        model=given.get("model", "lda"),
        role=role,
        items=given.get("items", tuple(f"{role}{k:04d}" for k in range(n))),
        rounds=np.asarray(given.get("rounds", np.zeros(n, dtype=np.int64))),
        truth=np.full(n, -1 if role == "out of vocabulary" else 0),
        ranked=ranked,
        confidence=shares,
        groups=given.get("groups"),
    )


def document_rows():
    """Clips that give the document's table, each confidence as low as its threshold allows."""
    steps = [(0.0, CLIPS, 105), *((t, *counts) for t, counts in GATE.items()), (1.0, 0, 0)]
    confidence, correct = [], []
    for (threshold, answered, right), (_, fewer, fewer_right) in pairwise(steps):
        n, good = answered - fewer, right - fewer_right
        confidence += [threshold] * n
        correct += [True] * good + [False] * (n - good)
    order = np.random.default_rng(0).permutation(CLIPS)
    return rows(np.array(confidence)[order], np.array(correct)[order])


def test_the_document_s_table_comes_out_to_four_digits():
    sweep = sweep_validation(document_rows())
    at = {point.threshold: point for point in sweep.points}
    points = [at[threshold] for threshold in GATE]

    assert sweep.clips == 152
    assert [(point.answered, point.right) for point in points] == list(GATE.values())
    assert [round(point.coverage.value, 3) for point in points] == [
        0.803, 0.664, 0.579, 0.539, 0.441, 0.118,
    ]  # fmt: skip
    assert [round(point.selective_accuracy.value, 4) for point in points] == [
        0.8279, 0.8317, 0.8523, 0.8659, 0.8806, 1.0,
    ]  # fmt: skip
    assert [round(point.pessimistic_accuracy.value, 4) for point in points] == [
        0.6645, 0.5526, 0.4934, 0.4671, 0.3882, 0.1184,
    ]  # fmt: skip
    assert [round(at[x].floor, 3) for x in (0.70, 0.95)] == [0.775, 0.847]
    assert round(at[0.70].uncertain, 3) == 0.421


def test_intervals_of_the_sweep_are_wilson_s_where_nothing_groups_the_clips():
    point = next(x for x in sweep_validation(document_rows()).points if x.threshold == 0.70)
    wilson = binomtest(75, 88).proportion_ci(method="wilson")

    assert point.selective_accuracy.low == pytest.approx(wilson.low)
    assert point.selective_accuracy.high == pytest.approx(wilson.high)


def test_a_threshold_that_nothing_reaches_has_no_accuracy_and_says_so():
    point = sweep_validation(rows([0.2, 0.3], [True, True])).points[-1]

    assert (point.threshold, point.answered, point.uncertain) == (1.0, 0, 1.0)
    assert point.floor is None
    assert point.selective_accuracy == NotMeasurable(
        reason="no clip answered", needed="at least 1", have="0"
    )
    assert point.coverage.value == 0


def test_an_abstention_is_uncertain_at_threshold_zero_and_wrong_among_all():
    point = sweep_validation(rows([-1, 0.9], [True, True])).points[0]

    assert (point.threshold, point.answered, point.right) == (0.0, 1, 1)
    assert point.pessimistic_accuracy.value == 0.5


def test_a_clip_that_validates_twice_is_counted_twice_and_said_to_be_one():
    sweep = sweep_validation(rows([0.5, 0.6], [True, True], items=("a", "a"), rounds=[0, 1]))

    assert (sweep.clips, sweep.distinct) == (2, 1)


@pytest.mark.parametrize("role", ["test", "out of vocabulary"])
def test_whatever_chooses_refuses_clips_that_are_there_to_be_tested(role):
    tested = rows([0.9, 0.8], [True, False], role=role)
    kept = np.ones((1, 2), dtype=bool)
    chooses = [
        lambda: sweep_validation(tested),
        lambda: lowest_thresholds(tested, Gate("floor", 0.9), kept),
        lambda: choice(tested, Gate("fixed", 0.7)),
        lambda: Trial.of(tested, tested, tested),
    ]
    for choose in chooses:
        with pytest.raises(Leak, match=f"may not be tuned on {role} clips .*'{role}0000'"):
            choose()


def test_a_study_without_validation_answers_says_what_is_missing():
    with pytest.raises(Missing, match="no validation answers under signer"):
        study_gate([rows([0.9], [True], role="test")])
    with pytest.raises(Missing, match="under any protocol"):
        study_gate([])


def test_every_option_that_is_no_share_is_named():
    with pytest.raises(BadInput) as caught:
        study_gate([rows([0.9], [True])], targets=(0.0, 1.0), alpha=float("nan"), threshold=1.1)

    assert [fault.field for fault in caught.value.faults] == [
        "target", "target", "alpha", "threshold",
    ]  # fmt: skip


def test_a_protocol_nobody_ran_is_refused_with_those_there_are():
    with pytest.raises(BadInput, match="'sitting'; allowed: one of: signer"):
        study_gate([rows([0.9], [True])], protocol="sitting")


def test_the_lowest_threshold_is_counted_by_hand_with_and_without_its_floor():
    # At 0.40 and above 90 of 100 are right, at 0.61 all 60; 60 of 60 has the floor
    # 0.05 ** (1 / 60) = 0.951, and 90 of 100 that of scipy's binomtest, 0.836.
    confidence = [0.40] * 40 + [0.605] * 60
    correct = [True] * 30 + [False] * 10 + [True] * 60
    made = rows(confidence, correct)
    kept = np.ones((1, 100), dtype=bool)

    assert lowest_thresholds(made, Gate("plain", 0.9), kept).tolist() == [0.0]
    assert lowest_thresholds(made, Gate("floor", 0.9), kept).tolist() == [0.41]
    assert lowest_thresholds(made, Gate("plain", 0.95), kept).tolist() == [0.41]
    assert lowest_thresholds(made, Gate("floor", 0.95), kept).tolist() == [0.41]
    assert lowest_thresholds(made, Gate("floor", 0.96), kept).tolist() == [np.inf]


def test_a_choice_says_what_it_does_on_its_own_clips():
    made = rows([0.40] * 40 + [0.605] * 60, [True] * 30 + [False] * 10 + [True] * 60)

    found = choice(made, Gate("floor", 0.9))

    assert found.threshold.value == 0.41
    assert (found.coverage.value, found.selective_accuracy.value) == (0.6, 1.0)
    assert round(found.floor, 3) == 0.951


def test_a_target_out_of_reach_is_a_reason_and_no_number():
    found = choice(rows([0.9, 0.8, 0.7], [True, True, False]), Gate("floor", 0.9))

    # Two of two right at 0.8 are right in at least sqrt(0.05) = 0.224 of cases.
    expected = NotMeasurable(
        reason="no threshold reaches the target on 3 validation clips",
        needed="a floor of 0.9",
        have="0.224 at most",
    )
    assert found.threshold == found.coverage == found.selective_accuracy == expected
    assert found.floor is None


def test_the_threshold_of_a_round_never_sees_the_clips_that_round_tests():
    # Two signers validate for each other. B's clips are wrong below 0.8: without them,
    # A alone would let everything through, and that is what B is tried with.
    items = ("A1", "A2", "B1", "B2")
    tuning = rows([0.5, 0.9, 0.5, 0.9], [True, True, False, True], items=items, rounds=[1, 1, 0, 0])
    tested = rows([0.5, 0.9, 0.5, 0.9], [True] * 4, role="test", items=items, rounds=[0, 0, 1, 1])
    trial = Trial.of(tuning, tested, tested)

    assert trial.kept.tolist() == [[False, False, True, True], [True, True, False, False]]
    assert lowest_thresholds(tuning, Gate("plain", 1.0), trial.kept).tolist() == [0.51, 0.0]
    found = applied(trial, Gate("plain", 1.0))
    assert (found.lowest, found.highest) == (0.0, 0.51)
    assert found.coverage.value == 0.75  # all of B, and of A the clip at 0.9


def test_a_round_whose_clips_reach_no_target_answers_nothing():
    items = ("A1", "B1")
    tuning = rows([0.5, 0.5], [True, False], items=items, rounds=[1, 0])
    tested = rows([0.5, 0.5], [True, True], role="test", items=items, rounds=[0, 1])

    found = applied(Trial.of(tuning, tested, tested), Gate("plain", 0.9))

    assert (found.lowest, found.highest, found.coverage.value) == (0.0, 0.0, 0.5)


def test_without_any_threshold_there_is_no_gate_to_judge():
    tuning = rows([0.5] * 3, [False] * 3)
    tested = rows([0.5] * 3, [True] * 3, role="test")

    found = applied(Trial.of(tuning, tested, tested), Gate("floor", 0.9))

    assert found.verdict == "no gate"
    assert found.lowest is None
    assert isinstance(found.coverage, NotMeasurable)


def share(value, high):
    return Measured(value=value, low=0.0, high=high, n=9, method="by hand")


@pytest.mark.parametrize(
    ("cell", "target", "verdict"),
    [
        (share(0.95, 0.99), 0.95, "meets"),
        (share(0.94, 0.95), 0.95, "within chance"),
        (share(0.94, 0.949), 0.95, "misses"),
        (share(0.94, None), 0.95, "within chance"),
        (share(0.94, 0.95), None, "no target"),
        (NotMeasurable(reason="", needed="", have=""), 0.95, "no gate"),
    ],
)
def test_a_share_below_its_target_is_missed_for_certain_only_beyond_its_interval(
    cell, target, verdict
):
    assert verdict_of(cell, target) == verdict


def test_clips_of_no_sign_are_counted_where_the_gate_lets_them_through():
    tuning = rows([0.6, 0.9], [False, True])
    tested = rows([0.9], [True], role="test")
    strange = rows([0.5, 0.7, 0.95, -1], [False] * 4, role="out of vocabulary")
    trial = Trial.of(tuning, strange, tested)

    shares = {
        threshold: let_through(trial, Gate("fixed", threshold)).share.value
        for threshold in (0.0, 0.5, 0.7, 0.9, 1.0)
    }

    assert shares == {0.0: 0.75, 0.5: 0.75, 0.7: 0.5, 0.9: 0.25, 1.0: 0.0}
    assert let_through(trial, Gate("plain", 0.9)).share.value == 0.5  # at 0.61


def test_conformal_sets_are_counted_by_hand():
    # Scores of the nine calibration clips are 0.1 (eight times) and 0.3: rank 9 of 9 is 0.3,
    # so a label needs 0.7.
    tuning = rows([0.9] * 8 + [0.7], [True] * 9)
    tested = rows([0.7, 0.6, 0.9, 0.95], [True, True, False, True], role="test")

    found = conformal(Trial.of(tuning, tested, tested), 0.1)

    assert round(found.least_confident.value, 12) == 0.7
    assert found.coverage.value == 0.5  # the first and the last
    assert found.singletons.value == 0.75  # all but the second, whose set is empty
    assert round(found.singleton_accuracy.value, 4) == 0.6667
    assert found.unbounded.value == 0
    # Wilson's interval of 2 of 4 ends at 0.850.
    assert found.verdict == "misses"


def test_too_few_calibration_clips_leave_every_label_in_and_no_end_known():
    tuning, tested = rows([0.9] * 8, [True] * 8), rows([0.9], [True], role="test")

    found = conformal(Trial.of(tuning, tested, tested), 0.1)

    assert found.least_confident == NotMeasurable(
        reason="too few validation clips to rule any label out", needed="9 clips", have="8"
    )
    assert (found.unbounded.value, found.singletons.value) == (1.0, 0.0)


def test_a_promise_that_labels_below_the_stored_ones_may_keep_is_not_called_broken():
    # One truth in five lies below the two stored labels: the limit is 1, every set goes on.
    tuning = rows([0.5] * 10, [True] * 10)
    tuning.truth[:2] = 7
    tested = rows([0.5] * 10, [True] * 10, role="test")
    tested.truth[:2] = 7

    found = conformal(Trial.of(tuning, tested, tested), 0.1)

    assert found.least_confident == NotMeasurable(
        reason="too many true labels are not among those stored of a clip",
        needed="at most 0.1 of the clips",
        have="0.200",
    )
    assert (found.coverage.value, found.unbounded.value) == (0.8, 1.0)
    assert found.verdict == "unknown"


def drawn(rng, n, sharpness, *, role, protocol, groups=None):
    """Calibrated at sharpness 1; above it a model is surer than it is right."""
    confidence = rng.uniform(0.5, 1, n)
    return rows(
        confidence,
        rng.random(n) < confidence**sharpness,
        role=role,
        protocol=protocol,
        groups=groups,
    )


def test_a_gate_set_on_easy_clips_misses_its_target_on_hard_ones_and_one_set_there_does_not():
    rng = np.random.default_rng(7)
    signers = tuple(f"S{k % 10}" for k in range(2000))
    judged = [
        drawn(rng, 2000, 1, role="validation", protocol="random"),
        drawn(rng, 2000, 1, role="test", protocol="random"),
        drawn(rng, 2000, 2, role="validation", protocol="signer", groups=signers),
        drawn(rng, 2000, 2, role="test", protocol="signer", groups=signers),
    ]
    found = study_gate(judged, targets=(0.8,))
    verdicts = {
        (row.tuned_on, row.applied_to): row.verdict for row in found.applied if row.rule == "floor"
    }
    sets = {(row.tuned_on, row.applied_to): row.verdict for row in found.conformal}

    assert verdicts["random", "random"] == verdicts["signer", "signer"] == "meets"
    assert verdicts["random", "signer"] == "misses"
    assert sets["random", "signer"] == "misses"
    assert sets["signer", "signer"] != "misses"
    assert (found.protocol, found.missed) == ("signer", ())


def test_a_promise_that_the_same_protocol_s_test_breaks_is_a_finding():
    rng = np.random.default_rng(7)
    judged = [
        drawn(rng, 2000, 1, role="validation", protocol="signer"),
        drawn(rng, 2000, 4, role="test", protocol="signer"),
    ]
    found = study_gate(judged, targets=(0.9,))

    assert [(row.target, row.verdict) for row in found.missed] == [(0.9, "misses")]


def test_a_study_survives_its_own_json_and_comes_out_the_same_twice():
    rng = np.random.default_rng(1)
    judged = [
        drawn(rng, 60, 1, role="validation", protocol="signer"),
        drawn(rng, 60, 1, role="test", protocol="signer"),
        drawn(rng, 10, 1, role="out of vocabulary", protocol="signer"),
    ]
    one, two = study_gate(judged), study_gate(judged)
    data = canonical_json(msgspec.to_builtins(one))

    assert data == canonical_json(msgspec.to_builtins(two))
    assert canonical_json(msgspec.to_builtins(msgspec.json.decode(data, type=GateStudy))) == data


def test_the_model_that_is_shown_sorts_its_validation_clips_best():
    blunt = rows([0.5, 0.9], [True, False], model="blunt")
    sharp = rows([0.9, 0.5], [True, False], model="sharp")

    assert study_gate([blunt, sharp]).shown == "sharp"


clips = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=40)


@settings(max_examples=60)
@given(clips)
def test_coverage_falls_with_the_threshold_and_no_figure_leaves_its_bounds(made):
    points = sweep_validation(rows(*zip(*made, strict=True))).points
    coverage = [point.coverage.value for point in points]

    assert coverage == sorted(coverage, reverse=True)
    assert coverage[0] == 1
    for point in points:
        assert point.right <= point.answered
        assert abs(point.uncertain + point.coverage.value - 1) < 1e-12
        if point.floor is not None:
            assert point.floor <= point.selective_accuracy.value + 1e-12
            assert point.pessimistic_accuracy.value <= point.selective_accuracy.value


@settings(max_examples=60)
@given(clips, st.sampled_from([0.5, 0.8, 0.9]))
def test_a_floor_asks_for_a_threshold_no_lower_than_the_share_does(made, target):
    tuning = rows(*zip(*made, strict=True))
    kept = np.ones((1, len(made)), dtype=bool)

    floor = lowest_thresholds(tuning, Gate("floor", target), kept)
    plain = lowest_thresholds(tuning, Gate("plain", target), kept)

    assert (floor >= plain).all()

"""Intervals: closed forms by hand and beside SciPy, coverage under groups, resampling."""

import numpy as np
import pytest
from scipy.stats import binomtest, t

from snellen.metrics import intervals
from snellen.metrics.classify import (
    accuracy,
    balanced_accuracy,
    class_counts,
    confusion,
    f1,
    macro,
    macro_f1,
    macro_precision,
    weighted_f1,
    weighted_precision,
)
from snellen.metrics.selective import aurc


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 9), (119, 154), (102, 154), (18, 18)])
def test_wilson_is_scipys(k, n):
    expected = binomtest(k, n).proportion_ci(0.95, method="wilson")

    assert intervals.wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_reproduces_the_published_intervals():
    assert [round(x, 3) for x in intervals.wilson(119, 154)] == [0.700, 0.832]
    assert [round(x, 3) for x in intervals.wilson(97, 154)] == [0.551, 0.702]
    assert intervals.wilson(13, 13)[1] == 1.0
    assert intervals.wilson(0, 13)[0] == 0.0


def grouped(sizes, rights):
    correct = np.concatenate([np.arange(n) < k for n, k in zip(sizes, rights, strict=True)])
    return correct, np.repeat([f"g{i}" for i in range(len(sizes))], sizes)


def test_the_design_effect_by_hand():
    # 6 of 12 right. Residuals of the groups 4-2, 2-2, 0-2: squares sum to 8.
    # Grouped variance 3/2 * 8/144 = 1/12, independent .25/12: design effect 4.
    correct, groups = grouped([4, 4, 4], [4, 2, 0])
    result = intervals.share_interval(correct, groups)

    assert result.value == 0.5
    assert result.n == 12
    assert result.groups == 3
    assert result.deff == pytest.approx(4)
    assert (result.low, result.high) == pytest.approx(
        intervals.wilson(6 / 4, 12 / 4, t.ppf(0.975, 2))
    )
    assert result.method == (
        "Wilson on effective n, 3 groups, design effect 4.0, t(2)"
        "; approximate: fewer than 30 groups"
    )


def test_groups_more_alike_than_chance_do_not_narrow_the_interval():
    correct, groups = grouped([4, 4], [2, 2])

    assert intervals.share_interval(correct, groups).deff == 1


def test_without_groups_the_interval_says_what_it_assumes():
    result = intervals.share_interval(np.arange(154) < 119, None)

    assert (result.low, result.high) == intervals.wilson(119, 154)
    assert result.groups is None
    assert result.method == "Wilson, assumes independent clips"


def test_one_group_has_no_interval():
    result = intervals.share_interval(np.array([True, False]), np.array([7, 7]))

    assert (result.value, result.low, result.high, result.groups) == (0.5, None, None, 1)
    assert "1 group" in result.method


@pytest.mark.parametrize("right", [True, False])
def test_all_alike_still_has_width_and_no_design_effect(right):
    correct, groups = np.full(18, right), np.arange(18) % 6
    result = intervals.share_interval(correct, groups)

    assert result.high - result.low > 0.2
    assert result.low <= result.value <= result.high
    assert result.deff is None
    assert "within 0.1 of 0 or 1" in result.method


def test_thirty_groups_in_the_middle_need_no_caveat():
    correct, groups = grouped([4] * 30, [1, 3] * 15)

    assert "approximate" not in intervals.share_interval(correct, groups).method


def test_the_interval_holds_the_truth_where_the_plain_one_does_not():
    # Truth .77, intra-group correlation .2, 154 clips in 10 groups.
    rng = np.random.default_rng(0)
    held, held_plain, runs = 0, 0, 500
    for _ in range(runs):
        groups = rng.integers(0, 10, 154)
        correct = rng.random(154) < rng.beta(0.77 * 4, 0.23 * 4, 10)[groups]
        ours = intervals.share_interval(correct, groups)
        plain = intervals.share_interval(correct, None)
        held += ours.low <= 0.77 <= ours.high
        held_plain += plain.low <= 0.77 <= plain.high

    assert held / runs > 0.92
    assert held_plain / runs < 0.72


def test_resamples_draw_as_many_as_there_are_and_do_not_depend_on_chunks(monkeypatch):
    unit = np.array([0, 0, 1, 2, 2, 2])
    whole = np.concatenate(list(intervals.resamples(unit, 50, np.random.default_rng(0))))
    monkeypatch.setattr(intervals, "NUMBERS", 20)
    parts = list(intervals.resamples(unit, 50, np.random.default_rng(0)))

    assert len(parts) == 17  # three rows of six numbers at a time
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (whole.sum(axis=1) == 6).all()
    np.testing.assert_allclose(whole.mean(axis=0), [2, 1, 3], atol=0.5)


def test_resampling_a_mean_gives_the_variance_it_must():
    # Whole groups of sizes 5: the share's bootstrap variance is that of group means over K.
    correct, groups = grouped([5] * 8, [5, 1, 3, 4, 2, 5, 0, 3])
    member = np.unique(groups, return_inverse=True)[1]
    drawn = intervals.bootstrap(
        lambda w: accuracy(np.ones(40, int), correct.astype(int), w[:, member]),
        np.arange(8),
        np.random.default_rng(0),
        replicates=20_000,
    )
    expected = np.var([5, 1, 3, 4, 2, 5, 0, 3]) / 25 / 8

    assert drawn.defined.all()
    assert drawn.value.var() == pytest.approx(expected, rel=0.05)


def signs(seed, n=120, classes=6, groups=12):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    group = rng.integers(0, groups, n)
    skill = rng.uniform(0.3, 0.9, groups)[group]
    return truth, np.where(rng.random(n) < skill, truth, rng.integers(-1, classes, n)), group


BY_CLASS = [macro_f1, balanced_accuracy, macro_precision, weighted_f1, weighted_precision]


@pytest.mark.parametrize("metric", BY_CLASS)
@pytest.mark.parametrize("by_group", [True, False])
def test_a_figure_by_counts_is_the_figure_by_rows(metric, by_group):
    truth, answer, group = signs(0)
    groups = group if by_group else None

    def by_rows(weight):
        return metric(class_counts(confusion(truth, answer, 6, weight)))

    fast = intervals.class_figure_interval(
        metric, truth, answer, 6, groups, np.random.default_rng(1), replicates=4000
    )
    slow = intervals.bootstrap_interval(
        by_rows, 120, groups, np.random.default_rng(2), replicates=4000, width=6 * 7
    )

    assert fast.value == pytest.approx(slow.value)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), abs=0.01)
    assert fast.method == slow.method
    assert fast.low < fast.value < fast.high


@pytest.mark.parametrize(("width", "rows"), [(0, 10), (40, 5)])
def test_a_wide_metric_gets_fewer_resamples_at_a_time(monkeypatch, width, rows):
    monkeypatch.setattr(intervals, "NUMBERS", 200)
    truth, answer = np.zeros(20, int), np.arange(20) % 2
    seen = []

    def metric(weight):
        seen.append(weight.shape[:-1])
        return accuracy(truth, answer, weight)

    intervals.bootstrap_interval(
        metric, 20, None, np.random.default_rng(0), replicates=20, width=width
    )

    assert seen == [(), *[(rows,)] * (20 // rows)]


def test_macro_f1_is_that_of_its_class_figure():
    truth, answer, group = signs(2)

    assert intervals.macro_f1_interval(
        truth, answer, 6, group, np.random.default_rng(7), replicates=50
    ) == intervals.class_figure_interval(
        macro_f1, truth, answer, 6, group, np.random.default_rng(7), replicates=50
    )


def test_all_right_is_not_accuracy_where_the_figure_is_not_1():
    # All of two classes right, but averaged over a vocabulary of four: 1/2 or, where a
    # resample misses a class, 1/4.
    truth = np.array([0, 0, 0, 1])
    result = intervals.class_figure_interval(
        lambda counts: macro(f1(counts), counts, "vocabulary"),
        truth,
        truth,
        4,
        None,
        np.random.default_rng(0),
    )

    assert result.value == 0.5
    assert result.low < 0.5 < result.high
    assert result.method.startswith("Wilson on the variance")


def test_the_same_seed_gives_the_same_interval():
    truth, answer, group = signs(3)
    first, second = (
        intervals.macro_f1_interval(truth, answer, 6, group, np.random.default_rng(5))
        for _ in range(2)
    )

    assert first == second


def test_groups_widen_the_interval_of_macro_f1():
    truth, answer, group = signs(4, n=600, groups=8)
    rng = np.random.default_rng(0)
    by_group = intervals.macro_f1_interval(truth, answer, 6, group, rng)
    alone = intervals.macro_f1_interval(truth, answer, 6, None, rng)

    assert by_group.high - by_group.low > 1.5 * (alone.high - alone.low)
    assert by_group.method == (
        "Wilson on the variance of 2000 resamples of 8 groups, t(7)"
        "; approximate: fewer than 30 groups"
    )
    assert alone.method == "Wilson on the variance of 2000 resamples, assumes independent clips"


def test_macro_f1_of_rare_classes_is_held_more_often_than_by_percentiles():
    # 50 classes of 3 clips in 49 groups: resampling repeats clips, which lowers macro-F1.
    rng = np.random.default_rng(6)
    n, classes, n_groups, runs = 150, 50, 49, 80
    truth = np.arange(n) % classes

    def answers(size, rng):
        right = rng.random(size) < 0.7
        t_ = np.arange(size) % classes
        return np.where(right, t_, rng.integers(0, classes, size))

    many = answers(500_000, rng)
    population = macro_f1(class_counts(confusion(np.arange(500_000) % classes, many, classes)))
    held = held_percentiles = 0
    for _ in range(runs):
        answer, group = answers(n, rng), rng.integers(0, n_groups, n)
        ours = intervals.macro_f1_interval(truth, answer, classes, group, rng, replicates=300)
        member = np.unique(group, return_inverse=True)[1]
        drawn = intervals.bootstrap(
            lambda w, a=answer, m=member: macro_f1(
                class_counts(confusion(truth, a, classes, w[:, m]))
            ),
            np.arange(member.max() + 1),
            rng,
            replicates=300,
        )
        low, high = np.quantile(drawn.value, [0.025, 0.975])
        held += ours.low <= population.item() <= ours.high
        held_percentiles += low <= population.item() <= high

    assert held / runs >= 0.9
    assert held > held_percentiles


@pytest.mark.parametrize("metric", BY_CLASS)
@pytest.mark.parametrize(("answer", "word"), [([0, 1, 2, 0], "right"), ([1, 2, 0, -1], "wrong")])
def test_all_right_or_all_wrong_is_never_resampled(metric, answer, word):
    truth = np.array([0, 1, 2, 0])
    result = intervals.class_figure_interval(
        metric, truth, np.array(answer), 3, np.arange(4), np.random.default_rng(0)
    )

    assert result.value == (word == "right")
    assert result.high - result.low > 0.4
    assert result.method.startswith(f"Wilson of accuracy (all {word}) on effective n, 4 groups")


def test_a_figure_that_no_resample_moves_has_no_interval():
    confidence, correct = np.array([0.9, 0.8, 0.7]), np.ones(3, bool)
    result = intervals.bootstrap_interval(
        lambda w: aurc(confidence, correct, w), 3, None, np.random.default_rng(0)
    )

    assert (result.value, result.low, result.high) == (0.0, None, None)
    assert result.method == "no interval: resampling shows no variation"


def test_equal_figures_are_no_variation_although_their_variance_rounds_to_more_than_0():
    # One class of three is always the answer: F1s 1/2, 0, 0 and a mean of 1/6 in every
    # resample that draws whole groups which are all alike.
    truth, answer = np.tile([0, 1, 2], 8), np.zeros(24, int)
    result = intervals.macro_f1_interval(
        truth, answer, 3, np.repeat(np.arange(8), 3), np.random.default_rng(0)
    )

    assert np.full(2000, 1 / 6).var() > 0
    assert result.value == pytest.approx(1 / 6)
    assert (result.low, result.high) == (None, None)
    assert result.method == "no interval: resampling shows no variation"


def test_one_group_cannot_be_resampled():
    rng = np.random.default_rng(0)
    result = intervals.macro_f1_interval(
        np.array([0, 1]), np.array([0, 0]), 2, np.zeros(2, int), rng
    )

    assert (result.low, result.high, result.groups) == (None, None, 1)


def test_resamples_without_the_figure_are_counted_in_the_method():
    # The clips of group 2 do not count, and (1/3)^3 of the resamples hold nothing else.
    truth, answer = np.zeros(4, int), np.array([0, 1, 0, 0])
    result = intervals.bootstrap_interval(
        lambda w: accuracy(truth, answer, w * np.array([1, 1, 0, 0])),
        4,
        np.array([0, 1, 2, 2]),
        np.random.default_rng(0),
        replicates=1000,
    )

    lost = int(result.method.split("undefined in ")[1].split()[0])
    assert 20 <= lost <= 60

"""Paired tests by hand, by brute force and beside SciPy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from snellen.metrics import compare


def test_mcnemar_reproduces_the_published_values():
    assert compare.mcnemar(40, 23) == pytest.approx(0.042957, abs=5e-7)
    assert round(compare.mcnemar(20, 3), 4) == 0.0005
    assert round(compare.mcnemar(30, 13), 3) == 0.014
    assert round(compare.mcnemar(45, 28), 3) == 0.060


@given(st.integers(0, 60), st.integers(0, 60))
@settings(deadline=None)
def test_mcnemar_is_the_exact_binomial_test_and_does_not_care_who_is_a(b, c):
    expected = binomtest(b, b + c).pvalue if b + c else 1.0

    assert compare.mcnemar(b, c) == pytest.approx(expected)
    assert compare.mcnemar(b, c) == compare.mcnemar(c, b)
    assert compare.mcnemar(b, b) == 1.0


def test_discordant_clips_by_hand():
    a, b = np.array([1, 1, 1, 0, 0]), np.array([1, 0, 0, 1, 0])

    assert compare.discordant(a, b) == (2, 1)


def brute_force(sums):
    seen = abs(sum(sums))
    flips = [abs(sum(s * x for s, x in zip(sign, sums, strict=True)))
             for sign in product((-1, 1), repeat=len(sums))]  # fmt: skip
    return sum(x >= seen for x in flips) / len(flips)


def clips_with(sums):
    """Clips whose per-group sums of differences are the given ones."""
    a = np.concatenate([[x > 0] * max(abs(x), 1) for x in sums])
    b = np.concatenate([[x < 0] * max(abs(x), 1) for x in sums])
    return a, b, np.repeat(np.arange(len(sums)), [max(abs(x), 1) for x in sums])


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_sign_flips_of_few_groups_are_counted_exactly(sums):
    test = compare.sign_flip(*clips_with(sums), np.random.default_rng(0))

    assert test.exact
    assert test.p == pytest.approx(brute_force(sums))
    assert test.p >= test.smallest_p


def test_sign_flips_of_many_groups_come_near_the_exact_test():
    # 40 groups of one clip: 28 for A, 12 for B. Then flipping is tossing a coin per clip.
    a, b, groups = clips_with([1] * 28 + [-1] * 12)
    test = compare.sign_flip(a, b, groups, np.random.default_rng(0), replicates=40_000)

    assert not test.exact
    assert test.p == pytest.approx(compare.mcnemar(28, 12), abs=0.003)
    assert test.method == "40000 random sign flips of 40 groups"


def test_random_flips_never_give_zero_and_do_not_depend_on_chunks(monkeypatch):
    arguments = clips_with([2] * 40)
    whole = compare.sign_flip(*arguments, np.random.default_rng(0), replicates=999)
    monkeypatch.setattr(compare, "SIGNS", 100)

    assert whole.p == whole.smallest_p == 1 / 1000
    assert compare.sign_flip(*arguments, np.random.default_rng(0), replicates=999) == whole


def test_four_groups_cannot_give_a_small_p():
    test = compare.sign_flip(*clips_with([9, 9, 9, 9]), np.random.default_rng(0))

    assert test.p == test.smallest_p == 1 / 8


def test_two_equal_models_have_p_one():
    a, b, groups = clips_with([0, 0, 0])

    assert compare.sign_flip(a, b, groups, np.random.default_rng(0)).p == 1.0


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, the last lifted to .06.
    adjusted = compare.holm(np.array([0.01, 0.04, 0.03, 0.005]))

    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert compare.holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert compare.holm(np.array([])).tolist() == []


def test_the_paired_difference_by_hand():
    # 100 clips, 30 only A, 10 only B: (31-11)/102, variance ((42/102) - .196^2)/102.
    a = np.arange(100) < 60
    b = (np.arange(100) >= 30) & (np.arange(100) < 70)
    result = compare.paired_difference(a, b, None)
    centre = 20 / 102
    half = 1.959964 * np.sqrt((42 / 102 - centre**2) / 102)

    assert compare.discordant(a, b) == (30, 10)
    assert result.value == pytest.approx(0.2)
    assert (result.low, result.high) == pytest.approx((centre - half, centre + half), abs=1e-6)
    assert result.method == "Bonett-Price, assumes independent clips"


def test_the_difference_changes_sign_with_the_models():
    rng = np.random.default_rng(0)
    a, b, groups = rng.random(60) < 0.8, rng.random(60) < 0.6, rng.integers(0, 9, 60)
    one, other = (compare.paired_difference(x, y, groups) for x, y in ((a, b), (b, a)))

    assert one.value == -other.value
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_agreement_everywhere_still_leaves_a_width():
    same = np.ones(20, bool)
    result = compare.paired_difference(same, same, np.arange(20) % 5)

    assert result.value == 0
    assert result.low < -0.05
    assert result.high > 0.05
    assert result.deff is None


def test_groups_widen_the_difference_and_one_group_has_none():
    a, b, groups = clips_with([6, 6, 6, -4, -4])
    by_group = compare.paired_difference(a, b, groups)
    alone = compare.paired_difference(a, b, None)

    assert by_group.high - by_group.low > 1.5 * (alone.high - alone.low)
    assert by_group.method.startswith("Bonett-Price on effective n, 5 groups, design effect")
    assert compare.paired_difference(a, b, np.zeros(len(a), int)).low is None


def test_the_difference_holds_the_truth_under_groups():
    # A is right .75 of the time, B .65, both swinging with ten groups.
    rng = np.random.default_rng(1)
    held, runs = 0, 400
    for _ in range(runs):
        groups = rng.integers(0, 10, 154)
        chance_a, chance_b = rng.beta(7.5, 2.5, 10), rng.beta(6.5, 3.5, 10)
        a, b = rng.random(154) < chance_a[groups], rng.random(154) < chance_b[groups]
        result = compare.paired_difference(a, b, groups)
        held += result.low <= 0.1 <= result.high

    assert held / runs > 0.92


def power_by_enumeration(n, discordance, gap):
    lean = (1 + gap / discordance) / 2
    return sum(
        binom.pmf(m, n, discordance) * binom.pmf(b, m, lean)
        for m in range(n + 1)
        for b in range(m + 1)
        if compare.mcnemar(b, m - b) <= 0.05
    )


@pytest.mark.parametrize(("discordance", "gap"), [(0.5, 0.2), (0.5, 0.5), (1.0, 0.4), (0.3, 0.0)])
def test_power_is_that_of_enumeration(discordance, gap):
    expected = power_by_enumeration(30, discordance, gap)

    assert compare.mcnemar_power(30, discordance, gap) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("gap", "power"), [(0.05, 0.19), (0.10, 0.58), (0.12, 0.74), (0.15, 0.90)])
def test_power_at_154_clips_is_near_the_simulated_values(gap, power):
    assert compare.mcnemar_power(154, 0.30, gap) == pytest.approx(power, abs=0.025)


def test_the_smallest_gap_has_the_power_and_a_smaller_one_has_not():
    gap = compare.smallest_gap(154, 0.30)

    assert compare.mcnemar_power(154, 0.30, gap) >= 0.8
    assert compare.mcnemar_power(154, 0.30, gap - 1e-4) < 0.8
    assert compare.smallest_gap(2000, 0.30) < gap


def test_too_few_or_too_agreeing_clips_have_no_smallest_gap():
    assert compare.smallest_gap(5, 1.0) is None
    assert compare.smallest_gap(154, 0.0) is None
    assert compare.smallest_gap(154, 0.02) is None


def test_critical_counts_are_looked_up_once_for_a_whole_search(monkeypatch):
    counted, calls = compare._critical_counts, []

    def spied(n, alpha):
        calls.append((n, alpha))
        return counted(n, alpha)

    monkeypatch.setattr(compare, "_critical_counts", spied)

    assert compare.smallest_gap(154, 0.30) == 0.1268
    assert calls == [(154, 0.05)]

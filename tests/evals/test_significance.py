import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from groundwire.evals.significance import (
    NEGLIGIBLE,
    Rate,
    Table,
    detectable_difference,
    difference_interval,
    fisher_exact,
    holm,
    mcnemar_exact,
    pair_correlation,
    rank_test,
    standardise_rates,
    trials_to_tell_apart,
)


def tables(most, least=0):
    side = st.integers(least, most).flatmap(lambda scored: st.tuples(st.integers(0, scored), st.just(scored)))
    return st.builds(lambda before, after: Table(*before, *after), side, side)


@given(tables(60))
@settings(deadline=None)
def test_fishers_test_is_the_one_that_scipy_gives(table):
    a, n, b, m = table
    assert fisher_exact([table]) == pytest.approx(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue, rel=1e-6)


@given(tables(40))
@settings(deadline=None)
def test_fishers_test_does_not_mind_which_side_or_end_is_called_which(table):
    a, n, b, m = table
    p_value = fisher_exact([table])
    assert fisher_exact([Table(b, m, a, n)]) == pytest.approx(p_value)
    assert fisher_exact([Table(n - a, n, m - b, m)]) == pytest.approx(p_value)


def test_fishers_test_of_the_tea_tasting_lady():
    # Fisher, The design of experiments (1935): three of four cups guessed right; two-sided 34 of 70.
    assert fisher_exact([Table(3, 4, 1, 4)]) == pytest.approx(34 / 70)


def test_the_stratified_test_gives_the_published_value_for_penicillin_in_rabbits():
    # Agresti, Categorical data analysis (1990), pages 231–237; the manual of R's `mantelhaen.test` gives 0.040.
    cured_and_died = [(0, 6, 0, 5), (3, 3, 0, 6), (6, 0, 2, 4), (5, 1, 6, 0), (2, 0, 5, 0)]
    strata = [Table(a, a + c, b, b + d) for a, c, b, d in cured_and_died]
    assert round(fisher_exact(strata), 3) == 0.040


def enumerate_outcomes(strata):
    """The p-value by writing down every assignment of passes to sides."""

    def ways(table):
        passed = table.before_passed + table.after_passed
        for before in range(max(0, passed - table.after_scored), min(passed, table.before_scored) + 1):
            yield before, math.comb(table.before_scored, before) * math.comb(table.after_scored, passed - before)

    totals = {}
    for outcome in itertools.product(*(list(ways(table)) for table in strata)):
        total = sum(before for before, _ in outcome)
        totals[total] = totals.get(total, 0) + math.prod(count for _, count in outcome)
    seen = totals[sum(table.before_passed for table in strata)]
    return sum(count for count in totals.values() if count <= seen) / sum(totals.values())


@given(st.lists(tables(6), max_size=4))
@settings(deadline=None)
def test_the_stratified_test_counts_every_possible_outcome(strata):
    assert fisher_exact(strata) == pytest.approx(enumerate_outcomes(strata), rel=1e-6)


def test_strata_keep_an_uneven_mix_from_looking_like_a_difference():
    easy_mostly_before, hard_mostly_after = Table(90, 90, 10, 10), Table(0, 10, 0, 90)
    assert fisher_exact([Table(90, 100, 10, 100)]) < 1e-20
    assert fisher_exact([easy_mostly_before, hard_mostly_after]) == pytest.approx(1.0)
    assert standardise_rates([easy_mostly_before, hard_mostly_after]) == (0.5, 0.5)


def test_a_p_value_is_never_nothing():
    assert fisher_exact([Table(50, 50, 0, 50)] * 100) == NEGLIGIBLE
    assert mcnemar_exact(0, 5000) == NEGLIGIBLE
    assert fisher_exact([]) == mcnemar_exact(0, 0) == 1.0


@given(st.integers(0, 200), st.integers(0, 200))
@settings(deadline=None)
def test_mcnemars_test_is_a_fair_coin(lost, won):
    expected = stats.binomtest(lost, lost + won).pvalue if lost + won else 1.0
    assert mcnemar_exact(lost, won) == pytest.approx(max(expected, NEGLIGIBLE), rel=1e-9)


@pytest.mark.parametrize(("lost", "p_value"), [(5, 0.0625), (6, 0.03125)])
def test_six_pairs_that_were_lost_are_the_fewest_that_show_anything(lost, p_value):
    assert mcnemar_exact(lost, 0) == p_value


values = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=30)


@given(values, values)
@settings(deadline=None)
def test_the_rank_test_of_one_stratum_is_mann_and_whitneys(before, after):
    ours = rank_test([(before, after)])
    if len({*before, *after}) == 1:
        assert ours == (0.0, 1.0)
    else:
        theirs = stats.mannwhitneyu(after, before, method="asymptotic")
        assert ours.p_value == pytest.approx(min(theirs.pvalue, 1.0), abs=1e-9)
        assert ours.score * (theirs.statistic - len(before) * len(after) / 2) >= 0


def test_the_rank_test_sees_a_change_that_differences_between_strata_would_hide():
    levels, noise = (0.0, 1e3, 1e6), range(8)
    strata = [([level + one for one in noise], [level + 5 + one for one in noise]) for level in levels]
    pooled = ([one for before, _ in strata for one in before], [one for _, after in strata for one in after])
    assert rank_test(strata).p_value < 1e-4
    assert rank_test(strata).score > 0
    assert rank_test([pooled]).p_value > 0.05


def test_the_rank_test_of_several_strata_adds_weighted_sums():
    # By hand: U = 9 of 9 and 3 of 4, weights 1/7 and 1/5, variances 21/4 and 5/3, half a step of 1/5.
    score = (4.5 / 7 + 1 / 5 - 1 / 10) / math.sqrt(21 / 4 / 49 + 5 / 3 / 25)
    ours = rank_test([([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), ([1.0, 3.0], [2.0, 4.0])])
    assert ours.score == pytest.approx(score)
    assert ours.p_value == pytest.approx(2 * stats.norm.sf(score))


def test_the_rank_test_says_nothing_without_values_or_where_all_are_equal():
    assert rank_test([]) == (0.0, 1.0)
    assert rank_test([([], [1.0]), ([1.0], [])]) == (0.0, 1.0)
    assert rank_test([([2.0, 2.0], [2.0])]) == (0.0, 1.0)
    assert rank_test([([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])]).p_value > 0.05


def test_holm_multiplies_by_how_many_are_left_and_never_falls():
    assert holm([]) == []
    assert holm([0.03]) == [0.03]
    # Holm (1979) as in the worked examples of R's p.adjust: 0.01·4, 0.02·3, 0.03·2 raised to 0.06, 0.04·1 raised to 0.06.
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.9, 0.001, 0.6]) == pytest.approx([1.0, 0.003, 1.0])


@given(st.lists(st.floats(0, 1), max_size=20))
@settings(deadline=None)
def test_holm_keeps_the_order_and_lies_between_no_correction_and_bonferronis(p_values):
    adjusted = holm(p_values)
    for raw, corrected in zip(p_values, adjusted, strict=True):
        assert raw <= corrected <= min(1.0, raw * len(p_values)) or corrected == max(
            other for other, one in zip(adjusted, p_values, strict=True) if one <= raw
        )
    in_order = sorted(zip(p_values, adjusted, strict=True))
    assert [corrected for _, corrected in in_order] == sorted(adjusted)


@pytest.mark.parametrize(
    ("after", "before", "low", "high"),
    [
        # Newcombe, Interval estimation for the difference between independent proportions (1998), table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_the_interval_of_a_difference_is_the_one_that_was_published(after, before, low, high):
    interval = difference_interval(Rate(before[0] / before[1], before[1]), Rate(after[0] / after[1], after[1]))
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(tables(100, least=1), st.floats(-1, 1))
@settings(deadline=None)
def test_the_interval_of_a_difference_contains_it_and_mirrors_the_other_way_round(table, correlation):
    before = Rate(table.before_passed / table.before_scored, table.before_scored)
    after = Rate(table.after_passed / table.after_scored, table.after_scored)
    there = difference_interval(before, after, correlation=correlation)
    back = difference_interval(after, before, correlation=correlation)
    assert -1 - 1e-9 <= there.low <= after.value - before.value <= there.high <= 1 + 1e-9
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_pairs_that_end_alike_narrow_the_interval():
    rate = Rate(0.9, 60)
    alone = difference_interval(rate, rate)
    paired = difference_interval(rate, rate, correlation=pair_correlation(54, 0, 0, 6))
    assert pair_correlation(54, 0, 0, 6) == pytest.approx((54 * 6 - 30) / 324)
    assert paired.high - paired.low < 0.51 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("pairs", "correlation"),
    [((0, 0, 0, 0), 0.0), ((10, 0, 0, 0), 0.0), ((5, 5, 0, 0), 0.0), ((1, 0, 0, 1), 0.0), ((0, 5, 5, 0), -1.0)],
)
def test_the_correlation_of_pairs_at_the_edges(pairs, correlation):
    assert pair_correlation(*pairs) == correlation


def test_trials_to_tell_apart_are_those_of_textbooks():
    # Fleiss, Statistical methods for rates and proportions: 356 trials, and about 2/0.1 more for continuity.
    assert math.ceil(trials_to_tell_apart(0.6, 0.7)) == 376
    assert math.ceil(trials_to_tell_apart(0.7, 0.6)) == 376
    assert trials_to_tell_apart(0.5, 0.5) == math.inf


def power(before, after, trials):
    """How often Fisher's test finds the difference, by adding up all outcomes."""
    first, second = (stats.binom.pmf(range(trials + 1), trials, rate) for rate in (before, after))
    return sum(
        first[one] * second[other]
        for one, other in itertools.product(range(trials + 1), repeat=2)
        if fisher_exact([Table(one, trials, other, trials)]) <= 0.05
    )


@pytest.mark.parametrize(("rate", "trials"), [(1.0, 10), (0.9, 10), (0.95, 20), (0.9, 30), (0.5, 40), (0.1, 30)])
def test_a_detectable_difference_is_found_in_four_of_five_comparisons(rate, trials):
    difference = detectable_difference(rate, trials)
    other = rate - difference if rate >= 0.5 else rate + difference
    assert 0.78 < power(rate, other, trials) < 0.9
    assert trials_to_tell_apart(rate, other) == pytest.approx(trials, rel=1e-3)


def test_too_few_trials_show_no_difference_at_all():
    assert detectable_difference(1.0, 3) is None
    assert detectable_difference(0.5, 10) is None
    assert detectable_difference(1.0, 10) == pytest.approx(0.636, abs=0.001)


@given(st.floats(0, 1), st.integers(20, 1000))
@settings(deadline=None)
def test_more_trials_show_smaller_differences_and_more_tests_only_larger_ones(rate, trials):
    difference = detectable_difference(rate, trials)
    assert detectable_difference(rate, 2 * trials) < difference
    stricter = detectable_difference(rate, trials, confidence=0.99)
    assert stricter is None or stricter > difference
    assert detectable_difference(1 - rate, trials) == pytest.approx(difference, abs=1e-4) or rate == 0.5

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from groundwire.evals.estimates import (
    Interval,
    clustered_interval,
    disagreement,
    exact_interval,
    incomplete_beta,
    mean,
    needed_trials,
    normal_quantile,
    pass_at_k,
    pass_hat_k,
    percentile,
    student_quantile,
    wilson_interval,
)

INTERVALS = [wilson_interval, exact_interval]
COUNTS = [(0, 1), (1, 1), (0, 10), (9, 10), (10, 10), (81, 263), (50, 50), (499, 1000), (3, 5000)]
counts = st.integers(1, 400).flatmap(lambda scored: st.tuples(st.integers(0, scored), st.just(scored)))


def binomial(passed, scored, rate):
    return math.comb(scored, passed) * rate**passed * (1 - rate) ** (scored - passed)


def coverage(interval, scored, rate):
    """The chance that the interval of so many trials contains the rate that they have."""
    return sum(
        binomial(passed, scored, rate)
        for passed in range(scored + 1)
        if interval(passed, scored).low <= rate <= interval(passed, scored).high
    )


@pytest.mark.parametrize(("passed", "scored"), COUNTS)
@pytest.mark.parametrize(("interval", "method"), [(wilson_interval, "wilson"), (exact_interval, "exact")])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_an_interval_is_the_one_that_scipy_gives(interval, method, passed, scored, confidence):
    theirs = stats.binomtest(passed, scored).proportion_ci(confidence, method)
    ours = interval(passed, scored, confidence=confidence)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    ("passed", "scored", "wilson", "exact"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, methods 3 and 5.
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_an_interval_is_the_one_that_was_published(passed, scored, wilson, exact):
    ours = wilson_interval(passed, scored)
    assert (round(ours.low, 4), round(ours.high, 4)) == wilson
    ours = exact_interval(passed, scored)
    assert (round(ours.low, 4), round(ours.high, 4)) == exact


@pytest.mark.parametrize("interval", INTERVALS)
def test_without_trials_every_rate_is_possible(interval):
    assert interval(0, 0) == Interval(low=0.0, high=1.0)


@pytest.mark.parametrize("interval", INTERVALS)
def test_the_ends_of_the_scale_are_reached_where_nothing_or_everything_passed(interval):
    assert (interval(0, 1).low, interval(0, 10).low) == (0.0, 0.0)
    assert (interval(1, 1).high, interval(10, 10).high) == (1.0, 1.0)
    assert interval(0, 10).high < 1
    assert interval(10, 10).low > 0


@pytest.mark.parametrize("interval", INTERVALS)
@given(counts)
@settings(deadline=None)
def test_an_interval_contains_the_rate_and_mirrors_that_of_failures(interval, count):
    passed, scored = count
    ours, mirrored = interval(passed, scored), interval(scored - passed, scored)
    assert 0 <= ours.low <= passed / scored <= ours.high <= 1
    assert (ours.low, ours.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


@pytest.mark.parametrize("interval", INTERVALS)
@given(counts)
@settings(deadline=None)
def test_one_more_success_moves_both_ends_up_and_more_confidence_both_apart(interval, count):
    passed, scored = count
    ours, wider = interval(passed, scored), interval(passed, scored, confidence=0.99)
    assert wider.low <= ours.low <= ours.high <= wider.high
    if passed < scored:
        next_one = interval(passed + 1, scored)
        assert ours.low < next_one.low
        assert ours.high < next_one.high


@given(st.integers(0, 20), st.integers(1, 20))
@settings(deadline=None)
def test_more_trials_at_the_same_rate_narrow_the_interval(passed, more):
    few, many = wilson_interval(passed, 20), wilson_interval(passed * (more + 1), 20 * (more + 1))
    assert many.high - many.low < few.high - few.low


def test_wilson_covers_the_truth_as_often_as_it_says_on_average_and_the_exact_interval_always():
    rates = [step / 200 for step in range(1, 200)]
    wilson = [coverage(wilson_interval, 10, rate) for rate in rates]
    assert 0.95 < mean(wilson) < 0.96
    assert 0.83 < coverage(wilson_interval, 10, 0.0178) < min(wilson)
    assert min(coverage(exact_interval, 10, rate) for rate in rates) >= 0.95


@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.96, 0.99])
@pytest.mark.parametrize("scored", [5, 10, 50])
def test_at_least_nine_of_ten_simulated_intervals_contain_the_true_rate(rate, scored):
    chance = random.Random(f"{rate} {scored}")
    hits = 0
    for _ in range(2000):
        interval = wilson_interval(sum(chance.random() < rate for _ in range(scored)), scored)
        hits += interval.low <= rate <= interval.high
    assert hits / 2000 >= 0.9


def test_scenarios_that_differ_make_the_clustered_interval_wider_than_the_plain_one():
    plain = wilson_interval(30, 60)
    clustered = clustered_interval([(10, 10), (10, 10), (10, 10), (0, 10), (0, 10), (0, 10)])
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)
    assert clustered.low == pytest.approx(1 - clustered.high)


def test_scenarios_that_are_alike_leave_the_number_of_trials_and_take_students_quantile():
    clustered = clustered_interval([(9, 10)] * 6)
    confidence = 1 - 2 * stats.norm.sf(stats.t.ppf(0.975, 5))
    theirs = wilson_interval(54, 60, confidence=confidence)
    assert (clustered.low, clustered.high) == pytest.approx((theirs.low, theirs.high))


def test_of_one_scenario_nothing_is_said_about_others():
    assert clustered_interval([]) is None
    assert clustered_interval([(9, 10)]) is None
    assert clustered_interval([(9, 10), (0, 0)]) is None
    assert clustered_interval([(9, 10), (9, 10)]) is not None


def test_nine_of_ten_clustered_intervals_contain_the_mean_rate_of_scenarios_like_these():
    chance = random.Random("clusters")
    hits = plain_hits = 0
    for _ in range(500):
        rates = [chance.betavariate(3, 1) for _ in range(12)]  # their mean is 0.75
        trials = [(sum(chance.random() < rate for _ in range(10)), 10) for rate in rates]
        clustered, plain = clustered_interval(trials), wilson_interval(sum(passed for passed, _ in trials), 120)
        hits += clustered.low <= 0.75 <= clustered.high
        plain_hits += plain.low <= 0.75 <= plain.high
    assert plain_hits / 500 < 0.9 <= hits / 500


@given(st.lists(counts, min_size=2, max_size=12))
@settings(deadline=None)
def test_a_clustered_interval_contains_the_rate_and_is_no_narrower_than_the_plain_one(scenarios):
    passed, scored = sum(passed for passed, _ in scenarios), sum(scored for _, scored in scenarios)
    plain, clustered = wilson_interval(passed, scored), clustered_interval(scenarios)
    assert 0 <= clustered.low <= plain.low + 1e-12
    assert plain.high - 1e-12 <= clustered.high <= 1


def test_the_chance_over_k_tries_is_the_share_of_choices_of_k_trials():
    ends = [True] * 7 + [False] * 3
    for k in range(1, 11):
        choices = list(itertools.combinations(ends, k))
        assert pass_at_k(7, 10)[k - 1] == pytest.approx(mean(any(choice) for choice in choices))
        assert pass_hat_k(7, 10)[k - 1] == pytest.approx(mean(all(choice) for choice in choices))


@pytest.mark.parametrize(
    ("passed", "scored", "at", "hat"),
    [
        (0, 0, (), ()),
        (0, 1, (0.0,), (0.0,)),
        (1, 1, (1.0,), (1.0,)),
        (0, 3, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        (3, 3, (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        (1, 2, (0.5, 1.0), (0.5, 0.0)),
    ],
)
def test_chances_over_k_tries_at_the_edges(passed, scored, at, hat):
    assert pass_at_k(passed, scored) == at
    assert pass_hat_k(passed, scored) == hat


def test_the_chance_over_k_tries_is_unbiased():
    for k in (1, 2, 5):
        expected_at = sum(binomial(passed, 8, 0.7) * pass_at_k(passed, 8)[k - 1] for passed in range(9))
        expected_hat = sum(binomial(passed, 8, 0.7) * pass_hat_k(passed, 8)[k - 1] for passed in range(9))
        assert expected_at == pytest.approx(1 - 0.3**k)
        assert expected_hat == pytest.approx(0.7**k)


@given(counts)
@settings(deadline=None)
def test_more_tries_help_to_pass_once_and_hurt_passing_always(count):
    passed, scored = count
    at, hat = pass_at_k(passed, scored), pass_hat_k(passed, scored)
    assert len(at) == len(hat) == scored
    assert list(at) == sorted(at)
    assert list(hat) == sorted(hat, reverse=True)
    assert at[0] == pytest.approx(passed / scored)
    assert hat[0] == passed / scored


@pytest.mark.parametrize(
    ("passed", "scored", "share"), [(0, 0, None), (1, 1, None), (0, 5, 0.0), (5, 5, 0.0), (1, 2, 1.0), (2, 4, 2 / 3)]
)
def test_disagreement_is_the_share_of_pairs_that_ended_differently(passed, scored, share):
    assert disagreement(passed, scored) == share


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
@settings(deadline=None)
def test_a_percentile_is_the_one_that_numpy_gives(values, share):
    assert percentile(sorted(values), share) == pytest.approx(np.percentile(values, 100 * share), abs=1e-6)


def test_a_percentile_lies_between_its_neighbours_in_proportion():
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([10.0, 20.0], 0.5) == 15.0
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) == pytest.approx(4.8)
    assert percentile([1.0, 2.0, 9.0], 1.0) == 9.0


@pytest.mark.parametrize(
    ("rate", "margin", "trials"),
    [
        (0.5, 0.05, 381),  # z² / 4m² - z², which is 380.3
        (0.5, 0.1, 93),
        (0.9, 0.05, 141),
        (1.0, 0.05, 35),
        (0.5, 0.9, 1),
    ],
)
def test_needed_trials_are_the_fewest_whose_interval_is_narrow_enough(rate, margin, trials):
    def reach(count):
        interval = wilson_interval(rate * count, count)
        return (interval.high - interval.low) / 2

    assert needed_trials(rate, margin) == trials
    assert reach(trials) <= margin
    assert trials == 1 or reach(trials - 1) > margin


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1])
def test_a_margin_that_no_interval_can_have_is_refused(margin):
    with pytest.raises(ValueError, match="between 0 and 1"):
        needed_trials(0.5, margin)


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0, 1))
@settings(deadline=None)
def test_the_incomplete_beta_function_is_the_one_that_scipy_gives(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), abs=1e-11)


def test_quantiles_are_those_of_scipy():
    assert normal_quantile(0.95) == pytest.approx(stats.norm.ppf(0.975), abs=1e-12)
    for freedom in (1, 2, 5, 30, 500):
        assert student_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-10)
        assert student_quantile(0.99, freedom) == pytest.approx(stats.t.ppf(0.995, freedom), abs=1e-9)


def test_a_mean_does_not_depend_on_the_order():
    values = [1e16, 1.0, -1e16, 3.0]
    assert {mean(order) for order in itertools.permutations(values)} == {1.0}
    assert mean([]) is None

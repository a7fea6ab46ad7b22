"""Whether two samples of trials differ: exact tests for rates, a rank test for times, and what so few trials can show.

Pure functions of numbers, each for one stratum or several: trials of one scenario are compared with trials of the same
scenario, so neither an uneven mix of scenarios nor their different difficulty is taken for a difference. All tests are
two-sided.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import NormalDist
from typing import NamedTuple

from groundwire.evals.estimates import CONFIDENCE, Interval, normal_quantile, wilson_interval

POWER = 0.8
"""The chance with which a difference that counts as detectable is found."""

NEGLIGIBLE = 1e-30
"""Outcomes that are less likely than this are left out of sums, and no p-value is given as smaller."""


class Table(NamedTuple):
    """How many trials of one stratum passed on each side."""

    before_passed: int
    before_scored: int
    after_passed: int
    after_scored: int


def fisher_exact(tables: Iterable[Table]) -> float:
    """Fisher's exact test; with several tables its stratified form, with all margins of each table fixed.

    The p-value is the probability of all outcomes that are not more likely than the one that was seen.
    """
    first, likelihoods, seen = 0, [1.0], 0
    for table in tables:
        start, ways = _hypergeometric(table)
        first, likelihoods = _without_tails(first + start, _convolve(likelihoods, ways))
        seen += table.before_passed
    if not first <= seen < first + len(likelihoods):
        return NEGLIGIBLE
    bound = likelihoods[seen - first] * (1 + 1e-7)  # equally likely outcomes differ by rounding
    return min(1.0, math.fsum(likelihood for likelihood in likelihoods if likelihood <= bound))


def _hypergeometric(table: Table) -> tuple[int, list[float]]:
    """How likely each number of passed trials before is, given all margins, from the smallest possible one on."""
    passed, scored = table.before_passed + table.after_passed, table.before_scored + table.after_scored
    fewest, most = max(0, passed - table.after_scored), min(table.before_scored, passed)
    everything = _log_choose(scored, passed)
    logarithms = [
        _log_choose(table.before_scored, count) + _log_choose(table.after_scored, passed - count) - everything
        for count in range(fewest, most + 1)
    ]
    return fewest, [math.exp(logarithm) for logarithm in logarithms]


def _log_choose(total: int, chosen: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def _convolve(left: Sequence[float], right: Sequence[float]) -> list[float]:
    sums = [0.0] * (len(left) + len(right) - 1)
    for shift, factor in enumerate(right):
        for place, value in enumerate(left, shift):
            sums[place] += factor * value
    return sums


def _without_tails(first: int, likelihoods: list[float]) -> tuple[int, list[float]]:
    """What keeps hundreds of tables cheap: the sum is spread far less widely than it could be."""
    kept = [place for place, likelihood in enumerate(likelihoods) if likelihood >= NEGLIGIBLE]
    return first + kept[0], likelihoods[kept[0] : kept[-1] + 1]


def mcnemar_exact(lost: int, won: int) -> float:
    """McNemar's exact test for pairs: those that ended differently are coins, fair if nothing has changed."""
    coins = lost + won
    fewer = sum(math.comb(coins, heads) for heads in range(min(lost, won) + 1))
    return min(1.0, max(2 * fewer / 2**coins, NEGLIGIBLE))


class RankTest(NamedTuple):
    """`score` is positive where what came after is larger."""

    score: float
    p_value: float


def rank_test(strata: Iterable[tuple[Sequence[float], Sequence[float]]]) -> RankTest:
    """Mann and Whitney's test of (before, after); with several strata van Elteren's form of it.

    It takes the normal approximation with corrections for ties and for continuity. Values may have any distribution:
    only their order counts.
    """
    excess, variance, step = 0.0, 0.0, 0.0
    for before, after in strata:
        if not before or not after:
            continue
        size, pairs = len(before) + len(after), len(before) * len(after)
        weight = 1 / (size + 1)
        excess += weight * (_times_larger(before, after) - pairs / 2)
        ties = Counter(chain(before, after)).values()
        tied = sum(count**3 - count for count in ties) / (size * (size - 1))
        variance += weight**2 * pairs / 12 * (size + 1 - tied)
        step = max(step, weight)
    if variance <= 0:
        return RankTest(0.0, 1.0)
    score = math.copysign(max(abs(excess) - step / 2, 0.0) / math.sqrt(variance), excess)
    return RankTest(score, max(2 * NormalDist().cdf(-abs(score)), NEGLIGIBLE))


def _times_larger(before: Sequence[float], after: Sequence[float]) -> float:
    """In how many pairs the value after is larger; equal ones count half."""
    ranks, passed_by = 0.0, 0
    counts_before, counts_after = Counter(before), Counter(after)
    for value in sorted(counts_before.keys() | counts_after.keys()):
        ranks += counts_after[value] * (passed_by + counts_before[value] / 2)
        passed_by += counts_before[value]
    return ranks


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for being several, after Holm: the chance of even one false claim among them stays what it is for one."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def standardise_rates(tables: Sequence[Table]) -> tuple[float, float]:
    """The rates before and after, both for the same mix of strata; strata with many trials on both sides count most."""
    weighted = [
        (table.before_scored * table.after_scored / (table.before_scored + table.after_scored), table)
        for table in tables
    ]
    total = math.fsum(weight for weight, _ in weighted)
    before = math.fsum(weight * table.before_passed / table.before_scored for weight, table in weighted)
    after = math.fsum(weight * table.after_passed / table.after_scored for weight, table in weighted)
    return before / total, after / total


class Rate(NamedTuple):
    value: float
    scored: int


def difference_interval(
    before: Rate, after: Rate, *, correlation: float = 0.0, confidence: float = CONFIDENCE
) -> Interval:
    """Newcombe's interval of `after` minus `before`, from Wilson's intervals of both; for pairs with their correlation."""
    first = wilson_interval(before.value * before.scored, before.scored, confidence=confidence)
    second = wilson_interval(after.value * after.scored, after.scored, confidence=confidence)

    def reach(of_after: float, of_before: float) -> float:
        return math.sqrt(max(of_after**2 - 2 * correlation * of_after * of_before + of_before**2, 0.0))

    difference = after.value - before.value
    return Interval(
        low=difference - reach(after.value - second.low, first.high - before.value),
        high=difference + reach(second.high - after.value, before.value - first.low),
    )


def pair_correlation(both: int, lost: int, won: int, neither: int) -> float:
    """How alike pairs end, from -1 to 1, and nearer to 0 than it looks by half a pair: Newcombe's correction."""
    margins = (both + lost) * (won + neither) * (both + won) * (lost + neither)
    if not margins:
        return 0.0
    excess: float = both * neither - lost * won
    if excess > 0:
        excess = max(excess - (both + lost + won + neither) / 2, 0.0)
    return excess / math.sqrt(margins)


def trials_to_tell_apart(before: float, after: float, *, confidence: float = CONFIDENCE, power: float = POWER) -> float:
    """How many trials on each side let Fisher's test tell these rates apart, after Casagrande, Pike and Smith."""
    difference = abs(after - before)
    if not difference:
        return math.inf
    middle = (before + after) / 2
    by_chance = normal_quantile(confidence) * math.sqrt(2 * middle * (1 - middle))
    in_truth = NormalDist().inv_cdf(power) * math.sqrt(before * (1 - before) + after * (1 - after))
    uncorrected = ((by_chance + in_truth) / difference) ** 2
    return uncorrected / 4 * (1 + math.sqrt(1 + 4 / (uncorrected * difference))) ** 2


def detectable_difference(
    rate: float, trials: float, *, confidence: float = CONFIDENCE, power: float = POWER
) -> float | None:
    """The smallest change of this rate, to the side with more room, that so many trials on each side would show.

    None where not even the largest possible change would.
    """
    direction = -1 if rate >= 0.5 else 1

    def is_enough(difference: float) -> bool:
        other = min(max(rate + direction * difference, 0.0), 1.0)
        return trials_to_tell_apart(rate, other, confidence=confidence, power=power) <= trials

    too_small, enough = 0.0, max(rate, 1 - rate)
    if not is_enough(enough):
        return None
    while enough - too_small > 1e-6:
        middle = (too_small + enough) / 2
        too_small, enough = (too_small, middle) if is_enough(middle) else (middle, enough)
    return enough

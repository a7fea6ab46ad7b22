"""What counts of trials tell about a model: rates with intervals, chances over several tries, flips, percentiles.

Pure functions of numbers. They know no records, and they do not judge: whether two rates differ is for `significance`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import mul
from statistics import NormalDist

from msgspec import Struct

CONFIDENCE = 0.95


class Interval(Struct, frozen=True, kw_only=True):
    low: float
    high: float


def normal_quantile(confidence: float) -> float:
    """How many standard errors to each side hold this share of a normal distribution: 1.96 for 95 %."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson_interval(passed: float, scored: float, *, confidence: float = CONFIDENCE) -> Interval:
    """The interval of every table: as narrow as few trials allow, and its mean coverage is what it says.

    At single unlucky rates near 0 and 1 the coverage of 95 % falls to 83 %; where that will not do, take `exact_interval`.
    """
    return _score_interval(passed / scored if scored else 0.0, scored, normal_quantile(confidence))


def exact_interval(passed: int, scored: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Clopper and Pearson's: wider than Wilson's, and never surer than it says. For decisions that grant something."""
    if not scored:
        return Interval(low=0.0, high=1.0)
    failed, tail = scored - passed, (1 - confidence) / 2
    low = _solve(lambda rate: incomplete_beta(passed, failed + 1, rate), tail) if passed else 0.0
    high = _solve(lambda rate: incomplete_beta(passed + 1, failed, rate), 1 - tail) if failed else 1.0
    return Interval(low=low, high=high)


def clustered_interval(scenarios: Sequence[tuple[int, int]], *, confidence: float = CONFIDENCE) -> Interval | None:
    """What to expect of other scenarios like these; of fewer than two (passed, scored) nothing can be said.

    Trials of one scenario are alike, so they count for fewer: Wilson's interval with the effective number of trials and
    Student's quantile for the number of scenarios, after Korn and Graubard. Scenarios that all have one rate leave the
    number as it is.
    """
    scenarios = [(passed, scored) for passed, scored in scenarios if scored]
    count, scored_in_all = len(scenarios), sum(scored for _, scored in scenarios)
    if count < 2:
        return None
    rate = sum(passed for passed, _ in scenarios) / scored_in_all
    spread = math.fsum((passed - rate * scored) ** 2 for passed, scored in scenarios)
    variance = spread * count / (count - 1) / scored_in_all**2
    effective = rate * (1 - rate) / variance if variance else math.inf
    trials = min(max(effective, count), scored_in_all)
    return _score_interval(rate, trials, student_quantile(confidence, count - 1))


def _score_interval(rate: float, trials: float, quantile: float) -> Interval:
    if not trials:
        return Interval(low=0.0, high=1.0)
    square = quantile**2 / trials
    centre = (rate + square / 2) / (1 + square)
    reach = quantile / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return Interval(low=max(0.0, min(rate, centre - reach)), high=min(1.0, max(rate, centre + reach)))


def needed_trials(rate: float, margin: float, *, confidence: float = CONFIDENCE) -> int:
    """How many trials give a rate like this one an interval that reaches no further than `margin` on average."""
    if not 0 < margin < 1:
        raise ValueError("a margin lies between 0 and 1")

    def is_enough(trials: int) -> bool:
        interval = wilson_interval(rate * trials, trials, confidence=confidence)
        return (interval.high - interval.low) / 2 <= margin

    enough = 1
    while not is_enough(enough):
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return enough


def pass_hat_k(passed: int, scored: int) -> tuple[float, ...]:
    """For k = 1, 2, … all trials: the chance that k tries all pass, unbiased."""
    return tuple(accumulate(((max(passed - drawn, 0) / (scored - drawn)) for drawn in range(scored)), mul))


def pass_at_k(passed: int, scored: int) -> tuple[float, ...]:
    """For k = 1, 2, … all trials: the chance that at least one of k tries passes, unbiased."""
    return tuple(1 - all_fail for all_fail in pass_hat_k(scored - passed, scored))


def disagreement(passed: int, scored: int) -> float | None:
    """The share of pairs of trials that ended differently; unlike a flip it does not grow with the trials."""
    if scored < 2:
        return None
    return 2 * passed * (scored - passed) / (scored * (scored - 1))


def mean(values: Iterable[float]) -> float | None:
    """The same in whatever order the values come: they are summed without rounding."""
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else None


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Of sorted values, with linear interpolation between neighbours: what numpy does unless told otherwise."""
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def student_quantile(confidence: float, freedom: int) -> float:
    """As `normal_quantile`, where the standard error itself is an estimate with so many degrees of freedom."""
    share = _solve(lambda x: incomplete_beta(freedom / 2, 0.5, x), 1 - confidence)
    return math.sqrt(freedom * (1 - share) / share)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: the chance that a beta variable is at most `x`."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta_below(b, a, 1 - x)
    return _beta_below(a, b, x)


def _beta_below(a: float, b: float, x: float) -> float:
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(scale) / a / _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1 + d₁x/(1 + d₂x/(1 + …)) from the front, after Lentz, until a step no longer changes it."""
    value, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(1, 100_000):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value


def _solve(rising: Callable[[float], float], target: float) -> float:
    """Where a rising function of a share reaches the target."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return high

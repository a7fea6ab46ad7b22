"""What a comparison says: verdicts by code, the numbers behind them, and plain sentences.

Sentences claim what the numbers show and no more. How the numbers come about is for `comparing`.
"""

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from groundwire.evals.estimates import Interval


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNCLEAR = "unclear"


class Side(Struct, frozen=True, kw_only=True, rename="camel"):
    """The trials of one side that were compared: scored ones, and of pairs only those that were scored on both sides."""

    passed: int
    scored: int
    p50_ms: float | None
    p95_ms: float | None
    mean_cost: float | None
    """None where any of them has no price."""


class Change(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What became of one part of the matrix. A part of the name that is empty was summed over, or is what differs."""

    model: str = ""
    profile: str = ""
    strategy: str = ""
    scenario: str = ""
    before: Side
    after: Side
    is_paired: bool
    """Both sides had the same trials with the same seeds: McNemar's test instead of Fisher's."""
    difference: float | None
    """Of the rates, for the same mix of scenarios on both sides."""
    interval: Interval | None
    p_value: float
    """Corrected for the number of rows beside this one, as is that of the times."""
    detectable: float | None
    """The smallest difference that would have been found in four of five such comparisons; None where none would."""
    verdict: Verdict
    latency_p_value: float
    latency_verdict: Verdict
    """`better` is faster. Times are never called the same."""
    sentence: str = ""

    @property
    def place(self) -> str:
        combination = " · ".join(filter(None, (self.model, self.profile, self.strategy)))
        places = [f"at {self.scenario}" if self.scenario else "", f"with {combination}" if combination else ""]
        return " ".join(filter(None, places))


class Comparison(Struct, frozen=True, kw_only=True, rename="camel"):
    """`combinations` and `cells` are empty where only one combination was matched."""

    before: str
    after: str
    verdict: Verdict
    """`worse` if anything is: overall or at any scenario."""
    sentence: str
    notes: tuple[str, ...]
    """What else there is to say, of times and costs."""
    overall: Change
    scenarios: tuple[Change, ...]
    combinations: tuple[Change, ...]
    cells: tuple[Change, ...]
    unmatched: tuple[str, ...]
    """Cells of one side that the other does not have."""


def state_verdict(overall: Change, scenarios: Sequence[Change], label: str) -> str:
    """All that is sure in one sentence, the bad news first; what could have been found where nothing is."""
    claims = []
    for verdict in (Verdict.WORSE, Verdict.BETTER):
        if places := [change.scenario for change in scenarios if change.verdict is verdict]:
            claims.append(f"{verdict} at {_enumerate(places)}")
        elif overall.verdict is verdict:
            claims.append(f"{verdict} overall")
    return f"{label} is {' and '.join(claims)}; 95 % sure" if claims else overall.sentence


def state_change(change: Change, label: str, margin: float) -> str:
    before, after, place = change.before, change.after, f" {change.place}".rstrip()
    if not (before.scored and after.scored):
        return f"nothing can be said{place}: there are no scored trials to compare"
    seen = f" ({after.passed} of {after.scored} passed instead of {before.passed} of {before.scored})"
    match change.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            return f"{label} is {change.verdict}{place or ' overall'}; 95 % sure{seen}"
        case Verdict.SAME:
            return f"{label} is as good{place}; 95 % sure that less than {_points(margin)} points lie between"
        case Verdict.UNCLEAR:
            counts = sorted({before.scored, after.scored})
            trials = f"{' and '.join(map(str, counts))} trial{'s' if counts != [1] else ''}"
            shown = f"only differences above {_points(change.detectable)} points" if change.detectable else "none"
            found = seen if change.difference else ""
            return f"no difference was found{place}{found}; with {trials} {shown} would have been"


def state_notes(overall: Change, label: str) -> Iterator[str]:
    before, after = overall.before, overall.after
    if overall.latency_verdict in {Verdict.BETTER, Verdict.WORSE}:
        pace = "faster" if overall.latency_verdict is Verdict.BETTER else "slower"
        yield f"{label} is {pace}; 95 % sure (median {after.p50_ms:.0f} ms instead of {before.p50_ms:.0f} ms)"
    if before.mean_cost and after.mean_cost is not None:
        percent = round(100 * (after.mean_cost / before.mean_cost - 1))
        yield (
            f"a trial cost {abs(percent)} % {'more' if percent > 0 else 'less'}" if percent else "a trial cost the same"
        )


def _points(share: float) -> int:
    return math.ceil(round(100 * share, 3))


def _enumerate(places: Sequence[str]) -> str:
    *others, last = places
    return f"{', '.join(others)} and {last}" if others else last

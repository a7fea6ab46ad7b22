"""Whether what came after is better or worse than what was before, and how sure one may be of it.

Made from the records of two runs, or of two halves of one. A difference is claimed only where a test, corrected for how
many were made, finds it; that there is none only where the interval is narrow enough; everything else is `unclear`, with
what so few trials could have shown. It runs nothing and renders nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from groundwire.evals.estimates import CONFIDENCE, Interval, mean, percentile
from groundwire.evals.records import Combination, TrialRecord
from groundwire.evals.significance import (
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
)
from groundwire.evals.statistics import CellRecords, cells_of
from groundwire.evals.verdicts import Change, Comparison, Side, Verdict, state_change, state_notes, state_verdict

MARGIN = 0.1
"""Rates that are surely less than this apart are called the same."""


class _Part(NamedTuple):
    model: str = ""
    profile: str = ""
    strategy: str = ""
    scenario: str = ""


class _Cell(NamedTuple):
    part: _Part
    before: list[TrialRecord]
    after: list[TrialRecord]


_Group = tuple[_Part, list[_Cell]]


class _Matching(NamedTuple):
    labels: tuple[str, str]
    cells: list[_Cell]
    unmatched: list[str]


class _Measured(NamedTuple):
    before: Side
    after: Side
    is_paired: bool
    correlation: float
    rates: tuple[float, float] | None
    p_value: float
    latency_score: float
    latency_p_value: float


def compare(
    before: Iterable[TrialRecord],
    after: Iterable[TrialRecord],
    *,
    labels: tuple[str, str] | None = None,
    margin: float = MARGIN,
) -> Comparison:
    """Compare trials of the same combination and scenario.

    A model, profile or strategy that is the only one on each side, but another one, is what is compared: it need not be
    equal, and gives the sides their labels.
    """
    matching = _match(cells_of(before), cells_of(after))
    cells, (before_label, after_label) = matching.cells, labels or matching.labels
    by_scenario, by_combination = _group(cells, keep="scenario"), _group(cells, keep="combination")
    if len(by_scenario) == 1:  # twice the same question: it needs no correction for being two
        (overall,) = _judge([(_Part(), cells)], after_label, margin)
        scenarios = _judge(by_scenario, after_label, margin)
    else:
        overall, *scenarios = _judge([(_Part(), cells), *by_scenario], after_label, margin)
    has_several = len(by_combination) > 1
    by_cell = [(cell.part, [cell]) for cell in cells]
    verdicts = {overall.verdict, *(change.verdict for change in scenarios)}
    return Comparison(
        before=before_label,
        after=after_label,
        verdict=next((claim for claim in (Verdict.WORSE, Verdict.BETTER) if claim in verdicts), overall.verdict),
        sentence=state_verdict(overall, scenarios, after_label),
        notes=tuple(state_notes(overall, after_label)),
        overall=overall,
        scenarios=tuple(scenarios),
        combinations=tuple(_judge(by_combination, after_label, margin)) if has_several else (),
        cells=tuple(_judge(by_cell, after_label, margin)) if has_several else (),
        unmatched=tuple(matching.unmatched),
    )


def _match(before: CellRecords, after: CellRecords) -> _Matching:
    values = [
        ({combination[place] for combination, _ in before}, {combination[place] for combination, _ in after})
        for place in range(3)
    ]
    is_compared = [len(first) == len(second) == 1 and first != second for first, second in values]

    def find_part(combination: Combination, scenario: str) -> _Part:
        model, profile, strategy = (
            "" if compared else name for name, compared in zip(combination, is_compared, strict=True)
        )
        return _Part(model, profile, strategy, scenario)

    def find_label(side: int) -> str:
        chosen = (sides[side] for sides, compared in zip(values, is_compared, strict=True) if compared)
        return " · ".join(chain.from_iterable(chosen)) or "AB"[side]

    first = {find_part(*name): trials for name, trials in before.items()}
    second = {find_part(*name): trials for name, trials in after.items()}
    return _Matching(
        labels=(find_label(0), find_label(1)),
        cells=[_Cell(part, first[part], second[part]) for part in sorted(first.keys() & second.keys())],
        unmatched=[" · ".join(filter(None, part)) for part in sorted(first.keys() ^ second.keys())],
    )


def _group(cells: Iterable[_Cell], *, keep: str) -> list[_Group]:
    groups: dict[_Part, list[_Cell]] = defaultdict(list)
    for cell in cells:
        part = _Part(scenario=cell.part.scenario) if keep == "scenario" else cell.part._replace(scenario="")
        groups[part].append(cell)
    return sorted(groups.items())


def _judge(groups: Sequence[_Group], label: str, margin: float) -> list[Change]:
    """The rows of one table, each corrected for all of them: 95 % is said of the table, not of a row."""
    measured = [_measure(cells) for _, cells in groups]
    p_values = holm([one.p_value for one in measured])
    latency_p_values = holm([one.latency_p_value for one in measured])
    changes = [
        _conclude(part, one, p_value, latency_p_value, tests=len(groups), margin=margin)
        for (part, _), one, p_value, latency_p_value in zip(groups, measured, p_values, latency_p_values, strict=True)
    ]
    return [replace(change, sentence=state_change(change, label, margin)) for change in changes]


def _measure(cells: Sequence[_Cell]) -> _Measured:
    pairs = [paired for cell in cells if (paired := _pair(cell)) is not None]
    is_paired = bool(cells) and len(pairs) == len(cells)
    if is_paired:
        sides = [([one for one, _ in paired], [other for _, other in paired]) for paired in pairs]
    else:
        sides = [(_scored(cell.before), _scored(cell.after)) for cell in cells]
    sides = [(first, second) for first, second in sides if first and second]
    tables = [Table(_passed(first), len(first), _passed(second), len(second)) for first, second in sides]
    both, lost, won, neither = _count_ends(pairs) if is_paired else (0, 0, 0, 0)
    times = rank_test(
        ([one.latency_ms for one in first], [one.latency_ms for one in second]) for first, second in sides
    )
    return _Measured(
        before=_describe([record for first, _ in sides for record in first]),
        after=_describe([record for _, second in sides for record in second]),
        is_paired=is_paired,
        correlation=pair_correlation(both, lost, won, neither),
        rates=standardise_rates(tables) if tables else None,
        p_value=mcnemar_exact(lost, won) if is_paired else fisher_exact(tables),
        latency_score=times.score,
        latency_p_value=times.p_value,
    )


def _pair(cell: _Cell) -> list[tuple[TrialRecord, TrialRecord]] | None:
    """Trials that were scored on both sides; None where any trial has no counterpart with its number and seed."""
    before = {(record.trial.number, record.seed): record for record in cell.before}
    after = {(record.trial.number, record.seed): record for record in cell.after}
    if before.keys() != after.keys():
        return None
    return [(one, after[key]) for key, one in before.items() if one.is_scored and after[key].is_scored]


def _count_ends(pairs: Iterable[list[tuple[TrialRecord, TrialRecord]]]) -> tuple[int, int, int, int]:
    ends = [(one.passed, other.passed) for paired in pairs for one, other in paired]
    return ends.count((True, True)), ends.count((True, False)), ends.count((False, True)), ends.count((False, False))


def _conclude(
    part: _Part, measured: _Measured, p_value: float, latency_p_value: float, *, tests: int, margin: float
) -> Change:
    level, difference, interval, detectable = 1 - CONFIDENCE, None, None, None
    verdict, latency_verdict = Verdict.UNCLEAR, Verdict.UNCLEAR
    if measured.rates:
        before = Rate(measured.rates[0], measured.before.scored)
        after = Rate(measured.rates[1], measured.after.scored)
        difference = after.value - before.value
        interval = difference_interval(before, after, correlation=measured.correlation)
        trials = 2 / (1 / before.scored + 1 / after.scored)
        detectable = detectable_difference(before.value, trials, confidence=1 - level / tests)
        verdict = _decide(difference, interval, is_sure=p_value <= level, margin=margin)
    if latency_p_value <= level:
        latency_verdict = Verdict.WORSE if measured.latency_score > 0 else Verdict.BETTER
    return Change(
        **part._asdict(),
        before=measured.before,
        after=measured.after,
        is_paired=measured.is_paired,
        difference=difference,
        interval=interval,
        p_value=p_value,
        detectable=detectable,
        verdict=verdict,
        latency_p_value=latency_p_value,
        latency_verdict=latency_verdict,
    )


def _decide(difference: float, interval: Interval, *, is_sure: bool, margin: float) -> Verdict:
    if is_sure:
        return Verdict.BETTER if difference > 0 else Verdict.WORSE
    if -margin < interval.low and interval.high < margin:
        return Verdict.SAME
    return Verdict.UNCLEAR


def _scored(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    return [record for record in records if record.is_scored]


def _passed(records: Iterable[TrialRecord]) -> int:
    return sum(record.passed for record in records)


def _describe(records: Sequence[TrialRecord]) -> Side:
    times = sorted(record.latency_ms for record in records)
    costs = [record.cost for record in records if record.cost is not None]
    return Side(
        passed=_passed(records),
        scored=len(records),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        mean_cost=mean(costs) if len(costs) == len(records) else None,
    )

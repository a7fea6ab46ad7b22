"""What the records of a run add up to: overall, by model, by combination, by scenario, and for each cell of the matrix.

Made from records alone, in whatever order they come, and always the same. It draws nothing, reads nothing, and does not
say whether one row is better than another: that is for `comparing`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from groundwire.evals.estimates import (
    Interval,
    clustered_interval,
    disagreement,
    mean,
    pass_at_k,
    pass_hat_k,
    percentile,
    wilson_interval,
)
from groundwire.evals.records import Combination, Tokens, Total, TrialRecord

CellRecords = dict[tuple[Combination, str], list[TrialRecord]]


class MeanTokens(Struct, frozen=True, kw_only=True, rename="camel"):
    input: float
    output: float


class Cell(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One row of numbers. A part of the name that is empty was summed over.

    Rates, times and mean tokens are those of scored trials; costs and tokens are what all of them spent.
    """

    model: str = ""
    profile: str = ""
    strategy: str = ""
    scenario: str = ""
    passed: int
    scored: int
    invalid: int
    rate: float | None
    interval: Interval
    """Wilson's, 95 %, for these very scenarios."""
    clustered: Interval | None
    """For other scenarios like these; None where there is only one."""
    pass_at_k: tuple[float, ...]
    """For k = 1, 2, … as many trials as every cell has: the mean over cells."""
    pass_hat_k: tuple[float, ...]
    flip_rate: float | None
    """The share of cells with two trials or more where not all ended alike."""
    disagreement: float | None
    """The share of pairs of trials that ended differently: the mean over cells."""
    p50_ms: float | None
    p95_ms: float | None
    tokens: Tokens
    mean_tokens: MeanTokens | None
    cost: float | None
    """None where no trial has a price; else the sum of those that have, and `unpriced` counts the others."""
    unpriced: int
    codes: dict[str, int]
    """Trials that did not pass, by kind of failure, the most frequent first."""
    blames: dict[str, int]
    counts: dict[str, dict[str, int]]
    """By check, the sums of what it counted in scored trials."""

    @property
    def combination(self) -> Combination:
        return self.model, self.profile, self.strategy


class Summary(Struct, frozen=True, kw_only=True, rename="camel"):
    """Rows are sorted by name."""

    overall: Cell
    models: tuple[Cell, ...]
    combinations: tuple[Cell, ...]
    scenarios: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    totals: tuple[Total, ...] = ()
    """What the suite itself counts."""


def summarise(records: Iterable[TrialRecord], totals: tuple[Total, ...] = ()) -> Summary:
    cells = cells_of(records)
    models: dict[str, list[list[TrialRecord]]] = defaultdict(list)
    combinations: dict[Combination, list[list[TrialRecord]]] = defaultdict(list)
    scenarios: dict[str, list[list[TrialRecord]]] = defaultdict(list)
    for (combination, scenario), trials in cells.items():
        models[combination[0]].append(trials)
        combinations[combination].append(trials)
        scenarios[scenario].append(trials)
    return Summary(
        overall=_add_up(list(cells.values())),
        models=tuple(_add_up(rows, model=model) for model, rows in models.items()),
        combinations=tuple(
            _add_up(rows, model=model, profile=profile, strategy=strategy)
            for (model, profile, strategy), rows in combinations.items()
        ),
        scenarios=tuple(_add_up(scenarios[scenario], scenario=scenario) for scenario in sorted(scenarios)),
        cells=tuple(
            _add_up([trials], model=model, profile=profile, strategy=strategy, scenario=scenario)
            for ((model, profile, strategy), scenario), trials in cells.items()
        ),
        totals=totals,
    )


def cells_of(records: Iterable[TrialRecord]) -> CellRecords:
    """The trials of each combination and scenario, sorted. Of a trial that was run again the last record counts."""
    latest = {record.trial: record for record in records}
    cells: CellRecords = defaultdict(list)
    for trial, record in latest.items():
        cells[trial.combination, trial.scenario].append(record)
    return {name: sorted(cells[name], key=lambda record: record.trial.number) for name in sorted(cells)}


def _add_up(
    cells: Sequence[list[TrialRecord]], *, model: str = "", profile: str = "", strategy: str = "", scenario: str = ""
) -> Cell:
    records = [record for trials in cells for record in trials]
    scored = [record for record in records if record.is_scored]
    counts = [_count_passed(trials) for trials in cells]
    passed = sum(passed for passed, _ in counts)
    times = sorted(record.latency_ms for record in scored)
    prices = [record.cost for record in records if record.cost is not None]
    failures = [record for record in records if not record.passed]
    disagreements = [share for share in (disagreement(*count) for count in counts) if share is not None]
    return Cell(
        model=model,
        profile=profile,
        strategy=strategy,
        scenario=scenario,
        passed=passed,
        scored=len(scored),
        invalid=len(records) - len(scored),
        rate=passed / len(scored) if scored else None,
        interval=wilson_interval(passed, len(scored)),
        clustered=clustered_interval(_count_by_scenario(cells)),
        pass_at_k=_mean_by_k([pass_at_k(*count) for count in counts]),
        pass_hat_k=_mean_by_k([pass_hat_k(*count) for count in counts]),
        flip_rate=mean(float(share > 0) for share in disagreements),
        disagreement=mean(disagreements),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        tokens=Tokens(
            input=sum(record.tokens.input for record in records),
            output=sum(record.tokens.output for record in records),
        ),
        mean_tokens=_mean_tokens(scored),
        cost=math.fsum(prices) if prices else None,
        unpriced=len(records) - len(prices),
        codes=_most_frequent(record.code or "unspecified" for record in failures),
        blames=_most_frequent(record.blame.value for record in failures if record.blame),
        counts=_sum_counts(scored),
    )


def _count_passed(trials: Iterable[TrialRecord]) -> tuple[int, int]:
    ends = [record.passed for record in trials if record.is_scored]
    return sum(ends), len(ends)


def _count_by_scenario(cells: Iterable[list[TrialRecord]]) -> list[tuple[int, int]]:
    passed: Counter[str] = Counter()
    scored: Counter[str] = Counter()
    for trials in cells:
        scenario = trials[0].trial.scenario
        passed_here, scored_here = _count_passed(trials)
        passed[scenario] += passed_here
        scored[scenario] += scored_here
    return [(passed[scenario], scored[scenario]) for scenario in sorted(scored)]


def _mean_by_k(cells: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    """As far as every cell reaches: a mean over other cells for each k could not be compared along k."""
    return tuple(math.fsum(chances) / len(chances) for chances in zip(*filter(None, cells), strict=False))


def _mean_tokens(scored: Sequence[TrialRecord]) -> MeanTokens | None:
    if not scored:
        return None
    return MeanTokens(
        input=sum(record.tokens.input for record in scored) / len(scored),
        output=sum(record.tokens.output for record in scored) / len(scored),
    )


def _most_frequent(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _sum_counts(scored: Iterable[TrialRecord]) -> dict[str, dict[str, int]]:
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for record in scored:
        for finding in record.findings:
            if finding.counts:
                sums[finding.check].update(finding.counts)
    return {check: dict(sorted(sums[check].items())) for check in sorted(sums)}

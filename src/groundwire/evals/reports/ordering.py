"""The order in which every form of a report tells things, whatever order the trials were made in."""

from collections.abc import Iterable, Sequence

from groundwire.evals.records import EvalRun, TrialRecord
from groundwire.evals.statistics import Cell, Summary


def order_records(run: EvalRun, records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """As the run names their models, profiles, strategies and scenarios. Of a trial that was run again the last counts."""
    latest = {record.trial: record for record in records}
    places = [_places(names) for names in (run.models, run.profiles, run.strategies, run.scenarios)]

    def key(record: TrialRecord) -> tuple[object, ...]:
        names = (*record.trial.combination, record.trial.scenario)
        named = ((of.get(name, len(of)), name) for of, name in zip(places, names, strict=True))
        return (*named, record.trial.number)

    return sorted(latest.values(), key=key)


def rank(summary: Summary) -> list[Cell]:
    """Combinations, the best first, and of equally good ones the faster first."""
    unscored = float("inf")
    return sorted(
        summary.combinations,
        key=lambda cell: (
            -1.0 if cell.rate is None else cell.rate,
            cell.scored,
            -(unscored if cell.p95_ms is None else cell.p95_ms),
        ),
        reverse=True,
    )


def order_scenarios(run: EvalRun, summary: Summary) -> list[str]:
    """Those that were run, in the order in which the run names them."""
    places = _places(run.scenarios)
    return sorted((cell.scenario for cell in summary.scenarios), key=lambda name: (places.get(name, len(places)), name))


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}

"""The tables of a report, as words: Markdown, the terminal and the page lay them out."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from groundwire.evals.records import Blame, EvalRun, TrialRecord
from groundwire.evals.reports.figures import say_interval, say_milliseconds, say_rate
from groundwire.evals.reports.ordering import order_scenarios, rank
from groundwire.evals.statistics import Cell, Summary
from groundwire.evals.verdicts import Comparison

NEAR_PERFECT = 0.96


@dataclass(frozen=True, kw_only=True)
class Table:
    """`numbers` are the columns that are aligned to the right."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()


def code_of(record: TrialRecord) -> str:
    """The kind of failure; empty where there was none."""
    return record.code or ("" if record.passed else "unspecified")


def notes_of(run: EvalRun, cell: Cell) -> str:
    near = "near-perfect" if cell.rate is not None and NEAR_PERFECT <= cell.rate < 1 else ""
    invalid = f"{cell.invalid} invalid" if cell.invalid else ""
    return "; ".join(filter(None, (near, invalid, run.notes.get(cell.model, ""))))


def results_table(run: EvalRun, summary: Summary) -> Table:
    """One row per combination. Strategies are told where there are several."""
    has_strategies = len({cell.strategy for cell in summary.combinations}) > 1
    rows = [
        (
            cell.model,
            cell.profile,
            *((cell.strategy,) if has_strategies else ()),
            f"{cell.passed}/{cell.scored}",
            say_milliseconds(cell.p95_ms),
            notes_of(run, cell),
        )
        for cell in rank(summary)
    ]
    strategy = ("strategy",) if has_strategies else ()
    headers = ("model", "sampling_profile", *strategy, "ok", "p95_ms", "notes")
    return Table(headers=headers, rows=tuple(rows), numbers=frozenset({"ok", "p95_ms"}))


def totals_table(summary: Summary) -> Table:
    """What the suite itself counts. Models are told where there are several."""
    has_models = len({total.model for total in summary.totals}) > 1
    rows = [
        (
            *((total.model,) if has_models else ()),
            total.name,
            f"{total.count}/{total.of}",
            "–" if total.share is None else f"{100 * total.share:.1f} %",
        )
        for total in summary.totals
    ]
    headers = (*(("model",) if has_models else ()), "total", "count", "share")
    return Table(headers=headers, rows=tuple(rows), numbers=frozenset({"count", "share"}))


def scenarios_table(run: EvalRun, summary: Summary) -> Table:
    found = {cell.scenario: cell for cell in summary.scenarios}
    rows = [
        (
            cell.scenario,
            f"{cell.passed}/{cell.scored}",
            say_rate(cell.rate),
            say_interval(cell.interval),
            say_milliseconds(cell.p95_ms),
            ", ".join(f"{code} {count}" for code, count in cell.codes.items()),
        )
        for cell in (found[name] for name in order_scenarios(run, summary))
    ]
    headers = ("scenario", "ok", "rate", "interval_95", "p95_ms", "failures")
    return Table(headers=headers, rows=tuple(rows), numbers=frozenset(headers[1:-1]))


def failures_table(records: Iterable[TrialRecord]) -> Table:
    """By code and blame, the most frequent first, with where it happened."""
    counts: Counter[tuple[str, str]] = Counter()
    places: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        if not record.passed:
            key = code_of(record), (record.blame or Blame.MODEL).value
            counts[key] += 1
            places[key][record.trial.scenario] += 1
    rows = [
        (
            code,
            blame,
            str(count),
            ", ".join(f"{name} {n}" for name, n in places[code, blame].most_common(3)),
        )
        for (code, blame), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Table(headers=("code", "blame", "count", "where"), rows=tuple(rows), numbers=frozenset({"count"}))


def comparison_table(comparison: Comparison) -> Table:
    """The whole, then scenarios, then combinations; verdicts are about `after`."""
    changes = (comparison.overall, *comparison.scenarios, *comparison.combinations)
    rows = [
        (
            " · ".join(filter(None, (change.model, change.profile, change.strategy, change.scenario))) or "overall",
            f"{change.before.passed}/{change.before.scored}",
            f"{change.after.passed}/{change.after.scored}",
            "–" if change.difference is None else f"{_points(change.difference):+d}",
            "–"
            if change.interval is None
            else f"{_points(change.interval.low):+d} to {_points(change.interval.high):+d}",
            change.verdict.value,
        )
        for change in changes
    ]
    headers = ("part", comparison.before, comparison.after, "points", "interval_95", "verdict")
    return Table(headers=headers, rows=tuple(rows), numbers=frozenset(headers[1:5]))


def _points(share: float) -> int:
    return round(100 * share)

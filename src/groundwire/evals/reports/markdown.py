"""The report as Markdown: for pull requests, for the summary of a job, and to be read as it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groundwire.evals.records import EvalRun, TrialRecord
from groundwire.evals.reports.figures import say_cost, say_interval, say_plural, say_rate
from groundwire.evals.reports.tables import (
    Table,
    comparison_table,
    failures_table,
    results_table,
    scenarios_table,
    totals_table,
)
from groundwire.evals.statistics import Summary
from groundwire.evals.verdicts import Comparison

STEP_SUMMARY_BYTES = 1024 * 1024
"""What GitHub shows of one step; of more it shows nothing."""

# Spelled so that a text stays a text: no table cell ends early, nothing becomes a link, an image or an element.
_SPELLED = str.maketrans(
    {char: f"\\{char}" for char in "\\`*[]|~#"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
    | dict.fromkeys((*range(32), 127), " ")
)


def write_markdown(
    run: EvalRun, records: Sequence[TrialRecord], summary: Summary, comparison: Comparison | None = None
) -> str:
    total = summary.overall
    facts = [
        f"**{total.passed}/{total.scored}** passed ({say_rate(total.rate)}, 95 % interval {say_interval(total.interval)})",
        f"{total.invalid} not scored" if total.invalid else "",
        f"cost {say_cost(total.cost)}" if total.cost is not None else "",
        "live" if run.is_live else "simulated",
        f"{say_plural(run.trials, 'trial')} each",
        f"seed {run.seed}",
    ]
    parts = [f"# Evaluation: {spell(run.suite)}", " · ".join(filter(None, facts))]
    if comparison is not None:
        parts += [
            f"## {spell(comparison.before)} and {spell(comparison.after)}",
            "\n".join(f"- {spell(claim)}" for claim in (comparison.sentence, *comparison.notes)),
            format_table(comparison_table(comparison)),
        ]
    parts += ["## Results", format_table(results_table(run, summary))]
    if summary.totals:
        parts += ["## Totals", format_table(totals_table(summary))]
    parts += ["## Scenarios", format_table(scenarios_table(run, summary))]
    failures = failures_table(records)
    if failures.rows:
        parts += ["## Failures", format_table(failures)]
    return "\n\n".join(parts) + "\n"


def format_table(table: Table) -> str:
    rules = ["---:" if name in table.numbers else "---" for name in table.headers]
    rows = [[spell(cell) for cell in row] for row in (table.headers, *table.rows)]
    lines = [rows[0], rules, *rows[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def spell(text: str) -> str:
    return text.translate(_SPELLED)


def append_step_summary(markdown: str, environment: Mapping[str, str]) -> bool:
    """Show the report on the page of a GitHub job; false where there is none. What is too long is cut at a line."""
    if not (name := environment.get("GITHUB_STEP_SUMMARY")):
        return False
    target = Path(name)
    body = markdown.encode("utf-8", "replace")
    cut = b"\n\nThe rest is in report.md.\n"
    written = target.stat().st_size if target.exists() else 0
    room = STEP_SUMMARY_BYTES - written
    if len(body) > room:
        body = body[: body.rfind(b"\n", 0, max(0, room - len(cut))) + 1] + cut if room > len(cut) else b""
    with target.open("ab") as file:
        file.write(body)
    return True

"""The whole page. Tables and drawings are plain HTML and SVG, so it reads and prints without its script.

The script lists the trials and shows one when asked. The page's own policy lets it load nothing and run that script alone.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from groundwire.evals.records import Combination, EvalRun, TrialRecord
from groundwire.evals.reports.ordering import order_scenarios, rank
from groundwire.evals.reports.page.breakdown import draw_breakdown
from groundwire.evals.reports.page.details import data_block, pack_details
from groundwire.evals.reports.page.heatmap import draw_heatmap, draw_scale
from groundwire.evals.reports.page.latencies import draw_latencies
from groundwire.evals.reports.page.markup import Markup, join, tag, void
from groundwire.evals.reports.page.sections import (
    draw_comparison,
    draw_drawer,
    draw_header,
    draw_results,
    draw_section,
    draw_table,
    draw_trials,
)
from groundwire.evals.reports.tables import code_of, totals_table
from groundwire.evals.statistics import Cell, Summary
from groundwire.evals.verdicts import Comparison


def write_page(
    run: EvalRun, records: Sequence[TrialRecord], summary: Summary, comparison: Comparison | None = None
) -> bytes:
    combinations = rank(summary)
    scenarios = order_scenarios(run, summary)
    has_failures = any(not record.passed for record in records)
    main = tag(
        "main",
        draw_header(run, summary),
        draw_section(
            "Success",
            draw_heatmap(combinations, scenarios, summary.cells),
            note="rate and 95 % interval",
            aside=draw_scale(),
        ),
        draw_section("Results", draw_results(run, combinations)),
        draw_section("Totals", draw_table(totals_table(summary))) if summary.totals else None,
        draw_section(
            "Latency",
            draw_latencies(combinations, _latencies(records)),
            note="of scored trials: median, middle half, 5 to 95 %",
        ),
        draw_section("Failures", draw_breakdown(combinations, records)) if has_failures else None,
        draw_section("Comparison", draw_comparison(comparison)) if comparison is not None else None,
        draw_trials(),
    )
    script = Markup(files(__package__).joinpath("page.js").read_text("utf-8"))
    style = Markup(files(__package__).joinpath("page.css").read_text("utf-8"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        tag("title", f"{run.suite} · evaluation"),
        tag("style", style),
    )
    data = _data(combinations, scenarios, records)
    body = tag("body", main, draw_drawer(), data, tag("script", script))
    return join((Markup("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")).encode("utf-8", "replace")


def _latencies(records: Sequence[TrialRecord]) -> dict[Combination, list[float]]:
    """Of scored trials, as the percentiles are."""
    found: dict[Combination, list[float]] = {}
    for record in records:
        if record.is_scored:
            found.setdefault(record.trial.combination, []).append(record.latency_ms)
    return found


def _data(combinations: Sequence[Cell], scenarios: Sequence[str], records: Sequence[TrialRecord]) -> Markup:
    packed = pack_details(records)
    rows = {cell.combination: number for number, cell in enumerate(combinations)}
    columns = {name: number for number, name in enumerate(scenarios)}
    trials = [
        {
            "seed": record.seed,
            "combination": rows[record.trial.combination],
            "scenario": columns[record.trial.scenario],
            "number": record.trial.number,
            "status": record.status,
            "code": code_of(record),
            "blame": record.blame,
            "latency": round(record.latency_ms, 1),
            "input": record.tokens.input,
            "output": record.tokens.output,
            "cost": record.cost,
            "calls": len(record.calls),
            "place": packed.places.get(number),
        }
        for number, record in enumerate(records)
    ]
    names = [cell.combination for cell in combinations]
    chunks = [
        tag("script", Markup(chunk), type="text/plain", id=f"chunk-{number}")
        for number, chunk in enumerate(packed.chunks)
    ]
    return join((data_block("data", {"combinations": names, "scenarios": scenarios, "trials": trials}), chunks))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

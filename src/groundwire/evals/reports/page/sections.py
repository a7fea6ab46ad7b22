"""The parts of the page that are words and tables: its head, the results, and the frames that the script fills."""

from collections.abc import Sequence

from groundwire.evals.records import EvalRun
from groundwire.evals.reports.figures import say_cost, say_count, say_duration, say_interval, say_plural, say_rate
from groundwire.evals.reports.page.markup import Markup, breakable, join, tag
from groundwire.evals.reports.tables import Table, comparison_table, notes_of
from groundwire.evals.statistics import Cell, Summary
from groundwire.evals.verdicts import Comparison


def draw_header(run: EvalRun, summary: Summary) -> Markup:
    total = summary.overall
    tokens = total.tokens.input + total.tokens.output
    facts = [
        (
            "Passed",
            say_rate(total.rate),
            f"{say_count(total.passed)} of {say_count(total.scored)} ({say_interval(total.interval)})",
        ),
        ("Not scored", say_count(total.invalid), "the model is not to blame"),
        ("Latency", say_duration(total.p50_ms), f"median; p95 {say_duration(total.p95_ms)}"),
        ("Tokens", say_count(tokens), f"{say_count(total.tokens.output)} of them written"),
        ("Cost", say_cost(total.cost), _say_prices(total)),
    ]
    about = [
        "live" if run.is_live else "simulated",
        say_plural(len(summary.combinations), "combination"),
        say_plural(len(summary.scenarios), "scenario"),
        say_plural(run.trials, "trial") + " each",
        f"seed {run.seed}",
    ]
    where = " · ".join(filter(None, (run.run_id, run.created_at, f"groundwire {run.version}" if run.version else "")))
    return tag(
        "header",
        tag("p", "Evaluation", class_="kicker"),
        tag("h1", run.suite),
        tag("p", " · ".join(about)),
        tag("p", where, class_="quiet"),
        tag(
            "dl",
            [
                tag("div", tag("dt", name), tag("dd", tag("b", figure), tag("small", text)))
                for name, figure, text in facts
            ],
            class_="facts",
        ),
    )


def _say_prices(total: Cell) -> str:
    if total.cost is None:
        return "no prices known"
    return f"{say_plural(total.unpriced, 'trial')} without a price" if total.unpriced else "for all trials"


def draw_section(title: str, *content: object, note: str = "", aside: Markup | None = None) -> Markup:
    heading = tag("h2", title, tag("small", note) if note else None)
    return tag("section", tag("div", heading, aside, class_="heading"), content, id=title.lower())


def draw_results(run: EvalRun, combinations: Sequence[Cell]) -> Markup:
    columns = (
        ("model", ""),
        ("sampling_profile", ""),
        ("strategy", ""),
        ("ok", "number"),
        ("rate", "number"),
        ("95 % interval", "number"),
        ("p50_ms", "number"),
        ("p95_ms", "number"),
        ("tokens", "number"),
        ("cost", "number"),
        ("notes", "notes"),
    )
    head = tag(
        "tr",
        [tag("th", tag("button", name, type="button"), scope="col", class_=kind or None) for name, kind in columns],
    )
    rows = [tag("tr", _result_cells(run, cell)) for cell in combinations]
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", rows), class_="results"),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Results by combination",
    )


def _result_cells(run: EvalRun, cell: Cell) -> list[Markup]:
    tokens = cell.tokens.input + cell.tokens.output

    def number(value: float | None, text: str) -> Markup:
        return tag("td", text, class_="number", data_value=-1 if value is None else value)

    return [
        tag("td", tag("b", breakable(cell.model))),
        tag("td", cell.profile, class_="word"),
        tag("td", cell.strategy, class_="word"),
        number(cell.passed, f"{cell.passed}/{cell.scored}"),
        number(cell.rate, say_rate(cell.rate)),
        number(cell.interval.low, say_interval(cell.interval)),
        number(cell.p50_ms, "–" if cell.p50_ms is None else say_count(round(cell.p50_ms))),
        number(cell.p95_ms, "–" if cell.p95_ms is None else say_count(round(cell.p95_ms))),
        number(tokens, say_count(tokens)),
        number(cell.cost, say_cost(cell.cost)),
        tag("td", notes_of(run, cell), class_="notes"),
    ]


def draw_table(table: Table) -> Markup:
    kinds = [("number" if name in table.numbers else None) for name in table.headers]
    head = tag(
        "tr", [tag("th", name, scope="col", class_=kind) for name, kind in zip(table.headers, kinds, strict=True)]
    )
    rows = [
        tag("tr", [tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)]) for row in table.rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", rows), class_="results"), class_="scroll")


def draw_comparison(comparison: Comparison) -> Markup:
    said = tag("div", tag("p", comparison.sentence), [tag("p", note) for note in comparison.notes], class_="lead")
    return join((said, draw_table(comparison_table(comparison))))


def draw_trials() -> Markup:
    """Filters and an empty list; the script knows the choices and the rows."""
    filters = [
        tag("label", name, tag("select", id=f"filter-{key}"))
        for key, name in (
            ("combination", "Combination"),
            ("scenario", "Scenario"),
            ("status", "Result"),
            ("code", "Code"),
        )
    ]
    columns = (
        ("Result", ""),
        ("Scenario", ""),
        ("Combination", ""),
        ("Code", ""),
        ("Latency", "number"),
        ("Calls", "number"),
        ("Tokens", "number"),
    )
    table = tag(
        "table",
        tag("thead", tag("tr", [tag("th", name, scope="col", class_=kind or None) for name, kind in columns])),
        tag("tbody", id="trial-rows"),
        class_="trials",
    )
    return draw_section(
        "Trials",
        tag("div", filters, tag("button", "All trials", type="button", id="filter-clear"), class_="filters"),
        tag(
            "noscript",
            tag("p", "Trials are listed by the page's script. All of them are in trials.jsonl, beside this file."),
        ),
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Trials"),
        tag("button", type="button", id="trial-more", hidden="hidden"),
        aside=tag("p", id="trial-count", role="status"),
    )


def draw_drawer() -> Markup:
    """Where one trial is shown."""
    return tag(
        "dialog",
        tag(
            "div",
            tag("h2", id="trial-title"),
            tag("button", "Previous", type="button", id="trial-previous"),
            tag("button", "Next", type="button", id="trial-next"),
            tag("button", "Close", type="button", id="trial-close"),
            class_="bar",
        ),
        tag("div", id="trial-body", tabindex="0"),
        id="trial",
        aria_labelledby="trial-title",
    )

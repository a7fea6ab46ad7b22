"""The heat map: combinations by scenarios, in each cell the rate, its interval as text and as a bar.

Its colours go from orange to blue, which colour-blind people tell apart, and the number stands in every cell.
"""

from collections.abc import Sequence

from groundwire.evals.reports.figures import percent, say_interval, say_rate
from groundwire.evals.reports.page.markup import Markup, breakable, tag, void
from groundwire.evals.statistics import Cell

# From which percentage on, as it is shown, a cell has which colour; the last is for cells without a failure.
STEPS = (0, 20, 40, 60, 80, 90, 100)


def draw_heatmap(combinations: Sequence[Cell], scenarios: Sequence[str], cells: Sequence[Cell]) -> Markup:
    found = {(cell.combination, cell.scenario): cell for cell in cells}
    head = tag(
        "tr",
        tag("th", "Combination", scope="col", class_="corner"),
        tag("th", "All", scope="col", class_="all"),
        [tag("th", breakable(name), scope="col") for name in scenarios],
    )
    rows = []
    for number, row in enumerate(combinations):
        of_row = [found.get((row.combination, name)) for name in scenarios]
        rows.append(
            tag(
                "tr",
                tag("th", label(row), scope="row"),
                _cell(row, number, None, "all scenarios"),
                [_cell(cell, number, column, scenarios[column]) for column, cell in enumerate(of_row)],
            )
        )
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", rows), class_="heat"),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Success by combination and scenario",
    )


def draw_scale() -> Markup:
    """What the colours mean."""
    return tag(
        "ol",
        [tag("li", f"{low} %" if low == STEPS[-1] else low, class_=f"step-{step}") for step, low in enumerate(STEPS)],
        class_="scale",
        aria_label="Colours by success rate, each from this rate on",
    )


def label(cell: Cell) -> Markup:
    """A combination's name on two lines."""
    return Markup(
        tag("b", breakable(cell.model)) + tag("small", breakable(cell.profile), " · ", breakable(cell.strategy))
    )


def _cell(cell: Cell | None, row: int, column: int | None, scenario: str) -> Markup:
    if cell is None:
        return tag("td", tag("span", "·", title="not run"), class_="none")
    counts = f"{cell.passed} of {cell.scored} passed" if cell.scored else "nothing scored"
    invalid = f", {cell.invalid} invalid" if cell.invalid else ""
    text = f"{cell.model} · {cell.profile} · {cell.strategy}, {scenario}: {counts}{invalid}, 95 % interval {say_interval(cell.interval)}"
    button = tag(
        "button",
        tag("b", say_rate(cell.rate)),
        tag("small", say_interval(cell.interval) if cell.scored else "not scored"),
        _bar(cell),
        type="button",
        data_combination=row,
        data_scenario=column,
        title=text,
        aria_label=text,
    )
    return tag("td", button, class_=None if cell.rate is None else f"step-{_step(cell.rate)}")


def _step(rate: float) -> int:
    return max(step for step, low in enumerate(STEPS) if percent(rate) >= low)


def _bar(cell: Cell) -> Markup | None:
    if cell.rate is None:
        return None
    low, high, rate = (round(100 * share, 1) for share in (cell.interval.low, cell.interval.high, cell.rate))
    return tag(
        "svg",
        void("rect", width=100, y=1.5, height=1, class_="track"),
        void("rect", x=low, y=1.5, width=max(high - low, 1), height=1, class_="range"),
        void("rect", x=min(max(rate - 1, 0), 98), y=0, width=2, height=4, class_="mark"),
        viewBox="0 0 100 4",
        preserveAspectRatio="none",
        aria_hidden="true",
    )

"""How long trials took, per combination: every trial a dot, half of them in the box, the median a line.

All rows share one axis, whose labels are equally far apart: linear from zero, or in powers of ten where some
combinations are more than twenty times as fast as others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundwire.evals.estimates import percentile
from groundwire.evals.records import Combination
from groundwire.evals.reports.figures import say_duration
from groundwire.evals.reports.page.heatmap import label
from groundwire.evals.reports.page.markup import Markup, tag, void
from groundwire.evals.statistics import Cell

DOTS = 240
"""Per combination; of more trials, as many at equal ranks."""
WIDTH, HEIGHT = 1_000, 30
SPREAD = 20


@dataclass(frozen=True, kw_only=True)
class Axis:
    low: float
    high: float
    parts: int
    is_log: bool

    def place(self, value: float) -> float:
        if self.is_log:
            share = math.log10(max(value, self.low) / self.low) / math.log10(self.high / self.low)
        else:
            share = value / self.high
        return round(WIDTH * min(share, 1.0), 1)

    @property
    def labels(self) -> list[str]:
        steps = range(self.parts + 1)
        if self.is_log:
            return [say_duration(self.low * 10**step) for step in steps]
        return [say_duration(self.high * step / self.parts) if step else "0" for step in steps]


def choose_axis(values: Sequence[float]) -> Axis:
    largest, smallest = max(values, default=1.0) or 1.0, min((value for value in values if value > 0), default=1.0)
    if largest / smallest > 20:
        low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
        return Axis(low=10.0**low, high=10.0**high, parts=high - low, is_log=True)
    for exponent in range(math.floor(math.log10(largest)) - 1, math.ceil(math.log10(largest)) + 1):
        for step in (1, 2, 5):
            parts = math.ceil(largest / (step * 10.0**exponent))
            if parts <= 6:
                return Axis(low=0.0, high=parts * step * 10.0**exponent, parts=parts, is_log=False)
    return Axis(low=0.0, high=largest, parts=1, is_log=False)


def draw_latencies(combinations: Sequence[Cell], latencies: Mapping[Combination, Sequence[float]]) -> Markup:
    axis = choose_axis([value for values in latencies.values() for value in values])
    rows = []
    for number, cell in enumerate(combinations):
        values = sorted(latencies.get(cell.combination, ()))
        figures = f"{say_duration(cell.p50_ms)}, p95 {say_duration(cell.p95_ms)}"
        rows.append(
            tag(
                "li",
                tag("div", label(cell), class_="name"),
                _plot(values, axis, f"median {figures}"),
                tag("div", say_duration(cell.p50_ms), class_="figure"),
                tag("div", say_duration(cell.p95_ms), class_="figure"),
                data_combination=number,
            )
        )
    axes = tag("div", [tag("span", name) for name in axis.labels], class_="axis")
    kind = tag("div", "logarithmic" if axis.is_log else "", class_="name")
    return tag(
        "ol",
        tag(
            "li", kind, axes, tag("div", "p50", class_="figure"), tag("div", "p95", class_="figure"), class_="scale-row"
        ),
        rows,
        tag("li", kind, axes, class_="scale-row", aria_hidden="true"),
        class_="chart latency",
    )


def _plot(values: Sequence[float], axis: Axis, text: str) -> Markup:
    middle = HEIGHT / 2
    grid = [
        void("line", x1=x, x2=x, y1=0, y2=HEIGHT, class_="grid")
        for x in (WIDTH * part / axis.parts for part in range(axis.parts + 1))
    ]
    marks: list[Markup] = []
    if values:
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        low, quarter, half, most, high = (axis.place(percentile(values, share) or 0.0) for share in shares)
        marks = [
            void("line", x1=low, x2=high, y1=middle, y2=middle, class_="whisker"),
            void("rect", x=quarter, width=max(most - quarter, 1), y=6, height=HEIGHT - 12, class_="box"),
            void("path", d=_dots(values, axis), class_="dots"),
            void("line", x1=half, x2=half, y1=3, y2=HEIGHT - 3, class_="median"),
        ]
    return tag(
        "svg",
        grid,
        marks,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=text,
    )


def _dots(values: Sequence[float], axis: Axis) -> str:
    shown = values
    if len(values) > DOTS:
        shown = [values[round(rank * (len(values) - 1) / (DOTS - 1))] for rank in range(DOTS)]
    # Multiples of the golden ratio fall evenly and never in a pattern, and they are the same in every run.
    return "".join(
        f"M{axis.place(value)} {HEIGHT / 2 + SPREAD * (number * 0.618034 % 1 - 0.5):.1f}h0"
        for number, value in enumerate(shown)
    )

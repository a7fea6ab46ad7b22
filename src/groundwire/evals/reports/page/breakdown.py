"""What went wrong: per code whose fault it was, and per combination which codes it was."""

from collections import Counter
from collections.abc import Iterable, Sequence

from groundwire.evals.records import Blame, TrialRecord
from groundwire.evals.reports.figures import say_count
from groundwire.evals.reports.page.heatmap import label
from groundwire.evals.reports.page.markup import Markup, breakable, join, tag, void
from groundwire.evals.reports.tables import code_of
from groundwire.evals.statistics import Cell

COLOURS = 6
"""Codes with a colour of their own; all rarer ones share one."""


def draw_breakdown(combinations: Sequence[Cell], records: Iterable[TrialRecord]) -> Markup:
    failed = [record for record in records if not record.passed]
    codes = Counter(code_of(record) for record in failed)
    order = [code for code, _ in codes.most_common()]
    return tag(
        "div",
        tag("div", tag("h3", "By code, and who is to blame"), _by_code(failed, codes, order)),
        tag("div", tag("h3", "By combination, and code"), _by_combination(combinations, failed, order)),
        class_="pair",
    )


def _by_code(failed: Sequence[TrialRecord], codes: Counter[str], order: Sequence[str]) -> Markup:
    blames = Counter((code_of(record), record.blame or Blame.MODEL) for record in failed)
    most = max(codes.values())
    used = [blame for blame in Blame if any(blames[code, blame] for code in order)]
    rows = [
        _row(
            tag("button", breakable(code), type="button", data_code=code),
            [(f"blame-{blame}", f"{code}: {blame}", blames[code, blame]) for blame in used],
            codes[code],
            most,
        )
        for code in order
    ]
    return join((_legend((f"blame-{blame}", blame.value) for blame in used), tag("ol", rows, class_="chart bars")))


def _by_combination(combinations: Sequence[Cell], failed: Sequence[TrialRecord], order: Sequence[str]) -> Markup:
    named = order if len(order) <= COLOURS else order[: COLOURS - 1]
    classes = {code: f"code-{number}" for number, code in enumerate(named)}
    counts = Counter((record.trial.combination, code_of(record)) for record in failed)
    totals = Counter(record.trial.combination for record in failed)
    numbers = {cell.combination: number for number, cell in enumerate(combinations)}
    rows = []
    for key, total in sorted(totals.items(), key=lambda item: (-item[1], numbers[item[0]])):
        parts = [(classes[code], code, counts[key, code]) for code in named]
        parts.append(("code-rest", "other codes", sum(counts[key, code] for code in order if code not in classes)))
        name = tag(
            "button",
            label(combinations[numbers[key]]),
            type="button",
            data_combination=numbers[key],
            data_status="bad",
        )
        rows.append(_row(name, parts, total, max(totals.values())))
    legend = [(classes[code], code) for code in named]
    if len(named) < len(order):
        legend.append(("code-rest", "other codes"))
    return join((_legend(legend), tag("ol", rows, class_="chart bars")))


def _row(name: Markup, parts: Sequence[tuple[str, str, int]], total: int, most: int) -> Markup:
    drawn, x = [], 0.0
    for kind, text, count in parts:
        if count:
            width = 1_000 * count / most
            drawn.append(
                tag(
                    "rect",
                    tag("title", f"{text}, {count}"),
                    x=round(x, 1),
                    width=round(width, 1),
                    y=0,
                    height=10,
                    class_=kind,
                )
            )
            x += width
    said = ", ".join(f"{text} {count}" for _, text, count in parts if count)
    plot = tag(
        "svg", drawn, viewBox="0 0 1000 10", preserveAspectRatio="none", role="img", aria_label=said or "no failures"
    )
    return tag("li", tag("div", name, class_="name"), plot, tag("div", say_count(total), class_="figure"))


def _legend(entries: Iterable[tuple[str, str]]) -> Markup:
    swatch = "0 0 10 10"
    return tag(
        "ul",
        [
            tag(
                "li",
                tag("svg", void("rect", width=10, height=10, class_=kind), viewBox=swatch, aria_hidden="true"),
                text,
            )
            for kind, text in entries
        ],
        class_="legend",
    )

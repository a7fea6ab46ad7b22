"""Every form of a report, made from its run and its records."""

from collections.abc import Iterable

import msgspec

from groundwire.evals.records import EvalRun, Total, TrialRecord
from groundwire.evals.reports.folders import ReportFolder, write_file
from groundwire.evals.reports.junit import write_junit
from groundwire.evals.reports.markdown import write_markdown
from groundwire.evals.reports.ordering import order_records
from groundwire.evals.reports.page import write_page
from groundwire.evals.statistics import Summary, summarise
from groundwire.evals.verdicts import Comparison


def write_report(
    folder: ReportFolder,
    run: EvalRun,
    records: Iterable[TrialRecord],
    comparison: Comparison | None = None,
    *,
    totals: tuple[Total, ...] = (),
) -> Summary:
    """Write summary.json, report.md, junit.xml and report.html; the page comes last, so that where it is, all are."""
    ordered = order_records(run, records)
    summary = summarise(ordered, totals)
    write_file(folder.summary_file, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    write_file(folder.markdown_file, write_markdown(run, ordered, summary, comparison).encode("utf-8", "replace"))
    write_file(folder.junit_file, write_junit(run, ordered))
    write_file(folder.page_file, write_page(run, ordered, summary, comparison))
    return summary

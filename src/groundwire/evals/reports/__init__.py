"""What an evaluation leaves behind: a folder with its records, and tables, XML and a page that are made from them.

It knows records and statistics, and nothing of how trials are run.
"""

from groundwire.evals.reports.folders import ReportFolder, TrialWriter, list_reports, newest_report
from groundwire.evals.reports.markdown import append_step_summary, write_markdown
from groundwire.evals.reports.tables import Table, failures_table, results_table, scenarios_table, totals_table
from groundwire.evals.reports.writing import write_report

__all__ = [
    "ReportFolder",
    "Table",
    "TrialWriter",
    "append_step_summary",
    "failures_table",
    "list_reports",
    "newest_report",
    "results_table",
    "scenarios_table",
    "totals_table",
    "write_markdown",
    "write_report",
]

"""`groundwire view`: the report of an evaluation, in the browser or as numbers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import global_options, json_option, reports_option
from groundwire.cli.output import note, print_json, print_text

if TYPE_CHECKING:
    from groundwire.evals.reports import ReportFolder


@click.command()
@click.argument("report", type=click.Path(path_type=Path), required=False)
@reports_option
@click.option("--no-open", is_flag=True, help="Only print where the page is.")
@json_option
@global_options()
def view(report: Path | None, reports: Path, *, no_open: bool, as_json: bool) -> None:
    """Open the report of an evaluation.

    REPORT is a folder, or the name of one in `--reports`; without it, the newest is taken. The page is made anew from the
    records when there is none, or when trials have come since. `--json` prints the summary.
    """
    from groundwire.evals.reports import ReportFolder, newest_report

    if report is None:
        folder = newest_report(reports)
    else:
        folder = ReportFolder(report if report.is_dir() or not (reports / report).is_dir() else reports / report)
    if as_json:
        from groundwire.evals.statistics import summarise

        folder.read_run()
        print_json(summarise(folder.read_records()))
        return
    page = _fresh_page(folder)
    print_text(str(page))
    if not no_open:
        _open(page)


def _fresh_page(folder: "ReportFolder") -> Path:
    from groundwire.evals.reports import write_report

    run = folder.read_run()
    page, trials = folder.page_file, folder.trials_file
    if not page.exists() or (trials.exists() and page.stat().st_mtime_ns < trials.stat().st_mtime_ns):
        write_report(folder, run, folder.read_records())
    return page


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        note("No browser could be opened; open the file yourself.")

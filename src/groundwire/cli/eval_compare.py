"""`groundwire eval compare`: whether one run is better or worse than another, and how sure that is."""

from pathlib import Path

import click

from groundwire.cli.failures import FAILED
from groundwire.cli.options import Number, global_options, json_option
from groundwire.cli.output import note, print_json, print_table, print_text


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--margin", type=Number(0, 1, min_open=True), help="What counts as no difference. Default: 0.1.")
@json_option
@global_options()
@click.pass_context
def eval_compare(context: click.Context, *, before: Path, after: Path, margin: float | None, as_json: bool) -> None:
    """Compare two reports.

    Trials of the same model, profile, strategy and scenario are compared with each other; a model that is the only one on
    each side may be another. The exit code is 1 where AFTER is worse.
    """
    from groundwire.evals.comparing import MARGIN, compare
    from groundwire.evals.reports import ReportFolder
    from groundwire.evals.reports.tables import comparison_table
    from groundwire.evals.verdicts import Verdict

    records = (ReportFolder(folder).read_records() for folder in (before, after))
    found = compare(*records, margin=MARGIN if margin is None else margin)
    if as_json:
        print_json(found)
    else:
        table = comparison_table(found)
        print_table(tuple(header.upper() for header in table.headers), table.rows, empty="Nothing can be compared.")
        print_text(f"\n{found.sentence}")
        for remark in (*found.notes, *(f"only on one side: {name}" for name in found.unmatched)):
            note(remark)
    if found.verdict is Verdict.WORSE:
        context.exit(FAILED)

"""`groundwire eval record`: a stored run as a scenario."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.eval_init import write_new
from groundwire.cli.options import TEXT, global_options, tenant_option
from groundwire.cli.output import print_text

if TYPE_CHECKING:
    from groundwire.evals.recorded import TextMode


@click.command("record")
@click.argument("run_id", type=TEXT, metavar="RUN")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where it is written. Default: stdout.",
)
@click.option(
    "--text",
    type=click.Choice(["exact", "judged", "none"]),
    default="exact",
    show_default=True,
    help="How the final text counts: word for word, by its meaning, or not at all.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@tenant_option
@global_options()
def eval_record(run_id: str, file: Path | None, text: "TextMode", tenant: str, *, force: bool) -> None:
    """Make a scenario of a stored run: what was asked, what was called, and what came of it.

    Its tools answer from the record, so it runs offline and carries nothing out. The file holds what the run held; look
    at it before you give it away.
    """
    from groundwire.cli.opening import read
    from groundwire.evals.recorded import recorded_suite
    from groundwire.runtime.runs.traces import read_trace

    trace = read(lambda runtime: read_trace(runtime.store, tenant, run_id))
    suite = recorded_suite(trace, text=text)
    if file is None:
        print_text(suite.rstrip("\n"))
        return
    write_new(file, suite, force=force)
    print_text(f"Wrote {file}.")

"""`groundwire eval supplier`: the supplier negotiation on its cases, by the recording, by rules, or by real models."""

from typing import Any

import click

from groundwire.cli.eval_run import run_options, run_suite
from groundwire.cli.options import TEXT


@click.command("supplier")
@click.option(
    "--grounding",
    type=click.Choice(("strict", "report")),
    help="Drop what no supplier message bears out, or keep it with a mark. Default: strict.",
)
@click.option(
    "--send-to-brain",
    type=TEXT,
    is_flag=False,
    flag_value="file",
    metavar="[URL]",
    help="Deliver the signals when all is over: to a log in the report's folder, or to a URL.",
)
@run_options(models="--backend,--models", scenarios="--case-ids,--scenarios")
@click.pass_context
def eval_supplier(context: click.Context, *, grounding: str | None, send_to_brain: str | None, **flags: Any) -> None:
    """Try the supplier negotiation on its 14 cases and write a report.

    --backend is `recorded` (the default: a recording of model output, played through the real pipeline), `rules` (no
    model at all), or a model such as gemini-pro. Real models need a key.
    """
    given = {"grounding": grounding, "send_to_brain": send_to_brain}
    options = {name: value for name, value in given.items() if value is not None}
    run_suite(context, suite=None if flags["resume"] is not None else "supplier", options=options, **flags)

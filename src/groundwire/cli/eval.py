"""`groundwire eval`: a suite is run unless another command is named. Each command NAME is the module `eval_NAME`."""

import click

from groundwire.cli.lazy import LazyGroup

COMMANDS = {
    "run": "Run a suite. The word may be left out.",
    "supplier": "Run the supplier negotiation on its cases.",
    "compare": "Say whether one run is better or worse than another.",
    "trust": "Say how far models are trusted with which tools.",
    "init": "Write a first suite for your tools.",
    "record": "Make a scenario of a stored run.",
    "replay": "Run stored runs against another model, prompt or version of the tools.",
}


class SuiteGroup(LazyGroup):
    """Whatever is no command is the beginning of `run`: a suite, or one of its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_for_run = bool(args) and args[0] not in (*COMMANDS, *ctx.help_option_names)
        return super().parse_args(ctx, ["run", *args] if is_for_run else args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[SUITE | COMMAND] …"]


@click.group(cls=SuiteGroup, summaries=COMMANDS, modules="groundwire.cli.eval_")
def eval() -> None:  # noqa: A001 - the command's name
    """Find out which models can be trusted with tools.

    `groundwire eval smoke` tries the simulated models offline; `groundwire eval run --help` lists the options.
    """

"""The `groundwire` command: one file per command, each importing what it needs only when it runs.

Commands parse, call the library and print. They hold no behaviour that a Python caller could not have.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from groundwire import __version__
from groundwire.cli.options import global_options
from groundwire.cli.output import hold_descriptors, nearest

# What `--help` says about each command stands here, so that it need not import them to say it.
COMMANDS = {
    "init": "Write a sample project to start from.",
    "build": "Build the tools of a folder.",
    "tools": "Look at the tools that were built.",
    "call": "Call a tool and print its result.",
    "chat": "Talk with a model that uses your tools.",
    "approvals": "Answer calls that wait for a person.",
    "effects": "Follow what actions did, and decide what nobody knows.",
    "audit": "List, verify and export the record of every call.",
    "sessions": "List conversations.",
    "calls": "List calls.",
    "runs": "Look at what agents did, step by step.",
    "replay": "Run a recorded run again and show what is different.",
    "view": "Open the report of an evaluation.",
    "keys": "Make and revoke keys to the server.",
    "models": "List providers and models, and how to name them.",
    "translate": "Read a body of one model API on stdin and write it in another.",
    "metrics": "Print counts, sizes and times of all calls.",
    "serve": "Serve models and tools over HTTP, in the dialects of OpenAI, Anthropic and Gemini.",
    "mcp": "Serve your tools to an MCP client over stdin and stdout.",
    "simulate": "Serve a scripted model in every dialect, for tests.",
}


class LazyGroup(click.Group):
    """A group whose commands are modules of this package, imported when they are asked for."""

    def __init__(self, *args: Any, summaries: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._summaries:
            return None
        found: click.Command = getattr(import_module(f"groundwire.cli.{cmd_name}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._summaries and not name.startswith("-"):
            ctx.fail(f"There is no command {name!r}; {nearest(name, self._summaries) or 'see --help.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))

    def invoke(self, ctx: click.Context) -> Any:
        from groundwire.cli.failures import report_failures

        with report_failures(ctx):
            return super().invoke(ctx)


@click.group(cls=LazyGroup, summaries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="groundwire")
@global_options(hidden=False)
@click.pass_context
def main(context: click.Context) -> None:
    """Carry out what language models ask for: checked, at most once, and on record.

    The options on this page may also stand after a command.
    """
    hold_descriptors()
    if os.environ.get("NO_COLOR"):
        context.color = False

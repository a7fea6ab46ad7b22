"""The `groundwire` command: one file per command, each importing what it needs only when it runs.

Commands parse, call the library and print. They hold no behaviour that a Python caller could not have.
"""

import os

import click

from groundwire import __version__
from groundwire.cli.lazy import LazyGroup
from groundwire.cli.options import GlobalOptions, global_options
from groundwire.cli.output import hold_descriptors

# What `--help` says about each command stands here, so that it need not import them to say it.
COMMANDS = {
    "init": "Write a sample project to start from.",
    "build": "Build the tools of a folder.",
    "tools": "Look at the tools that were built.",
    "call": "Call a tool and print its result.",
    "chat": "Talk with a model that uses your tools.",
    "approvals": "Answer calls that wait for a person.",
    "effects": "Follow what actions did, and decide what nobody knows.",
    "jobs": "List, retry, cancel and process background jobs.",
    "audit": "List, verify and export the record of every call.",
    "sessions": "List conversations.",
    "calls": "List calls.",
    "runs": "Look at what agents did, step by step.",
    "replay": "Run a recorded run again and show what is different.",
    "eval": "Find out which models can be trusted with tools.",
    "view": "Open the report of an evaluation.",
    "keys": "Make and revoke keys to the server.",
    "models": "List providers and models, and how to name them.",
    "translate": "Read a body of one model API on stdin and write it in another.",
    "metrics": "Print counts, sizes and times of all calls.",
    "serve": "Serve models and tools over HTTP, in the dialects of OpenAI, Anthropic and Gemini.",
    "mcp": "Serve your tools to an MCP client over stdin and stdout.",
    "app": "Run one of the applications that come with Groundwire.",
    "simulate": "Serve a scripted model in every dialect, for tests.",
}


@click.group(cls=LazyGroup, summaries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="groundwire")
@global_options(hidden=False)
@click.pass_context
def main(context: click.Context) -> None:
    """Carry out what language models ask for: checked, at most once, and on record.

    The options on this page may also stand after a command.
    """
    hold_descriptors()
    context.ensure_object(GlobalOptions)  # one for all commands below, so that what they are told is known here too
    if os.environ.get("NO_COLOR"):
        context.color = False

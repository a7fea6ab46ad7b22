"""`groundwire app`: the applications that come with Groundwire. Each application NAME is the module `app_NAME`."""

import click

from groundwire.cli.lazy import LazyGroup

COMMANDS = {
    "supplier": "Negotiate with suppliers by chat.",
}


@click.group(cls=LazyGroup, summaries=COMMANDS, modules="groundwire.cli.app_")
def app() -> None:
    """Run one of the applications that come with Groundwire."""

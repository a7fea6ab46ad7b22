"""`groundwire app supplier`: negotiating with suppliers. Each command NAME is the module `app_supplier_NAME`."""

import click

from groundwire.cli.lazy import LazyGroup

COMMANDS = {
    "play": "Let a simulated supplier and the bot talk.",
    "signals": "Follow signals on their way to the brain.",
    "serve": "Serve negotiations over HTTP, and work on what is due.",
    "brain": "Serve a brain that takes signals, checks them and lists them.",
}


@click.group(cls=LazyGroup, summaries=COMMANDS, modules="groundwire.cli.app_supplier_")
def app_supplier() -> None:
    """Negotiate with suppliers by chat."""

"""The `groundwire` command: one file per command, each importing what it needs only when it runs.

Commands parse, call the library and print. They hold no behaviour that a Python caller could not have.
"""

import click

from groundwire import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="groundwire")
def main() -> None:
    """Carry out what language models ask for: checked, at most once, and on record."""

"""`groundwire init`: a project to start from."""

import shlex

import click

from groundwire.cli.options import global_options
from groundwire.cli.output import plural, print_text


@click.command()
@click.argument("folder", metavar="DIR")
@global_options()
def init(folder: str) -> None:
    """Write a sample project to start from.

    DIR gets two tools, settings, and a page about adding a tool. Files that exist are never touched.
    """
    from groundwire.registry.sample import write_sample

    written = write_sample(folder)
    here = folder.rstrip("/") == "."
    print_text(f"Wrote {plural(len(written), 'file')} into {'this folder' if here else folder}.")
    print_text(click.style("Next:", bold=True))
    if not here:
        print_text(f"  cd {shlex.quote(folder)}")
    print_text("  groundwire build tools/")
    print_text("  groundwire tools list")
    print_text("""  groundwire call get_weather '{"city": "Tokyo"}'""")

"""`groundwire eval init`: a first suite for one's own tools."""

import os
from pathlib import Path

import click

from groundwire.cli.options import global_options
from groundwire.cli.output import note, print_text

SUITE = "tools.yaml"


@click.command("init")
@click.option("--tools", "tools_dir", metavar="DIR", default="tools", show_default=True, help="Your tool folders.")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=Path("evals"),
    show_default=True,
    help="Where the suite is written.",
)
@click.option("--force", is_flag=True, help="Write over a suite that is there.")
@global_options()
def eval_init(tools_dir: str, folder: Path, *, force: bool) -> None:
    """Write a first suite for your tools, to run at once and to make your own.

    One scenario for each tool, one in which an argument is missing, one without tools, and one where a tool is forbidden.
    The tools in it are stubs: nothing is carried out.
    """
    from groundwire.cli.opening import read_tools
    from groundwire.evals.initial import initial_suite

    registry = read_tools(tools_dir, None)
    file = folder / SUITE
    seen_from_there = Path(os.path.relpath(tools_dir, folder)).as_posix()
    text = initial_suite(registry, tools=seen_from_there, file=str(file))
    write_new(file, text, force=force)
    if not len(registry):
        note(f"There is no tool in {tools_dir}; the suite only talks.")
    print_text(f"Wrote {file}.")
    print_text(click.style("Next:", bold=True))
    print_text(f"  groundwire eval {file}")


def write_new(file: Path, text: str, *, force: bool) -> None:
    """Write a file that is not there yet, or with `force` any."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w" if force else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise click.UsageError(f"{file} is there already; --force writes over it") from None
    except OSError as error:
        raise click.UsageError(f"{file} cannot be written: {error.strerror}") from None

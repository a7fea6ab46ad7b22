"""What a replay may change, as options: the model, its instructions, the tools, and whether calls are carried out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.options import TEXT

if TYPE_CHECKING:
    from groundwire.replays import Changes

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", type=TEXT, metavar="MODEL", help="Ask this model."),
    click.option(
        "--instructions",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Ask with these instructions.",
    ),
    click.option(
        "--tools",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Ask with the tools of this folder.",
    ),
    click.option(
        "--execute", is_flag=True, help="Carry out calls that the record lacks; they are real, and are recorded."
    ),
)


def change_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_changes(*, model: str | None, instructions: Path | None, tools: Path | None, execute: bool) -> "Changes":
    from groundwire.registry import Registry
    from groundwire.replays import Changes

    return Changes(
        model=model,
        instructions=None if instructions is None else _read_text(instructions),
        registry=None if tools is None else Registry.build(tools),
        execute=execute,
    )


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeError:
        raise click.BadParameter(f"{file} is not UTF-8", param_hint="--instructions") from None

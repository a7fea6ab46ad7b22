"""Groups of commands whose modules are imported when they are asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from groundwire.cli.output import nearest


class LazyGroup(click.Group):
    """A group whose commands are modules, each with a command that is named like the module.

    `modules` is what their full names begin with; the rest is the command's name.
    """

    def __init__(
        self, *args: Any, summaries: Mapping[str, str], modules: str = "groundwire.cli.", **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._summaries = summaries
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._summaries:
            return None
        module = import_module(f"{self._modules}{cmd_name}")
        found: click.Command = getattr(module, module.__name__.rpartition(".")[2])
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

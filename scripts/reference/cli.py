"""cli.md: every command, from click's own declarations, so that the page does not depend on a terminal's width."""

import inspect
from collections.abc import Iterator

import click

from groundwire.cli import COMMANDS, main
from scripts.reference.markdown import code, page, table


def generate() -> str:
    # The real settings: click keeps the help option that it makes first, also for whoever comes later.
    context = click.Context(main, info_name="groundwire", **main.context_settings)
    return page(
        "The command line",
        "Every command and option of `groundwire`. `groundwire COMMAND --help` says the same. Listings take `--json`.",
        table(("command", "what it does"), ((code(name), text) for name, text in COMMANDS.items())),
        "The exit code is 0 on success, 1 when something failed or was refused, 2 for a wrong command line; [`chat`](#groundwire-chat) has more. Errors are one "
        "line on stderr, `error[code]: message`, with [these codes](errors.md#raised-errors); `os_error` is a file or device "
        "that the system refuses, and `internal_error` a mistake of ours.",
        "## Options of every command",
        "They may stand before the command's name or after its arguments.",
        table(("option", "meaning"), _options(main, context)),
        *_commands(main, context),
    )


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise SystemExit(f"the command {name} cannot be found")
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, inner)
        else:
            yield _describe(command, inner)


def _describe(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {code(context.command_path)}", f"    {usage}", inspect.cleandoc(command.help or "")]
    options = list(_options(command, context))
    if options:
        parts.append(table(("option", "meaning"), options))
    return "\n\n".join(parts)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for option in command.get_params(context):
        if not isinstance(option, click.Option) or option.hidden or {"--help", "--version"} & {*option.opts}:
            continue
        names = ", ".join((*option.opts, *option.secondary_opts))
        shown = [option.help] if option.help else []
        if isinstance(option.type, click.Choice):
            shown.append(f"One of {', '.join(code(choice) for choice in option.type.choices)}.")
        if option.show_default:
            shown.append(f"Default: {code(option.default)}.")
        yield code(names if option.is_flag else f"{names} {_value(option)}"), " ".join(shown)


def _value(option: click.Option) -> str:
    """What stands for the option's value."""
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.types.IntParamType):
        return "N"
    return (option.name or "value").upper()

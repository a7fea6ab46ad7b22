"""`groundwire call`: one call, carried out like a model's, with its envelope on stdout and nothing else there."""

from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.options import TEXT, global_options, json_option, registry_option, tenant_option
from groundwire.cli.output import clean, nearest, note, one_line, pretty_json, print_json, print_text, reserved_stdout
from groundwire.cli.stdin import read_stdin

if TYPE_CHECKING:
    from typing import TextIO

    from groundwire.assembly import Runtime
    from groundwire.contracts.events import Event
    from groundwire.contracts.results import ErrorInfo, ToolResult
    from groundwire.registry import Registry


@click.command()
@click.argument("name", type=TEXT)
@click.argument("arguments", metavar="[ARGS_JSON]", default="{}")
@click.option("--session", type=TEXT, metavar="ID", help="The conversation that the call belongs to.")
@click.option("--mode", type=click.Choice(["text", "voice"]), help="How the caller talks. Default: text.")
@click.option("--profile", type=TEXT, metavar="NAME", help="A profile of the configuration.")
@click.option(
    "--idempotency-key", type=TEXT, metavar="KEY", help="The same key and arguments again give the stored result."
)
@click.option("--call-id", type=TEXT, metavar="ID", help="The call's own id; made up when not given.")
@click.option("--as-model", is_flag=True, help="Under the rules for a model's calls, not an operator's.")
@click.option("--request-id", type=TEXT, metavar="ID", help="The request that the call is about.")
@click.option("--actor", type=TEXT, metavar="NAME", help="Who acts.")
@click.option("--user", type=TEXT, metavar="ID", help="The user, for variants of a tool.")
@click.option("--organisation", type=TEXT, metavar="ID", help="The organisation, for variants of a tool.")
@tenant_option
@registry_option
@json_option
@global_options()
@click.pass_context
def call(
    context: click.Context,
    name: str,
    arguments: str,
    *,
    registry_path: str,
    as_model: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Call a tool and print its result.

    ARGS_JSON is {} when not given; - reads it from stdin. What the tool itself prints goes to stderr, and so does its
    progress unless JSON is asked for. The exit code is 0 when the call succeeded, 1 when it failed or was refused.
    """
    text = _read_arguments(arguments)
    with reserved_stdout() as out:
        from groundwire.cli.opening import read_own_tools, read_settings, run_with_servers

        settings = read_settings()
        registry = read_own_tools(registry_path, settings)
        given = {option: value for option, value in options.items() if value is not None}
        given["caller"] = "model" if as_model else "api"
        given["on_event"] = None if as_json else _show_progress

        async def work(runtime: "Runtime") -> "tuple[ToolResult, Registry]":
            return await runtime.call(name, text, **given), runtime.registry

        result, registry = run_with_servers(registry, settings, work)
        if as_json:
            print_json(result, file=out)
        else:
            _show(result, out, is_action=_is_action(registry, name))
    _advise(result, registry, name, options["tenant"])
    if not result.ok:
        context.exit(1)


def _read_arguments(arguments: str) -> str:
    """The argument text. What is not JSON is the runtime's to refuse; what is not text cannot even be recorded."""
    try:
        if arguments == "-":
            return read_stdin().decode("utf-8-sig")
        arguments.encode()
    except UnicodeError:
        raise click.BadParameter("the arguments are not UTF-8", param_hint="ARGS_JSON") from None
    return arguments


def _is_action(registry: "Registry", name: str) -> bool:
    from groundwire.contracts.tools import Category

    tool = registry.find(name)
    return tool is not None and tool.spec.category is Category.ACTION


def _show_progress(event: "Event") -> None:
    """What the tool says while it runs, on stderr: stdout is for the result."""
    from groundwire.contracts.events import CallProgress

    if isinstance(event, CallProgress):
        note(f"progress: {one_line(event.value)}")


def _show(result: "ToolResult", out: "TextIO", *, is_action: bool) -> None:
    if result.ok:
        print_text(pretty_json(result.data), file=out)
    for error in result.errors:
        print_text(_describe(error, is_action=is_action), file=out)
    for warning in result.warnings:
        print_text(f"{click.style('warning:', fg='yellow')} {clean(warning)}", file=out)
    if result.meta.replayed:
        print_text("replayed: the stored result of an earlier call, nothing was run", file=out)


def _describe(error: "ErrorInfo", *, is_action: bool) -> str:
    detail = f" ({error.detail})" if error.detail else ""
    text = click.style(f"{error.type.value}{clean(detail)}: {clean(error.message)}", fg="red")
    if error.partial_side_effects and is_action:
        text += "\nIt may have had an effect all the same."
    if error.retryable:
        text += "\nThe same call may succeed later."
    return text


def _advise(result: "ToolResult", registry: "Registry", name: str, tenant: str) -> None:
    """What the operator can do about it, on stderr."""
    from groundwire.contracts.errors import ErrorDetail, ErrorType
    from groundwire.contracts.results import ConfirmationNotice

    waiting = result.meta.confirmation
    if isinstance(waiting, ConfirmationNotice):
        whose = "" if tenant == "default" else f" --tenant {tenant}"
        note(f"To approve until {waiting.expires_at}: groundwire approvals approve {waiting.id}{whose}")
        note("Then make the same call again.")
    if isinstance(result.meta.job, str) and result.ok and not result.meta.replayed:
        note(f"It waits for a worker: groundwire jobs work. Then: groundwire jobs show {result.meta.job}")
    if result.error is not None and result.error.type is ErrorType.NOT_FOUND and registry.find(name) is None:
        note(f"hint: {nearest(name, [tool.tool_id for tool in registry]) or 'groundwire tools list'}")
    if result.error is not None and result.error.detail == ErrorDetail.HANDLER_CHANGED:
        note(
            "hint: its code has changed since the build: groundwire build tools/, then a new --session if you gave one"
        )
    if result.error is not None and result.error.type is ErrorType.OUTCOME_UNKNOWN:
        note("hint: groundwire effects list --status unknown, then groundwire effects reconcile ID")

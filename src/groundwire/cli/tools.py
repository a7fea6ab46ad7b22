"""`groundwire tools`: what was built, as a list, as a page, and in the form of each provider."""

from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.options import TEXT, global_options, json_option, registry_option
from groundwire.cli.output import clean, nearest, plural, pretty_json, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.contracts.tools import ToolSpec
    from groundwire.registry import Registry, Tool

# As `registry.declarations` takes them; written out because the command line starts without the registry.
FORMATS = (
    "openai", "openai-chat", "openaiResponses", "openai-responses", "anthropic", "geminiNative", "gemini", "geminiJson",
    "gemini-json", "mcp",
)  # fmt: skip
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


@click.group()
def tools() -> None:
    """Look at the tools that were built."""


@tools.command("list")
@registry_option
@json_option
@global_options()
def list_tools(registry_path: str, *, as_json: bool) -> None:
    """List the tools by name."""
    from groundwire.cli.opening import read_all_tools

    registry = read_all_tools(registry_path)
    if as_json:
        print_json([_summarise(tool.spec) for tool in registry])
        return
    rows = [
        (spec.tool_id, spec.category.value, ",".join(spec.modes), _confirmation(spec), spec.summary)
        for spec in (tool.spec for tool in registry)
    ]
    print_table(("NAME", "CATEGORY", "MODES", "CONFIRM", "SUMMARY"), rows, empty="There are no tools.")
    for left_out in registry.quarantined:
        print_text(click.style(clean(f"quarantined  {left_out.tool}  {left_out.reason}  {left_out.message}"), fg="red"))


@tools.command("show")
@click.argument("name", type=TEXT)
@click.option(
    "--format",
    "form",
    type=click.Choice(["canonical", *FORMATS]),
    help="Print the declaration as JSON: our own, or a provider's. `gemini` is the native form with upper-case types. "
    "Forms have the artifact's names and the dialects'.",
)
@registry_option
@json_option
@global_options()
def show_tool(name: str, form: str | None, registry_path: str, *, as_json: bool) -> None:
    """Show one tool: what it does, what it may do, and what it takes."""
    from groundwire.cli.opening import read_all_tools

    registry = read_all_tools(registry_path)
    spec = _find(registry, name).spec
    if form is None and not as_json:
        _show_page(spec)
        return
    if form is None:
        value: Any = _describe(spec) | {"documentation": spec.documentation, "handlerPath": spec.handler_path}
    elif form == "canonical":
        value = _describe(spec)
    else:
        value = registry.declarations(form, names=[spec.tool_id])[0]
    if as_json:
        print_json(value)
    else:
        print_text(pretty_json(value))


@tools.command("pin")
@click.argument("names", metavar="[SERVER]...", nargs=-1, type=TEXT)
@json_option
@global_options()
def pin_tools(names: tuple[str, ...], *, as_json: bool) -> None:
    """Agree to the tools of other MCP servers as they are now.

    They are written to mcp.lock. A tool that its server declares otherwise later is left out until it is pinned again.
    """
    from groundwire.cli.opening import read_settings
    from groundwire.cli.servers import pin_servers

    settings = read_settings()
    for name in names:
        if name not in settings.mcp_servers:
            near = nearest(name, settings.mcp_servers)
            raise click.UsageError(f"There is no server {name!r} in [mcpServers]. {near}".strip())
    pinned = pin_servers(settings, names)
    if as_json:
        print_json({server: {tool: pin.hash for tool, pin in pins.items()} for server, pins in pinned.items()})
        return
    for server, pins in pinned.items():
        print_text(clean(f"Pinned {plural(len(pins), 'tool')} of {server}: {', '.join(sorted(pins)) or 'none'}"))


@tools.command("lint")
@registry_option
@json_option
@global_options()
@click.pass_context
def lint_tools(context: click.Context, registry_path: str, *, as_json: bool) -> None:
    """Advise about names, words, schemas and guides. Fails only for tools that could not be built."""
    from groundwire.cli.opening import read_registry
    from groundwire.registry.advice import Advice
    from groundwire.registry.lint import lint

    registry = read_registry(registry_path)
    errors = [
        Advice(tool=left_out.tool, code=left_out.reason, severity="error", message=left_out.message)
        for left_out in registry.quarantined
    ]
    advice = sorted([*errors, *lint(registry)])
    if as_json:
        print_json(advice)
    elif not advice:
        print_text(
            f"{plural(len(registry), 'tool')}, and nothing to say about {'it' if len(registry) == 1 else 'them'}."
        )
    for each in advice if not as_json else ():
        where = f" ({each.path})" if each.path else ""
        severity = click.style(each.severity, fg=_COLOURS[each.severity])
        print_text(f"{severity}  {clean(f'{each.tool}  {each.code}  {each.message}{where}')}")
    if errors:
        context.exit(1)


def _find(registry: "Registry", name: str) -> "Tool":
    from groundwire.contracts.errors import NotFound

    tool = registry.find(name)
    if tool is None:
        near = nearest(name, [tool.tool_id for tool in registry])
        raise NotFound(f"there is no tool {name!r}", hint=near or "groundwire tools list")
    return tool


def _summarise(spec: "ToolSpec") -> dict[str, Any]:
    return {
        "toolId": spec.tool_id,
        "wireName": spec.wire_name,
        "category": spec.category,
        "modes": spec.modes,
        "requiresConfirmation": spec.requires_confirmation,
        "exposure": spec.exposure,
        "summary": spec.summary,
    }


def _describe(spec: "ToolSpec") -> dict[str, Any]:
    """The tool as its schema.json has it, with what the guide adds."""
    described = _summarise(spec) | {"description": spec.description, "parameters": spec.parameters}
    if spec.approval_text:
        described["approvalText"] = spec.approval_text
    if spec.result is not None:
        described["result"] = spec.result
    return described | {"policy": spec.policy}


def _confirmation(spec: "ToolSpec") -> str:
    return "yes" if spec.requires_confirmation else "no"


def _show_page(spec: "ToolSpec") -> None:
    import msgspec

    policy = msgspec.to_builtins(spec.policy)
    print_text(click.style(clean(spec.tool_id), bold=True))
    print_text(clean(spec.summary))
    print_text("")
    for label, value in (
        ("category", spec.category.value),
        ("modes", ", ".join(spec.modes)),
        ("confirm", _confirmation(spec)),
        ("approval", spec.approval_text or "-"),
        ("exposure", spec.exposure.value),
        ("wire name", spec.wire_name),
        ("handler", spec.handler_path or "none"),
        ("policy", "see below" if policy else "defaults"),
    ):
        print_text(f"{label:<10} {clean(value)}")
    for title, section in (("Policy", policy), ("Arguments", spec.parameters), ("Result", spec.result)):
        if section:
            print_text("\n" + click.style(title, bold=True))
            print_text(pretty_json(section))
    if spec.documentation.strip():
        print_text("\n" + click.style("Guide", bold=True))
        print_text(clean(spec.documentation.strip()))

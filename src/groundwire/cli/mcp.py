"""`groundwire mcp`: your tools for a client of the Model Context Protocol, over stdin and stdout."""

from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.options import TEXT, built_option, global_options, tenant_option, tools_option
from groundwire.cli.output import reserved_stdout
from groundwire.cli.stdin import reserved_stdin

if TYPE_CHECKING:
    from groundwire.assembly import Runtime


@click.command()
@tools_option
@built_option
@click.option("--session", type=TEXT, metavar="ID", help="The conversation that calls belong to. Default: a new one.")
@click.option("--mode", type=click.Choice(["text", "voice"]), help="How the caller talks. Default: text.")
@click.option("--profile", type=TEXT, metavar="NAME", help="A profile of the configuration.")
@click.option("--user", type=TEXT, metavar="ID", help="The user, for variants of a tool.")
@click.option("--no-elicitation", is_flag=True, help="Never ask for a person's agreement through the client.")
@tenant_option
@global_options()
def mcp(tools_dir: str | None, registry_path: str | None, *, no_elicitation: bool, **options: Any) -> None:
    """Serve your tools to an MCP client over stdin and stdout.

    For clients that start their servers themselves, such as editors and desktop applications. Nothing but the protocol
    is written to stdout; what tools print and what is logged goes to stderr. It ends when the client closes stdin, and
    everything that was asked before is answered.
    """
    from groundwire.cli.opening import read_settings, read_tools, run_with_servers
    from groundwire.cli.servers import import_protocol
    from groundwire.runtime.clock import RandomIds

    import_protocol()
    from groundwire.mcp import Door, serve_stdio

    settings, registry = read_settings(), read_tools(tools_dir, registry_path)
    given: Any = {name: value for name, value in options.items() if value is not None}
    given.setdefault("session", RandomIds().new("mcp"))
    source = reserved_stdin()
    with reserved_stdout() as out:

        async def serve(runtime: "Runtime") -> None:
            runtime.check_turn(given)
            await serve_stdio(Door(runtime), source, out.buffer, options=given, elicits=not no_elicitation)

        run_with_servers(registry, settings, serve)

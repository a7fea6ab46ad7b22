"""Other servers' tools for commands that call, list or offer tools. Nothing is imported where none is configured."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from groundwire.cli.output import note
from groundwire.extras import needs_extra
from groundwire.registry import Registry

if TYPE_CHECKING:
    from groundwire.assembly import Settings
    from groundwire.mcp import McpServers
    from groundwire.mcp.upstream.pins import Pin


def import_protocol() -> None:
    """Say what is missing, if something is."""
    with needs_extra("mcp", "The Model Context Protocol"):
        import groundwire.mcp  # noqa: F401 - is it there?


def make_servers(settings: "Settings", environ: Mapping[str, str] | None = None) -> "McpServers":
    import_protocol()
    from groundwire.mcp import McpServers

    return McpServers(settings.mcp_servers, environ=environ, schema_limits=settings.schemas)


def check_servers(settings: "Settings") -> None:
    """ConfigError where nobody could open them: the library is missing, or what was pinned cannot be trusted."""
    if settings.mcp_servers:
        make_servers(settings).check()


@asynccontextmanager
async def open_servers(
    settings: "Settings", environ: Mapping[str, str] | None = None
) -> "AsyncIterator[McpServers | None]":
    """The configured servers, connected; None where there are none."""
    if not settings.mcp_servers:
        yield None
        return
    async with make_servers(settings, environ) as servers:
        tell_quarantined(servers)
        yield servers


@asynccontextmanager
async def with_servers(registry: Registry, settings: "Settings") -> AsyncIterator[Registry]:
    """The tools together with those of the configured servers, which can be called inside."""
    async with open_servers(settings) as servers:
        yield registry if servers is None else servers.extend(registry)


@contextmanager
def tools_on_loop(registry: Registry, settings: "Settings") -> Iterator[tuple[asyncio.Runner, Registry]]:
    """The same for ordinary code that runs one piece of work after another: with the loop that they have to run on."""
    stack = AsyncExitStack()
    with asyncio.Runner() as loop:
        try:
            yield loop, loop.run(stack.enter_async_context(with_servers(registry, settings)))
        finally:
            loop.run(stack.aclose())


def pin_servers(settings: "Settings", names: Sequence[str]) -> "dict[str, Mapping[str, Pin]]":
    """Agree to what these servers, or all of them, declare now."""

    async def pin() -> "dict[str, Mapping[str, Pin]]":
        servers = make_servers(settings)
        try:
            return await servers.pin(names or None)
        finally:
            await servers.close()

    return asyncio.run(pin())


def tell_quarantined(servers: "McpServers") -> None:
    for problem in servers.quarantined:
        note(f"left out: {problem.tool}: {problem.reason}: {problem.message}")

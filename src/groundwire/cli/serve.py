"""`groundwire serve`: the gateway, with every door that is there."""

import asyncio
import os
from functools import partial

import click
import msgspec

from groundwire.assembly import Settings
from groundwire.cli.opening import read_settings
from groundwire.cli.options import global_options
from groundwire.cli.output import note


@click.command()
@click.option("--host", help="Address to listen on (127.0.0.1 unless the settings say otherwise).")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on (8741).")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes that serve (1).")
@global_options()
def serve(host: str | None, port: int | None, workers: int | None) -> None:
    """Serve models and tools over HTTP, in the dialects of OpenAI, Anthropic and Gemini."""
    from groundwire.cli.doors import make_application
    from groundwire.serving.keys import is_loopback
    from groundwire.serving.running import check_free, run_server

    settings = read_settings()
    named = os.environ.get("GROUNDWIRE_PORT", "")
    given = {"host": host, "port": port or (int(named) if named.isdigit() else None), "workers": workers}
    server = msgspec.structs.replace(settings.server, **{key: value for key, value in given.items() if value})
    check_free(server.host, server.port)
    settings = msgspec.structs.replace(settings, server=server)
    if not is_loopback(server.host):
        asyncio.run(_check_bind(settings))
    note(f"Groundwire serves on http://{server.host}:{server.port}")
    run_server(partial(make_application, settings), server)


async def _check_bind(settings: Settings) -> None:
    """Before any process is started, so that the reason is the last thing on the screen."""
    from groundwire.assembly import Runtime
    from groundwire.registry import Registry
    from groundwire.runtime.clock import SystemClock
    from groundwire.serving.keys import KeyRing, master_key_from

    async with Runtime(Registry(), settings=settings) as runtime:
        ring = KeyRing(runtime.store, SystemClock(), master_key=master_key_from(os.environ))
        await ring.check_bind(settings.server.host)

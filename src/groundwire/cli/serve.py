"""`groundwire serve`: the gateway, with every door that is there."""

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundwire.cli.opening import read_settings
from groundwire.cli.options import REGISTRY_FILE, GlobalOptions, global_options
from groundwire.cli.output import note, plural
from groundwire.extras import check_extra, needs_extra

if TYPE_CHECKING:
    from groundwire.assembly import Settings
    from groundwire.contracts.servers import ServerSettings
    from groundwire.registry import Registry
    from groundwire.serving.application import Application
    from groundwire.serving.running import ServerConfiguration

MOST_PORTS = 65_535


@click.command()
@click.option("--host", metavar="HOST", help="Address to listen on (127.0.0.1 unless the settings say otherwise).")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, MOST_PORTS), help="Port to listen on (8741); 0 takes a free one."
)
@click.option("--workers", metavar="N", type=click.IntRange(1, 256), help="Processes that serve (1).")
@click.option("--access-log", is_flag=True, help="Write a line of JSON for each request to stdout.")
@click.option(
    "--registry",
    "registry_path",
    metavar="PATH",
    help=f"What `groundwire build` wrote. Default: {REGISTRY_FILE}, if there is one.",
)
@global_options()
def serve(
    *, host: str | None, port: int | None, workers: int | None, access_log: bool, registry_path: str | None
) -> None:
    """Serve models and tools over HTTP, in the dialects of OpenAI, Anthropic and Gemini.

    SIGTERM lets running requests finish. SIGHUP reads settings and tools again, without dropping a request.
    """
    with needs_extra("gateway", "The gateway"):
        from groundwire.serving.running import ServerConfiguration, free_port, run_server, url_of
    check_extra("jobs", "The gateway", "dbos")
    from groundwire.cli.listening import check_free

    read_settings()  # the environment and the log are set up for all that follows
    given = {
        "host": host,
        "port": _named_port() if port is None else port,
        "workers": workers,
        "access_log": access_log or None,
    }
    options = GlobalOptions.current()
    sources = _Sources(
        config=options.config,
        store=options.store,
        registry=registry_path,
        server={key: value for key, value in given.items() if value is not None},
    )
    settings, registry = sources.read()
    server = settings.server
    check_free(server.host, server.port)
    asyncio.run(_check_store(settings))
    if not server.port:
        server = msgspec.structs.replace(server, port=free_port(server.host))
    _announce(settings, url_of(server.host, server.port), len(registry))
    configuration = ServerConfiguration(server, partial(_make, settings, registry))
    run_server(configuration, reload=partial(_reload, sources, settings.server, server), notify=note)


def _named_port() -> int | None:
    from groundwire.contracts.errors import ConfigError

    named = os.environ.get("GROUNDWIRE_PORT", "")
    if not named:
        return None
    if not (named.isascii() and named.isdigit() and int(named[:6]) <= MOST_PORTS):
        raise ConfigError(f"GROUNDWIRE_PORT is {named!r}, and a port is a number from 0 to {MOST_PORTS}.")
    return int(named)


@dataclass(frozen=True)
class _Sources:
    """Where settings and tools come from: read at the start and at each reload, by the main process for all workers."""

    config: str | None
    store: str | None
    registry: str | None
    server: dict[str, Any]

    def read(self) -> "tuple[Settings, Registry]":
        """An error where no worker could start with them."""
        from groundwire.assembly import StoreSettings, list_models, load_settings, open_trust
        from groundwire.cli.opening import read_registry
        from groundwire.cli.servers import check_servers
        from groundwire.contracts.errors import ConfigError
        from groundwire.registry import Registry

        settings = load_settings(self.config)
        changes: dict[str, Any] = {"server": msgspec.structs.replace(settings.server, **self.server)}
        if self.store:
            changes["store"] = StoreSettings(url=self.store)
        settings = msgspec.structs.replace(settings, **changes)
        _, problems = list_models(settings, os.environ)
        if problems:
            raise ConfigError(problems[0])
        check_servers(settings)
        open_trust(settings.trust, os.environ, now=time.time())
        is_built = self.registry is not None or Path(REGISTRY_FILE).exists()
        return settings, read_registry(self.registry or REGISTRY_FILE) if is_built else Registry()


def _make(settings: "Settings", registry: "Registry") -> "Application":
    from groundwire.cli.doors import make_application

    return make_application(settings, registry=registry)


def _reload(sources: _Sources, started: "ServerSettings", running: "ServerSettings") -> "ServerConfiguration":
    """Read settings and tools again. Raises an error if no worker could start with them.

    Host and port stay those of `running`, because the port is reserved once. `started` are the settings that they were
    read from.
    """
    from groundwire.serving.running import ServerConfiguration

    settings, registry = sources.read()
    asyncio.run(_check_store(settings))
    for name in ("host", "port"):
        if getattr(settings.server, name) != getattr(started, name):
            note(f"server.{name} has changed: it takes effect after a restart of the server.")
    server = msgspec.structs.replace(settings.server, host=running.host, port=running.port)
    return ServerConfiguration(server, partial(_make, settings, registry))


async def _check_store(settings: "Settings") -> None:
    """Before any process is started, so that the reason is the last thing on the screen."""
    from groundwire.assembly import Runtime
    from groundwire.contracts.errors import ConfigError
    from groundwire.registry import Registry
    from groundwire.runtime.clock import SystemClock
    from groundwire.serving.keys import KeyRing, master_key_from

    if settings.server.workers > 1 and settings.store.url.startswith("memory:"):
        raise ConfigError(
            f"{settings.server.workers} workers cannot share a store in memory.",
            hint="name a store that they can share, such as sqlite:///groundwire.db",
        )
    async with Runtime(Registry(), settings=settings) as runtime:
        ring = KeyRing(runtime.store, SystemClock(), master_key=master_key_from(os.environ))
        await ring.check_bind(settings.server.host)


def _announce(settings: "Settings", url: str, tools: int) -> None:
    from groundwire.assembly import SIMULATED, list_providers

    if [info.name for info in list_providers(settings, os.environ)] == [SIMULATED]:
        note("No provider is set up, so the built-in model answers to every name. It understands nothing.")
    note(f"Groundwire serves on {url}, with {plural(tools, 'tool')}")

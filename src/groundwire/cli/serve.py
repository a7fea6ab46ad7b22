"""`groundwire serve`: the gateway, with every door that is there."""

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundwire.cli.opening import read_settings
from groundwire.cli.options import REGISTRY_FILE, GlobalOptions, global_options
from groundwire.cli.output import note

if TYPE_CHECKING:
    from groundwire.assembly import Settings
    from groundwire.registry import Registry
    from groundwire.serving.application import Application


@click.command()
@click.option("--host", help="Address to listen on (127.0.0.1 unless the settings say otherwise).")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on (8741).")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes that serve (1).")
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
    from groundwire.serving.keys import is_loopback
    from groundwire.serving.running import check_free, run_server

    read_settings()  # the environment and the log are set up for all that follows
    named = os.environ.get("GROUNDWIRE_PORT", "")
    given = {"host": host, "port": port or (int(named) if named.isdigit() else None), "workers": workers}
    options = GlobalOptions.current()
    sources = _Sources(
        config=options.config,
        store=options.store,
        registry=registry_path,
        server={key: value for key, value in {**given, "access_log": access_log}.items() if value},
    )
    settings, _ = sources.read()
    check_free(settings.server.host, settings.server.port)
    if not is_loopback(settings.server.host):
        asyncio.run(_check_bind(settings))
    note(f"Groundwire serves on http://{settings.server.host}:{settings.server.port}")
    run_server(partial(_make, sources), settings.server, sources.read)


@dataclass(frozen=True)
class _Sources:
    """Where settings and tools come from; they are read by each worker when it starts."""

    config: str | None
    store: str | None
    registry: str | None
    server: dict[str, Any]

    def read(self) -> "tuple[Settings, Registry]":
        """An error where no worker could start with them."""
        from groundwire.assembly import StoreSettings, list_models, load_settings
        from groundwire.cli.opening import read_registry
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
        is_built = self.registry is not None or Path(REGISTRY_FILE).exists()
        return settings, read_registry(self.registry or REGISTRY_FILE) if is_built else Registry()


def _make(sources: _Sources) -> "Application":
    from groundwire.cli.doors import make_application

    settings, registry = sources.read()
    return make_application(settings, registry=registry)


async def _check_bind(settings: "Settings") -> None:
    """Before any process is started, so that the reason is the last thing on the screen."""
    from groundwire.assembly import Runtime
    from groundwire.registry import Registry
    from groundwire.runtime.clock import SystemClock
    from groundwire.serving.keys import KeyRing, master_key_from

    async with Runtime(Registry(), settings=settings) as runtime:
        ring = KeyRing(runtime.store, SystemClock(), master_key=master_key_from(os.environ))
        await ring.check_bind(settings.server.host)

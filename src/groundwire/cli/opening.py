"""From the options to settings, a registry and a runtime. Everything heavy is imported here, when a command runs."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import click
import msgspec

from groundwire.assembly import (
    Runtime,
    Settings,
    StoreSettings,
    TrustSettings,
    load_settings,
    open_models,
    read_dotenv,
    refuse_stand_in,
)
from groundwire.cli.options import REGISTRY_FILE, GlobalOptions
from groundwire.cli.output import clean, note
from groundwire.cli.servers import with_servers
from groundwire.contracts.errors import ArtifactError
from groundwire.contracts.redaction import redact, secrets_in
from groundwire.jobs import open_jobs
from groundwire.registry import Registry

T = TypeVar("T")
Work = Callable[[Runtime], Awaitable[T]]

NO_STORE = "memory://"


def read_settings() -> Settings:
    """Read .env and groundwire.toml; what the command line says comes first, then the environment."""
    options = GlobalOptions.current()
    configure_logging(verbose=options.verbose)
    for name, value in read_dotenv().items():
        os.environ.setdefault(name, value)
    settings = load_settings(options.config)
    if options.store:
        settings = msgspec.structs.replace(settings, store=StoreSettings(url=options.store))
    return settings


async def check_models(settings: Settings, names: Sequence[str]) -> None:
    """A ConfigError where somebody names a model that nobody can be asked for."""
    models = open_models(settings)
    try:
        for name in names:
            refuse_stand_in(models, name)
    finally:
        await models.close()


def read_registry(path: str) -> Registry:
    """Read what `groundwire build` wrote."""
    if not Path(path).exists():
        raise ArtifactError(f"there is no {path}", reason="missing", hint="groundwire build tools/")
    return Registry.load(path, schema_limits=read_settings().schemas)


def read_own_tools(path: str, settings: Settings) -> Registry:
    """The same; where other servers bring tools, there need be none of one's own."""
    return Registry() if settings.mcp_servers and not Path(path).exists() else read_registry(path)


def read_tools(tools_dir: str | None, registry_path: str | None) -> Registry:
    """Tool folders as they are, or what was built from them; without either, no tools."""
    if tools_dir is None:
        if registry_path is None and not Path(REGISTRY_FILE).exists():
            return Registry()
        return read_registry(registry_path or REGISTRY_FILE)
    registry = Registry.build(tools_dir, schema_limits=read_settings().schemas)
    for problem in registry.quarantined:
        note(f"left out: {problem.tool}: {problem.message}")
    return registry


def read(work: Work[T], *, settings: Settings | None = None, runs_tools: bool = False) -> T:
    """Look into the store. Nothing is created, and no head is noted in the checkpoint file."""
    settings = settings or read_settings()
    if is_missing(settings.store.url):
        settings = _without_store(settings, keep_checkpoint=True)
    return _run_with(_any_registry(), settings if runs_tools else _without_trust(settings), work)


def change(work: Work[T]) -> T:
    """Do something to what is in the store. A store that does not exist yet is not created for it."""
    settings = read_settings()
    if is_missing(settings.store.url):
        settings = _without_store(settings, keep_checkpoint=False)
    return _run_with(_any_registry(), _without_trust(settings), work)


def put(work: Work[T], *, settings: Settings) -> T:
    """Put something into the store, which is made for it if it does not exist yet."""
    return _run_with(_any_registry(), _without_trust(settings), work)


def _run_with(registry: Registry, settings: Settings, work: Work[T]) -> T:
    """Open a runtime, work with it, and close it: then everything is durable."""

    async def run() -> T:
        # Jobs that are given are not checked: records can be read without the extra that background tools need.
        jobs = open_jobs(settings.store.url, settings=settings.jobs)
        async with Runtime(registry, settings.store.url, settings=settings, jobs=jobs) as runtime:
            return await work(runtime)

    return asyncio.run(run())


def run_with_servers(registry: Registry, settings: Settings, work: Work[T]) -> T:
    """The same with the tools of other servers too, for commands that use tools."""

    async def run() -> T:
        async with (
            with_servers(registry, settings) as tools,
            Runtime(tools, settings.store.url, settings=settings) as runtime,
        ):
            return await work(runtime)

    return asyncio.run(run())


def read_all_tools(registry_path: str) -> Registry:
    """What was built, and the tools of other servers; to look at, not to call."""
    settings = read_settings()
    registry = read_own_tools(registry_path, settings)

    async def run() -> Registry:
        async with with_servers(registry, settings) as tools:
            return tools

    return asyncio.run(run()) if settings.mcp_servers else registry


def is_missing(url: str) -> bool:
    """True when the store is a file that nobody has made yet."""
    parts = urlsplit(url)
    return parts.scheme == "sqlite" and len(parts.path) > 1 and not Path(unquote(parts.path[1:])).exists()


def note_missing(url: str) -> None:
    file = Path(unquote(urlsplit(url).path[1:])).name
    note(f"Nothing has been recorded yet: there is no {file}.")


def configure_logging(*, verbose: bool) -> None:
    """Send logs to stderr, unless the process has made its own arrangements."""
    level = logging.DEBUG if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(message)s", handlers=[_ToStderr()])
    logging.getLogger("asyncio").setLevel(logging.WARNING)


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:
            click.echo(
                f"{record.levelname.lower()}: {clean(redact(self.format(record), secrets_in(os.environ)))}", err=True
            )


def _without_trust(settings: Settings) -> Settings:
    """Where no model uses a tool, a trust file that has expired must not keep people from their records."""
    return msgspec.structs.replace(settings, trust=TrustSettings())


def _without_store(settings: Settings, *, keep_checkpoint: bool) -> Settings:
    note_missing(settings.store.url)
    audit = settings.audit if keep_checkpoint else msgspec.structs.replace(settings.audit, checkpoint="")
    return msgspec.structs.replace(settings, store=StoreSettings(url=NO_STORE), audit=audit)


def _any_registry() -> Registry:
    """The tools, where it matters little whether there are any."""
    try:
        return Registry.load(REGISTRY_FILE)
    except ArtifactError:
        return Registry()

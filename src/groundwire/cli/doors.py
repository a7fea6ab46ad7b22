"""Every door in one application: what `groundwire serve` runs, and what a program may run on its own loop."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.routing import Route as AsgiRoute
from starlette.routing import Router

from groundwire import __version__
from groundwire.agent import Agent
from groundwire.apps.supplier.signals.endpoints import open_signal_endpoints
from groundwire.assembly import Runtime, Settings, open_models
from groundwire.cli.mcp_route import McpRoute
from groundwire.cli.servers import open_servers
from groundwire.codecs.caching import ToolCache
from groundwire.contracts.ports import Clock
from groundwire.contracts.redaction import secrets_in
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway import (
    AnswerTable,
    BackgroundResponses,
    Health,
    Nowhere,
    RelaySessions,
    RelayTables,
    Retention,
    SchemaChecks,
    Services,
    Steps,
    Tables,
    Threads,
    api_endpoints,
    health_endpoints,
    metrics_endpoints,
    model_operations,
    model_routes,
    relay_operations,
    relay_routes,
)
from groundwire.providers.router import ModelRouter
from groundwire.registry import Registry
from groundwire.runtime.clock import RandomIds, SystemClock
from groundwire.serving.access_log import AccessLog
from groundwire.serving.application import Application, Doors
from groundwire.serving.endpoints import Endpoint, asgi_routes
from groundwire.serving.exchanges import Route
from groundwire.serving.keys import KeyRing, is_loopback, master_key_from
from groundwire.serving.openapi import Operation, description_endpoint, operation_of
from groundwire.serving.origins import LOOPBACK
from groundwire.serving.tallies import Tally, TallyKeeper


def make_application(
    settings: Settings, environ: Mapping[str, str] | None = None, *, registry: Registry | None = None
) -> Application:
    """Opens nothing yet: that is for the loop it will run on. Tools are those of the registry and of `[mcpServers]`."""
    environ = os.environ if environ is None else environ
    clock, tally, secrets = SystemClock(), Tally(), secrets_in(environ)
    doors = _open_doors(settings, environ, registry or Registry(), clock, tally, lambda: application.is_draining)
    application = Application(
        doors,
        settings.server,
        tally=tally,
        access_log=AccessLog(_write_line, clock, secrets=secrets) if settings.server.access_log else None,
        secrets=secrets,
        origins=settings.server.allowed_origins,
    )
    return application


@asynccontextmanager
async def _open_doors(
    settings: Settings,
    environ: Mapping[str, str],
    registry: Registry,
    clock: Clock,
    tally: Tally,
    is_draining: Callable[[], bool],
) -> AsyncIterator[Doors]:
    cache, server = ToolCache(), settings.server
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(open_servers(settings, environ))
        if servers is not None:
            registry = servers.extend(registry)
        runtime = await stack.enter_async_context(Runtime(registry, settings=settings, clock=clock))
        on_loopback = is_loopback(server.host)
        hosts = LOOPBACK | {host.lower() for host in (server.host, *server.allowed_hosts)}
        keys = KeyRing(
            runtime.store,
            clock,
            master_key=master_key_from(environ),
            is_loopback=on_loopback,
            hosts=hosts,
            origins=server.allowed_origins,
        )
        await keys.check_bind(server.host)
        keeper = TallyKeeper(tally, runtime.store, clock, worker=RandomIds().new("worker"))
        await keeper.open()
        stack.push_async_callback(keeper.close)
        models = open_models(settings, environ=environ, clock=clock, cache=cache)
        stack.push_async_callback(models.close)
        services = await _open_services(runtime, models, keys, cache, tally, server)
        if settings.jobs.serve:
            # A worker on jobs costs memory and time to start: without background tools it waits for a run that is due.
            await services.agent.work(
                when_needed=not runtime.has_background_tools, on_run_ended=BackgroundResponses(services).run_ended
            )
            stack.push_async_callback(services.agent.close)
        retention = Retention(runtime.database, clock, days=server.retention_days)
        retention.open()
        stack.push_async_callback(retention.close)
        mcp = McpRoute(runtime, keys, hosts=hosts if on_loopback else None, origins=server.allowed_origins)
        stack.push_async_callback(mcp.close)
        hot = (*model_routes(services), *relay_routes(services))
        health = Health(
            runtime.database, models, is_draining, servers=lambda: {} if servers is None else servers.is_connected
        )
        endpoints = [
            *health_endpoints(health),
            *metrics_endpoints(runtime, keeper.read),
            *api_endpoints(runtime),
            *await open_signal_endpoints(runtime.database),
        ]
        operations = [*model_operations(models.catalogue), *relay_operations(models.catalogue), *mcp.operations]
        other = _other_routes(hot, endpoints, operations, mcp.routes, keys, server.max_body)
        yield Doors(routes=hot, other=other, is_open=keys.is_open)


async def _open_services(
    runtime: Runtime, models: ModelRouter, keys: KeyRing, cache: ToolCache, tally: Tally, settings: ServerSettings
) -> Services:
    tables, relay_tables = Tables(runtime.database), RelayTables(runtime.database)
    await tables.open()
    threads = Threads(tables, settings.max_turns)
    return Services(
        keys=keys,
        models=models,
        agent=Agent("", runtime=runtime, models=models, approvals="answer"),
        cache=cache,
        schemas=SchemaChecks(runtime.parts.schema_limits, cache),
        clock=runtime.clock,
        settings=settings,
        steps=Steps(tables),
        threads=threads,
        relay=RelaySessions(relay_tables, threads, runtime.clock, settings),
        relay_tables=relay_tables,
        answers=AnswerTable(runtime.database),
        tally=tally,
    )


def _other_routes(
    hot: Sequence[Route],
    endpoints: list[Endpoint],
    operations: list[Operation],
    others: list[AsgiRoute],
    keys: KeyRing,
    max_body: int,
) -> Router:
    described = [*operations, *map(operation_of, endpoints)]
    endpoints = [*endpoints, description_endpoint(described, version=__version__)]
    nowhere = Nowhere(hot, [*(endpoint.path for endpoint in endpoints), *(route.path for route in others)])
    routes = [*asgi_routes(endpoints, keys, max_body=max_body), *others]
    return Router(routes, redirect_slashes=False, default=nowhere)


def _write_line(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()

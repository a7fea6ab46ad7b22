"""Every door in one application: what `groundwire serve` runs, and what a program may run on its own loop."""

import os
import sys
from collections.abc import Mapping, Sequence

from starlette.routing import Route as AsgiRoute
from starlette.routing import Router

from groundwire import __version__
from groundwire.agent import Agent
from groundwire.assembly import Runtime, Settings, open_models
from groundwire.cli.mcp_route import McpRoute
from groundwire.codecs.caching import ToolCache
from groundwire.gateway import (
    AnswerTable,
    Health,
    Nowhere,
    RelaySessions,
    RelayTables,
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
from groundwire.registry import Registry
from groundwire.runtime.clock import RandomIds, SystemClock
from groundwire.serving.access_log import AccessLog
from groundwire.serving.application import Application
from groundwire.serving.endpoints import Endpoint, asgi_routes
from groundwire.serving.exchanges import Route
from groundwire.serving.keys import KeyRing, is_loopback, master_key_from
from groundwire.serving.openapi import Operation, description_endpoint, operation_of
from groundwire.serving.tallies import Tally, TallyKeeper


def make_application(
    settings: Settings, environ: Mapping[str, str] | None = None, *, registry: Registry | None = None
) -> Application:
    """Opens nothing yet: that is for the loop it will run on. Without a registry there are no tools."""
    clock, cache, tally = SystemClock(), ToolCache(), Tally()
    models = open_models(settings, environ=os.environ if environ is None else environ, clock=clock, cache=cache)
    runtime = Runtime(registry or Registry(), settings=settings, clock=clock)
    environ = os.environ if environ is None else environ
    keys = KeyRing(
        runtime.store, clock, master_key=master_key_from(environ), is_loopback=is_loopback(settings.server.host)
    )
    tables, relay_tables = Tables(runtime.database), RelayTables(runtime.database)
    threads = Threads(tables)
    keeper = TallyKeeper(tally, runtime.store, clock, worker=RandomIds().new("worker"))
    services = Services(
        keys=keys,
        models=models,
        agent=Agent("", runtime=runtime, models=models, approvals="answer"),
        cache=cache,
        clock=clock,
        settings=settings.server,
        steps=Steps(tables),
        threads=threads,
        relay=RelaySessions(relay_tables, threads, clock, settings.server),
        relay_tables=relay_tables,
        answers=AnswerTable(runtime.database),
        tally=tally,
    )

    async def opening() -> None:
        await runtime.open()
        await keys.check_bind(settings.server.host)
        await tables.open(int(clock.now()))
        await keeper.open()

    async def closing() -> None:
        await mcp.close()
        await models.close()
        await keeper.close()
        await runtime.close()

    mcp = McpRoute(runtime, keys, is_loopback=is_loopback(settings.server.host))
    hot = [*model_routes(services), *relay_routes(services)]
    health = Health(runtime.database, models, lambda: application.is_draining)
    endpoints = [*health_endpoints(health), *metrics_endpoints(runtime, keeper.read), *api_endpoints(runtime)]
    application = Application(
        hot,
        _other_routes(
            hot,
            endpoints,
            [*model_operations(models.catalogue), *relay_operations(models.catalogue), *mcp.operations],
            mcp.routes,
            keys,
            settings.server.max_body,
        ),
        opening=opening,
        closing=closing,
        max_in_flight=settings.server.max_in_flight,
        tally=tally,
        access_log=AccessLog(_write_line, clock) if settings.server.access_log else None,
    )
    return application


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

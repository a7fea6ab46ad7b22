"""Every door in one application: what `groundwire serve` runs, and what a program may run on its own loop."""

import os
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route as AsgiRoute

from groundwire.agent import Agent
from groundwire.assembly import Runtime, Settings, open_models
from groundwire.codecs.caching import ToolCache
from groundwire.gateway import (
    AnswerTable,
    RelaySessions,
    RelayTables,
    Services,
    Steps,
    Tables,
    Threads,
    model_routes,
    relay_routes,
)
from groundwire.registry import Registry
from groundwire.runtime.clock import SystemClock
from groundwire.serving.application import Application
from groundwire.serving.keys import KeyRing, is_loopback, master_key_from


def make_application(
    settings: Settings, environ: Mapping[str, str] | None = None, *, registry: Registry | None = None
) -> Application:
    """Opens nothing yet: that is for the loop it will run on."""
    clock = SystemClock()
    cache = ToolCache()
    models = open_models(settings, environ=os.environ if environ is None else environ, clock=clock, cache=cache)
    runtime = Runtime(registry or Registry(), settings=settings, clock=clock)
    environ = os.environ if environ is None else environ
    keys = KeyRing(
        runtime.store, clock, master_key=master_key_from(environ), is_loopback=is_loopback(settings.server.host)
    )
    tables, relay_tables = Tables(runtime.database), RelayTables(runtime.database)
    threads = Threads(tables)
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
    )

    async def opening() -> None:
        await runtime.open()
        await keys.check_bind(settings.server.host)
        await tables.open()

    async def closing() -> None:
        await models.close()
        await runtime.close()

    return Application(
        [*model_routes(services), *relay_routes(services)],
        _other_routes(),
        opening=opening,
        closing=closing,
        max_in_flight=settings.server.max_in_flight,
    )


def _other_routes() -> Any:
    async def live(_request: Any) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[AsgiRoute("/health/live", live)])

"""A server of its own for the endpoints of an application: a runtime, keys, and the description of what is served.

Knows how such a server is put together, not what its endpoints do. The gateway, with its models, is another one.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.routing import Router

from groundwire import __version__
from groundwire.assembly import Runtime, Settings
from groundwire.contracts.ports import Clock
from groundwire.contracts.redaction import redact, secrets_in
from groundwire.contracts.shapes import did_you_mean
from groundwire.registry import Registry
from groundwire.runtime.clock import SystemClock
from groundwire.serving.answers import NoSuchPath, error_answer
from groundwire.serving.application import Application, Doors
from groundwire.serving.endpoints import Endpoint, asgi_routes
from groundwire.serving.keys import KeyRing, is_loopback, master_key_from
from groundwire.serving.openapi import About, description_endpoint, operation_of
from groundwire.serving.origins import LOOPBACK

Opening: TypeAlias = Callable[[Runtime], AbstractAsyncContextManager[Sequence[Endpoint]]]
"""Gives an application's endpoints while they are open."""


def service_application(
    settings: Settings,
    opening: Opening,
    *,
    about: About,
    registry: Registry | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Application:
    """Opens nothing yet: that is for the loop it will run on."""
    environ = os.environ if environ is None else environ
    doors = _open(settings, opening, about, registry or Registry(), environ, clock or SystemClock())
    return Application(doors, settings.server, secrets=secrets_in(environ), origins=settings.server.allowed_origins)


async def check_service(settings: Settings, environ: Mapping[str, str] | None = None) -> None:
    """An error where no worker could open such an application, before any is started."""
    async with Runtime(Registry(), settings=settings) as runtime:
        await _open_keys(settings, runtime, os.environ if environ is None else environ)


@asynccontextmanager
async def _open(
    settings: Settings, opening: Opening, about: About, registry: Registry, environ: Mapping[str, str], clock: Clock
) -> AsyncIterator[Doors]:
    async with Runtime(registry, settings=settings, clock=clock) as runtime:
        keys = await _open_keys(settings, runtime, environ)
        async with opening(runtime) as endpoints:
            operations = [operation_of(endpoint) for endpoint in endpoints]
            served = [*endpoints, description_endpoint(operations, version=__version__, about=about)]
            routes = asgi_routes(served, keys, max_body=settings.server.max_body)
            nowhere = _Nowhere([endpoint.path for endpoint in served])
            yield Doors(other=Router(routes, redirect_slashes=False, default=nowhere), is_open=keys.is_open)


async def _open_keys(settings: Settings, runtime: Runtime, environ: Mapping[str, str]) -> KeyRing:
    server = settings.server
    keys = KeyRing(
        runtime.store,
        runtime.clock,
        master_key=master_key_from(environ),
        is_loopback=is_loopback(server.host),
        hosts=LOOPBACK | {host.lower() for host in (server.host, *server.allowed_hosts)},
        origins=server.allowed_origins,
    )
    await keys.check_bind(server.host)
    return keys


class _Nowhere:
    """An ASGI application for all paths that are not served."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        path = redact(Request(scope).url.path)[:200]  # a key that is cut off would not be recognised any more
        error = NoSuchPath(f"Nothing is served at {path}.", hint=did_you_mean(path, self._paths))
        await error_answer(error)(scope, receive, send)

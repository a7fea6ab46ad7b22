"""The RSGI application that a server calls: exchanges go to their routes, everything else to an ASGI application.

Limits how many exchanges are in work at a time, and counts them. What a route answers is its own affair.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from groundwire.contracts.errors import GroundwireError, NotAllowed
from groundwire.contracts.redaction import redact
from groundwire.contracts.servers import ServerSettings
from groundwire.serving.access_log import AccessLog
from groundwire.serving.answers import Overloaded, unexpected
from groundwire.serving.bodies import BrokenBody, RequestTooSlow
from groundwire.serving.body_unpacker import BodyUnpacker
from groundwire.serving.bridge import AsgiApp, AsgiCall
from groundwire.serving.exchanges import ClientGone, Exchange, Route
from groundwire.serving.idle_connections import RequestActivity
from groundwire.serving.origins import SAFE_METHODS, check_page_request
from groundwire.serving.response_headers import SECURITY_HEADERS, Headers, common_headers, preflight_headers
from groundwire.serving.tallies import GONE, Tally
from groundwire.serving.watching import Rounds

log = logging.getLogger("groundwire.serving")

UNKNOWN = "other"
"""Counts requests for paths that are not served: each by its own name would be without end."""
_ALWAYS = ("/health/", "/metrics")
"""Paths that are answered however much there is to do: they tell how it is going."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


async def _has_no_keys() -> bool:
    return True


class Doors(Struct, frozen=True, kw_only=True):
    """What is served: exchanges by their routes, and everything else. `is_open` says whether no key is needed."""

    routes: tuple[Route, ...] = ()
    other: AsgiApp
    is_open: Callable[[], Awaitable[bool]] = _has_no_keys


class Application:
    """An async context manager: opens what it serves before the first exchange, on the server's loop, and closes it at the end."""

    def __init__(
        self,
        doors: AbstractAsyncContextManager[Doors],
        settings: ServerSettings | None = None,
        *,
        tally: Tally | None = None,
        access_log: AccessLog | None = None,
        secrets: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        """`secrets` are hidden in errors, besides everything that looks like a key. Pages of `origins` may use it, too."""
        settings = settings or ServerSettings()
        self._opening = doors
        self.doors: Doors
        self._exact: dict[tuple[str, str], Route] = {}
        self._exact_paths: frozenset[str] = frozenset()
        self._prefixes: list[tuple[str, str, Route]] = []
        self.header_timeout = settings.header_timeout
        self.activity = RequestActivity()
        self._max_in_flight = settings.max_in_flight
        self._body_timeout = settings.body_timeout
        self._access_log = access_log
        self._secrets = secrets
        self._origins = frozenset(origin.lower() for origin in origins)
        self._random_bits = Random().getrandbits  # noqa: S311 - tells requests apart, protects nothing
        self._rounds = Rounds()
        self._unpacker = BodyUnpacker(settings)
        self.tally = tally or Tally()
        self.is_draining = False
        """Whether it was told to stop: it still answers, but wants no more requests."""
        self.on_listening: Callable[[], object] = lambda: None
        """Called when the server accepts connections."""

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # The server calls this and then listens, both before it returns control to the loop.
        loop.call_soon(self.on_listening)

    async def __aenter__(self) -> Self:
        self.doors = await self._opening.__aenter__()
        routes = self.doors.routes
        self._exact = {(route.method, route.path): route for route in routes if not route.path.endswith("*")}
        self._exact_paths = frozenset(path for _, path in self._exact)
        self._prefixes = [(route.method, route.path[:-1], route) for route in routes if route.path.endswith("*")]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unpacker.close()
        await self._opening.__aexit__(None, None, None)

    def limit_in_flight(self, most: int) -> None:
        """Lower the limit of requests in work to `most`, if settings allow more than there can be connections."""
        if self._max_in_flight > most:
            log.warning(
                "maxInFlight is %d instead of %d: the process may have too few open files. Raise their limit (ulimit -n).",
                most,
                self._max_in_flight,
            )
            self._max_in_flight = most

    def drain(self) -> None:
        self.is_draining = True

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        client = scope.client
        self.activity.begin(client)
        try:
            await self._answer(scope, protocol)
        finally:
            self.activity.end(client)

    async def _answer(self, scope: Any, protocol: Any) -> None:
        started = perf_counter_ns()
        route = None
        if scope.proto == "http":
            route = self._exact.get((scope.method, scope.path)) or self._found(scope.method, scope.path)
        request_id = f"req_{self._random_bits(96):024x}"
        common, refusal = SECURITY_HEADERS, None
        if "origin" in scope.headers:  # a browser, on behalf of a page
            common, refusal = common_headers(scope, self._origins), await self._page_refusal(scope)
        if route is None:
            await self._call_other(scope, protocol, request_id, started, common, refusal)
            return
        exchange = Exchange(
            scope, protocol, request_id, self._rounds, self._unpacker, self._body_timeout, self._secrets, common
        )
        tally = self.tally
        if refusal is not None:
            route.refuse(exchange, refusal)
            self._note(scope, request_id, route.label, route.dialect, exchange.status, started)
            return
        if tally.in_flight >= self._max_in_flight:
            route.refuse(exchange, self._overloaded())
            self._note(scope, request_id, route.label, route.dialect, exchange.status, started)
            return
        tally.in_flight += 1
        try:
            await route.handler(exchange)
        except ClientGone:
            exchange.status = GONE  # there is nobody to tell
        except Exception:
            log.exception("%s %s failed (%s)", exchange.method, self._shown(exchange.path), request_id)
            if not exchange.status:
                route.refuse(exchange, unexpected())
        finally:
            tally.in_flight -= 1
            exchange.close()
            self._note(scope, request_id, route.label, route.dialect, exchange.status or GONE, started, exchange.tenant)

    async def _page_refusal(self, scope: Any) -> NotAllowed | None:
        """Why a page may not do this; None if it may. A server with keys has no such rule: browsers do not add keys."""
        if scope.proto == "http" and scope.method in SAFE_METHODS:
            return None
        try:
            check_page_request(scope, self._origins)
        except NotAllowed as refusal:
            with suppress(GroundwireError):  # without its store, the server stays closed to pages
                return refusal if await self.doors.is_open() else None
            return refusal
        return None

    async def _call_other(
        self,
        scope: Any,
        protocol: Any,
        request_id: str,
        started: int,
        common: Headers,
        refusal: NotAllowed | None,
    ) -> None:
        call = AsgiCall(scope, protocol, request_id, self._rounds, self._body_timeout, self._secrets, common)
        is_full = self.tally.in_flight >= self._max_in_flight and not scope.path.startswith(_ALWAYS)
        self.tally.in_flight += 1
        try:
            if refusal is not None:
                call.fail(refusal)
            elif (preflight := preflight_headers(scope, common)) is not None:
                call.answer_preflight(preflight)
            elif is_full:
                call.fail(self._overloaded())
            else:
                await call.run(self.doors.other)
        except (RequestTooSlow, BrokenBody) as error:
            call.fail(error)
        except Exception:
            log.exception("%s %s failed (%s)", scope.method, self._shown(scope.path), request_id)
            call.fail(unexpected())
        finally:
            self.tally.in_flight -= 1
            method = scope.method if scope.method in _METHODS else UNKNOWN
            label = f"{method} {call.route}" if call.route else UNKNOWN
            self._note(scope, request_id, label, "", call.status or GONE, started, call.tenant)

    def _shown(self, path: str) -> str:
        return redact(path, self._secrets)

    def _overloaded(self) -> Overloaded:
        return Overloaded(f"{self._max_in_flight} requests are being worked on; try again soon.")

    def _note(
        self, scope: Any, request_id: str, label: str, dialect: str, status: int, started: int, tenant: str = ""
    ) -> None:
        taken = perf_counter_ns() - started
        self.tally.count(label, dialect, status, taken, tenant)
        if self._access_log is not None:
            self._access_log.note(request_id, scope.method, scope.path, label, status, taken)

    def _found(self, method: str, path: str) -> Route | None:
        """By the beginning of the path; HEAD as GET, whose body the server leaves out."""
        if path not in self._exact_paths:
            for wanted, prefix, route in self._prefixes:
                if method == wanted and path.startswith(prefix) and _accepts(route, path):
                    return route
        if method == "HEAD":
            return self._exact.get(("GET", path)) or self._found("GET", path)
        return None


def methods_of(routes: Sequence[Route], path: str) -> tuple[str, ...]:
    """What a path takes, in alphabetical order; nothing where there is no such path."""
    exact = {route.method for route in routes if route.path == path}
    found = exact or {route.method for route in routes if _covers(route, path)}
    return tuple(sorted(found | ({"HEAD"} if "GET" in found else set())))


def _covers(route: Route, path: str) -> bool:
    return route.path[-1:] == "*" and path.startswith(route.path[:-1]) and _accepts(route, path)


def _accepts(route: Route, path: str) -> bool:
    return route.accepts is None or route.accepts(path[len(route.path) - 1 :])

"""The RSGI application that a server calls: exchanges go to their routes, everything else to an ASGI application.

Limits how many exchanges are in work at a time, and counts them. What a route answers is its own affair.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from time import perf_counter_ns
from typing import Any

from msgspec import Struct

from groundwire.contracts.errors import StoreError
from groundwire.runtime.task_exits import contain_task_exits
from groundwire.serving.access_log import AccessLog
from groundwire.serving.answers import Overloaded, unexpected
from groundwire.serving.bodies import BrokenBody, RequestTooSlow
from groundwire.serving.bridge import AsgiApp, AsgiCall
from groundwire.serving.exchanges import ClientGone, Exchange, Route
from groundwire.serving.tallies import GONE, Tally
from groundwire.serving.watching import Rounds

log = logging.getLogger("groundwire.serving")

UNKNOWN = "other"
"""Counts requests for paths that are not served: each by its own name would be without end."""
STOPS = (signal.SIGTERM, signal.SIGINT)
"""What a worker is told to end by."""
_ALWAYS = ("/health/", "/metrics")
"""Paths that are answered however much there is to do: they tell how it is going."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


class Doors(Struct, frozen=True, kw_only=True):
    """What is served: exchanges by their routes, and everything else."""

    routes: tuple[Route, ...] = ()
    other: AsgiApp


class Application:
    """Opens its doors before the first exchange and closes them after the last, on the server's loop."""

    def __init__(
        self,
        doors: AbstractAsyncContextManager[Doors],
        *,
        max_in_flight: int = 1000,
        body_timeout: float = 120.0,
        tally: Tally | None = None,
        access_log: AccessLog | None = None,
    ) -> None:
        self._opening = doors
        self.doors: Doors
        self._exact: dict[tuple[str, str], Route] = {}
        self._exact_paths: frozenset[str] = frozenset()
        self._prefixes: list[tuple[str, str, Route]] = []
        self._max_in_flight = max_in_flight
        self._body_timeout = body_timeout
        self._access_log = access_log
        self._random_bits = Random().getrandbits  # noqa: S311 - tells requests apart, protects nothing
        self._rounds = Rounds()
        self.tally = tally or Tally()
        self.is_draining = False
        """Whether it was told to stop: it still answers, but wants no more requests."""

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_running():  # a server within a running program opens and closes by itself
            with suppress(NotImplementedError, AttributeError):  # where there are no such signals
                loop.add_signal_handler(signal.SIGUSR1, self.drain)
            contain_task_exits(loop)
            loop.run_until_complete(self.open())
            # The server forgets a signal that comes before it serves, so whoever made the worker holds them back.
            loop.call_soon(signal.pthread_sigmask, signal.SIG_UNBLOCK, STOPS)
            _spare_the_collector()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_running():
            try:
                loop.run_until_complete(self.close())
            except StoreError as error:  # what was not written yet cannot be written any more
                log.error("The server could not close its store: %s", error)  # noqa: TRY400 - the text says it all

    async def open(self) -> None:
        self.doors = await self._opening.__aenter__()
        routes = self.doors.routes
        self._exact = {(route.method, route.path): route for route in routes if not route.path.endswith("*")}
        self._exact_paths = frozenset(path for _, path in self._exact)
        self._prefixes = [(route.method, route.path[:-1], route) for route in routes if route.path.endswith("*")]

    async def close(self) -> None:
        await self._opening.__aexit__(None, None, None)

    def drain(self) -> None:
        self.is_draining = True

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        started = perf_counter_ns()
        route = None
        if scope.proto == "http":
            route = self._exact.get((scope.method, scope.path)) or self._found(scope.method, scope.path)
        request_id = f"req_{self._random_bits(96):024x}"
        if route is None:
            await self._call_other(scope, protocol, request_id, started)
            return
        exchange = Exchange(scope, protocol, request_id, self._rounds, self._body_timeout)
        tally = self.tally
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
            log.exception("%s %s failed (%s)", exchange.method, exchange.path, request_id)
            if not exchange.status:
                route.refuse(exchange, unexpected())
        finally:
            tally.in_flight -= 1
            self._note(scope, request_id, route.label, route.dialect, exchange.status or GONE, started)

    async def _call_other(self, scope: Any, protocol: Any, request_id: str, started: int) -> None:
        call = AsgiCall(scope, protocol, request_id, self._rounds, self._body_timeout)
        is_full = self.tally.in_flight >= self._max_in_flight and not scope.path.startswith(_ALWAYS)
        self.tally.in_flight += 1
        try:
            if is_full:
                call.fail(self._overloaded())
            else:
                await call.run(self.doors.other)
        except (RequestTooSlow, BrokenBody) as error:
            call.fail(error)
        except Exception:
            log.exception("%s %s failed (%s)", scope.method, scope.path, request_id)
            call.fail(unexpected())
        finally:
            self.tally.in_flight -= 1
            method = scope.method if scope.method in _METHODS else UNKNOWN
            label = f"{method} {call.route}" if call.route else UNKNOWN
            self._note(scope, request_id, label, "", call.status or GONE, started)

    def _overloaded(self) -> Overloaded:
        return Overloaded(f"{self._max_in_flight} requests are being worked on; try again soon.")

    def _note(self, scope: Any, request_id: str, label: str, dialect: str, status: int, started: int) -> None:
        taken = perf_counter_ns() - started
        self.tally.count(label, dialect, status, taken)
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


def _spare_the_collector() -> None:
    """What is there when serving begins stays for good, and requests leave no cycles: looking less often costs nothing.

    Measured at 13 % of the CPU time of a request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

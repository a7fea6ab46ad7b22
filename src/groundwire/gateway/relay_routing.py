"""Paths below `/relay/{session}`: what a client that speaks Gemini looks for, and what the session's owner does."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.gateway.asking import PathWish
from groundwire.gateway.failing import Refused, write_failure
from groundwire.gateway.idempotency import once
from groundwire.gateway.listing import ModelList, TokenCount
from groundwire.gateway.relay_owner import RelayOwner
from groundwire.gateway.relaying import RelayDoor
from groundwire.gateway.routing import GeminiMethods, names_method, names_model
from groundwire.gateway.services import Services
from groundwire.runtime.clock import CharsPerFour
from groundwire.runtime.sessions import MAX_ID_CHARS, is_id
from groundwire.serving.exchanges import ClientGone, Exchange, Route

_BASE = "/relay/"
_MODELS = ("v1beta/models", "v1/models")

_Action: TypeAlias = Callable[[RelayOwner, Exchange, str, str], Awaitable[None]]
_ACTIONS: dict[tuple[str, str], _Action] = {
    ("GET", "tools"): RelayOwner.show_tools,
    ("PUT", "tools"): RelayOwner.set_tools,
    ("DELETE", "tools"): RelayOwner.clear_tools,
    ("GET", "calls"): RelayOwner.show_calls,
    ("POST", "results"): RelayOwner.add_results,
}


def relay_routes(services: Services) -> list[Route]:
    paths = _RelayPaths(services)
    return [
        Route(
            method=method,
            path=f"{_BASE}*",
            handler=paths.serve,
            refuse=_refuse,
            accepts=partial(_is_served, method),
            dialect="gemini",
        )
        for method in ("GET", "PUT", "POST", "DELETE")
    ]


def _is_served(method: str, rest: str) -> bool:
    """Whether there is such a path below `/relay/`."""
    below = rest.partition("/")[2]
    base = _models_base(below)
    if base is None:
        return (method, below) in _ACTIONS
    name = below.removeprefix(base).strip("/")
    return names_method(name) if method == "POST" else method == "GET" and names_model(name)


def _models_base(below: str) -> str | None:
    return next((base for base in _MODELS if below == base or below.startswith(f"{base}/")), None)


class _RelayPaths:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._door = RelayDoor(services)
        self._listing = ModelList(services)
        self._count = TokenCount("gemini", services, CharsPerFour())
        self._owner = RelayOwner(services)

    async def serve(self, exchange: Exchange) -> None:
        session, _, rest = exchange.path.removeprefix(_BASE).partition("/")
        try:
            if not is_id(session):
                message = f"A session's name has 1 to {MAX_ID_CHARS} printable characters."
                raise Refused(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404))
            base = _models_base(rest)
            if base is None:
                caller = await self._services.recognize(exchange)
                await _ACTIONS[exchange.method, rest](self._owner, exchange, caller.tenant, session)
            elif exchange.method == "POST":
                await self._ask(exchange, session, f"{_BASE}{session}/{base}/")
            else:
                await self._listing.show(exchange, "gemini", rest.removeprefix(base).strip("/"))
        except ClientGone:
            raise
        except GroundwireError as error:
            _refuse(exchange, error)

    async def _ask(self, exchange: Exchange, session: str, base: str) -> None:
        async def generate(asking: Exchange, asked: PathWish) -> None:
            await self._door.serve(asking, session, asked)

        await once(GeminiMethods(generate, self._count, base).serve, "gemini", self._services)(exchange)


def _refuse(exchange: Exchange, error: GroundwireError) -> None:
    write_failure(exchange, error, "gemini")

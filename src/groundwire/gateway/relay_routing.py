"""Paths below `/relay/{session}`: what a client that speaks Gemini looks for, and what the session's owner does."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from groundwire.contracts.errors import GroundwireError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.gateway.asking import Asked
from groundwire.gateway.failing import Refused, write_failure
from groundwire.gateway.idempotency import once
from groundwire.gateway.listing import ModelList, TokenCount
from groundwire.gateway.relay_owner import RelayOwner
from groundwire.gateway.relaying import RelayDoor
from groundwire.gateway.routing import GeminiMethods
from groundwire.gateway.services import Services
from groundwire.runtime.clock import CharsPerFour
from groundwire.serving.exchanges import ClientGone, Exchange, Route

_BASE = "/relay/"
_MODELS = ("v1beta/models", "v1/models")
_MAX_NAME = 200

_Action: TypeAlias = Callable[[Exchange, str, str], Awaitable[None]]


def relay_routes(services: Services) -> list[Route]:
    paths = _RelayPaths(services)
    return [
        Route(method=method, path=f"{_BASE}*", handler=paths.serve, refuse=_refuse)
        for method in ("GET", "PUT", "POST", "DELETE")
    ]


class _RelayPaths:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._door = RelayDoor(services)
        self._listing = ModelList(services)
        self._count = TokenCount("gemini", services, CharsPerFour())
        owner = RelayOwner(services)
        self._actions: dict[tuple[str, str], _Action] = {
            ("GET", "tools"): owner.show_tools,
            ("PUT", "tools"): owner.set_tools,
            ("DELETE", "tools"): owner.clear_tools,
            ("GET", "calls"): owner.show_calls,
            ("POST", "results"): owner.add_results,
        }

    async def serve(self, exchange: Exchange) -> None:
        session, _, rest = exchange.path.removeprefix(_BASE).partition("/")
        try:
            if not 1 <= len(session) <= _MAX_NAME or not session.isprintable():
                raise WireError(f"must be 1 to {_MAX_NAME} printable characters", path="session")
            action = self._actions.get((exchange.method, rest))
            base = next((base for base in _MODELS if rest == base or rest.startswith(f"{base}/")), None)
            if action is not None:
                caller = await self._services.recognize(exchange)
                await action(exchange, caller.tenant, session)
            elif base is not None and exchange.method == "POST":
                await self._ask(exchange, session, f"{_BASE}{session}/{base}/")
            elif base is not None and exchange.method == "GET":
                await self._listing.show(exchange, "gemini", rest.removeprefix(base).strip("/"))
            else:
                message = f"The relay has no {exchange.method} {rest or '/'}."
                raise Refused(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404))
        except ClientGone:
            raise
        except GroundwireError as error:
            _refuse(exchange, error)

    async def _ask(self, exchange: Exchange, session: str, base: str) -> None:
        async def generate(asking: Exchange, asked: Asked) -> None:
            await self._door.serve(asking, session, asked)

        await once(GeminiMethods(generate, self._count, base).serve, "gemini", self._services)(exchange)


def _refuse(exchange: Exchange, error: GroundwireError) -> None:
    write_failure(exchange, error, "gemini")

"""Paths to endpoints. The only place that knows where a dialect's clients look for what."""

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from msgspec.structs import replace

from groundwire.gateway.asking import ModelDoor, PathWish
from groundwire.gateway.gemini_sessions import GeminiSessionDoor
from groundwire.gateway.idempotency import once
from groundwire.gateway.listing import ModelList, TokenCount, no_such_method
from groundwire.gateway.nearest import nearest_dialect
from groundwire.gateway.responding import CANCEL, ResponsesDoor, StoredResponses
from groundwire.gateway.services import Services
from groundwire.runtime.clock import CharsPerFour
from groundwire.serving.exchanges import Exchange, Handler, Refuser, Route

_GEMINI_BASES = ("/v1beta/models/", "/v1/models/")
_METHODS = frozenset({"generateContent", "streamGenerateContent", "countTokens"})
_GEMINI_ROOT = "/v1beta/"
"""Some clients leave `models/` out where the model's name has a slash of its own."""


class GeminiMethods:
    """`{model}:{method}` below the models; names may hold slashes and colons, so the last colon counts."""

    def __init__(self, generate: Callable[[Exchange, PathWish], Awaitable[None]], count: TokenCount, base: str) -> None:
        self._generate = generate
        self._count = count
        self._base = base

    async def serve(self, exchange: Exchange) -> None:
        model, _, method = unquote(exchange.path[len(self._base) :]).rpartition(":")
        if method == "generateContent":
            await self._generate(exchange, PathWish(model=model))
        elif method == "streamGenerateContent":
            is_array = exchange.parameter("alt") != "sse"
            await self._generate(exchange, PathWish(model=model, stream=True, array=is_array))
        elif method == "countTokens":
            await self._count.serve(exchange, model)
        else:
            no_such_method(exchange, method)


def model_routes(services: Services) -> list[Route]:
    estimator = CharsPerFour()
    chat, anthropic, gemini = (ModelDoor(dialect, services) for dialect in ("openai-chat", "anthropic", "gemini"))
    responses, gemini_sessions = ResponsesDoor(services), GeminiSessionDoor(services)
    stored = StoredResponses(services, responses)
    listing = ModelList(services)
    count = TokenCount("anthropic", services, estimator)
    input_tokens = TokenCount("openai-responses", services, estimator)
    routes = [
        _post("/v1/chat/completions", once(chat.serve, "openai-chat", services), chat.refuse),
        _post("/v1/messages", once(anthropic.serve, "anthropic", services), anthropic.refuse),
        _post("/v1/messages/count_tokens", count.serve, count.refuse),
        _post("/v1/gemini", once(gemini_sessions.serve, "gemini", services), gemini_sessions.refuse),
        _post("/v1/responses", once(responses.serve, "openai-responses", services), responses.refuse),
        _post("/v1/responses/input_tokens", input_tokens.serve, input_tokens.refuse),
        Route(
            method="POST",
            path="/v1/responses/*",
            handler=stored.cancel,
            refuse=responses.refuse,
            accepts=_cancels_response,
        ),
        *(
            Route(method=method, path="/v1/responses/*", handler=act, refuse=responses.refuse, accepts=_names_response)
            for method, act in (("GET", stored.show), ("DELETE", stored.delete))
        ),
    ]
    for base in _GEMINI_BASES:
        methods = GeminiMethods(gemini.serve, TokenCount("gemini", services, estimator), base)
        served = once(methods.serve, "gemini", services)
        routes.append(replace(_post(f"{base}*", served, gemini.refuse), accepts=names_method, dialect="gemini"))
        listed = Route(method="GET", path=f"{base}*", handler=listing.serve, refuse=listing.refuse)
        routes.append(replace(listed, accepts=names_model))
        routes.append(Route(method="GET", path=base.rstrip("/"), handler=listing.serve, refuse=listing.refuse))
    short = GeminiMethods(gemini.serve, TokenCount("gemini", services, estimator), _GEMINI_ROOT)
    served = once(short.serve, "gemini", services)
    routes.append(replace(_post(f"{_GEMINI_ROOT}*", served, gemini.refuse), accepts=names_method))
    return [replace(route, dialect=route.dialect or nearest_dialect(route.path) or "") for route in routes]


def _names_response(rest: str) -> bool:
    """Whether it asks about a response, and not for something of it, which is not served."""
    return bool(rest) and "/" not in rest


def _cancels_response(rest: str) -> bool:
    return rest.endswith(CANCEL) and _names_response(rest.removesuffix(CANCEL))


def names_method(rest: str) -> bool:
    """Whether a path below the models asks one for something."""
    return ":" in rest


def names_model(rest: str) -> bool:
    """Whether it asks about one."""
    return unquote(rest).rpartition(":")[2] not in _METHODS


def _post(path: str, handler: Handler, refuse: Refuser) -> Route:
    return Route(method="POST", path=path, handler=handler, refuse=refuse)

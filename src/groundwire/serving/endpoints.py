"""Endpoints of our own, each stated once: what it takes, what it gives, and what does it.

Routes are made of them here, and the description of the API in `openapi`. They run on ASGI, for what is not hot.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from groundwire.contracts.canonical import JsonObject, parse_json
from groundwire.contracts.errors import GroundwireError, WireError
from groundwire.contracts.keys import Caller, Scope
from groundwire.contracts.shapes import explain_misfit
from groundwire.serving.answers import MethodNotAllowed, error_answer, json_answer, unexpected
from groundwire.serving.bodies import too_large
from groundwire.serving.headers import TENANT
from groundwire.serving.keys import DEFAULT_TENANT, KEY_PARAMETER, KeyRing

log = logging.getLogger("groundwire.serving")

HEADER_PATTERN = "^[!-~]([ -~]*[!-~])?[\\t ]*$"
"""What a header that gives an id may be; spaces behind it are none of it."""
NOBODY = Caller(tenant=DEFAULT_TENANT, key_id="", scopes=frozenset())


class Asked(Struct, frozen=True, kw_only=True):
    """A request that fits its endpoint. `query` and `body` are of the types that the endpoint names."""

    request: Request
    caller: Caller
    query: Any = None
    body: Any = None

    @property
    def tenant(self) -> str:
        return self.caller.tenant

    def place(self, name: str) -> str:
        """A part of the path."""
        value: str = self.request.path_params[name]
        return value

    def header(self, name: str) -> str | None:
        return self.request.headers.get(name)

    async def read(self, most: int) -> bytes:
        """The body as it came, for an endpoint that names no type for it; RequestTooLarge past `most` bytes."""
        body = bytearray()
        async for piece in self.request.stream():
            body += piece
            if len(body) > most:
                raise too_large(most)
        return bytes(body)


Handler: TypeAlias = Callable[[Asked], Awaitable[object]]
"""Gives what is to be answered as JSON, or a whole response."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """`path` is written as in OpenAPI; a part of it may hold slashes. `answers` are schemas by status, without errors."""

    method: str
    path: str
    name: str
    summary: str
    tag: str
    handler: Handler
    scope: Scope | None
    """What a key must be good for; None where nobody needs one."""
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    body_schema: JsonObject | None = None
    """Where the type says less than is checked."""
    headers: Mapping[str, str] = {}
    """Optional ones, with what each is for."""
    answers: Mapping[int, JsonObject] = {}
    media: tuple[str, ...] = ("application/json",)
    errors: tuple[int, ...] = ()


def asgi_routes(endpoints: Sequence[Endpoint], keys: KeyRing, *, max_body: int) -> list[Route]:
    """One route per path, which also says what a path does not take. Longer paths first, so that actions are found."""
    by_path = sorted(endpoints, key=lambda endpoint: (-endpoint.path.count("/"), endpoint.path))
    return [
        Route(_pattern(path), _Dispatch(tuple(group), keys, max_body), name=path)
        for path, group in groupby(by_path, attrgetter("path"))
    ]


def _pattern(path: str) -> str:
    return path.replace("}", ":path}")


class _Dispatch:
    """All endpoints of one path. An object and no function, so that Starlette leaves all methods to it."""

    def __init__(self, endpoints: Iterable[Endpoint], keys: KeyRing, max_body: int) -> None:
        self._keys = keys
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        self.methods = tuple(self._by_method)
        if "GET" in self._by_method:
            self._by_method.setdefault("HEAD", self._by_method["GET"])
        self._max_body = max_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            response = await self._serve(request)
        except ClientDisconnect:
            return
        except GroundwireError as error:
            response = error_answer(error)
        await response(scope, receive, send)

    async def _serve(self, request: Request) -> Response:
        endpoint = self._by_method.get(request.method)
        if endpoint is None:
            raise MethodNotAllowed(request.method, tuple(sorted(self._by_method)))
        asked = Asked(
            request=request,
            caller=await self._admitted(request, endpoint.scope),
            query=read_query(request.url.query, endpoint.query),
        )
        if endpoint.body is not None:
            asked = replace(asked, body=_fit(await asked.read(self._max_body), endpoint.body))
        try:
            answer = await endpoint.handler(asked)
        except GroundwireError:
            raise
        except Exception:
            log.exception("%s %s failed", endpoint.method, endpoint.path)
            return error_answer(unexpected())
        return answer if isinstance(answer, Response) else json_answer(answer)

    async def _admitted(self, request: Request, scope: Scope | None) -> Caller:
        if scope is None:
            await self._keys.check_open(request.headers.get)
            return NOBODY
        caller = await self._keys.authenticate(request.headers.get, request.url.query)
        request.scope.setdefault("state", {})[TENANT] = caller.tenant
        caller.check_scope(scope)
        await self._keys.admit(caller)
        return caller


def read_query(text: str, wanted: type[Struct] | None) -> Any:
    """The parameters as that type; WireError where one is unknown, repeated, or not what it should be."""
    pairs = [(name, value) for name, value in parse_qsl(text, keep_blank_values=True) if name != KEY_PARAMETER]
    known = [field.encode_name for field in msgspec.structs.fields(wanted)] if wanted is not None else []
    for name, count in Counter(name for name, _ in pairs).items():
        if name not in known:
            hint = f"there are {', '.join(known)}" if known else "there are none here"
            raise WireError("is no parameter of this endpoint", path=name[:40], hint=hint)
        if count > 1:
            raise WireError("was given more than once", path=name)
    if wanted is None:
        return None
    try:
        return msgspec.convert(dict(pairs), wanted, strict=False)
    except msgspec.ValidationError as error:
        raise _misfit(error, wanted) from None


def needs_body(wanted: type[Struct]) -> bool:
    """Whether a body of that type has a required member, so that it cannot be left out."""
    return any(field.required for field in msgspec.structs.fields(wanted))


def _fit(body: bytes, wanted: type[Struct]) -> Any:
    """Convert a body to a type. Its class variable `refused`, if any, has members that are refused, each with the reason."""
    value = parse_json(body) if body or needs_body(wanted) else {}
    refused: Mapping[str, str] = getattr(wanted, "refused", {})
    for name in refused.keys() & value.keys() if isinstance(value, dict) else ():
        raise WireError(refused[name], path=name)
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise _misfit(error, wanted) from None


def _misfit(error: msgspec.ValidationError, wanted: type[Struct]) -> WireError:
    fault, hint = explain_misfit(str(error), wanted)
    return WireError(fault, hint=hint)

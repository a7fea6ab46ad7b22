"""The protocol over HTTP: one address that takes messages and answers with JSON or a stream of events.

Nothing about a client is kept in the process, so any process may serve any request: a session is a name for rows in the
store, and says itself whose it is. Two things follow. The server sends nothing that is not part of an answer (GET is refused), and a message can
cancel a call only in the process that carries it out.
"""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Any, TypeAlias

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from groundwire.mcp.door import Door
from groundwire.mcp.messages import MAX_MESSAGE, BadMessage, read_message
from groundwire.mcp.protocol import Request, make_server
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.turns import TurnOptions
from groundwire.serving.headers import SESSION_HEADER
from groundwire.serving.origins import LOOPBACK, origin_fault

MCP_SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
_OPTIONS = "groundwire.options"
_SESSION_ID = re.compile(r"mcp_([0-9a-f]{32})([0-9a-f]{16})")

Identify: TypeAlias = Callable[[Scope], TurnOptions]
"""Who makes a request, from what authentication has put into the scope."""


class HttpDoor:
    """An ASGI application for one path, between `open` and `close`.

    `hosts` are the names under which it may be addressed, None for any; `origins` are pages that may use it besides its
    own. `elicits`: whether whoever has the client may agree to calls, which is right only for a user's own server.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        identify: Identify | None = None,
        hosts: Collection[str] | None = LOOPBACK,
        origins: Collection[str] = (),
        elicits: bool = False,
        max_body: int = MAX_MESSAGE,
    ) -> None:
        self.door = Door(runtime)
        self._identify = identify
        self._hosts = hosts
        self._origins = frozenset(origin.lower() for origin in origins)
        self._max_body = max_body
        server = make_server(self.door, _caller, elicits=elicits, known_as=_known_as)
        self._keeper: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=max_body)

    async def open(self) -> None:
        """Before the first request. What serves them has a task of its own, so that any task may close it."""
        ready = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(ready))
        await ready.wait()

    async def close(self) -> None:
        """After the last. Calls that are still going on are waited for: they are being recorded."""
        self._stopped.set()
        if self._keeper is not None:
            await self._keeper

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        await self.open()
        try:
            yield
        finally:
            await self.close()

    async def _keep(self, ready: asyncio.Event) -> None:
        async with self._manager.run():
            ready.set()
            await self._stopped.wait()
            await self.door.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        fault = origin_fault(headers.get("host", ""), headers.get("origin"), self._hosts, self._origins)
        if fault:
            return await _refusal(403, fault)(scope, receive, send)
        options: TurnOptions = {**self._identify(scope)} if self._identify is not None else {}
        named = headers.get(MCP_SESSION) if _has_sessions(headers) else None
        if named is not None and not await self._is_open(named, options):
            return await _refusal(404, "There is no such session, or it has ended.")(scope, receive, send)
        if scope["method"] == "POST":
            session = headers.get(SESSION_HEADER) or named
            if session and not session.isascii():  # servers give those in different ways, or none at all
                return await _refusal(400, f"{SESSION_HEADER} must be ASCII.")(scope, receive, send)
            if session and _SESSION_ID.fullmatch(session) and not _is_own(session, options):
                return await _refusal(404, "There is no such session.")(scope, receive, send)
            if session:
                options["session"] = session
            return await self._post(scope, receive, send, options)
        if scope["method"] == "DELETE" and named is not None:
            await self.door.runtime.end_session(named, tenant=options.get("tenant", "default"))
            return await Response(status_code=204)(scope, receive, send)
        refusal = _refusal(405, "Messages are sent by POST; nothing else is sent from here.", {"Allow": "POST, DELETE"})
        return await refusal(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send, options: TurnOptions) -> None:
        body = await _read_body(receive, self._max_body)
        try:
            message = read_message(body, self._max_body)
        except BadMessage as bad:
            status = 413 if len(body) > self._max_body else 400
            return await JSONResponse(bad.answer.model_dump(exclude_unset=True), status)(scope, receive, send)
        method = getattr(message, "method", "")
        if method == "initialize" and _has_sessions(Headers(scope=scope)):
            send = _with_session(send, _new_session(options))
        elif method == "notifications/cancelled":
            params: Any = getattr(message, "params", None) or {}
            self.door.cancel(_name_of(options, params.get("requestId")))
        scope = {**scope, _OPTIONS: options}
        return await self._manager.handle_request(scope, _replaying(body, receive), _to_whoever_listens(send))

    async def _is_open(self, session: str, options: TurnOptions) -> bool:
        """An id that we made for this caller is good until its session has ended. It is stored from its first call on."""
        if not _is_own(session, options):
            return False
        runtime = self.door.runtime
        await runtime.open()
        known = await runtime.store.load_session(options.get("tenant", "default"), session)
        return known is None or known.status == "active"


def mcp_routes(http_door: HttpDoor, path: str = "/mcp") -> list[Route]:
    """For an application that has other routes too; it has to open and close the door itself."""
    return [Route(path, endpoint=http_door)]


def mcp_app(runtime: Runtime, *, path: str = "/mcp", **options: Any) -> Starlette:
    """An application with nothing but this. Options are those of HttpDoor."""
    http_door = HttpDoor(runtime, **options)
    return Starlette(routes=mcp_routes(http_door, path), lifespan=lambda _: http_door.run())


def _caller(request: Request) -> TurnOptions:
    known: Any = request.request  # it came over HTTP, so there is one
    options: TurnOptions = known.scope[_OPTIONS]
    return {**options}


def _known_as(request: Request) -> Any:
    return _name_of(_caller(request), request.request_id)


def _name_of(options: TurnOptions, request_id: Any) -> Any:
    """What a client may call a request of its own; without a session it has no way to say whose that is."""
    if not options.get("session") or not isinstance(request_id, (str, int)):
        return None
    return options.get("tenant", "default"), options.get("actor", ""), options["session"], request_id


def _new_session(options: TurnOptions) -> str:
    token = secrets.token_hex(16)
    return f"mcp_{token}{_mark_of(token, options)}"


def _is_own(session: str, options: TurnOptions) -> bool:
    """Whether the id was made for this caller: whoever learns it cannot use it with another key."""
    found = _SESSION_ID.fullmatch(session)
    return found is not None and found[2] == _mark_of(found[1], options)


def _mark_of(token: str, options: TurnOptions) -> str:
    whose = f"{token}\n{options.get('tenant', 'default')}\n{options.get('actor', '')}"
    return sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _has_sessions(headers: Headers) -> bool:
    """Whether the client speaks a version with a handshake; later ones have no sessions."""
    return headers.get(VERSION, HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS


async def _read_body(receive: Receive, most: int) -> bytes:
    """All of it, or so much that it is too much."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > most or not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replay() -> Message:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return replay


def _to_whoever_listens(send: Send) -> Send:
    """A client that has left is no error: who streams to it learns it by what it receives."""

    async def sending(message: Message) -> None:
        with suppress(OSError):
            await send(message)

    return sending


def _with_session(send: Send, session: str) -> Send:
    """Tell the client its session, if it was let in."""

    async def telling(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            MutableHeaders(scope=message)[MCP_SESSION] = session
        await send(message)

    return telling


def _refusal(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    error = {"code": INVALID_REQUEST, "message": text}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status, headers=headers)

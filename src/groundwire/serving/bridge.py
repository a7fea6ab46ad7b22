"""An ASGI application behind an RSGI server: HTTP with streams, and websockets. The lifespan is the caller's affair."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from granian.rsgi import ProtocolClosed, WebsocketMessageType

from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.redaction import redact_bytes
from groundwire.serving.answers import error_answer, status_of
from groundwire.serving.bodies import too_slow, whole_pieces
from groundwire.serving.headers import TENANT
from groundwire.serving.response_headers import SECURITY_HEADERS, Headers, add_common_headers
from groundwire.serving.tallies import GONE
from groundwire.serving.watching import Rounds, TimeLimit

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

REQUEST_ID = "x-request-id"
UNREADABLE = b"\xff"


class AsgiCall:
    """One request on its way through an ASGI application. `status` is what was answered, 0 until then."""

    def __init__(
        self,
        scope: Any,
        protocol: Any,
        request_id: str,
        rounds: Rounds,
        body_timeout: float,
        secrets: Collection[str] = (),
        common: Headers = SECURITY_HEADERS,
    ) -> None:
        """`common` headers are added to every answer, and `secrets` are hidden in errors."""
        self._secrets = secrets
        self._common = common
        self._rounds = rounds
        self._body_timeout = body_timeout
        self._scope = scope
        self._protocol = protocol
        self._request_id = request_id
        self._asgi_scope = _scope_of(scope, "http" if scope.proto == "http" else "websocket", request_id)
        self._is_gone = False
        self.status = 0

    @property
    def route(self) -> str:
        """The path as its route is written; empty where there is no such route."""
        path: str = getattr(self._asgi_scope.get("route"), "path", "")
        return path.replace(":path}", "}")

    @property
    def tenant(self) -> str:
        """The tenant of the request; empty until its endpoint has authenticated it."""
        tenant: str = self._asgi_scope["state"].get(TENANT, "")
        return tenant

    async def run(self, app: AsgiApp) -> None:
        if self._scope.proto == "http":
            await self._run_http(app)
        else:
            self.status = 101
            await _call_websocket(app, self._scope, self._protocol, self._asgi_scope)

    def answer_preflight(self, headers: Headers) -> None:
        """Answer the preflight request of an allowed page."""
        self.status = 204
        self._protocol.response_empty(self.status, [*headers, (REQUEST_ID, self._request_id)])

    def fail(self, error: GroundwireError) -> None:
        """Answer with an error, if nothing was answered yet; a websocket is not opened."""
        if not self.status and self._scope.proto != "http":
            self.status = status_of(error)
            self._protocol.close(self.status)
        elif not self.status:
            answer = error_answer(error)
            self.status = answer.status_code
            headers = add_common_headers([*answer.headers.items(), (REQUEST_ID, self._request_id)], self._common)
            self._send_error(self.status, headers, bytes(answer.body))

    def _send_error(self, status: int, headers: Headers, body: bytes) -> None:
        """Send an error without keys: it may repeat any part of the request. The server computes the new length."""
        shown = [(name, value) for name, value in headers if name != "content-length"]
        self._protocol.response_bytes(status, shown, redact_bytes(body, self._secrets))

    async def _run_http(self, app: AsgiApp) -> None:
        protocol = self._protocol
        pieces = whole_pieces(self._scope, protocol)
        due = asyncio.get_running_loop().time() + self._body_timeout
        is_read = False
        headers: list[tuple[str, str]] = []
        started = 0
        transport: Any = None

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await protocol.client_disconnect()
                return {"type": "http.disconnect"}
            try:
                with TimeLimit(self._rounds, due, partial(too_slow, self._body_timeout)):
                    return {"type": "http.request", "body": await anext(pieces), "more_body": True}
            except StopAsyncIteration:
                is_read = True
                return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal headers, started, transport
            if message["type"] == "http.response.start":
                started = message["status"]
                headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
                if all(name != REQUEST_ID for name, _ in headers):
                    headers.append((REQUEST_ID, self._request_id))
                headers = add_common_headers(headers, self._common)
                return
            if message["type"] != "http.response.body":
                return
            self.status = started
            body = bytes(message.get("body", b""))
            if transport is None and not message.get("more_body", False):
                if started >= 400:
                    self._send_error(started, headers, body)
                else:
                    protocol.response_bytes(started, headers, body)
                return
            if transport is None:
                transport = protocol.response_stream(started, headers)
            if body:
                try:
                    await transport.send_bytes(body)
                except ProtocolClosed as error:
                    self._is_gone = True
                    self.status = GONE
                    raise OSError("the client is gone") from error  # what ASGI tells an application then
            if not message.get("more_body", False):
                transport = None  # the body ends when nobody holds it, and others may hold on to this function

        try:
            await app(self._asgi_scope, receive, send)
        except Exception:
            if not self._is_gone:
                raise
        finally:
            transport = None


def _scope_of(scope: Any, kind: str, request_id: str) -> Message:
    return {
        "type": kind,
        "method": scope.method,
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": scope.http_version,
        "scheme": scope.scheme if kind == "http" else scope.scheme.replace("http", "ws", 1),
        "path": scope.path,
        "raw_path": quote(scope.path).encode(),
        "root_path": "",
        "query_string": scope.query_string.encode("latin-1", "replace"),
        "headers": _headers(scope.headers, scope.authority),
        "client": _address(scope.client),
        "server": _address(scope.server),
        "state": {"request_id": request_id},
    }


def _headers(headers: Any, authority: str | None) -> list[tuple[bytes, bytes]]:
    """The server gives no values that are not ASCII; who must not overlook one sees that there is something.

    HTTP/2 says the host beside the headers, and ASGI among them.
    """
    found = [(name.encode(), value.encode()) for name, value in headers.items()]
    names = {name for name, _ in found}
    if authority and b"host" not in names:
        found.append((b"host", authority.encode()))
        names.add(b"host")
    hidden = [name.encode() for name in headers.keys()]  # noqa: SIM118 - it is no dict
    return [*found, *((name, UNREADABLE) for name in hidden if name not in names)]


def _address(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdigit() else None


async def _call_websocket(app: AsgiApp, scope: Any, protocol: Any, asgi_scope: Message) -> None:
    transport: Any = None
    is_opened = False

    async def receive() -> Message:
        nonlocal is_opened
        if not is_opened:
            is_opened = True
            return {"type": "websocket.connect"}
        if transport is None:
            await asyncio.get_running_loop().create_future()
        message = await transport.receive()
        if message.kind == WebsocketMessageType.close:
            return {"type": "websocket.disconnect", "code": 1005}
        name = "bytes" if message.kind == WebsocketMessageType.bytes else "text"
        return {"type": "websocket.receive", name: message.data}

    async def send(message: Message) -> None:
        nonlocal transport
        kind = message["type"]
        if kind == "websocket.accept":
            transport = await protocol.accept()
        elif kind == "websocket.close":
            protocol.close(message.get("code", 1000) if transport is not None else 403)
        elif kind == "websocket.send":
            if message.get("bytes") is not None:
                await transport.send_bytes(message["bytes"])
            else:
                await transport.send_str(message["text"])

    offered = scope.headers.get("sec-websocket-protocol") or ""
    asgi_scope["subprotocols"] = [name.strip() for name in offered.split(",") if name]
    await app(asgi_scope, receive, send)

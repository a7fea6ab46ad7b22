"""An ASGI application behind an RSGI server: HTTP with streams, and websockets. The lifespan is the caller's affair."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import quote

from granian.rsgi import ProtocolClosed, WebsocketMessageType

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


async def call_asgi(app: AsgiApp, scope: Any, protocol: Any) -> None:
    if scope.proto == "http":
        await _call_http(app, scope, protocol)
    else:
        await _call_websocket(app, scope, protocol)


def _scope_of(scope: Any, kind: str) -> Message:
    return {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": scope.http_version,
        "scheme": scope.scheme if kind == "http" else scope.scheme.replace("http", "ws", 1),
        "path": scope.path,
        "raw_path": quote(scope.path).encode(),
        "root_path": "",
        "query_string": scope.query_string.encode("latin-1"),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in scope.headers.items()],
        "client": _address(scope.client),
        "server": _address(scope.server),
        "state": {},
    }


def _address(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdigit() else None


async def _call_http(app: AsgiApp, scope: Any, protocol: Any) -> None:
    pieces = protocol.__aiter__()
    is_read = False
    status, headers = 0, []
    transport: Any = None

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await protocol.client_disconnect()
            return {"type": "http.disconnect"}
        try:
            return {"type": "http.request", "body": await anext(pieces), "more_body": True}
        except StopAsyncIteration:
            is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers, transport
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            return
        if message["type"] != "http.response.body":
            return
        body = bytes(message.get("body", b""))
        if transport is None and not message.get("more_body", False):
            protocol.response_bytes(status, headers, body)
            return
        if transport is None:
            transport = protocol.response_stream(status, headers)
        if body:
            try:
                await transport.send_bytes(body)
            except ProtocolClosed as error:
                raise OSError("the client is gone") from error  # what ASGI tells an application then

    await app({**_scope_of(scope, "http"), "method": scope.method}, receive, send)


async def _call_websocket(app: AsgiApp, scope: Any, protocol: Any) -> None:
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
    asgi_scope = {
        **_scope_of(scope, "websocket"),
        "subprotocols": [name.strip() for name in offered.split(",") if name],
    }
    await app(asgi_scope, receive, send)

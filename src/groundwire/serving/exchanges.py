"""One HTTP exchange on the server's side: a request, and the one answer to it, whole or in pieces.

The seam to the server, which calls an application by RSGI. Knows nothing of dialects and keys.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl

from granian.rsgi import ProtocolClosed
from msgspec import Struct
from msgspec.structs import force_setattr

from groundwire.contracts.errors import GroundwireError, WireError
from groundwire.contracts.redaction import redact_bytes
from groundwire.serving.bodies import RequestTooSlow, too_large, too_slow, whole_pieces
from groundwire.serving.body_unpacker import BodyUnpacker
from groundwire.serving.response_headers import SECURITY_HEADERS, Headers
from groundwire.serving.watching import ClientWatch, Rounds, TimeLimit

WATCH_AFTER = 0.25
"""Seconds after which somebody looks whether the client is still there; most answers are given before."""


class ClientGone(GroundwireError):
    """The client closed the connection; there is nobody left to answer."""

    code = "client_gone"


class _Lookup(Protocol):
    def get(self, key: str, default: Any = None) -> Any: ...

    def __contains__(self, key: str) -> bool: ...

    def items(self) -> Iterable[tuple[str, str]]: ...


class Exchange:
    """`path` is decoded by the server where it is percent-encoded, `query` is as it came."""

    __slots__ = (
        "_body", "_body_timeout", "_common", "_protocol", "_recording", "_reserved", "_rounds", "_scope", "_secrets",
        "_unpacker", "headers", "is_provisional", "request_id", "request_key", "status", "tenant",
    )  # fmt: skip

    def __init__(
        self,
        scope: Any,
        protocol: Any,
        request_id: str,
        rounds: Rounds,
        unpacker: BodyUnpacker,
        body_timeout: float,
        secrets: Collection[str] = (),
        common: Headers = SECURITY_HEADERS,
    ) -> None:
        """`common` headers are added to every answer, and `secrets` are hidden in errors."""
        self._body_timeout = body_timeout
        self._unpacker = unpacker
        self._reserved = 0
        self._scope = scope
        self._secrets = secrets
        self._common = common
        self._rounds = rounds
        self.headers: _Lookup = scope.headers
        self.request_id = request_id
        self.is_provisional = False
        """Whether the same request will be answered differently later, so that this answer is not kept for it."""
        self.tenant = ""
        """The tenant of the request; empty until its key is known."""
        self.request_key = ""
        """Names a request that may come again, so that what it began is not begun twice; empty for all others."""
        self.status = 0
        """What was answered; 0 until then."""
        self._protocol = protocol
        self._body: bytes | None = None
        self._recording: Recording | None = None

    @property
    def method(self) -> str:
        method: str = self._scope.method
        return method

    @property
    def path(self) -> str:
        path: str = self._scope.path
        return path

    @property
    def query(self) -> str:
        query: str = self._scope.query_string
        return query

    def header(self, name: str) -> str | None:
        """By its name in lower case. HTTP/2 says the host beside the headers."""
        value: str | None = self.headers.get(name)
        return self._scope.authority if value is None and name == "host" else value

    def told(self, name: str) -> str | None:
        """A header that says what is to be done, by its name in lower case; WireError where it cannot be read.

        The server gives no values that are not ASCII, as if they had not been sent.
        """
        value: str | None = self.headers.get(name)
        if value is None and name in self.headers:
            raise WireError("must be ASCII", path=name)
        return value

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, empty where there is none."""
        return next((value for key, value in parse_qsl(self.query) if key == name), "")

    async def body(self, limit: int) -> bytes:
        """Return the whole body, unpacked; each call returns the same bytes. RequestTooLarge beyond `limit` bytes."""
        if self._body is None:
            due = asyncio.get_running_loop().time() + self._body_timeout
            with TimeLimit(self._rounds, due, self._late):
                sent = await self._read(limit)
            encodings = self.headers.get("content-encoding")
            if encodings is None:
                self._body = sent
            else:
                unpacked = await self._unpacker.unpack(sent, encodings, limit)
                self._body, self._reserved = unpacked.data, unpacked.reserved
        return self._body

    def close(self) -> None:
        """Give back the memory that an unpacked body has reserved."""
        self._unpacker.release(self._reserved)
        self._reserved = 0

    def _late(self) -> RequestTooSlow:
        return too_slow(self._body_timeout)

    async def _read(self, limit: int) -> bytes:
        length = self.headers.get("content-length")
        if length is not None:
            if not length.isdigit() or int(length) > limit:
                raise too_large(limit)
            try:
                whole: bytes = await self._protocol()
            except ProtocolClosed:
                raise ClientGone("The client closed the connection before its body ended.") from None
            return whole
        pieces: list[bytes] = []
        size = 0
        async for piece in whole_pieces(self._scope, self._protocol):
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            pieces.append(piece)
        return b"".join(pieces)

    def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a complete answer. An error is sent without keys: it may repeat any part of the request."""
        self.status = status
        if status >= 400:
            body = redact_bytes(body, self._secrets)
        if self._recording is not None:
            self._recording.begin(status, headers, is_streamed=False)
            self._recording.add(body)
            self._recording.end()
        self._protocol.response_bytes(status, headers + self._common, body)

    async def stream(
        self, status: int, headers: Headers, pieces: AsyncGenerator[bytes], *, life: "SignOfLife | None" = None
    ) -> None:
        """Send each piece as it comes, and close where they come from. ClientGone where nobody listens any more.

        With `life`, a sign of it is given where nothing comes for a while; pieces must then be whole events.
        """
        self.status = status
        recording = self._recording
        if recording is not None:
            recording.begin(status, headers, is_streamed=True)
        transport = self._protocol.response_stream(status, headers + self._common)
        heart = _Heart(transport, life) if life is not None else None
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    if piece:
                        if heart is not None:
                            heart.pieces += 1
                        await transport.send_bytes(piece)
                        if recording is not None:
                            recording.add(piece)
        except ProtocolClosed:
            raise ClientGone("The client closed the connection before the answer ended.") from None
        finally:
            if heart is not None:
                heart.stop()
            transport = None  # the server ends the body when nobody holds it, and a traceback would
        if recording is not None:
            recording.end()

    def record(self, limit: int) -> "Recording":
        """Remember what is going to be answered, up to so many bytes."""
        self._recording = Recording(limit)
        return self._recording

    def watched(self) -> ClientWatch:
        """Cancel what is done inside when the client goes away, and raise ClientGone."""
        return ClientWatch(self._rounds, self._protocol.client_disconnect, _left, WATCH_AFTER)


class SignOfLife(Struct, frozen=True):
    """What is sent after so many seconds of silence: proxies and clients give a connection up that says nothing."""

    sign: bytes
    seconds: float


class _Heart:
    def __init__(self, transport: Any, life: SignOfLife) -> None:
        self.pieces = 0
        self._seen = 0
        self._transport = transport
        self._life = life
        self._loop = asyncio.get_running_loop()
        self._beating: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(life.seconds, self._look)

    def stop(self) -> None:
        """The answer ends when nobody has its transport any more, so nothing here may keep it, or be kept by its own task."""
        self._timer.cancel()
        if self._beating is not None:
            self._beating.cancel()
        self._transport = self._beating = None

    def _look(self) -> None:
        self._timer = self._loop.call_later(self._life.seconds, self._look)
        is_silent, self._seen = self.pieces == self._seen, self.pieces
        if is_silent and (self._beating is None or self._beating.done()):  # who does not read gets one at most
            self._beating = self._loop.create_task(self._beat(self._transport))

    async def _beat(self, transport: Any) -> None:
        with suppress(ProtocolClosed):  # whoever sends the next piece will notice it, too
            await transport.send_bytes(self._life.sign)


class Recording:
    """An answer, as it went out. `is_whole` only at its end, and only if there was room for all of it."""

    def __init__(self, limit: int) -> None:
        self.status = 0
        self.headers: Headers = []
        self.is_streamed = False
        self.is_whole = False
        self._pieces: list[bytes] = []
        self._room = limit

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    def begin(self, status: int, headers: Headers, *, is_streamed: bool) -> None:
        self.status, self.headers, self.is_streamed = status, headers, is_streamed

    def add(self, piece: bytes) -> None:
        self._room -= len(piece)
        if self._room >= 0:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def end(self) -> None:
        self.is_whole = self._room >= 0


def _left() -> ClientGone:
    return ClientGone("The client closed the connection before it was answered.")


Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]


Refuser: TypeAlias = Callable[[Exchange, GroundwireError], None]


class Route(Struct, frozen=True, kw_only=True):
    """`path` is exact, or ends in `*` and covers all that begins so, if it `accepts` the rest.

    `refuse` answers where the handler was not asked. Requests are counted under its `label` and its `dialect`.
    """

    method: str
    path: str
    handler: Handler
    refuse: Refuser
    accepts: Callable[[str], bool] | None = None
    dialect: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            force_setattr(self, "label", f"{self.method} {self.path}")

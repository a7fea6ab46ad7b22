"""The transport on the event loop's own sockets, with one pool of connections per server.

A client library of another runtime hands over each piece of a stream on its own, from a thread of its own; that cost
more than all the rest of a gateway's work on a stream. What providers do not need is left out: redirects, cookies,
compression, HTTP/2.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from functools import cached_property

from groundwire.contracts.failures import FailureKind
from groundwire.providers.connecting import Connector, Locator, Server
from groundwire.providers.connections import Connection
from groundwire.providers.transport import HttpRequest, HttpResponse, Timeouts, TransportError

MAX_IDLE = 45.0
"""Seconds after which a connection that nobody used is not trusted any more; servers close them after about a minute."""

MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of an answer that is read whole; a stream may be longer."""


class SocketTransport:
    def __init__(
        self,
        timeouts: Timeouts | None = None,
        *,
        proxy: str = "",
        ca_file: str = "",
        max_idle: float = MAX_IDLE,
        max_answer: int = MAX_ANSWER,
        locate: Locator | None = None,
    ) -> None:
        self.max_answer = max_answer
        self._max_idle = max_idle
        self._timeouts = timeouts or Timeouts()
        self._connector = Connector(proxy=proxy, ca_file=ca_file, seconds=self._timeouts.connect, locate=locate)
        self._idle: dict[Server, deque[Connection]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        server, message = self._connector.prepare(request)
        times, total = self._timeouts, request.timeout
        silence = times.total if times.read is None else times.read
        if times.read is None and total > times.total:
            silence = 0.0  # whoever gives a request more time than usual means its silence too
        while True:
            connection, used_before = self._idle_one(server), True
            if connection is None:
                connection, used_before = await self._connector.connect(server, total), False
            connection.send(message, silence=silence, total=total)
            try:
                await connection.head()
            except BaseException as error:
                connection.close()
                if used_before and not connection.has_answered and _is_broken(error):
                    continue  # the server had hung up meanwhile
                raise
            return _Response(connection, server, self)

    async def close(self) -> None:
        idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def give_back(self, connection: Connection, server: Server) -> None:
        if not connection.is_usable or self._loop is not asyncio.get_running_loop():
            connection.close()
            return
        now = connection.idle_since = self._loop.time()
        waiting = self._idle.setdefault(server, deque())
        waiting.append(connection)
        while waiting and self._is_stale(waiting[0], now):
            waiting.popleft().close()

    def _idle_one(self, server: Server) -> Connection | None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # connections belong to the loop that made them
            self._idle, self._loop = {}, loop
        waiting = self._idle.get(server)
        while waiting:
            connection = waiting.pop()
            if not self._is_stale(connection, loop.time()):
                return connection
            connection.close()
        return None

    def _is_stale(self, connection: Connection, now: float) -> bool:
        return not connection.is_usable or now - connection.idle_since >= self._max_idle


def _is_broken(error: BaseException) -> bool:
    return isinstance(error, TransportError) and error.kind is FailureKind.BAD_RESPONSE


class _Response:
    def __init__(self, connection: Connection, server: Server, pool: SocketTransport) -> None:
        self.status = connection.status
        self._headers = connection.headers
        self._connection: Connection | None = connection
        self._server = server
        self._pool = pool

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """By their names in lower case; one that came several times has its values in one line."""
        found: dict[str, str] = {}
        for name, value in self._headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            found[key] = f"{found[key]}, {text}" if key in found else text
        return found

    async def read(self) -> bytes:
        connection, pieces, size = self._connection, list[bytes](), 0
        try:
            while connection is not None and (piece := await connection.take()):
                pieces.append(piece)
                size += len(piece)
                if size > self._pool.max_answer:
                    message = f"The answer has more than {self._pool.max_answer} bytes."
                    raise TransportError(FailureKind.BAD_RESPONSE, message)
                if connection.is_empty:
                    break
        finally:
            self._end()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def piece(self) -> bytes:
        connection = self._connection
        if connection is None:
            return b""
        try:
            piece = await connection.take()
        except BaseException:
            self._end()
            raise
        if not piece:
            self._end()
        return piece

    async def close(self) -> None:
        self._end()

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection, self._server)

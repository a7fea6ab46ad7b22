"""One connection to a server: HTTP/1.1 as httptools parses it, one exchange at a time.

Bytes that came together are handed on together: a busy process then has fewer pieces to deal with, an idle one has
each as soon as it is there. Knows nothing of pools, addresses or limits.
"""

import asyncio
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from groundwire.contracts.failures import FailureKind
from groundwire.providers.transport import BROKEN, LATE, TransportError

MAX_HEAD = 262_144
"""Bytes of status and headers together."""
MAX_WAITING = 262_144
"""Bytes of a body that nobody has taken yet; past them the server has to wait."""


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._keeps_alive = True
        self._heard_at = 0.0
        self._silence = 0.0
        self._deadline = 0.0
        self._failure: TransportError | None = None
        self._head_bytes = 0
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_head = False
        self.is_complete = True
        self.idle_since = 0.0

    def send(self, message: bytes, *, silence: float, total: float) -> None:
        """Begin an exchange. `silence` is borne between two pieces, `total` for all of it; 0 is no limit."""
        self._pieces, self._waiting = [], 0
        self._head_bytes = self.status = 0
        self.headers = []
        self.has_head = self.is_complete = False
        now = self._heard_at = self._loop.time()
        self._silence, self._deadline = silence, now + total if total else 0.0
        self._watch()
        if self._transport is None:  # lost as soon as it was made
            self._fail(TransportError(FailureKind.BAD_RESPONSE, BROKEN))
        else:
            self._transport.write(message)

    async def head(self) -> None:
        """Return when status and headers are there."""
        while not self.has_head:
            await self._wait()

    async def take(self) -> bytes:
        """What has come of the body since; empty at its end."""
        while not self._pieces:
            if self.is_complete:
                return b""
            await self._wait()
        pieces, self._pieces, self._waiting = self._pieces, [], 0
        if self._is_paused:
            self._is_paused = False
            self._heard_at = self._loop.time()  # the silence was ours
            if self._transport is not None:
                self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def is_empty(self) -> bool:
        """Whether all of the answer was taken."""
        return self.is_complete and not self._pieces

    @property
    def has_answered(self) -> bool:
        """Whether any byte came back."""
        return self._head_bytes > 0

    @property
    def is_usable(self) -> bool:
        """Whether another exchange may follow on it."""
        return self._transport is not None and self.is_complete and self._keeps_alive and not self._is_paused

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # What the event loop says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.is_complete:  # nobody asked for it
            self.close()
            return
        self._heard_at = self._loop.time()
        if not self.has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail(TransportError(FailureKind.BAD_RESPONSE, "The answer is not HTTP."))
            return
        if not self.has_head and self._head_bytes > MAX_HEAD:
            self._fail(TransportError(FailureKind.BAD_RESPONSE, "The headers of the answer are too long."))
        elif self._waiting > MAX_WAITING and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self.is_complete or self._failure is not None:
            return
        is_open_ended = {name.lower() for name, _ in self.headers}.isdisjoint((b"content-length", b"transfer-encoding"))
        if self.has_head and is_open_ended and exc is None:
            self.is_complete = True
            self._wake()
        else:
            self._fail(TransportError(FailureKind.BAD_RESPONSE, BROKEN))

    # What the parser says.

    def on_message_begin(self) -> None:
        if self.is_complete:  # a second answer, which nobody asked for
            self._keeps_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_complete:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.is_complete:
            return
        self.status = self._parser.get_status_code()
        self.has_head = self.status >= 200  # a lower one only says that the answer is to come
        if not self.has_head:
            self.headers = []

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self._pieces.append(body)
            self._waiting += len(body)

    def on_message_complete(self) -> None:
        if self.has_head and not self.is_complete:
            self.is_complete = True
            self._keeps_alive = self._parser.should_keep_alive()  # which only knows it now

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        failure: TransportError | None = self._failure  # which may have come meanwhile
        if failure is not None and not self._pieces:
            raise failure

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, failure: TransportError) -> None:
        self._failure = failure
        self.close()
        self._wake()

    def _watch(self) -> None:
        """One timer for all limits and exchanges: it looks when the earliest may have passed, and again if none has."""
        due = self._heard_at + self._silence if self._silence else self._deadline
        if self._deadline and self._deadline < due:
            due = self._deadline
        if not due or (self._timer is not None and self._timer.when() <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.is_complete or self._failure is not None:
            return
        now = self._loop.time()
        if self._is_paused:  # the silence is ours
            self._heard_at = now
        is_late = bool(self._deadline) and now >= self._deadline
        if is_late or (self._silence and now - self._heard_at >= self._silence):
            self._fail(TransportError(FailureKind.TIMEOUT, LATE))
        else:
            self._watch()

"""One websocket on a connection that an HTTP server has already read a request from. Knows frames, not what they say."""

import asyncio
from collections import deque
from collections.abc import Sequence

from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode
from websockets.http11 import Request as Handshake
from websockets.protocol import State
from websockets.server import ServerProtocol

from groundwire.simulator.http import Request

_MAX_MESSAGE = 32 * 1024 * 1024
_READ = 64 * 1024


class WebSocket:
    """Messages in and out, until one side has closed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = ServerProtocol(max_size=_MAX_MESSAGE)
        self._messages: deque[bytes] = deque()
        self._pieces: list[bytes] = []

    async def accept(self, request: Request) -> bool:
        """Shake hands; false when the client did not offer its hand rightly, and was told so."""
        lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{k}: {v}" for k, v in request.headers.items())]
        self._protocol.receive_data("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for event in self._protocol.events_received():
            if isinstance(event, Handshake):
                self._protocol.send_response(self._protocol.accept(event))
        await self._flush()
        return self._protocol.state is State.OPEN

    async def receive(self) -> bytes | None:
        """The next message, text or binary alike; None when there will be no more."""
        while not self._messages:
            if self._protocol.state is State.CLOSED:
                return None
            data = await self._reader.read(_READ)
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            self._take(self._protocol.events_received())
            await self._flush()
            if not data and not self._messages:
                return None
        return self._messages.popleft()

    def _take(self, events: Sequence[object]) -> None:
        for frame in events:
            if not isinstance(frame, Frame) or frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                continue
            self._pieces.append(bytes(frame.data))
            if frame.fin:
                self._messages.append(b"".join(self._pieces))
                self._pieces = []

    async def send(self, data: bytes) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_text(data)
            await self._flush()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Say good-bye, and wait for the answer; a reason has room for 123 bytes."""
        if self._protocol.state is not State.OPEN:
            return
        self._protocol.send_close(code, reason.encode()[:120].decode("utf-8", "ignore"))
        await self._flush()

    async def _flush(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                if data:
                    self._writer.write(data)
                elif self._writer.can_write_eof():
                    self._writer.write_eof()
            await self._writer.drain()
        except (OSError, ProtocolError):
            self._messages.clear()

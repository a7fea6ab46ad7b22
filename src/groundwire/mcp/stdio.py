"""The protocol over two pipes: one JSON message a line, until the client closes its end.

Beyond carrying messages it answers for those that are none: what cannot be read gets an error, not silence. Knows
nothing of tools; the caller has to keep everything else away from these pipes.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from groundwire.mcp.door import Door
from groundwire.mcp.messages import MAX_MESSAGE, BadMessage, read_message
from groundwire.mcp.protocol import make_server
from groundwire.runtime.threads import DaemonThreads
from groundwire.runtime.turns import TurnOptions


async def serve_stdio(
    door: Door, source: BinaryIO, target: BinaryIO, *, options: TurnOptions, elicits: bool = True
) -> None:
    """Serve one client. All of its calls have the same options, and so one session."""

    def caller(_: Any) -> TurnOptions:
        return {**options}

    pipes = Pipes(source, target)
    try:
        await pipes.serve(make_server(door, caller, elicits=elicits))
    finally:
        await door.close()


class Pipes:
    """Lines in, lines out. The end of input is passed on only when everything asked before it is answered."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._threads = DaemonThreads()
        self._open: set[tuple[type, Any]] = set()
        self._answered = asyncio.Event()

    async def serve(self, server: Server[Any]) -> None:
        inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, outward = anyio.create_memory_object_stream[SessionMessage]()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, inward, outgoing.clone())
                group.start_soon(self._write, outward, group.cancel_scope.cancel)
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            self._threads.close()

    async def _read(self, inward: Any, refusals: Any) -> None:
        async with inward, refusals:
            while line := await self._next_line():
                try:
                    message = read_message(line)
                except BadMessage as bad:
                    await refusals.send(SessionMessage(bad.answer))
                    continue
                if isinstance(message, types.JSONRPCRequest):
                    self._open.add(_identity(message.id))
                elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._forget((message.params or {}).get("requestId"))  # it will not be answered
                await inward.send(SessionMessage(message))
            while self._open:
                self._answered.clear()
                await self._answered.wait()

    async def _write(self, outward: Any, stop: Callable[[], None]) -> None:
        async with outward:
            async for sent in outward:
                line = sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await self._threads.run(partial(self._send, line))
                except (OSError, ValueError):  # nobody reads any more
                    stop()
                    return
                if isinstance(sent.message, (types.JSONRPCResponse, types.JSONRPCError)):
                    self._forget(sent.message.id)

    def _send(self, line: bytes) -> None:
        self._target.write(line)
        self._target.flush()

    def _forget(self, request_id: Any) -> None:
        self._open.discard(_identity(request_id))
        self._answered.set()

    async def _next_line(self) -> bytes:
        """One line that is not blank; empty at the end. Of one that is too long only its beginning is kept."""
        while True:
            line: bytes = await self._threads.run(self._read_line)
            if not line or line.strip():
                return line

    def _read_line(self) -> bytes:
        line = rest = self._source.readline(MAX_MESSAGE + 1)
        while rest and not rest.endswith(b"\n"):
            rest = self._source.readline(MAX_MESSAGE + 1)
        return line


def _identity(request_id: Any) -> tuple[type, Any]:
    """An id as it is compared: 1 and "1" are two."""
    return type(request_id), request_id

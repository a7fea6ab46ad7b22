"""A small HTTP/1.1 server over h11, with a hand on the socket: a simulator must be able to cut a connection at a byte.

Knows requests and bodies; what to answer is the handler's. One connection is served by one task.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TypeAlias

import h11
from msgspec import Struct, field

MAX_BODY = 64 * 1024 * 1024
_READ = 64 * 1024


class Request(Struct, frozen=True, kw_only=True):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""


class Response(Struct, frozen=True, kw_only=True):
    """`chunks` is the body piece by piece; the piece None cuts the connection without a word."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunks: AsyncIterator[bytes | None]


Upgrade: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Handler: TypeAlias = Callable[[Request], Awaitable[Response | Upgrade]]


class HttpServer:
    """Listens until it is closed. Port 0 takes a free one.

    A request whose head is there must be whole `patience` seconds later.
    """

    def __init__(self, handler: Handler, *, patience: float = 60.0) -> None:
        self._patience = patience
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def start(self, host: str, port: int) -> int:
        self._server = await asyncio.start_server(self._accept, host, port, limit=MAX_BODY)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        self._is_closed = True
        if self._server is not None:
            # A client that asyncio has half accepted when its server closes is lost to it, and stays open. So first nobody
            # is accepted any more, and then those who were are seen through.
            for listening in self._server.sockets:
                with contextlib.suppress(NotImplementedError):
                    asyncio.get_running_loop().remove_reader(listening.fileno())
            await asyncio.sleep(0)
            self._server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Called as soon as a client is there, so that no connection is open of which `close` does not know."""
        if self._is_closed:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(partial(self._hang_up, writer))

    def _hang_up(self, writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._is_closed:
            writer.transport.abort()  # whoever does not read what was written would keep the server open
            return
        with contextlib.suppress(ConnectionError, RuntimeError):
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The client may be gone, speak no HTTP, or the server is closing: then there is nobody to tell.
        with contextlib.suppress(ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
            await self._serve(reader, writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_BODY)
        while True:
            try:
                request = await _read_request(connection, reader, writer, self._patience)
            except h11.RemoteProtocolError as error:
                await _refuse(connection, writer, error.error_status_hint)
                return
            if request is None:
                return
            answer = await self._handler(request)
            if not isinstance(answer, Response):
                await answer(reader, writer)
                return
            if not await _write_response(connection, writer, answer, with_body=request.method != "HEAD"):
                return
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()


async def _read_request(
    connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float
) -> Request | None:
    deadline: float | None = None
    head: h11.Request | None = None
    body: list[bytes] = []
    size = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                continuing = h11.InformationalResponse(status_code=100, headers=[])
                writer.write(connection.send(continuing) or b"")
            connection.receive_data(await _read_before(deadline, reader))
        elif isinstance(event, h11.Request):
            head = event
            deadline = asyncio.get_running_loop().time() + patience
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > MAX_BODY:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
            body.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage) or event is h11.PAUSED:
            break
        else:  # the client closed
            return None
    if head is None:
        return None
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
    return Request(
        method=head.method.decode("ascii"), target=head.target.decode("latin-1"), headers=headers, body=b"".join(body)
    )


async def _read_before(deadline: float | None, reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout_at(deadline):
            return await reader.read(_READ)
    except TimeoutError:
        raise h11.RemoteProtocolError("the body did not come", error_status_hint=408) from None


async def _refuse(connection: h11.Connection, writer: asyncio.StreamWriter, status: int) -> None:
    """What is no HTTP, or too much of it, gets a status if there is still room for one."""
    if connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        headers = [("content-length", "0"), ("connection", "close")]
        writer.write(connection.send(h11.Response(status_code=status, headers=headers)) or b"")
        await writer.drain()


async def _write_response(
    connection: h11.Connection, writer: asyncio.StreamWriter, response: Response, *, with_body: bool
) -> bool:
    """Whether the connection may be used again."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    writer.write(connection.send(h11.Response(status_code=response.status, headers=headers)) or b"")
    async for chunk in response.chunks:
        if chunk is None:
            await writer.drain()
            return False
        if not with_body:
            continue
        writer.write(connection.send(h11.Data(data=chunk)) or b"")
        await writer.drain()
    writer.write(connection.send(h11.EndOfMessage()) or b"")
    await writer.drain()
    return True

"""Closes client connections that have no request: after a timeout, and earlier where the process has too many.

The HTTP server has a timeout for headers, but it begins with the first byte that tells HTTP/1 from HTTP/2, and it stops
accepting when it has as many connections as it may have. So connections are also checked from outside the server: they are
those open files of this process that are connected to its port. Linux only; elsewhere nothing is closed.
"""

import asyncio
import fcntl
import logging
import os
import socket
import stat
import struct
import sys
import termios
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

log = logging.getLogger("groundwire.serving")

Peer: TypeAlias = str
"""The client's end of a connection, as the server writes it: `127.0.0.1:50000` or `[::1]:50000`."""

_OPEN_FILES = "/proc/self/fd"
_PERIOD = 1.0
_FULL, RELIEVED = 0.875, 0.75
"""Parts of `max_connections`: above the first, connections are closed until there are as many as the second."""
_BUSY = 0.5
"""The part of `max_connections` above which connections are counted more often."""
_LOG_SECONDS = 60.0
_BYTES_ACKED = 120
"""Offset in `struct tcp_info` of the count of bytes that the other side has confirmed."""


class RequestActivity:
    """Records which connections have a request in work, and when each last had one. Takes about 1 µs per request."""

    def __init__(self) -> None:
        self._in_work: dict[Peer, int] = {}
        self._last: dict[Peer, float] = {}

    def begin(self, peer: Peer) -> None:
        """Record that a request of this client has begun."""
        self._in_work[peer] = self._in_work.get(peer, 0) + 1

    def end(self, peer: Peer) -> None:
        """Record that a request of this client has ended."""
        left = self._in_work[peer] - 1
        if left:  # HTTP/2 has several at a time
            self._in_work[peer] = left
        else:
            del self._in_work[peer]
            self._last[peer] = time.monotonic()

    def is_busy(self, peer: Peer) -> bool:
        """Whether a request of this client is in work."""
        return peer in self._in_work

    def last(self, peer: Peer) -> float:
        """When a request of this client ended last, by the monotonic clock; 0 if none did."""
        return self._last.get(peer, 0.0)

    def keep_only(self, peers: set[Peer]) -> None:
        """Forget clients whose connections are closed."""
        for peer in list(self._last):
            if peer not in peers:
                self._last.pop(peer, None)


class _Connection:
    __slots__ = ("acked", "descriptor", "idle_since", "inode", "peer")

    def __init__(self, descriptor: int, inode: int, peer: Peer, now: float) -> None:
        self.descriptor = descriptor
        self.inode = inode
        self.peer = peer
        self.idle_since = now
        self.acked = -1


class IdleConnections:
    """Checks all connections of this process to `port`, and closes those that have been idle too long.

    A connection is idle while no request of it is in work and nothing of an answer is being received by the client.
    """

    def __init__(self, activity: RequestActivity, port: int, *, timeout: float, max_connections: int) -> None:
        self._activity = activity
        self._port = port
        self._timeout = timeout
        self._max_connections = max_connections
        self._known: dict[int, _Connection | None] = {}
        """By the inode of the socket, which no other has while it is open; None for sockets that are not clients'."""
        self._logged_at = -_LOG_SECONDS

    @asynccontextmanager
    async def closed_in_background(self) -> AsyncGenerator[None]:
        """Check repeatedly while the block runs.

        The event loop begins each check, so that requests which wait for a busy loop are counted before their connections are
        checked. A check runs in a thread: with 10 000 connections it takes 70 ms, and 0.4 s when all of them are new.
        """
        if sys.platform != "linux":
            yield
            return
        with ThreadPoolExecutor(1, "idle-connections") as executor:
            task = asyncio.ensure_future(self._run(executor))
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self, executor: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        period = min(_PERIOD, self._timeout / 4)
        count = 0
        while True:
            await asyncio.sleep(period / 4 if count > self._max_connections * _BUSY else period)
            try:
                count = await loop.run_in_executor(executor, self.check)
            except OSError:
                log.exception("Idle connections cannot be closed: %s cannot be read.", _OPEN_FILES)
                return

    def check(self) -> int:
        """Close connections that are due, and return how many are left."""
        now = time.monotonic()
        connections = self._find(now)
        self._activity.keep_only({connection.peer for connection in connections})
        idle = []
        for connection in connections:
            if self._activity.is_busy(connection.peer):
                connection.idle_since = now
            else:
                connection.idle_since = max(connection.idle_since, self._activity.last(connection.peer))
                idle.append(connection)
        idle.sort(key=lambda connection: connection.idle_since)
        surplus = 0
        if len(connections) > self._max_connections * _FULL:
            surplus = len(connections) - int(self._max_connections * RELIEVED)
        closed = 0
        for connection in idle:
            is_late = connection.idle_since <= now - self._timeout
            if not is_late and closed >= surplus:
                break
            closed += self._close(connection, now)
        if surplus and now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            log.warning(
                "%d connections are open, of at most %d: %d without a request were closed before headerTimeout.",
                len(connections), self._max_connections, closed,
            )  # fmt: skip
        return len(connections) - closed

    def _find(self, now: float) -> list[_Connection]:
        found: dict[int, _Connection | None] = {}
        for name in os.listdir(_OPEN_FILES):  # noqa: PTH208 - a Path for each of thousands of files takes too long
            descriptor = int(name)
            try:
                status = os.fstat(descriptor)
            except OSError:  # closed since it was listed
                continue
            if not stat.S_ISSOCK(status.st_mode):
                continue
            inode = status.st_ino
            if inode in self._known:
                found[inode] = self._known[inode]
            else:
                peer = self._peer_of(descriptor)
                found[inode] = None if peer is None else _Connection(descriptor, inode, peer, now)
        self._known = found
        return [connection for connection in found.values() if connection is not None]

    def _peer_of(self, descriptor: int) -> Peer | None:
        """The client of a socket; None if it is not a client's connection to the port."""
        try:
            with _copy_of(descriptor) as copy:
                if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.getsockname()[1] != self._port:
                    return None
                host, port, *scope = copy.getpeername()
        except OSError:  # not connected, such as the socket that listens, or closed by now
            return None
        if not scope:
            return f"{host}:{port}"
        return f"[{host}%{scope[1]}]:{port}" if scope[1] else f"[{host}]:{port}"

    def _close(self, connection: _Connection, now: float) -> bool:
        """Shut a connection down, so that the server closes it. False if it is in use after all."""
        try:
            # The number may belong to another file by now. A copy keeps the file that was looked at.
            with _copy_of(connection.descriptor) as copy:
                if os.fstat(copy.fileno()).st_ino != connection.inode or self._is_receiving(copy, connection):
                    connection.idle_since = now
                    return False
                copy.shutdown(socket.SHUT_RDWR)
        except OSError:  # the client has closed it
            return False
        return True

    def _is_receiving(self, copy: socket.socket, connection: _Connection) -> bool:
        """Whether an answer is being sent, and the client has confirmed more of it since the last check."""
        (waiting,) = struct.unpack("i", fcntl.ioctl(copy, termios.TIOCOUTQ, bytes(4)))
        if not waiting:
            return False
        before = connection.acked
        connection.acked = _acked_bytes(copy)
        return connection.acked != before


def _copy_of(descriptor: int) -> socket.socket:
    return socket.socket(fileno=os.dup(descriptor))


def _acked_bytes(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED + 8)
    with suppress(struct.error):  # kernels before 4.1 do not say
        acked: int = struct.unpack_from("Q", info, _BYTES_ACKED)[0]
        return acked
    return 0

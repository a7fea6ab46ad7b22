"""Attacks by connections that say nothing, or not enough."""

import resource
import select
import socket
import time
from contextlib import suppress

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.health import HealthMonitor
from scripts.attack.project import Project, Server, Tool

SOCKETS = 10_000
SAMPLE_SOCKETS = 1_000
SPARE_FILES = 200
PATIENCE = 40.0
"""Seconds after which connections that never sent a whole request must be closed."""
BEGINNINGS = (b"", b"G", b"P", b"PRI * HT", b"GET / HTTP/1.1\r\nhost: x\r\n")
"""What is sent of a request. The second and later ones may be HTTP/1 or the beginning of HTTP/2."""


def silent_sockets(context: AttackContext) -> Outcome:
    wanted = _allow_files(SAMPLE_SOCKETS if context.is_sample else SOCKETS)
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    server = project.serve()
    opened: list[tuple[socket.socket, bytes]] = []
    try:
        with HealthMonitor(server) as health:
            _open_silent(server, wanted, opened)
            started = time.monotonic()
            left = _wait_for_closing(opened, PATIENCE)
            seconds = time.monotonic() - started
    finally:
        for connection, _ in opened:
            connection.close()
    faults = health.faults()
    if left:
        kinds = ", ".join(repr(kind.decode()) for kind in BEGINNINGS if kind in left)
        faults.append(
            f"{len(left)} of {len(opened)} silent connections are open after {seconds:.0f} s, which sent {kinds}"
        )
    if not faults and not server.executes("ordinary"):
        faults.append("afterwards, a call fails")
    if len(opened) < wanted:
        faults.append(f"only {len(opened)} connections could be opened")
    return conclude(faults, f"{len(opened)} silent connections were closed within {seconds:.0f} s; {health}")


def _allow_files(sockets: int) -> int:
    """Raise this process's limit of open files; how many sockets it allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sockets + SPARE_FILES
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return min(sockets, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES)


def _open_silent(server: Server, wanted: int, opened: list[tuple[socket.socket, bytes]]) -> None:
    """A server that has no room left may close connections at once, or not accept them: both are fine."""
    for number in range(wanted):
        connection = socket.socket()
        connection.settimeout(2)
        beginning = BEGINNINGS[number % len(BEGINNINGS)]
        try:
            connection.connect(("127.0.0.1", server.port))
        except OSError:
            connection.close()
            continue
        opened.append((connection, beginning))
        with suppress(OSError):
            connection.sendall(beginning)


def _wait_for_closing(opened: list[tuple[socket.socket, bytes]], seconds: float) -> list[bytes]:
    """What was sent on the connections that are still open in the end."""
    end = time.monotonic() + seconds
    poller = select.poll()
    left = {}
    for connection, beginning in opened:
        left[connection.fileno()] = (connection, beginning)
        poller.register(connection, select.POLLIN | select.POLLHUP)
    while left and time.monotonic() < end:
        for number, _ in poller.poll(500):
            if _is_closed(left[number][0]):
                poller.unregister(number)
                del left[number]
    return [beginning for _, beginning in left.values()]


def _is_closed(connection: socket.socket) -> bool:
    try:
        while connection.recv(65_536):  # a response such as 408 may come first
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


ATTACKS = (
    Attack(
        name="silent-sockets",
        aim=f"{SOCKETS} connections send nothing, one byte or half a request, and stay.",
        run=silent_sockets,
        seconds=90,
        usual_seconds=20,
    ),
)

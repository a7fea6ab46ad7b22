"""The HTTP server that calls an application: how it is set up, wherever it runs."""

from contextlib import suppress

from granian.constants import Interfaces
from granian.http import HTTP2Settings
from granian.server.embed import Server

from groundwire.serving.application import Application

_BACKLOG = 1024
_FILES = 65_536
"""Open files that a process asks the system for."""
_PINGS = HTTP2Settings(keep_alive_interval=30_000)
"""Milliseconds after which a silent HTTP/2 connection is sent a ping."""


def make_server(application: Application, host: str, port: int) -> Server:
    """Several processes can serve the same port: the kernel distributes connections among them (SO_REUSEPORT)."""
    return Server(
        application,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        backlog=_BACKLOG,
        backpressure=max_connections(),
        http2_settings=_PINGS,
        log_enabled=False,
    )


def max_connections() -> int:
    """Half of the files that this process may have open; the rest is for everything else. Raises the soft limit first.

    The server accepts no more connections than that, and idle ones count. Requests have a limit of their own.
    """
    import resource  # not on every system

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    if files == resource.RLIM_INFINITY:
        files = wanted
    elif files < wanted:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            files = wanted
    return min(files, wanted) // 2

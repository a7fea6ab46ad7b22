"""The HTTP server for an application, configured the same way in workers and within a running program."""

from contextlib import suppress

from granian.constants import Interfaces
from granian.http import HTTP1Settings, HTTP2Settings
from granian.server.embed import Server

from groundwire.serving.application import Application
from groundwire.serving.idle_connections import RELIEVED, IdleConnections

_BACKLOG = 1024
_FILES = 65_536
"""Open files that a process asks the system for."""
_HTTP2 = HTTP2Settings(
    keep_alive_interval=30_000,  # a silent connection is sent a ping
    max_headers_size=HTTP1Settings().max_buffer_size,  # as in HTTP/1; the server's default is 16 MB
    # A client that reads nothing makes the server keep a response per stream. With the default of 200 streams, 100
    # connections took 7 GB; a client that needs more at once opens another connection.
    max_concurrent_streams=8,
)


class ApplicationServer:
    """Serves an application over HTTP.

    Several processes can serve the same port: the kernel distributes connections among them (SO_REUSEPORT).
    """

    def __init__(self, application: Application, host: str, port: int) -> None:
        limit = max_connections()
        # Otherwise requests could hold all connections, and none could be closed to make room for a health check.
        application.limit_in_flight(int(limit * RELIEVED))
        timeout = application.header_timeout
        self._idle = IdleConnections(application.activity, port, timeout=timeout, max_connections=limit)
        self._server = Server(
            application,
            address=host,
            port=port,
            interface=Interfaces.RSGI,
            backlog=_BACKLOG,
            backpressure=limit,
            http1_settings=HTTP1Settings(header_read_timeout=max(1, int(timeout * 1000))),
            http2_settings=_HTTP2,
            log_enabled=False,
        )

    async def serve(self) -> None:
        """Serve until `stop` is called, and finish the requests that have begun by then."""
        async with self._idle.closed_in_background():
            await self._server.serve()

    def stop(self) -> None:
        """Accept no more requests; `serve` returns when those that have begun are finished."""
        self._server.stop()


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

"""Running an application: on worker processes until a signal comes, or within a program that has a loop already."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from granian import Granian
from granian.constants import Interfaces, Loops
from granian.server.embed import Server

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.servers import ServerSettings
from groundwire.serving.application import Application

_BACKLOG = 1024


def run_server(make: Callable[[], Application], settings: ServerSettings) -> None:
    """Serve until the process is told to stop. Each worker makes an application of its own."""
    server = Granian(
        "groundwire",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.RSGI,
        workers=settings.workers,
        runtime_threads=1,
        loop=Loops.uvloop,
        backlog=_BACKLOG,
        backpressure=settings.max_in_flight * 2,
        log_enabled=False,
        workers_kill_timeout=settings.shutdown_seconds,
    )
    server.serve(target_loader=make, wrap_loader=False)  # type: ignore[arg-type]  # an object with __rsgi__ is as good


@asynccontextmanager
async def serving(application: Application, host: str, port: int = 0) -> AsyncGenerator[str]:
    """Serve on this loop while the block runs; the value is the address."""
    port = port or _free_port(host)
    server = Server(application, address=host, port=port, interface=Interfaces.RSGI, log_enabled=False)
    await application.open()
    task = asyncio.ensure_future(server.serve())
    try:
        await _listening(host, port, task)
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        server.stop()
        await asyncio.gather(task, return_exceptions=True)
        await application.close()


def check_free(host: str, port: int) -> None:
    """ConfigError where the address cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(f"Cannot listen on {host}:{port}: {reason}.", hint="choose another --port") from None


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        found: int = probe.getsockname()[1]
        return found


async def _listening(host: str, port: int, task: "asyncio.Future[Any]") -> None:
    while not task.done():
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        writer.close()
        return
    await task

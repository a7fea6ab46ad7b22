"""Running an application: on worker processes until a signal comes, or within a program that has a loop already."""

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from groundwire.serving.application import Application
from groundwire.serving.http_server import ApplicationServer
from groundwire.serving.supervisor import Supervisor
from groundwire.serving.worker import ServerConfiguration

log = logging.getLogger("groundwire.serving")


def run_server(
    configuration: ServerConfiguration,
    *,
    reload: Callable[[], ServerConfiguration] | None = None,
    notify: Callable[[str], None] = log.info,
) -> None:
    """Serve until the process gets a signal to stop; SystemExit if workers cannot be kept running.

    On SIGHUP, `reload` returns the configuration of the workers that replace the old ones, or raises if it cannot be used;
    without it, workers are only restarted. `notify` gets messages for the operator that are not warnings.
    """
    code = Supervisor(configuration, reload, notify).run()
    if code:
        sys.exit(code)


@asynccontextmanager
async def serving(application: Application, host: str, port: int = 0) -> AsyncGenerator[str]:
    """Serve on this loop while the block runs; the value is the address."""
    port = port or free_port(host)
    async with application:
        server = ApplicationServer(application, host, port)
        task = asyncio.ensure_future(server.serve())
        try:
            await _listening(host, port, task)
            yield url_of(host, port)
        finally:
            server.stop()
            await asyncio.gather(task, return_exceptions=True)


def url_of(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def free_port(host: str) -> int:
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

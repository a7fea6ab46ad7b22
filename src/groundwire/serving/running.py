"""Running an application: on worker processes until a signal comes, or within a program that has a loop already."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from granian.constants import Interfaces, Loops
from granian.server.embed import Server
from granian.server.mp import MPServer

from groundwire.contracts.servers import ServerSettings
from groundwire.serving.application import STOPS, Application

log = logging.getLogger("groundwire.serving")

_BACKLOG = 1024


def run_server(make: Callable[[], Application], settings: ServerSettings, check: Callable[[], object]) -> None:
    """Serve until the process is told to stop. Each worker makes an application of its own.

    On SIGHUP new workers take the place of the old ones, which finish what they have; `check` raises where the new
    ones could not work, and then the old ones stay. A worker that dies is replaced, unless that dies at once, too.
    """
    server = _Workers(
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
        respawn_failed_workers=True,
    )
    server.check = check
    server.drain_seconds = settings.drain_seconds

    def make_in_worker() -> Application:
        """Until it has handlers of its own, a worker has those of the main process, which only note that a signal came."""
        for sent in STOPS:
            signal.signal(sent, signal.SIG_DFL)
        if server.interrupt_signal:
            raise SystemExit(0)
        return make()

    server.serve(target_loader=make_in_worker, wrap_loader=False)  # type: ignore[arg-type]  # an object with __rsgi__ is as good


class _Workers(MPServer):
    """The server's main process, which starts and stops workers, with two things more."""

    check: Callable[[], object]
    drain_seconds: float

    def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
        try:
            self.check()
        except Exception as error:  # noqa: BLE001 - whatever it is, new workers would die of it, and all others with them
            log.error("not reloaded, everything stays as it was: %s", error)  # noqa: TRY400 - the text says it all
            return
        super().signal_handler_reload(*args, **kwargs)

    def shutdown(self, exit_code: int = 0) -> None:
        """Say first that no more requests are wanted, and still take them, so that others can look elsewhere."""
        if self.drain_seconds and not self.interrupt_children:
            for worker in self.wrks:
                with suppress(OSError):  # it is gone
                    os.kill(worker.inner.pid, signal.SIGUSR1)
            self.main_loop_interrupt.clear()
            self.main_loop_interrupt.wait(self.drain_seconds)  # who asks again does not want to wait
        super().shutdown(exit_code)


@asynccontextmanager
async def serving(application: Application, host: str, port: int = 0) -> AsyncGenerator[str]:
    """Serve on this loop while the block runs; the value is the address."""
    port = port or free_port(host)
    server = Server(application, address=host, port=port, interface=Interfaces.RSGI, log_enabled=False)
    await application.open()
    task = asyncio.ensure_future(server.serve())
    try:
        await _listening(host, port, task)
        yield url_of(host, port)
    finally:
        server.stop()
        await asyncio.gather(task, return_exceptions=True)
        await application.close()


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

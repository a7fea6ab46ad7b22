"""Running an application: on worker processes until a signal comes, or within a program that has a loop already."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from granian import _signals
from granian._granian import WorkerSignal
from granian.constants import Interfaces, Loops
from granian.http import HTTP2Settings
from granian.server.embed import Server
from granian.server.mp import MPServer, WorkerProcess

from groundwire.contracts.servers import ServerSettings
from groundwire.serving.application import STOPS, Application

log = logging.getLogger("groundwire.serving")

_BACKLOG = 1024
_FILES = 65_536
"""What a worker may have open, where the system lets it."""
_PINGS = HTTP2Settings(keep_alive_interval=30_000)
"""Milliseconds after which a connection that says nothing is asked whether it is still there."""


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
        backpressure=_most_connections(),
        http2_settings=_PINGS,
        log_enabled=False,
        workers_kill_timeout=settings.shutdown_seconds,
        respawn_failed_workers=True,
    )
    server.check = check
    server.drain_seconds = settings.drain_seconds

    main_process = os.getpid()

    def make_in_worker() -> Application:
        """A signal that came since the worker was forked ends it here; one that comes later waits until it serves."""
        for sent in STOPS:
            signal.signal(sent, signal.SIG_DFL)
        _end_with(main_process)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        _signals.set_loop_signals = _hear_once  # in this process, which is nothing but a worker
        application = make()
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # the application lets them through when its loop runs for good
        return application

    multiprocessing.set_start_method("fork", force=True)  # not the default everywhere; workers are made of what is here
    server.serve(target_loader=make_in_worker, wrap_loader=False)  # type: ignore[arg-type]  # an object with __rsgi__ is as good


class _Workers(MPServer):
    """The server's main process, which starts and stops workers, with a few things more."""

    check: Callable[[], object]
    drain_seconds: float

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.main_loop_interrupt: Any = _Wakes(
            lambda: self.interrupt_signal or self.reload_signal or self.interrupt_children
        )

    def _spawn_worker(self, *args: Any, **kwargs: Any) -> WorkerProcess:
        worker = super()._spawn_worker(*args, **kwargs)
        worker.start = partial(_with_stops_held, worker.start)  # type: ignore[method-assign]
        return worker

    def _respawn_workers(self, workers: list[int], spawn_target: Any, target_loader: Any, delay: float = 0) -> None:
        if not delay:  # nobody asked for it
            log.warning("%s died, and is replaced", ", ".join(f"worker {number + 1}" for number in workers))
        super()._respawn_workers(workers, spawn_target, target_loader, delay)

    def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
        try:
            self.check()
        except Exception as error:  # noqa: BLE001 - whatever it is, new workers would die of it, and all others with them
            log.error("not reloaded, everything stays as it was: %s", error)  # noqa: TRY400 - the text says it all
            return
        super().signal_handler_reload(*args, **kwargs)

    def shutdown(self, exit_code: int = 0) -> None:
        """Say first that no more requests are wanted, and still take them, so that others can look elsewhere."""
        if self.interrupt_children and not self.interrupt_signal:
            log.error("workers die soon after they are started, so this server ends")
        if self.drain_seconds and not self.interrupt_children:
            for worker in self.wrks:
                with suppress(OSError):  # it is gone
                    os.kill(worker.inner.pid, signal.SIGUSR1)
            self.interrupt_signal = False
            self.main_loop_interrupt.clear()
            self.main_loop_interrupt.wait(self.drain_seconds)  # who asks again does not want to wait
        super().shutdown(exit_code)


def _end_with(main_process: int) -> None:
    """Have this worker told to stop when the main process is killed: nobody else would, and it has the port."""
    if sys.platform == "linux":
        import ctypes  # only here

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)
        if os.getppid() != main_process:  # that was too late
            os.kill(os.getpid(), signal.SIGTERM)


def _hear_once(loop: asyncio.AbstractEventLoop) -> WorkerSignal:
    """As the server itself would hear of signals, but of the first one only.

    Its own handler waits, and lets nothing else run, where a second signal comes before the first was taken: from a terminal
    a worker gets one from there, and another from the main process.
    """
    told = WorkerSignal()
    heard: list[bool] = []

    def hear() -> None:
        if not heard:
            heard.append(True)
            told.set()

    for sent in STOPS:
        loop.add_signal_handler(sent, hear)
    return told


class _Wakes:
    """What the main loop waits for, in place of an Event: that one's lock may be held by the very frame on top of which a
    signal's handler sets it. What is due wakes it, and so does each `set`, once; neither is lost by a `clear`.
    """

    def __init__(self, is_due: Callable[[], object]) -> None:
        self._is_due = is_due
        self._set: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        self._set.put(None)

    def clear(self) -> None:
        with suppress(Empty):
            while True:
                self._set.get_nowait()

    def wait(self, timeout: float | None = None) -> bool:
        if self._is_due():
            return True
        try:
            self._set.get(timeout=timeout)
        except Empty:
            return False
        return True


def _with_stops_held(start: Callable[[], None]) -> None:
    """Python forgets the signals that reach a child before it knows that it is one: they have to wait outside."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@asynccontextmanager
async def serving(application: Application, host: str, port: int = 0) -> AsyncGenerator[str]:
    """Serve on this loop while the block runs; the value is the address."""
    port = port or free_port(host)
    server = Server(
        application,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        backpressure=_most_connections(),
        http2_settings=_PINGS,
        log_enabled=False,
    )
    await application.open()
    task = asyncio.ensure_future(server.serve())
    try:
        await _listening(host, port, task)
        yield url_of(host, port)
    finally:
        server.stop()
        await asyncio.gather(task, return_exceptions=True)
        await application.close()


def _most_connections() -> int:
    """As many as there can be, with as many files left for everything else.

    The server lets nobody in beyond them, and many may be there that ask for nothing. Requests have a bound of their own.
    """
    import resource  # only where there are workers, too

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    if files == resource.RLIM_INFINITY:
        files = wanted
    elif files < wanted:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            files = wanted
    return min(files, wanted) // 2


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

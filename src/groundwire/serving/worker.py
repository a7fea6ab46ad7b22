"""A worker process: opens an application, serves it until the supervisor stops it, and ends what its handlers started.

It exchanges messages with the supervisor over a pipe. It also stops when the supervisor's end closes, because the supervisor
has died: otherwise it would keep the port for ever.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

import uvloop

from groundwire.contracts.errors import GroundwireError, StoreError
from groundwire.contracts.servers import ServerSettings
from groundwire.runtime.task_exits import contain_task_exits
from groundwire.serving.application import Application
from groundwire.serving.http_server import ApplicationServer
from groundwire.serving.process_tree import descendants_of, end_processes

log = logging.getLogger("groundwire.serving")

READY = "ready"
"""Sent by a worker whose application is open."""
LISTEN = "listen"
"""Sent to a worker that is ready: it may accept connections from now on."""
SERVING = "serving"
"""Sent by a worker that accepts connections."""
_LONGEST_REASON = 1000
"""Characters. A message that fits into one write cannot arrive in part, which would block the supervisor."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
HELD_SIGNALS = (*STOP_SIGNALS, signal.SIGHUP, signal.SIGCHLD)
"""Blocked while a worker is forked. Python drops a signal that reaches a child before the child has its own handlers."""


@dataclass(frozen=True)
class ServerConfiguration:
    """What a generation of workers runs: the server's settings, and how each worker makes its application."""

    settings: ServerSettings
    make: Callable[[], Application]


@dataclass(frozen=True)
class StartFailure:
    """Sent by a worker that cannot open its application."""

    reason: str


def run_worker(configuration: ServerConfiguration, pipe: Connection, inherited: Iterable[Connection]) -> None:
    """Run in the forked process. `inherited` are the supervisor's ends of pipes, closed so that its death can be seen."""
    signal.set_wakeup_fd(-1)
    for end in inherited:
        end.close()
    for number in (*STOP_SIGNALS, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # Reloading is for the supervisor, which gets the signal too when it is sent to the process group. The signal is
    # handled rather than ignored, because processes that handlers start would inherit that it is ignored.
    signal.signal(signal.SIGHUP, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)
    code = 1
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            code = runner.run(_Worker(configuration, pipe).run())
    finally:
        end_processes(lambda: descendants_of(os.getpid()))
    sys.exit(code)


class _Worker:
    def __init__(self, configuration: ServerConfiguration, pipe: Connection) -> None:
        self._configuration = configuration
        self._pipe = pipe
        self._may_listen = asyncio.Event()
        self._is_stopping = False
        self._end: Callable[[], object] = lambda: None

    async def run(self) -> int:
        """Return the exit code of the process."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        self._end = task.cancel  # until there is a server that can finish its requests
        loop = asyncio.get_running_loop()
        contain_task_exits(loop)
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop)
        loop.add_reader(self._pipe.fileno(), self._read)
        try:
            await self._serve()
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
        except StoreError as error:
            if not self._is_stopping:
                self._fail(error)
                return 1
            log.error("The server could not close its store: %s", error)  # noqa: TRY400 - the text is enough
        except Exception as error:  # noqa: BLE001 - whatever it is, the supervisor reports it
            self._fail(error)
            return 1
        return 0 if self._is_stopping else 1

    async def _serve(self) -> None:
        loop, settings = asyncio.get_running_loop(), self._configuration.settings
        async with self._configuration.make() as application:
            loop.add_signal_handler(signal.SIGUSR1, application.drain)
            self._send(READY)
            await self._may_listen.wait()
            _tune_garbage_collection()
            application.on_listening = lambda: self._send(SERVING)
            server = ApplicationServer(application, settings.host, settings.port)
            self._end = server.stop
            await server.serve()

    def _read(self) -> None:
        try:
            self._pipe.recv()
        except (EOFError, OSError):  # the supervisor is gone
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._stop()
        else:
            self._may_listen.set()

    def _stop(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            # The supervisor kills a worker that takes too long, but it may be gone itself.
            timer = threading.Timer(self._configuration.settings.shutdown_seconds + 1, _end_at_once)
            timer.daemon = True
            timer.start()
            self._end()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, GroundwireError):
            reason = f"{error.message} ({error.hint})" if error.hint else error.message
        else:
            log.error("A worker failed.", exc_info=error)
            reason = f"{type(error).__name__}: {error}"
        self._send(StartFailure(reason[:_LONGEST_REASON]))

    def _send(self, message: object) -> None:
        with suppress(OSError):  # the supervisor is gone, and `_read` sees that
            self._pipe.send(message)


def _end_at_once() -> None:
    end_processes(lambda: descendants_of(os.getpid()))
    os._exit(1)


def _tune_garbage_collection() -> None:
    """Collect less often: objects that exist when serving begins stay, and requests leave no reference cycles.

    Measured at 13 % of the CPU time of a request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

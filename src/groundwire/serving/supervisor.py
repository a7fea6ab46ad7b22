"""The main process of a server: starts workers, restarts those that die, replaces them on a reload, and stops them.

A reload is all or nothing. New workers open the new configuration first, all of them; only then do they listen, and only
when all of them serve do the old ones finish and end.
"""

import logging
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

from groundwire.serving.process_tree import Orphans, adopt_orphans, send_signal
from groundwire.serving.restarts import RestartPolicy
from groundwire.serving.worker import (
    HELD_SIGNALS,
    LISTEN,
    READY,
    SERVING,
    STOP_SIGNALS,
    ServerConfiguration,
    StartFailure,
    run_worker,
)

log = logging.getLogger("groundwire.serving")

_START_SECONDS = 120.0
"""A worker that takes longer to open its application is killed."""
_CHECK_SECONDS = 1.0
"""The longest time between two checks of the processes, whose exits are mostly reported by a signal."""


class _WorkerHandle:
    """A worker process as the supervisor sees it."""

    def __init__(self, number: int, process: ForkProcess, pipe: Connection) -> None:
        self.number = number
        self.process = process
        self.pipe = pipe
        self.state = ""
        """Its last message: empty, READY or SERVING."""
        self.failure = ""
        self.kill_at = time.monotonic() + _START_SECONDS
        """When it is killed, unless it has reached its next state by then."""

    @property
    def pid(self) -> int:
        pid = self.process.pid
        assert pid is not None  # noqa: S101 - it was started
        return pid

    def send(self, message: str) -> None:
        with suppress(OSError):  # it has died, which `_handle_exits` sees
            self.pipe.send(message)

    def describe_exit(self) -> str:
        """Why it ended, as a clause without a full stop."""
        code = self.process.exitcode or 0
        if self.failure:
            return self.failure.rstrip(".")
        if code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"


class Supervisor:
    """Keeps the workers of a server running, until a signal stops it or too many of them die."""

    def __init__(
        self,
        configuration: ServerConfiguration,
        reload: Callable[[], ServerConfiguration] | None,
        notify: Callable[[str], None],
    ) -> None:
        self._configuration = configuration
        self._next_configuration = configuration
        self._load = reload
        self._notify = notify
        self._policy = _policy_of(configuration)
        self._workers: list[_WorkerHandle] = []
        self._incoming: list[_WorkerHandle] = []
        """The next generation, until all of it is ready to listen."""
        self._outgoing: list[_WorkerHandle] = []
        """The generation before, until all of its successors serve."""
        self._retiring: list[_WorkerHandle] = []
        """Workers that were sent SIGTERM."""
        self._restarts: list[tuple[float, int]] = []
        self._wants_reload = False
        self._is_reloading = False
        self._is_stopping = False
        self._exit_code = 0
        self._signals = -1
        self._wakeup = -1
        self._orphans = Orphans(lambda: {worker.pid for worker in self._all()})

    def run(self) -> int:
        """Serve until a signal stops the server. Returns the exit code of the process."""
        adopt_orphans()
        settings = self._configuration.settings
        with _reserve_port(settings.host, settings.port), self._handled_signals():
            self._start_generation(self._configuration)
            while not self._is_stopping:
                self._wait()
                self._handle_exits()
                self._kill_overdue()
                self._restart_due()
                if self._wants_reload and not (self._incoming or self._is_reloading):
                    self._reload()
                self._orphans.check()
            self._shut_down()
        return self._exit_code

    def _all(self) -> list[_WorkerHandle]:
        return [*self._workers, *self._incoming, *self._outgoing, *self._retiring]

    # Events

    @contextmanager
    def _handled_signals(self) -> Iterator[None]:
        """Signals wake the main loop through a pipe, so that none is lost and nothing happens inside a handler."""
        self._signals, self._wakeup = os.pipe()
        os.set_blocking(self._signals, False)
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        before = {number: signal.signal(number, lambda *_: None) for number in HELD_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(-1)
            os.close(self._signals)
            os.close(self._wakeup)

    def _wait(self) -> None:
        """Wait until something happens or is due, and handle messages and signals."""
        due = [when for when, _ in self._restarts] + [worker.kill_at for worker in self._all()]
        timeout = min([_CHECK_SECONDS, *(when - time.monotonic() for when in due)])
        pipes = {worker.pipe: worker for worker in self._all() if not worker.pipe.closed}
        for ready in connection.wait([self._signals, *pipes], max(0.0, timeout)):
            if isinstance(ready, Connection):
                self._receive(pipes[ready])
            else:
                self._take_signals()

    def _take_signals(self) -> None:
        numbers = set(os.read(self._signals, 4096))
        if signal.SIGHUP in numbers:
            self._wants_reload = True
        if numbers.intersection(STOP_SIGNALS):
            self._is_stopping = True

    def _receive(self, worker: _WorkerHandle) -> None:
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            worker.pipe.close()
            return
        if isinstance(message, StartFailure):
            worker.failure = message.reason
            return
        worker.state = message
        if message == SERVING and worker not in self._retiring:
            worker.kill_at = float("inf")
        if worker in self._incoming and all(each.state == READY for each in self._incoming):
            self._adopt_generation()
        elif worker in self._workers and message == READY:  # restarted alone, so it does not wait for others
            worker.send(LISTEN)
        elif worker in self._workers and self._is_reloading:
            self._finish_reload()

    # Workers

    def _start(self, number: int, configuration: ServerConfiguration) -> _WorkerHandle:
        pipe, theirs = multiprocessing.Pipe()
        inherited = [pipe, *(worker.pipe for worker in self._all())]
        process = multiprocessing.get_context("fork").Process(
            name=f"worker-{number}", target=run_worker, args=(configuration, theirs, inherited)
        )
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return _WorkerHandle(number, process, pipe)

    def _start_generation(self, configuration: ServerConfiguration) -> None:
        self._next_configuration = configuration
        for number in range(1, configuration.settings.workers + 1):
            self._incoming.append(self._start(number, configuration))

    def _adopt_generation(self) -> None:
        """All new workers have opened the new configuration: one that dies from here on is restarted with it."""
        self._is_reloading = bool(self._workers or self._restarts)
        self._outgoing, self._workers, self._incoming = self._workers, self._incoming, []
        self._configuration = self._next_configuration
        self._policy = _policy_of(self._configuration)
        self._restarts.clear()
        for worker in self._workers:
            worker.send(LISTEN)

    def _finish_reload(self) -> None:
        """Let the old workers go when all new ones serve, so that connections are accepted at any time."""
        count = self._configuration.settings.workers
        if [worker.state for worker in self._workers] == [SERVING] * count:
            self._is_reloading = False
            self._retire(self._outgoing)
            self._outgoing = []
            workers = f"{count} worker{'s' if count > 1 else ''}"
            if self._load is not None:
                self._notify(f"Reloaded: {workers} run{'' if count > 1 else 's'} the new configuration.")
            else:
                self._notify(f"Restarted {workers}. The configuration of this server is read at its start only.")

    def _retire(self, workers: list[_WorkerHandle]) -> None:
        """Let workers finish their requests, for as long as settings allow."""
        for worker in workers:
            worker.process.terminate()
            worker.kill_at = time.monotonic() + self._configuration.settings.shutdown_seconds
        self._retiring += workers

    def _handle_exits(self) -> None:
        for worker in self._all():
            if worker.process.is_alive():
                continue
            while not worker.pipe.closed and worker.pipe.poll():  # its last message has the reason
                self._receive(worker)
            worker.pipe.close()
            if worker in self._incoming:
                self._incoming.remove(worker)
                self._abandon_generation(worker)
            elif worker in self._workers:
                self._workers.remove(worker)
                self._plan_restart(worker)
            else:
                (self._outgoing if worker in self._outgoing else self._retiring).remove(worker)
            self._orphans.end_new()

    def _abandon_generation(self, failed: _WorkerHandle) -> None:
        self._retire(self._incoming)
        self._incoming = []
        if self._workers or self._restarts:
            log.error(
                "Not reloaded: a new worker could not start: %s. All workers stay as they were.", failed.describe_exit()
            )
        else:
            self._fail("The server ends: a worker could not start: %s.", failed.describe_exit())

    def _plan_restart(self, worker: _WorkerHandle) -> None:
        settings = self._configuration.settings
        now = time.monotonic()
        delay = self._policy.delay_after_death(worker.number, now)
        if delay is None:
            log.warning("Worker %d died: %s.", worker.number, worker.describe_exit())
            text = "The server ends: %d workers died within %g seconds, as many as server.maxWorkerDeaths allows."
            self._fail(text, settings.max_worker_deaths, settings.worker_death_window)
            return
        when = f"in {delay:g} seconds" if delay else "at once"
        log.warning("Worker %d died: %s. It is restarted %s.", worker.number, worker.describe_exit(), when)
        self._restarts.append((now + delay, worker.number))

    def _restart_due(self) -> None:
        now = time.monotonic()
        due = [number for when, number in self._restarts if when <= now]
        self._restarts = [(when, number) for when, number in self._restarts if when > now]
        for number in due:
            self._workers.append(self._start(number, self._configuration))

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for worker in self._all():
            if worker.kill_at <= now:
                if worker not in self._retiring:
                    worker.failure = f"it was not ready after {_START_SECONDS:g} seconds"
                worker.process.kill()
                worker.kill_at = float("inf")

    def _reload(self) -> None:
        self._wants_reload = False
        try:
            configuration = self._load() if self._load is not None else self._configuration
        except Exception as error:  # noqa: BLE001 - whatever it is, no worker could start with it
            log.error("Not reloaded: %s All workers stay as they were.", _sentence(str(error)))  # noqa: TRY400 - the text is enough
            return
        self._start_generation(configuration)

    def _fail(self, text: str, *values: object) -> None:
        log.error(text, *values)
        self._is_stopping = True
        self._exit_code = 1

    def _shut_down(self) -> None:
        settings = self._configuration.settings
        if settings.drain_seconds and not self._exit_code:
            for worker in self._workers:
                if worker.state == SERVING:  # before that it has no handler for the signal
                    send_signal(worker.pid, signal.SIGUSR1)
            self._is_stopping = False
            self._wait_until(lambda: self._is_stopping, settings.drain_seconds)
        leaving = self._all()
        for worker in leaving:
            worker.process.terminate()
        self._wait_until(lambda: not any(each.process.is_alive() for each in leaving), settings.shutdown_seconds)
        for worker in leaving:
            worker.process.kill()
            worker.process.join()
        self._orphans.end_all()

    def _wait_until(self, is_over: Callable[[], bool], seconds: float) -> None:
        """Check at each signal: SIGCHLD says that a worker has ended.

        `Process.join` with a timeout does not notice that while a process forked by a handler holds the worker's files.
        """
        deadline = time.monotonic() + seconds
        while not is_over() and (left := deadline - time.monotonic()) > 0:
            if connection.wait([self._signals], min(left, _CHECK_SECONDS)):
                self._take_signals()


def _policy_of(configuration: ServerConfiguration) -> RestartPolicy:
    settings = configuration.settings
    return RestartPolicy(settings.max_worker_deaths, settings.worker_death_window)


@contextmanager
def _reserve_port(host: str, port: int) -> Iterator[None]:
    """Keep the port while no worker listens, so that no other program takes it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((host, port))
        yield


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."

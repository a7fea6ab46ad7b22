"""Threads for handlers that block. They are daemons: one that hangs for ever does not keep the process alive."""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

MAX_IDLE = 32

_Job: TypeAlias = tuple[contextvars.Context, Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]] | None


class DaemonThreads:
    """As many threads as there are blocking calls at once; a few idle ones are kept for the next."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._most_idle = MAX_IDLE

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Start `function` in a thread, with the caller's context variables."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            self._most_idle = MAX_IDLE
            if self._idle > 0:
                self._idle -= 1
            else:
                threading.Thread(target=self._work, name="groundwire-tool", daemon=True).start()
        self._jobs.put((contextvars.copy_context(), function, loop, future))
        return future

    def close(self) -> None:
        """End the idle ones now, and those at work when they are done. Whoever runs more later closes again."""
        with self._lock:
            ended, self._idle, self._most_idle = self._idle, 0, 0
        for _ in range(ended):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            context, function, loop, future = job
            value, error = None, None
            try:
                value = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - it belongs to the call, not to this thread
                error = raised
            with self._lock:
                stays = self._idle < self._most_idle
                self._idle += stays
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this result any more
                loop.call_soon_threadsafe(_finish, future, value, error)
            if not stays:
                return


def _finish(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(value)
        return
    if isinstance(error, (StopIteration, KeyboardInterrupt, GeneratorExit)):  # a future, or its loop, would obey these
        raised, error = error, RuntimeError(f"the handler raised {type(error).__name__}")
        error.__cause__ = raised
    future.set_exception(error)

"""Group commit: whatever waits is written as one transaction. There is no time window; a lone write waits for nobody.

How a batch gets its turn differs: on the event loop's own thread, in a thread that may wait for the disk, or in a task
that waits for a server. What a batch does is the writer's business.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from groundwire.contracts.records import Closing
from groundwire.store.transactions import drive
from groundwire.store.works import Work
from groundwire.store.writers import Writer

_IN_A_ROW = 32
"""So many writes one task may make without letting others have their turn."""


class Batches(Protocol):
    """Where the store hands in its writes."""

    def enqueue(self, closing: Closing) -> None: ...

    async def submit(self, work: Work) -> Any:
        """Return the work's outcome when it is durable."""
        ...

    def post(self, work: Work) -> None:
        """Hand in work whose outcome nobody waits for."""
        ...

    async def stop(self) -> None:
        """Return when nothing is being written any more."""
        ...


class InlineBatches:
    """Batches on the event loop's thread, where a commit costs microseconds.

    The first write of a loop iteration goes at once, and so may a few more of the same task; all others of that
    iteration go together.
    """

    def __init__(self, writer: Writer, lock: "threading.RLock | None" = None) -> None:
        self._writer = writer
        self._lock = lock or threading.RLock()  # loops in other threads share the connection
        self._works: list[Work] = []
        self._gathering: asyncio.AbstractEventLoop | None = None
        self._leader: asyncio.Task[Any] | None = None
        self._credit = 0

    def enqueue(self, closing: Closing) -> None:
        with self._lock:
            if self._writer.defer(closing):
                drive(self._writer.write_deferred())

    async def submit(self, work: Work) -> Any:
        loop = asyncio.get_running_loop()
        with self._lock:
            work.place = self._writer.deferred_so_far
            if self._may_go_at_once(loop):
                await self._writer.write((work,))  # here, it never waits
                if work.error is not None:
                    raise work.error
                return work.outcome
            work.future = loop.create_future()
            self._works.append(work)
        return await work.future

    def _may_go_at_once(self, loop: asyncio.AbstractEventLoop) -> bool:
        task = asyncio.current_task(loop)
        if self._gathering is not loop:
            if self._gathering is not None:
                if not self._gathering.is_closed():
                    return True  # another loop gathers; what is not its own goes alone
                self._works.clear()  # of a loop that has ended, and its callers with it
            self._gathering = loop
            self._leader = task
            self._credit = _IN_A_ROW
            loop.call_soon(self._drain, loop)
        self._credit -= 1
        return self._credit >= 0 and not self._works and self._leader is task

    def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._gathering is not loop:
                return
            works, self._works = self._works, []
            if works:
                drive(self._writer.write(works))
                _wake_all(works)
            if len(works) > 1:  # they will be back together
                self._leader = None
                loop.call_soon(self._drain, loop)
            else:
                self._gathering = None

    def post(self, work: Work) -> None:
        with self._lock:
            drive(self._writer.write((work,)))

    async def stop(self) -> None:
        """Nothing runs on its own here."""


class ThreadBatches:
    """Batches in one thread, where a commit may wait for the disk while the loop goes on.

    A change of threads costs more than a commit, so a write that is alone is made where it came from: at once if it
    need not reach the disk, and else after one iteration of the loop, unless another one came or the last write took
    longer than `slow_seconds`.
    """

    def __init__(self, writer: Writer, *, slow_seconds: float = 0.002) -> None:
        self._writer = writer
        self._slow_seconds = slow_seconds
        self._works: list[Work] = []
        self._arrival = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_writing = False
        self._is_stopping = False
        self._is_crowded = False
        self._is_slow = False

    def enqueue(self, closing: Closing) -> None:
        if self._writer.defer(closing) and not self._works:
            self.post(Work())

    async def submit(self, work: Work) -> Any:
        work.place = self._writer.deferred_so_far
        if not (work.durable or self._is_crowded) and self._may_write_alone():
            self._write((work,))
            if work.error is not None:
                raise work.error
            return work.outcome
        loop = asyncio.get_running_loop()
        work.future = loop.create_future()
        with self._arrival:
            self._works.append(work)
        loop.call_soon(self._take_turn, work)
        return await work.future

    def _take_turn(self, work: Work) -> None:
        """An iteration after a work came: write it if it is still alone, or let the thread write all that wait."""
        if not self._is_slow and self._may_write_alone(work):
            self._write((work,))
            work.wake()
        elif self._works:
            self._start()

    def _may_write_alone(self, *waiting: Work) -> bool:
        """Take the pen, unless somebody has it or others wait for it."""
        with self._arrival:
            if self._is_writing or tuple(self._works) != waiting:
                return False
            self._works.clear()
            self._is_writing = True
            return True

    def _write(self, works: Sequence[Work]) -> None:
        started = time.monotonic()
        drive(self._writer.write(works))
        self._is_slow = time.monotonic() - started > self._slow_seconds
        self._is_crowded = len(works) > 1
        with self._arrival:
            self._is_writing = False
            if self._works or self._is_stopping:
                self._arrival.notify()

    def post(self, work: Work) -> None:
        with self._arrival:
            self._works.append(work)
        self._start()

    def _start(self) -> None:
        with self._arrival:
            if self._thread is None:
                self._is_stopping = False
                self._thread = threading.Thread(target=self._run, name="groundwire-store", daemon=True)
                self._thread.start()
            self._arrival.notify()

    def _run(self) -> None:
        while True:
            with self._arrival:
                while self._is_writing or not (self._works or self._is_stopping):
                    self._arrival.wait()
                works, self._works = self._works, []
                self._is_writing = bool(works)
                if not works:
                    self._thread = None  # whoever comes next starts another one
                    return
            self._write(works)
            self._wake(works)

    def _wake(self, works: Sequence[Work]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[Work]] = {}
        for work in works:
            if work.future is not None:
                by_loop.setdefault(work.future.get_loop(), []).append(work)
        for loop, group in by_loop.items():
            try:
                loop.call_soon_threadsafe(_wake_all, group)
            except RuntimeError:  # that loop has ended, and its callers with it
                continue

    async def stop(self) -> None:
        if self._works:  # their turn has not come yet
            self._start()
        thread = self._thread
        if thread is None:
            return
        with self._arrival:
            self._is_stopping = True
            self._arrival.notify()
        await asyncio.to_thread(thread.join)


def _wake_all(works: Sequence[Work]) -> None:
    for work in works:
        work.wake()


class TaskBatches:
    """Batches in one task, where a commit waits for a server."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._works: list[Work] = []
        self._task: asyncio.Task[None] | None = None

    def enqueue(self, closing: Closing) -> None:
        if self._writer.defer(closing) and not self._works:
            self.post(Work())

    async def submit(self, work: Work) -> Any:
        work.place = self._writer.deferred_so_far
        work.future = asyncio.get_running_loop().create_future()
        self.post(work)
        return await work.future

    def post(self, work: Work) -> None:
        self._works.append(work)
        loop = asyncio.get_running_loop()
        task = self._task
        if task is None or task.done() or task.get_loop() is not loop:
            self._task = loop.create_task(self._run())

    async def _run(self) -> None:
        while self._works:
            works, self._works = self._works, []
            await self._writer.write(works)
            _wake_all(works)

    async def stop(self) -> None:
        task = self._task
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            await task

"""Jobs on DBOS, for callers with an event loop. Nothing heavy is imported or opened before it is first used."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError, NotFound
from groundwire.contracts.jobs import Job, JobHandler, JobSettings, JobStatus, RetrySchedule
from groundwire.contracts.ports import Clock
from groundwire.contracts.texts import storable
from groundwire.extras import needs_extra
from groundwire.jobs.checks import check_job, check_kind, check_page, check_tenant
from groundwire.jobs.places import Place
from groundwire.jobs.signals import Signal

if TYPE_CHECKING:
    from groundwire.jobs.book import JobBook
    from groundwire.jobs.worker import Worker

T = TypeVar("T")

THREADS = 4
LOOK_AGAIN_SECONDS = 0.25
"""How often those who wait look for what other processes did."""


class RealTime:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.perf_counter)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class DbosJobs:
    """The port `Jobs`. Without a clock of its own, the engine's timers decide what is due."""

    def __init__(self, place: Place, clock: Clock | None, settings: JobSettings) -> None:
        self._place = place
        self._clock = clock or RealTime()
        self._is_virtual = clock is not None
        self._settings = settings
        self._changes = Signal()
        self._opening = threading.Lock()
        self._book: JobBook | None = None
        self._worker: Worker | None = None
        self._threads: ThreadPoolExecutor | None = None

    async def submit(
        self,
        kind: str,
        payload: JsonObject,
        *,
        tenant: str = "default",
        due_at: float | None = None,
        key: str = "",
        schedule: RetrySchedule | None = None,
    ) -> Job:
        schedule = schedule or RetrySchedule()
        check_job(kind, payload, tenant, due_at, key, schedule)
        return await self._do((await self._opened()).submit, kind, payload, tenant, due_at, key, schedule)

    async def find(self, job_id: str, *, tenant: str = "default") -> Job:
        return await self._look((await self._existing(job_id, tenant)).find, job_id, tenant)

    async def list(
        self,
        *,
        tenant: str = "default",
        kind: str | None = None,
        status: JobStatus | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[Job]:
        check_page(limit)
        check_tenant(tenant)
        if self._is_untouched and not before:
            return []
        kind = None if kind is None else storable(kind)
        return await self._look((await self._opened()).list, tenant, kind, status, storable(before), limit)

    async def count(self, *, tenant: str | None = None) -> dict[JobStatus, int]:
        if self._is_untouched:
            return dict.fromkeys(JobStatus, 0)
        return await self._look((await self._opened()).count, tenant)

    async def cancel(self, job_id: str, *, tenant: str = "default") -> Job:
        job = await self._do((await self._existing(job_id, tenant)).cancel, job_id, tenant)
        if self._worker is not None:
            self._worker.interrupt(job_id)
        return job

    async def retry(self, job_id: str, *, tenant: str = "default") -> Job:
        return await self._do((await self._existing(job_id, tenant)).retry, job_id, tenant)

    async def report(self, job_id: str, progress: JsonValue) -> None:
        await self._do((await self._opened()).report, storable(job_id), progress)

    async def wait(self, job_id: str, *, tenant: str = "default") -> Job:
        book = await self._existing(job_id, tenant)
        while True:
            seen = self._changes.count
            if (job := await self._look(book.find, job_id, tenant)).is_ended:
                return job
            await self._changes.wait(seen, LOOK_AGAIN_SECONDS)

    async def idle(self) -> None:
        if self._is_untouched:
            return
        book = await self._opened()
        while True:
            seen = self._changes.count
            if not await self._look(book.is_busy, None if self._worker is None else self._worker.kinds):
                return
            await self._changes.wait(seen, LOOK_AGAIN_SECONDS)

    async def start(self, handlers: Mapping[str, JobHandler]) -> None:
        if self._worker is not None:
            raise ConfigError("these jobs have been started already")
        for kind in handlers:
            check_kind(kind)
        book = await self._opened()
        from groundwire.jobs.worker import Worker

        worker = Worker(
            book, dict(handlers), self._settings, self._changes, clock=self._clock if self._is_virtual else None
        )
        await worker.start()
        self._worker = worker

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.stop()
        book, self._book = self._book, None
        threads, self._threads = self._threads, None
        if threads is not None:  # first: somebody who was cancelled may have left work in them
            await asyncio.to_thread(threads.shutdown)
        if book is not None:
            await asyncio.to_thread(book.engine.close)

    @property
    def _is_untouched(self) -> bool:
        """Whether nobody has made a job here yet. To look must not make the place for them."""
        return self._book is None and not self._place.dsn and not Path(self._place.file).is_file()

    async def _existing(self, job_id: str, tenant: str) -> JobBook:
        if self._is_untouched or storable(job_id) != job_id or storable(tenant) != tenant:
            raise NotFound(f"There is no job {job_id}.", hint="groundwire jobs list")
        return await self._opened()

    async def _opened(self) -> JobBook:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="groundwire-jobs")
        book = self._book
        return book if book is not None else await self._look(self._open)

    def _open(self) -> JobBook:
        with needs_extra("jobs", "Work on jobs"):
            from groundwire.jobs.book import JobBook
            from groundwire.jobs.engine import Engine

        with self._opening:
            book = self._book or JobBook(Engine(self._place), self._clock, is_virtual=self._is_virtual)
            self._book = book
            return book

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Something that others may wait for."""
        done = await self._look(work, *arguments)
        self._changes.send()
        return done

    async def _look(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

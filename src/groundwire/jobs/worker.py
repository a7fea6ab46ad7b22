"""A worker: carries out runs that the engine hands it, on the event loop on which it was started.

The engine calls from threads of its own, one for each running job; each waits there for the handler's end on the loop.
Two tasks go along: one lets go of what was cancelled elsewhere and takes over from workers that died, the other, with a
virtual clock, releases what has become due by it.
"""

import asyncio
import inspect
import logging
import os
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError as CutOff
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ConfigError, InvalidJson, StoreUnavailable
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.jobs import Job, JobFailed, JobHandler, JobSettings, RetryLater
from groundwire.contracts.ports import Clock
from groundwire.contracts.redaction import redact
from groundwire.jobs.book import JobBook
from groundwire.jobs.checks import encode_part
from groundwire.jobs.engine import RunNotRecorded
from groundwire.jobs.signals import Signal

T = TypeVar("T")

log = logging.getLogger("groundwire")

PATROL_SECONDS = 1.0
INSIST_SECONDS = 0.5
FORGET_SECONDS = 3600.0


class Worker:
    def __init__(
        self,
        book: JobBook,
        handlers: dict[str, JobHandler],
        settings: JobSettings,
        changes: Signal,
        *,
        clock: Clock | None,
    ) -> None:
        self._book = book
        self._handlers = handlers
        self._settings = settings
        self._changes = changes
        self._clock = clock
        self._name = ""
        self._running: dict[str, asyncio.Task[JsonValue]] = {}
        self._is_stopping = False
        self._may_give_back = threading.Event()
        self._forgotten_at = 0.0
        self._companions: list[asyncio.Task[None]] = []
        # One thread: whoever stops is behind whatever a cancelled companion has under way, and cuts nothing off.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="groundwire-jobs-worker")

    async def start(self) -> None:
        await self._launch()
        self._companions = [asyncio.create_task(self._patrol())]
        if self._clock is not None:
            self._companions.append(asyncio.create_task(self._release(self._clock)))

    async def stop(self) -> None:
        for companion in self._companions:
            companion.cancel()
        await asyncio.gather(*self._companions, return_exceptions=True)
        self._is_stopping = True
        if self._running:
            await asyncio.wait(self._running.values(), timeout=self._settings.grace_seconds)
        await self._halt()
        self._thread.shutdown()

    @property
    def kinds(self) -> list[str]:
        return list(self._handlers)

    def interrupt(self, job_id: str) -> None:
        if (task := self._running.get(job_id)) is not None:
            task.cancel()

    async def _launch(self) -> None:
        """Under a new name, because nobody who died comes back."""
        self._loop = asyncio.get_running_loop()
        self._name = f"{os.getpid()}-{secrets.token_hex(8)}"
        engine = self._book.engine
        await self._do(engine.liveness.hold, self._name)
        self._is_stopping = False
        self._may_give_back.clear()
        try:
            await self._do(
                engine.launch,
                self._name,
                self.kinds,
                self._carry_out,
                self._settings.concurrency,
                self._settings.poll_seconds,
            )
        except BaseException:
            await self._do(engine.liveness.let_go)
            raise

    async def _halt(self) -> None:
        """Interrupt what still runs, give it back, and be no worker any more."""
        await self._do(self._book.engine.take_no_more)  # else this worker might be handed what it has just given back
        for task in self._running.values():
            task.cancel()
        self._may_give_back.set()
        await self._do(self._book.engine.stop)
        await self._do(self._book.engine.liveness.let_go)

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def _carry_out(self, job_id: str, run: int) -> None:
        """Execute one run in a thread of the engine. If its end cannot be recorded, another worker takes it over."""
        try:
            self._from_begin_to_end(job_id, run)
        except Exception as error:
            is_away = isinstance(error, StoreUnavailable)
            log.warning("Could not record the outcome of job %s: %s", job_id, error, exc_info=not is_away)
            raise RunNotRecorded(job_id) from error
        self._loop.call_soon_threadsafe(self._changes.send)

    def _from_begin_to_end(self, job_id: str, run: int) -> None:
        if self._is_stopping:  # given back at once, it would be handed out at once, here
            self._may_give_back.wait()
            self._book.give_back(job_id, run, self._name)
            return
        job = self._insist(self._book.begin, job_id, run, self._name)
        if job is not None:
            self._insist(self._outcome(job, run))

    def _outcome(self, job: Job, run: int) -> Callable[[], None]:
        """Work on the job; what is then to be noted."""
        held = (job.job_id, run, self._name)
        try:
            result = asyncio.run_coroutine_threadsafe(self._handle(job), self._loop).result()
        except (CutOff, asyncio.CancelledError):
            if self._is_stopping:
                return partial(self._book.give_back, *held)
            # Whoever was interrupted because the job is not theirs any more has nothing to note.
            return partial(self._book.fail, *held, "its handler was cancelled, and not by us", retry=True)
        except RetryLater as later:
            return partial(self._book.fail, *held, redact(str(later)), retry=True, seconds=later.seconds)
        except JobFailed as failed:
            return partial(
                self._book.fail, *held, redact(str(failed)), retry=failed.retry, result=_json_of(failed.result)
            )
        except BaseException as error:  # the boundary to code that is not ours
            log.exception("attempt %d of the job %s (%s) failed", job.attempt, job.job_id, job.kind)
            return partial(self._book.fail, *held, _words_of(error), retry=True)
        try:
            return partial(self._book.finish, *held, encode_part("result", result))
        except (InvalidJson, ConfigError) as error:  # the work is done, and would give the same again
            return partial(self._book.fail, *held, _words_of(error), retry=False)

    def _insist(self, work: Callable[..., T], *arguments: Any) -> T:
        """What has happened must be noted: a database that is away is waited for."""
        while True:
            try:
                return work(*arguments)
            except StoreUnavailable:
                if self._is_stopping:
                    raise
                log.warning("the jobs cannot be reached; trying again")
                time.sleep(INSIST_SECONDS)

    async def _handle(self, job: Job) -> JsonValue:
        if self._is_stopping:
            raise asyncio.CancelledError
        work = self._handlers[job.kind](job)
        if not inspect.isawaitable(work):
            raise JobFailed(f"the handler of {job.kind} has run, but is no async function", retry=False)
        task = asyncio.ensure_future(_contain(work))
        self._running[job.job_id] = task
        try:
            return await task
        finally:
            del self._running[job.job_id]

    async def _patrol(self) -> None:
        engine = self._book.engine
        while True:
            try:
                if not await self._do(engine.liveness.is_held):
                    if not self._is_stopping:
                        log.error("this worker has lost its lock: it stops, and starts again under another name")
                    self._is_stopping = True
                    await self._halt()
                    await self._launch()
                await self._do(self._take_over)
                if self._running:
                    await self._let_go()
                if time.monotonic() > self._forgotten_at + FORGET_SECONDS:
                    self._forgotten_at = time.monotonic()
                    await self._do(engine.liveness.tidy)
                    await self._do(self._book.forget, self._settings.retain_days * 86_400)
            except StoreUnavailable as error:
                log.warning("%s", error)
            except Exception:
                log.exception("a worker on jobs could not see who else is there")
            await asyncio.sleep(PATROL_SECONDS)

    def _take_over(self) -> None:
        engine = self._book.engine
        for worker in engine.workers_with_runs() - {self._name}:
            with engine.liveness.seize(worker) as is_dead:
                if is_dead:
                    log.warning("the worker %s has died; its jobs are handed out again", worker)
                    engine.recover(worker)

    async def _let_go(self) -> None:
        """Interrupt what is this worker's no longer: cancelled elsewhere, or taken over."""
        job_ids = list(self._running)
        still = await self._do(self._book.still_running, job_ids, self._name)
        for job_id in set(job_ids) - still:
            self.interrupt(job_id)

    async def _release(self, clock: Clock) -> None:
        while True:
            seen = self._changes.count
            following = await self._do(self._book.release_due)
            await _first(
                self._changes.wait(seen, PATROL_SECONDS),
                *([clock.sleep(following - clock.now())] if following is not None else []),
            )


async def _contain(work: Awaitable[JsonValue]) -> JsonValue:
    """Await a handler's work. A task that raises SystemExit or KeyboardInterrupt would end the worker's event loop."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        if is_from_signal(error):
            raise
        log.exception("A job handler raised %s.", type(error).__name__)
        raise JobFailed(_words_of(error)) from error


def _json_of(result: JsonValue) -> str:
    """What is no JSON cannot be kept; the failure that it belongs to can."""
    try:
        return "" if result is None else encode_part("result", result)
    except (InvalidJson, ConfigError):
        return ""


def _words_of(error: BaseException) -> str:
    try:
        return redact(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - its text is made by code that is not ours
        return type(error).__name__


async def _first(*waits: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Resumption: runs that any process may take become jobs, and the jobs resume them.

A run is due when an approval that it waits for was decided or has expired, when its process died, or when a person asked
for it. The store knows that (`Run.due_at`), so nothing is lost if the process that noticed it is killed: the next one to
look finds the run again. A run is executed by whoever claims it, so a job too many changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import GroundwireError, RunInProgress
from groundwire.contracts.jobs import Job, JobFailed, Jobs, RetrySchedule
from groundwire.contracts.ports import Clock, RunStore
from groundwire.contracts.runs import Outcome, Run
from groundwire.runtime.runs.leases import RunLeases

log = logging.getLogger("groundwire")

RUN_JOBS = "run"
"""The kind of jobs that resume a run."""
MAX_RESUMES = 5
"""So many jobs are made for a run that gets no further: its tools may be what kills each process."""
POLL_SECONDS = 1.0
MAX_DUE = 1000

Execute: TypeAlias = Callable[[str, str], Awaitable[Outcome]]
"""Resumes the run of a tenant by its id, and returns how it ended or paused."""
CanResume: TypeAlias = Callable[[Run], Awaitable[bool]]
"""Whether this process has what the run needs, such as its tools."""


class RunResumer:
    """Looks for due runs while it is started, and executes the jobs that it and others have made for them."""

    def __init__(
        self,
        *,
        runs: RunStore,
        jobs: Jobs,
        leases: RunLeases,
        clock: Clock,
        lease_seconds: float,
        execute: Execute,
        can_resume: CanResume,
        start_jobs: Callable[[], Awaitable[None]],
        on_ended: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        self._runs = runs
        self._jobs = jobs
        self._leases = leases
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._execute = execute
        self._can_resume = can_resume
        self._start_jobs = start_jobs
        self._on_ended = on_ended
        self._declined: dict[tuple[str, str], int] = {}
        """Runs that this process cannot resume, with the number of entries that was looked at."""
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poll())

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def notify(self) -> None:
        """Look now: this process has just made a run due, or asked for a cancellation."""
        self._wake.set()

    async def sweep(self) -> int:
        """Make jobs for the runs that are due, and cancel those that should be; returns the number of jobs."""
        await self._leases.cancel_requested()
        made = 0
        for run in await self._runs.due_runs(now=self._clock.now(), limit=MAX_DUE):
            if run.cancel_requested:
                await self._leases.end_cancelled(run)
            elif run.resumes >= MAX_RESUMES:
                await self._leave(run)
            elif await self._is_ours(run):
                await self._hand_over(run)
                made += 1
        return made

    async def resume(self, job: Job) -> JsonValue:
        """The handler of the jobs."""
        run_id = str(job.payload["runId"])
        run = await self._runs.load_run(job.tenant, run_id)
        now = self._clock.now()
        if run is None or not run.due_at or run.is_held(now) or not await self._can_resume(run):
            return {"runId": run_id, "status": None if run is None else run.status(now).value}
        try:
            outcome = await self._execute(job.tenant, run_id)
        except RunInProgress:
            return {"runId": run_id, "status": "running"}
        except GroundwireError as error:
            raise JobFailed(str(error), retry=False) from error
        if self._on_ended is not None:
            await self._on_ended(job.tenant, run_id)
        return {"runId": run_id, "outcome": outcome.value}

    async def _poll(self) -> None:
        said = ""
        while True:
            try:
                await self.sweep()
                said = ""
            except GroundwireError as error:  # once, not each second
                if said != str(error):
                    said = str(error)
                    log.warning("Could not look for runs to resume: %s", said)
            except Exception:
                log.exception("Could not look for runs to resume.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)
            self._wake.clear()

    async def _is_ours(self, run: Run) -> bool:
        key = (run.tenant, run.run_id)
        if self._declined.get(key) == run.entries:
            return False
        if await self._can_resume(run):
            self._declined.pop(key, None)
            return True
        if len(self._declined) >= MAX_DUE:
            self._declined.clear()
        self._declined[key] = run.entries
        log.info("Run %s is due, but this process does not have its tools.", run.run_id)
        return False

    async def _hand_over(self, run: Run) -> None:
        await self._start_jobs()
        # Other processes see the same run due at the same time: the key makes it one job.
        key = f"{run.run_id}:{run.due_at!r}"
        await self._jobs.submit(
            RUN_JOBS, {"runId": run.run_id}, tenant=run.tenant, key=key, schedule=RetrySchedule(delays=())
        )
        # If no worker takes it in this time, or the one that does is killed, the run is due again.
        later = self._clock.now() + self._lease_seconds
        await self._runs.swap_lease(run, replace(run, owner="", due_at=later, resumes=run.resumes + 1))

    async def _leave(self, run: Run) -> None:
        if await self._runs.swap_lease(run, replace(run, owner="", due_at=0.0)):
            log.error(
                "Run %s was resumed %d times without getting further. It stays as it is until a person resumes it.",
                run.run_id,
                run.resumes,
            )

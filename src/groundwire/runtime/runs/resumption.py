"""Resumption: makes jobs for runs that are due, and resumes the runs of these jobs.

A run is due when an approval that it waits for was decided or has expired, when its process died, or when a person asked
for it. The store knows that (`Run.due_at`), so nothing is lost if the process that noticed it is killed: the next process
finds the run again. Only a process that claims a run executes it, so an additional job does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import GroundwireError, RunInProgress
from groundwire.contracts.jobs import Job, JobFailed, JobHandler, RetrySchedule
from groundwire.contracts.ports import RunStore
from groundwire.contracts.requests import FunctionTool
from groundwire.contracts.runs import Outcome, Run
from groundwire.runtime.runs.history import load_run
from groundwire.runtime.runs.leases import RunLeases
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.spill import READ_TOOL

log = logging.getLogger("groundwire")

RUN_JOBS = "run"
"""The kind of jobs that resume a run."""
MAX_RESUMES = 5
"""Jobs that are made for a run without progress: its tools may be what kills each process."""
POLL_SECONDS = 1.0
MAX_DUE = 1000
"""Runs that are read at a time."""

Execute: TypeAlias = Callable[[str, str], Awaitable[Outcome]]
"""Resumes the run of a tenant by its id, and returns how it ended or paused."""
RunEndedHook: TypeAlias = Callable[[str, str], Awaitable[None]]
"""Called with the tenant and the id of a run that was executed as a job, each time it has paused or ended."""


class RunResumer:
    """Polls for due runs from `start` to `close`, and executes the jobs that this and other processes made for them."""

    def __init__(
        self,
        runtime: Runtime,
        leases: RunLeases,
        execute: Execute,
        *,
        handlers: Mapping[str, JobHandler],
        on_ended: RunEndedHook | None = None,
    ) -> None:
        self._runtime = runtime
        self._runs: RunStore = runtime.store
        self._leases = leases
        self._clock = runtime.clock
        self._execute = execute
        self._handlers = handlers
        self._on_ended = on_ended
        self._is_working = False
        self._declined: dict[tuple[str, str], int] = {}
        """Runs that this process cannot resume, with their number of entries at that time."""
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Begin to poll for due runs."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poll())

    async def start_jobs(self) -> None:
        """Work on jobs in this process from now on: background calls, runs, and those of the given handlers."""
        if not self._is_working:
            self._is_working = True
            await self._runtime.work({RUN_JOBS: self.resume, **self._handlers})

    async def close(self) -> None:
        """Stop polling. Jobs that have begun continue."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def notify(self) -> None:
        """Poll now: this process has just made a run due, or requested a cancellation."""
        self._wake.set()

    async def sweep(self) -> int:
        """Make jobs for runs that are due, and end those to be cancelled. Returns the number of jobs."""
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
        """Execute a job of the kind `run`: resume its run, if that is still due and its tools are here."""
        run_id = str(job.payload["runId"])
        run = await self._runs.load_run(job.tenant, run_id)
        now = self._clock.now()
        if run is None or not run.due_at or run.is_held(now) or not await has_tools_of(self._runtime, run):
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
        logged = ""
        while True:
            try:
                await self.sweep()
                logged = ""
            except GroundwireError as error:  # once, not each second
                if logged != str(error):
                    logged = str(error)
                    log.warning("Could not look for runs to resume: %s", logged)
            except Exception:
                log.exception("Could not look for runs to resume.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)
            self._wake.clear()

    async def _is_ours(self, run: Run) -> bool:
        key = (run.tenant, run.run_id)
        if self._declined.get(key) == run.entries:
            return False
        if await has_tools_of(self._runtime, run):
            self._declined.pop(key, None)
            return True
        if len(self._declined) >= MAX_DUE:
            self._declined.clear()
        self._declined[key] = run.entries
        log.info("Run %s is due, but this process does not have its tools.", run.run_id)
        return False

    async def _hand_over(self, run: Run) -> None:
        await self.start_jobs()
        # Other processes see the same run due at the same time: the key makes it one job.
        key = f"{run.run_id}:{run.due_at!r}"
        await self._runtime.jobs.submit(
            RUN_JOBS, {"runId": run.run_id}, tenant=run.tenant, key=key, schedule=RetrySchedule(delays=())
        )
        # If no worker takes it in this time, or the one that does is killed, the run is due again.
        later = self._clock.now() + self._runtime.parts.times.lease_seconds
        await self._runs.swap_lease(run, replace(run, owner="", due_at=later, resumes=run.resumes + 1))

    async def _leave(self, run: Run) -> None:
        if await self._runs.swap_lease(run, replace(run, owner="", due_at=0.0)):
            log.error(
                "Run %s was resumed %d times without progress. It is left until a person resumes it.",
                run.run_id,
                run.resumes,
            )


async def has_tools_of(runtime: Runtime, run: Run) -> bool:
    """Whether the tools that a run was offered are here. Before its first step, its registry must be the same."""
    state = await load_run(runtime.store, runtime.clock, run.tenant, run.run_id)
    if state.plan is None:
        return state.registry_version == runtime.registry.version
    clients = {tool.name for tool in state.options.client_tools}
    offered = {tool.name for tool in state.plan.tools if isinstance(tool, FunctionTool)}
    return offered - clients - {READ_TOOL} <= {tool.spec.wire_name for tool in runtime.registry}

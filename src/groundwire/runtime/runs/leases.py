"""Leases: a run belongs to one execution at a time, in one process of all that share the store.

An execution that ends gives its lease up with the run's last entry. The lease of a process that died expires, and then any
other process may claim the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from groundwire.contracts.errors import RunInProgress, StoreError
from groundwire.contracts.ports import Clock, RunStore
from groundwire.contracts.runs import Outcome, Run
from groundwire.runtime.finishing import see_through
from groundwire.runtime.runs.history import load_run, no_such_run, record_cancelled

if TYPE_CHECKING:
    from groundwire.runtime.runs.state import RunState
    from groundwire.runtime.runtime import Runtime

log = logging.getLogger("groundwire")

FIRST_POLL = 0.01
LAST_POLL = 0.25
"""Seconds between two looks at a run that another execution holds: the pause doubles from the first to the last."""


class RunLeases:
    """The runs that this process executes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runs: RunStore = runtime.store
        self._clock = runtime.clock
        self._ids = runtime.ids
        self._seconds = runtime.parts.times.lease_seconds
        self._wait_seconds = runtime.parts.times.wait_seconds
        self._held: dict[str, RunLease] = {}

    def lend(self, run: Run) -> Run:
        """Return the run with a lease for a new execution. Nothing is stored."""
        return replace(run, owner=self._ids.new("own"), due_at=self._clock.now() + self._seconds)

    async def claim(self, tenant: str, run_id: str) -> Run:
        """Take a run for one execution. A run that has ended is returned unchanged.

        Waits while another execution holds it, until that one ends or its lease expires. Raises RunInProgress if that one
        makes no progress for `waitSeconds`, and NotFound.
        """
        seen, deadline, pause = -1, 0.0, FIRST_POLL
        while True:
            run = await self._runs.load_run(tenant, run_id)
            if run is None:
                raise no_such_run(run_id)
            if run.entries != seen:
                seen, deadline, pause = run.entries, self._clock.monotonic() + self._wait_seconds, FIRST_POLL
            if not run.is_held(self._clock.now()):
                claimed = replace(self.lend(run), cancel_requested=False)
                if run.is_ended or await self._runs.swap_lease(run, claimed):
                    return run if run.is_ended else claimed
                continue
            left = deadline - self._clock.monotonic()
            if left <= 0:
                raise RunInProgress(
                    f"Run {run_id!r} is being executed elsewhere.", hint="Try again when it has paused or ended."
                )
            await self._clock.sleep(min(pause, left))
            pause = min(pause * 2, LAST_POLL)

    async def give_up(self, run: Run) -> None:
        """Let others take a claimed run at once, unless it has ended. A lease that was lost meanwhile is not changed."""
        seen = await self._runs.load_run(run.tenant, run.run_id)
        while seen is not None and seen.owner == run.owner:
            is_due = seen.outcome in {"", Outcome.AWAITING_APPROVAL}
            free = replace(seen, owner="", due_at=self._clock.now() if is_due else 0.0)
            if await self._runs.swap_lease(seen, free):
                return
            seen = await self._runs.load_run(run.tenant, run.run_id)

    @contextmanager
    def hold(self, state: RunState) -> Iterator[RunLease]:
        """Renew the lease of a claimed run while the block executes it."""
        lease = RunLease(self._runs, self._clock, state, self._seconds)
        self._held[state.run.owner] = lease
        lease.start()
        try:
            yield lease
        finally:
            lease.stop()
            del self._held[lease.owner]

    async def release(self, lease: RunLease) -> None:
        """Give up a run that has neither paused nor ended, because its execution failed."""
        if lease.state.outcome is None:
            try:
                await see_through(self.give_up(lease.state.run))
            except StoreError as error:  # then its lease expires
                log.warning("Could not release run %s: %s", lease.state.run.run_id, error)

    async def end_cancelled(self, run: Run) -> Run | None:
        """End a run that no execution holds, and return it; None if an execution has taken it meanwhile."""
        claimed = self.lend(run)
        if not await self._runs.swap_lease(run, claimed):
            return None
        state = await load_run(self._runs, self._clock, run.tenant, run.run_id)
        await see_through(record_cancelled(self._runs, state))
        return await self._runs.load_run(run.tenant, run.run_id)

    async def cancel_requested(self) -> None:
        """Cancel the runs of this process whose cancellation was requested, by any process."""
        if self._held:
            for owner in await self._runs.runs_to_cancel(tuple(self._held)):
                if (lease := self._held.get(owner)) is not None:
                    lease.cancel()


class RunLease:
    """The lease of one execution. Its timer belongs to the event loop, so that a stalled loop loses the run."""

    def __init__(self, runs: RunStore, clock: Clock, state: RunState, seconds: float) -> None:
        self.state = state
        self.owner = state.run.owner
        self._runs = runs
        self._clock = clock
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._renewal: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Renew the lease after a third of its time."""
        self._timer = asyncio.get_running_loop().call_later(self._seconds / 3, self._renew_soon)

    def stop(self) -> None:
        """Renew no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def absorbs_cancellation(self) -> bool:
        """Whether the CancelledError that just arrived came from `cancel` only, and not from the caller, too."""
        current = asyncio.current_task()
        if not self.state.is_cancelled or current is None:
            return False
        return (current.uncancel() if current is self.state.task else current.cancelling()) == 0

    def cancel(self) -> None:
        """Cancel the execution, from any thread."""
        task = self.state.task
        if task is not None and not self.state.is_cancelled:
            self.state.is_cancelled = True
            task.get_loop().call_soon_threadsafe(task.cancel)

    def _renew_soon(self) -> None:
        self.start()
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        run = self.state.run
        try:
            seen = await self._runs.load_run(run.tenant, run.run_id)
            if seen is None or seen.owner != self.owner:
                if self._timer is not None:
                    log.warning("Run %s was taken by another execution.", run.run_id)
                    self.stop()
                return
            if seen.cancel_requested:
                self.cancel()
            # The swap fails if a cancellation was requested since; the next renewal is early enough to see that.
            await self._runs.swap_lease(seen, replace(seen, due_at=self._clock.now() + self._seconds))
        except StoreError as error:
            log.warning("Could not renew the lease of run %s: %s", run.run_id, error)

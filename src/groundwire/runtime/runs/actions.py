"""Actions of people on runs: resume and cancel. Each one is recorded in the audit chain."""

from msgspec.structs import replace

from groundwire.contracts.audit import RUN_KIND
from groundwire.contracts.canonical import digest_bytes
from groundwire.contracts.errors import AlreadyDecided, RunInProgress
from groundwire.contracts.records import Closing, Confirmation, ConfirmationStatus
from groundwire.contracts.runs import Run, RunStatus
from groundwire.runtime.desk import check_person, decision_entry
from groundwire.runtime.runs.history import load_run, no_such_run
from groundwire.runtime.runs.leases import RunLeases
from groundwire.runtime.runtime import Runtime


class RunActions:
    """Writes requests into the store. Processes that execute runs (RunResumer, RunLeases) act on them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._store = runtime.store
        self._clock = runtime.clock
        self._leases = RunLeases(runtime)

    async def request_resume(self, run_id: str, *, by: str, note: str = "", tenant: str = "default") -> Run:
        """Make a run due that was interrupted or cancelled, whose provider failed, or whose approvals are decided.

        Raises AlreadyDecided if it has ended for good, RunInProgress while it is executed or its approvals are pending.
        """
        check_person(by, note)
        await self._runtime.open()
        while True:
            run, now = await self._load(tenant, run_id), self._clock.now()
            if run.is_ended:
                raise AlreadyDecided(f"Run {run_id!r} has ended: {run.outcome}.")
            if run.is_held(now):
                raise RunInProgress(f"Run {run_id!r} is being executed.", hint="Cancel it first, or wait for its end.")
            if run.status(now) is RunStatus.WAITING and (pending := await self._pending(run, now)):
                raise RunInProgress(
                    f"Run {run_id!r} waits for {', '.join(pending)}.", hint=f"groundwire approvals approve {pending[0]}"
                )
            wanted = replace(run, owner="", due_at=now, resumes=0, cancel_requested=False)
            if await self._store.swap_lease(run, wanted):
                await self._record(run, "resume requested", by, note)
                return wanted

    async def cancel(self, run_id: str, *, by: str, note: str = "", tenant: str = "default") -> Run:
        """End a run that waits or was interrupted, or ask the process that executes it to stop.

        Raises AlreadyDecided if it has ended, also by a cancellation.
        """
        check_person(by, note)
        await self._runtime.open()
        while True:
            run, now = await self._load(tenant, run_id), self._clock.now()
            if run.status(now) is RunStatus.ENDED:
                raise AlreadyDecided(f"Run {run_id!r} has ended: {run.outcome}.")
            if not run.is_held(now):
                ended = await self._leases.end_cancelled(run)
                if ended is None:  # another process has taken it meanwhile
                    continue
                await self._record(run, "cancelled", by, note)
                return ended
            wanted = replace(run, cancel_requested=True)
            if run.cancel_requested or await self._store.swap_lease(run, wanted):
                await self._record(run, "cancel requested", by, note)
                return wanted

    async def _load(self, tenant: str, run_id: str) -> Run:
        run = await self._store.load_run(tenant, run_id)
        if run is None:
            raise no_such_run(run_id)
        return run

    async def _pending(self, run: Run, now: float) -> list[str]:
        state = await load_run(self._store, self._clock, run.tenant, run.run_id)
        found = [await self._store.get_confirmation(run.tenant, approval_id) for approval_id in state.waiting.values()]
        pending = [item.confirmation_id for item in found if item is not None and _is_pending(item, now)]
        return pending if len(pending) == len(found) else []

    async def _record(self, run: Run, decision: str, by: str, note: str) -> None:
        entry = decision_entry(
            RUN_KIND,
            entry_id=self._runtime.ids.new("aud"),
            tenant=run.tenant,
            by=by,
            subject=digest_bytes(run.run_id.encode()),
            registry_version=self._runtime.registry.version,
            now=self._clock.now(),
        )
        entry = replace(
            entry, decision=decision, reason=note or run.run_id, session_id=run.session_id, run_id=run.run_id
        )
        self._store.enqueue(Closing(call=None, entry=entry))
        await self._store.flush()


def _is_pending(approval: Confirmation, now: float) -> bool:
    return approval.status is ConfirmationStatus.PENDING and approval.expires_at > now

"""Everything in dictionaries: for tests, examples and short-lived processes.

Every table is bounded, the oldest rows go first. So a settled key is remembered for a while, not for days, and nothing
survives the process: who needs either asks for a database.
"""

import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import StoreError
from groundwire.contracts.ports import Database, Store
from groundwire.contracts.records import (
    AuditEntry,
    AuditHead,
    AuditRecord,
    CallRecord,
    Charge,
    Closing,
    Confirmation,
    Effect,
    EffectStatus,
    NotApproved,
    OverBudget,
    Overtaken,
    Reservation,
    Reserved,
    ReserveOutcome,
    Taken,
    ToolSample,
    UnreadableRecord,
)
from groundwire.contracts.runs import Run, RunEntry
from groundwire.store.memory_confirmations import MemoryConfirmations
from groundwire.store.memory_effects import MemoryEffects
from groundwire.store.memory_keys import MemoryKeys
from groundwire.store.memory_records import MemoryRecords
from groundwire.store.memory_runs import MemoryRuns
from groundwire.store.memory_sessions import MemorySessions
from groundwire.store.memory_tables import bound, page
from groundwire.store.rules import is_lapsed

_MAX_CALLS = 4_000
"""What a call leaves behind, its row, its effect and its audit record, takes 2 to 3 KB."""
_RESERVED = Reserved()


class MemoryStore(MemorySessions, MemoryConfirmations, MemoryKeys):
    """The port `Store` in memory. Audit entries get their hashes when somebody asks for the chain or flushes."""

    def __init__(self, chain: Chain | None = None, max_rows: int = 10_000) -> None:
        self._max_rows = max(max_rows, 10)
        MemorySessions.__init__(self, self._max_rows)
        MemoryConfirmations.__init__(self, self._max_rows)
        MemoryKeys.__init__(self, self._max_rows)
        self._lock = threading.RLock()  # loops in other threads may share it
        self._max_calls = min(self._max_rows, _MAX_CALLS)
        self._effects = MemoryEffects(self._max_calls)
        self._counters: dict[tuple[str, str, str], float] = {}
        self._runs = MemoryRuns(self._max_rows)
        self._records = MemoryRecords(chain or Chain(), self._max_calls)
        self._tables: Store | None = None

    @property
    def database(self) -> Database:
        if self._tables is None:
            from groundwire.store.sqlite import SqliteStore

            self._tables = SqliteStore(":memory:")
        return self._tables.database

    async def open(self) -> None:
        """Nothing to connect."""

    async def shut(self) -> None:
        """Our rows stay, so that a test can look at them; an application's own tables go."""
        if self._tables is not None:
            await self._tables.shut()

    # Effects

    async def reserve(self, reservation: Reservation) -> ReserveOutcome:
        effect, now, appending = reservation.effect, reservation.now, reservation.appending
        with self._lock:
            if appending is not None and not self._runs.append(appending.run, appending.entries):
                return Overtaken()
            if effect is not None:
                held = self._effects.look_up((effect.tenant, effect.tool, effect.key), now)
                if held is not None:
                    if (held.status, held.attempt) == (EffectStatus.RESERVED, effect.attempt):
                        return _RESERVED
                    if not (reservation.takeover and held.status == EffectStatus.UNKNOWN):
                        return Taken(effect=held)
            if (reservation.confirmation_id or reservation.charges) and (refusal := self._take(reservation)):
                return refusal
            if effect is not None:
                self._effects.put(effect)
            return _RESERVED

    def _take(self, reservation: Reservation) -> NotApproved | OverBudget | None:
        """The approval and the charges of a reservation, or none of them."""
        approval: Confirmation | None = None
        if reservation.confirmation_id:
            approval = self._approval(reservation.tenant, reservation.confirmation_id, reservation.now)
            if approval is None:
                return NotApproved()
        if reservation.charges and (over := self._charge(reservation.tenant, reservation.charges)):
            return over
        if approval is not None:
            self._spend(approval)
        return None

    async def find_effect(self, tenant: str, tool: str, key: str, *, now: float) -> Effect | None:
        return self._effects.look_up((tenant, tool, key), now)

    async def close(self, closing: Closing) -> bool:
        with self._lock:
            self._records.add(closing)
            if closing.charges:
                self._count(closing.entry.tenant, closing.charges)
            transition = closing.transition
            return transition is None or self._effects.apply(transition)

    async def renew_leases(
        self, owner: str, keys: Sequence[tuple[str, str, str]], *, now: float, lease_until: float
    ) -> int:
        return self._effects.renew(owner, keys, now, lease_until)

    async def get_effect(self, tenant: str, effect_id: str) -> Effect | None:
        return self._effects.get(tenant, effect_id)

    async def decide_effect(self, tenant: str, effect_id: str, closing: Closing, *, by: str) -> bool:
        effect = self._effects.get(tenant, effect_id)
        transition = closing.transition
        if transition is None:
            raise StoreError("a decision about an effect needs a transition")
        if effect is None or not (effect.status == EffectStatus.UNKNOWN or is_lapsed(effect, transition.now)):
            return False
        self._records.add(closing)
        self._effects.become((effect.tenant, effect.tool, effect.key), effect, transition, by=by)
        return True

    async def list_effects(
        self,
        tenant: str,
        *,
        status: EffectStatus | None = None,
        before: str = "",
        limit: int = 50,
        now: float | None = None,
    ) -> list[Effect]:
        if now is not None:
            self._effects.lapse(tenant, now)
        rows = self._effects.newest_first(tenant)
        return page(
            rows, lambda effect: (effect.effect_id,), before, limit, lambda effect: status in {None, effect.status}
        )

    async def forget_effects(self, *, settled_before: float) -> int:
        return self._effects.forget(settled_before)

    # Calls and counts

    def enqueue(self, closing: Closing) -> None:
        with self._lock:
            self._records.note(closing)
            if closing.charges:  # the next call's budget must see what this one has spent
                self._count(closing.entry.tenant, closing.charges)

    async def flush(self) -> AuditHead:
        with self._lock:
            return self._records.chain.flush()

    async def find_call(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None:
        return self._records.calls.get((tenant, session_id, call_id))

    async def list_calls(
        self,
        tenant: str,
        *,
        session_id: str | None = None,
        turn: int | None = None,
        run_id: str | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[CallRecord]:
        calls = reversed(self._records.calls.values())
        rows = (call for call in calls if call.tenant == tenant and session_id in {None, call.session_id})
        return page(
            rows,
            lambda call: (call.call_id, f"{call.session_id}/{call.call_id}"),
            before,
            limit,
            lambda call: turn in {None, call.turn} and run_id in {None, call.run_id},
        )

    async def tools_called(self, tenant: str) -> list[str]:
        return sorted({call.tool for call in self._records.calls.values() if call.tenant == tenant})

    async def tool_samples(self, tenant: str, tool: str, *, limit: int = 1000) -> list[ToolSample]:
        samples = (
            ToolSample(chars=call.chars, tokens=call.tokens, duration_ms=call.duration_ms)
            for call in reversed(self._records.calls.values())
            if call.tenant == tenant and call.tool == tool and call.executed
        )
        return list(islice(samples, limit))

    async def read_counters(self, tenant: str, names: Sequence[tuple[str, str]]) -> list[float]:
        return [self._counters.get((tenant, name, scope), 0.0) for name, scope in names]

    async def list_counters(self, tenant: str, name: str) -> dict[str, float]:
        of = (tenant, name)
        return {scope: used for (*counter, scope), used in self._counters.items() if (*counter,) == of}

    async def add(self, tenant: str, charges: Sequence[Charge]) -> None:
        with self._lock:
            self._count(tenant, charges)

    # Runs

    async def create_run(self, run: Run, entries: Sequence[RunEntry]) -> None:
        with self._lock:
            self._runs.create(run, entries)

    async def append_run(self, run: Run, entries: Sequence[RunEntry], *, waiting: Sequence[str] = ()) -> bool:
        with self._lock:
            due = {approval_id: self._decided_at(run.tenant, approval_id, run.updated_at) for approval_id in waiting}
            return self._runs.append(run, entries, due)

    async def swap_lease(self, seen: Run, wanted: Run) -> bool:
        with self._lock:
            return self._runs.swap_lease(seen, wanted)

    async def due_runs(self, *, now: float, limit: int = 100) -> list[Run]:
        with self._lock:
            return self._runs.due(now, limit)

    async def runs_to_cancel(self, owners: Sequence[str]) -> list[str]:
        with self._lock:
            return self._runs.to_cancel(owners)

    async def load_run(self, tenant: str, run_id: str) -> Run | None:
        return self._runs.load(tenant, run_id)

    async def run_entries(self, tenant: str, run_id: str) -> list[RunEntry]:
        return self._runs.entries(tenant, run_id)

    async def session_entries(self, tenant: str, session_id: str) -> dict[str, list[RunEntry]]:
        return self._runs.of_session(tenant, session_id)

    async def list_runs(
        self, tenant: str, *, session_id: str | None = None, before: str = "", limit: int = 50
    ) -> list[Run]:
        return self._runs.newest_first(tenant, session_id, before, limit)

    # The audit chain

    async def audit_records(self, *, after: int = 0) -> AsyncIterator[AuditRecord | UnreadableRecord]:
        for record in self._records.chain.records():
            if record.seq > after:
                yield record

    async def list_audit(self, tenant: str, *, before: int = 0, limit: int = 50) -> list[AuditRecord]:
        records = reversed(self._records.chain.records())
        wanted = (record for record in records if record.entry.tenant == tenant and (not before or record.seq < before))
        return list(islice(wanted, limit))

    async def audit_head(self) -> AuditHead:
        return self._records.chain.link()

    async def prune_audit(self, *, created_before: str, entry: AuditEntry) -> int:
        return self._records.chain.prune(created_before, entry)

    # Inside

    def _charge(self, tenant: str, charges: Sequence[Charge]) -> OverBudget | None:
        wanted: dict[tuple[str, str], float] = {}
        for charge in charges:
            counter = (charge.name, charge.scope)
            used = self._counters.get((tenant, *counter), 0.0) + wanted.get(counter, 0.0)
            if charge.max is not None and used + charge.amount > charge.max:
                return OverBudget(name=charge.name, used=used, max=charge.max)
            wanted[counter] = wanted.get(counter, 0.0) + charge.amount
        self._count(tenant, charges)
        return None

    def _count(self, tenant: str, charges: Iterable[Charge]) -> None:
        for charge in charges:
            counter = (tenant, charge.name, charge.scope)
            self._counters[counter] = self._counters.get(counter, 0.0) + charge.amount
        bound(self._counters, self._max_rows)

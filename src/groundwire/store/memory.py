"""Everything in dictionaries: for tests, examples and short-lived processes.

Every table is bounded, the oldest rows go first. So a settled key is remembered for a while, not for days, and nothing
survives the process: who needs either asks for a database.
"""

import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

import msgspec

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import StoreError
from groundwire.contracts.ports import Database, Store
from groundwire.contracts.records import (
    Agreement,
    AuditEntry,
    AuditHead,
    AuditRecord,
    CallRecord,
    Charge,
    Closing,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    NotApproved,
    OverBudget,
    Overtaken,
    Reservation,
    Reserved,
    ReserveOutcome,
    Session,
    SessionTotals,
    Taken,
    ToolSample,
    UnreadableRecord,
)
from groundwire.contracts.runs import Run, RunEntry
from groundwire.store.memory_chain import MemoryChain
from groundwire.store.memory_effects import MemoryEffects
from groundwire.store.memory_keys import MemoryKeys
from groundwire.store.memory_runs import MemoryRuns
from groundwire.store.memory_tables import bound, page
from groundwire.store.rules import is_approved, is_lapsed, is_open

_BLOB_BYTES = 64 * 1024 * 1024
_MAX_CALLS = 4_000
"""What a call leaves behind, its row, its effect and its audit record, takes 2 to 3 KB."""
_RESERVED = Reserved()


class MemoryStore(MemoryKeys):
    """The port `Store` in memory. Audit entries get their hashes when somebody asks for the chain or flushes."""

    def __init__(self, chain: Chain | None = None, max_rows: int = 10_000) -> None:
        super().__init__(max(max_rows, 10))
        self._lock = threading.RLock()  # loops in other threads may share it
        self._max_rows = max(max_rows, 10)
        self._sessions: dict[tuple[str, str], Session] = {}
        self._artifacts: dict[str, bytes] = {}
        self._max_calls = min(self._max_rows, _MAX_CALLS)
        self._calls: dict[tuple[str, str, str], CallRecord] = {}
        self._effects = MemoryEffects(self._max_calls)
        self._counters: dict[tuple[str, str, str], float] = {}
        self._confirmations: dict[str, Confirmation] = {}
        self._questions: dict[tuple[str, str, str, str], str] = {}
        self._blobs: dict[tuple[str, str, str], bytes] = {}
        self._blob_bytes = 0
        self._runs = MemoryRuns(self._max_rows)
        self._audit = MemoryChain(chain or Chain(), self._max_calls)
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

    # Sessions

    async def load_session(self, tenant: str, session_id: str) -> Session | None:
        return self._sessions.get((tenant, session_id))

    async def create_session(self, session: Session) -> Session:
        stored = self._sessions.setdefault((session.tenant, session.session_id), session)
        bound(self._sessions, self._max_rows)
        return stored

    async def save_session(self, session: Session) -> bool:
        key = (session.tenant, session.session_id)
        stored = self._sessions.get(key)
        if stored is None or stored.version != session.version:
            return False
        self._sessions[key] = msgspec.structs.replace(session, version=session.version + 1)
        return True

    async def list_sessions(self, tenant: str, *, before: str = "", limit: int = 50) -> list[Session]:
        rows = (session for session in reversed(self._sessions.values()) if session.tenant == tenant)
        return page(rows, lambda session: (session.session_id,), before, limit)

    async def session_totals(self, tenant: str) -> SessionTotals:
        sessions = [session for session in self._sessions.values() if session.tenant == tenant]
        return SessionTotals(
            total=len(sessions),
            active=sum(session.status == "active" for session in sessions),
            turns=sum(session.turns for session in sessions),
            turns_tracked=sum(len(session.loop_history) for session in sessions),
            calls=sum(session.calls for session in sessions),
            peak_tokens=max((session.peak_tokens for session in sessions), default=0),
        )

    async def save_artifact(self, version: str, body: bytes) -> None:
        self._artifacts.setdefault(version, body)
        bound(self._artifacts, self._max_rows)

    async def load_artifact(self, version: str) -> bytes | None:
        return self._artifacts.get(version)

    # Effects

    async def reserve(self, reservation: Reservation) -> ReserveOutcome:
        with self._lock:
            return self._reserve(reservation)

    def _reserve(self, reservation: Reservation) -> ReserveOutcome:
        effect, now, appending = reservation.effect, reservation.now, reservation.appending
        if appending is not None and not self._runs.append(appending.run, appending.entries):
            return Overtaken()
        if effect is not None:
            held = self._effects.look_up((effect.tenant, effect.tool, effect.key), now)
            if held is not None:
                if (held.status, held.attempt) == (EffectStatus.RESERVED, effect.attempt):
                    return _RESERVED
                if not (reservation.takeover and held.status == EffectStatus.UNKNOWN):
                    return Taken(effect=held)
        approval: Confirmation | None = None
        if reservation.confirmation_id:
            approval = self._confirmations.get(reservation.confirmation_id)
            if approval is None or approval.tenant != reservation.tenant or not is_approved(approval, now):
                return NotApproved()
        if reservation.charges and (over := self._charge(reservation.tenant, reservation.charges)):
            return over
        if approval is not None:
            spent = msgspec.structs.replace(approval, status=ConfirmationStatus.SPENT)
            self._confirmations[approval.confirmation_id] = spent
        if effect is not None:
            self._effects.put(effect)
        return _RESERVED

    async def find_effect(self, tenant: str, tool: str, key: str, *, now: float) -> Effect | None:
        return self._effects.look_up((tenant, tool, key), now)

    async def close(self, closing: Closing) -> bool:
        with self._lock:
            self._record(closing)
            return closing.transition is None or self._effects.apply(closing.transition)

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
        self._record(closing)
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
            try:
                self._record(closing)
            except StoreError:
                self._audit.refuse(closing.entry)

    async def flush(self) -> AuditHead:
        with self._lock:
            return self._audit.flush()

    async def find_call(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None:
        return self._calls.get((tenant, session_id, call_id))

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
        calls = reversed(self._calls.values())
        rows = (call for call in calls if call.tenant == tenant and session_id in {None, call.session_id})
        return page(
            rows,
            lambda call: (call.call_id, f"{call.session_id}/{call.call_id}"),
            before,
            limit,
            lambda call: turn in {None, call.turn} and run_id in {None, call.run_id},
        )

    async def tools_called(self, tenant: str) -> list[str]:
        return sorted({call.tool for call in self._calls.values() if call.tenant == tenant})

    async def tool_samples(self, tenant: str, tool: str, *, limit: int = 1000) -> list[ToolSample]:
        samples = (
            ToolSample(chars=call.chars, tokens=call.tokens, duration_ms=call.duration_ms)
            for call in reversed(self._calls.values())
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

    async def save_blob(self, tenant: str, session_id: str, ref: str, body: bytes, *, now: float) -> None:
        replaced = self._blobs.pop((tenant, session_id, ref), b"")
        self._blobs[tenant, session_id, ref] = body
        self._blob_bytes += len(body) - len(replaced)
        while len(self._blobs) > 1 and (self._blob_bytes > _BLOB_BYTES or len(self._blobs) > self._max_rows):
            self._blob_bytes -= len(self._blobs.pop(next(iter(self._blobs))))

    async def load_blob(self, tenant: str, session_id: str, ref: str) -> bytes | None:
        return self._blobs.get((tenant, session_id, ref))

    # Confirmations

    async def find_confirmation(
        self, tenant: str, session_id: str, tool: str, input_digest: str, *, now: float
    ) -> Confirmation | None:
        # The same question is not asked twice while it is open, so only the newest can be.
        found = self._confirmations.get(self._questions.get((tenant, session_id, tool, input_digest), ""))
        return found if found is not None and is_open(found, now) else None

    async def create_confirmation(self, confirmation: Confirmation) -> Confirmation:
        question = (confirmation.tenant, confirmation.session_id, confirmation.tool, confirmation.input_digest)
        found = await self.find_confirmation(*question, now=confirmation.created_at)
        if found is not None:
            return found
        self._confirmations[confirmation.confirmation_id] = confirmation
        self._questions.pop(question, None)
        self._questions[question] = confirmation.confirmation_id
        bound(self._confirmations, self._max_rows)
        bound(self._questions, self._max_rows)
        return confirmation

    async def get_confirmation(self, tenant: str, confirmation_id: str) -> Confirmation | None:
        found = self._confirmations.get(confirmation_id)
        return found if found is not None and found.tenant == tenant else None

    async def decide_confirmation(
        self,
        tenant: str,
        confirmation_id: str,
        status: ConfirmationStatus,
        *,
        by: str,
        note: str,
        now: float,
        entry: AuditEntry | None = None,
        instead: Agreement | None = None,
    ) -> bool:
        found = await self.get_confirmation(tenant, confirmation_id)
        if found is None or found.status != ConfirmationStatus.PENDING or found.expires_at <= now:
            return False
        decided = msgspec.structs.replace(found, status=status, decided_at=now, decided_by=by, note=note)
        if instead is not None:
            decided = msgspec.structs.replace(
                decided, arguments=instead.arguments, input_digest=instead.input_digest, edited=True
            )
            binding = (tenant, found.session_id, found.tool)
            self._questions.pop((*binding, found.input_digest), None)  # nobody agreed to the original arguments
            self._questions[*binding, instead.input_digest] = confirmation_id
        self._confirmations[confirmation_id] = decided
        if entry is not None:
            self._audit.append(entry)
        return True

    async def list_confirmations(
        self, tenant: str, *, status: ConfirmationStatus | None = None, before: str = "", limit: int = 50
    ) -> list[Confirmation]:
        rows = (found for found in reversed(self._confirmations.values()) if found.tenant == tenant)
        return page(
            rows, lambda found: (found.confirmation_id,), before, limit, lambda found: status in {None, found.status}
        )

    # Runs

    async def create_run(self, run: Run, entries: Sequence[RunEntry]) -> None:
        with self._lock:
            self._runs.create(run, entries)

    async def append_run(self, run: Run, entries: Sequence[RunEntry]) -> bool:
        with self._lock:
            return self._runs.append(run, entries)

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
        for record in self._audit.records():
            if record.seq > after:
                yield record

    async def list_audit(self, tenant: str, *, before: int = 0, limit: int = 50) -> list[AuditRecord]:
        records = reversed(self._audit.records())
        wanted = (record for record in records if record.entry.tenant == tenant and (not before or record.seq < before))
        return list(islice(wanted, limit))

    async def audit_head(self) -> AuditHead:
        return self._audit.link()

    async def prune_audit(self, *, created_before: str, entry: AuditEntry) -> int:
        return self._audit.prune(created_before, entry)

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

    def _record(self, closing: Closing) -> None:
        self._audit.append(closing.entry)
        call = closing.call
        if call is not None:
            self._calls.setdefault((call.tenant, call.session_id, call.call_id), call)
            if len(self._calls) > self._max_calls:
                bound(self._calls, self._max_calls)
        if closing.charges:
            self._count(closing.entry.tenant, closing.charges)

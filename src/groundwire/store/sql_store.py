"""The port `Store` over a database, the same for all of them. What differs is in the engine and in the queue."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from groundwire.contracts.ports import Database
from groundwire.contracts.records import (
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
    Reservation,
    Reserved,
    ReserveOutcome,
    Session,
    SessionTotals,
    ToolSample,
    UnreadableRecord,
)
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.batches import Batches
from groundwire.store.ledger import Links
from groundwire.store.rows import audit_of, call_of, confirmation_of, effect_of, session_of
from groundwire.store.rules import gone, is_lapsed, lapsed
from groundwire.store.transactions import Row, Transaction
from groundwire.store.works import Change, Work
from groundwire.store.writers import Writer

_END = sys.maxsize
_BEGINNING = -(2**63) + 1
_LAST_WORDS = 5.0
"""Seconds that a cancelled caller waits for the end of its call to be written."""
_PORTION = 500
_PAIRS = 20
_FORGET_PORTION = 5_000


class Reader(Protocol):
    """Reads beside the writer."""

    async def open(self) -> None: ...

    async def shut(self) -> None: ...

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]: ...

    async def fetch_raw(self, sql: str, *values: object) -> Sequence[Row]:
        """Like fetch, but text that is not UTF-8 comes back with surrogates instead of failing."""
        ...


class SqlStore:
    """Writes go through the batches, reads beside them. Open by itself when first used."""

    def __init__(self, reader: Reader, writer: Writer, batches: Batches, database: Database) -> None:
        self._reader = reader
        self._writer = writer
        self._batches = batches
        self._database = database

    @property
    def database(self) -> Database:
        return self._database

    async def open(self) -> None:
        await self._reader.open()

    async def shut(self) -> None:
        try:
            if self._writer.is_owing:
                await self.flush()
        finally:
            await self._batches.stop()
            await self._reader.shut()

    async def _change(self, change: Change, *, durable: bool = False) -> Any:
        return await self._batches.submit(Work(change=change, durable=durable))

    async def _execute(self, statement: str, *values: object, durable: bool = False) -> int:
        async def change(transaction: Transaction, _: Links) -> int:
            return await transaction.change(statement, *values)

        count: int = await self._change(change, durable=durable)
        return count

    async def _write_deferred(self) -> None:
        """Let lists show what this process has already taken."""
        if self._writer.has_deferred:
            await self._batches.submit(Work())

    async def _position(self, statement: str, tenant: str, before: str) -> int:
        """Where to go on: below the row that the caller saw last."""
        if not before:
            return _END
        rows = await self._reader.fetch(statement, tenant, before)
        if not rows:
            raise gone(before)
        position: int = rows[0][0]
        return position

    # Sessions

    async def load_session(self, tenant: str, session_id: str) -> Session | None:
        rows = await self._reader.fetch(sql.SELECT_SESSION, tenant, session_id)
        return session_of(rows[0]) if rows else None

    async def create_session(self, session: Session) -> Session:
        async def change(transaction: Transaction, _: Links) -> Session:
            return await ledger.create_session(transaction, session)

        stored: Session = await self._change(change)
        return stored

    async def save_session(self, session: Session) -> bool:
        async def change(transaction: Transaction, _: Links) -> bool:
            return await ledger.save_session(transaction, session)

        return bool(await self._change(change))

    async def list_sessions(self, tenant: str, *, before: str = "", limit: int = 50) -> list[Session]:
        position = await self._position(sql.SESSION_SEQ, tenant, before)
        return [session_of(row) for row in await self._reader.fetch(sql.LIST_SESSIONS, tenant, position, limit)]

    async def session_totals(self, tenant: str) -> SessionTotals:
        rows = await self._reader.fetch(sql.SELECT_SESSION_TOTALS, tenant)
        return (
            SessionTotals(**dict(zip(SessionTotals.__struct_fields__, rows[0], strict=True)))
            if rows
            else SessionTotals()
        )

    async def save_artifact(self, version: str, body: bytes) -> None:
        await self._execute(sql.INSERT_ARTIFACT, version, body)

    async def load_artifact(self, version: str) -> bytes | None:
        rows = await self._reader.fetch(sql.SELECT_ARTIFACT, version)
        return bytes(rows[0][0]) if rows else None

    # Effects

    async def reserve(self, reservation: Reservation) -> ReserveOutcome:
        work = Work(reservation=reservation, durable=True)
        try:
            outcome: ReserveOutcome = await self._batches.submit(work)
        except asyncio.CancelledError:
            self._abandon(work, reservation)
            raise
        return outcome

    def _abandon(self, work: Work, reservation: Reservation) -> None:
        """Nobody will run what may still be reserved, or has just been: give it back right after."""

        async def change(transaction: Transaction, _: Links) -> None:
            if isinstance(work.outcome, Reserved):
                await ledger.undo(transaction, reservation)

        self._batches.post(Work(change=change))

    async def find_effect(self, tenant: str, tool: str, key: str, *, now: float) -> Effect | None:
        rows = await self._reader.fetch(sql.SELECT_EFFECT, tenant, tool, key)
        if not rows:
            return None
        effect = effect_of(rows[0])
        if not is_lapsed(effect, now):
            return effect
        if await self._execute(sql.LAPSE_EFFECT, tenant, tool, key, now):
            return lapsed(effect)
        return await self.find_effect(tenant, tool, key, now=now)

    async def close(self, closing: Closing) -> bool:
        work = Work(closing=closing)
        try:
            return bool(await self._batches.submit(work))
        except asyncio.CancelledError:
            await self._see_through(work)
            raise

    async def _see_through(self, work: Work) -> None:
        """Wait until what has happened is written, although whoever wanted to know has been told to stop."""
        while not work.is_done:
            work.future = asyncio.get_running_loop().create_future()
            try:
                done, _ = await asyncio.wait((work.future,), timeout=_LAST_WORDS)
            except asyncio.CancelledError:
                continue
            if not done:
                return

    async def renew_leases(
        self, owner: str, keys: Sequence[tuple[str, str, str]], *, now: float, lease_until: float
    ) -> int:
        async def change(transaction: Transaction, _: Links) -> int:
            rows = [(*key, owner, now, lease_until) for key in sorted(keys)]
            return len(await transaction.change_each(sql.RENEW_LEASES, rows))

        count: int = await self._change(change)
        return count

    async def get_effect(self, tenant: str, effect_id: str) -> Effect | None:
        rows = await self._reader.fetch(sql.SELECT_EFFECT_BY_ID, tenant, effect_id)
        return effect_of(rows[0]) if rows else None

    async def decide_effect(self, tenant: str, effect_id: str, closing: Closing, *, by: str) -> bool:
        async def change(transaction: Transaction, links: Links) -> bool:
            return await ledger.decide_effect(transaction, links, tenant, effect_id, closing, by)

        return bool(await self._change(change, durable=True))

    async def list_effects(
        self,
        tenant: str,
        *,
        status: EffectStatus | None = None,
        before: str = "",
        limit: int = 50,
        now: float | None = None,
    ) -> list[Effect]:
        """With `now`, reservations whose lease ran out are listed as what they are: unknown."""
        if now is not None:
            await self._execute(sql.LAPSE_EFFECTS, tenant, now)
        position = await self._position(sql.EFFECT_SEQ, tenant, before)
        if status is None:
            rows = await self._reader.fetch(sql.LIST_ALL_EFFECTS, tenant, position, limit)
        elif status is EffectStatus.UNKNOWN:
            rows = await self._reader.fetch(sql.LIST_UNKNOWN_EFFECTS, tenant, position, limit)
        else:
            rows = await self._reader.fetch(sql.LIST_EFFECTS, tenant, position, limit, status.value)
        return [effect_of(row) for row in rows]

    async def forget_effects(self, *, settled_before: float) -> int:
        # In portions, so that calls get their turn between them.
        oldest = (await self._reader.fetch(sql.OLDEST_EFFECT))[0][0]
        young = await self._reader.fetch(sql.FIRST_YOUNG_EFFECT, settled_before)
        end = young[0][0] if young else (await self._reader.fetch(sql.HIGHEST_EFFECT))[0][0]
        forgotten = 0
        for first in range(oldest, end, _FORGET_PORTION):
            upto = min(first + _FORGET_PORTION, end)
            forgotten += await self._execute(sql.FORGET_EFFECTS, first, upto, settled_before)
        return forgotten

    # Calls and counts

    def enqueue(self, closing: Closing) -> None:
        self._batches.enqueue(closing)

    async def flush(self) -> AuditHead:
        if self._writer.is_owing:
            await self._batches.submit(Work(durable=True))
            self._writer.report_refused()
        return await self._head()

    async def find_call(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None:
        deferred = self._writer.find_deferred(tenant, session_id, call_id)
        rows = await self._reader.fetch(sql.SELECT_CALL, tenant, session_id, call_id)
        return call_of(rows[0]) if rows else deferred

    async def list_calls(
        self, tenant: str, *, session_id: str | None = None, turn: int | None = None, before: str = "", limit: int = 50
    ) -> list[CallRecord]:
        """`before` is a call id or, as ids may repeat in other sessions, `session_id/call_id`."""
        await self._write_deferred()
        position = await self._call_position(tenant, session_id, before)
        statement = sql.list_calls(by_session=session_id is not None, by_turn=turn is not None)
        filters = [value for value in (session_id, turn) if value is not None]
        return [call_of(row) for row in await self._reader.fetch(statement, tenant, position, limit, *filters)]

    async def _call_position(self, tenant: str, session_id: str | None, before: str) -> int:
        if not before:
            return _END
        if session_id is not None:
            rows = await self._reader.fetch(sql.CALL_SEQ, tenant, session_id, before)
            if rows:
                return int(rows[0][0])
        session, slash, call_id = before.partition("/")
        while slash:
            rows = await self._reader.fetch(sql.CALL_SEQ, tenant, session, call_id)
            if rows:
                return int(rows[0][0])
            head, slash, call_id = call_id.partition("/")
            session = f"{session}/{head}"
        rows = await self._reader.fetch(sql.CALL_SEQ_ANYWHERE, tenant, before)
        if rows[0][0] is None:
            raise gone(before)
        return int(rows[0][0])

    async def tools_called(self, tenant: str) -> list[str]:
        await self._write_deferred()
        return sorted(row[0] for row in await self._reader.fetch(sql.TOOLS_CALLED, tenant))

    async def tool_samples(self, tenant: str, tool: str, *, limit: int = 1000) -> list[ToolSample]:
        await self._write_deferred()
        rows = await self._reader.fetch(sql.TOOL_SAMPLES, tenant, tool, limit)
        return [ToolSample(chars=chars, tokens=tokens, duration_ms=duration) for chars, tokens, duration in rows]

    async def read_counters(self, tenant: str, names: Sequence[tuple[str, str]]) -> list[float]:
        await self._write_deferred()
        counts: dict[tuple[str, str], float] = {}
        for first in range(0, len(names), _PAIRS):
            portion = names[first : first + _PAIRS]
            values = [value for pair in portion for value in pair]
            rows = await self._reader.fetch(sql.select_counters(len(portion)), tenant, *values)
            counts.update({(name, scope): used for name, scope, used in rows})
        return [counts.get(pair, 0.0) for pair in names]

    async def list_counters(self, tenant: str, name: str) -> dict[str, float]:
        await self._write_deferred()
        return {row[0]: row[1] for row in await self._reader.fetch(sql.LIST_COUNTERS, tenant, name)}

    async def add(self, tenant: str, charges: Sequence[Charge]) -> None:
        async def change(transaction: Transaction, _: Links) -> None:
            await ledger.count(transaction, [(tenant, charge) for charge in charges])

        await self._change(change)

    async def save_blob(self, tenant: str, session_id: str, ref: str, body: bytes, *, now: float) -> None:
        await self._execute(sql.SAVE_BLOB, tenant, session_id, ref, body, now)

    async def load_blob(self, tenant: str, session_id: str, ref: str) -> bytes | None:
        rows = await self._reader.fetch(sql.SELECT_BLOB, tenant, session_id, ref)
        return bytes(rows[0][0]) if rows else None

    # Confirmations

    async def find_confirmation(
        self, tenant: str, session_id: str, tool: str, input_digest: str, *, now: float
    ) -> Confirmation | None:
        rows = await self._reader.fetch(sql.FIND_CONFIRMATION, tenant, session_id, tool, input_digest, now)
        return confirmation_of(rows[0]) if rows else None

    async def create_confirmation(self, confirmation: Confirmation) -> Confirmation:
        async def change(transaction: Transaction, _: Links) -> Confirmation:
            return await ledger.create_confirmation(transaction, confirmation)

        stored: Confirmation = await self._change(change, durable=True)
        return stored

    async def get_confirmation(self, tenant: str, confirmation_id: str) -> Confirmation | None:
        rows = await self._reader.fetch(sql.SELECT_CONFIRMATION, tenant, confirmation_id)
        return confirmation_of(rows[0]) if rows else None

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
    ) -> bool:
        decision = (tenant, confirmation_id, status.value, by, note, now)

        async def change(transaction: Transaction, links: Links) -> bool:
            if not await transaction.change(sql.DECIDE_CONFIRMATION, *decision):
                return False
            if entry is not None:
                await links.append(entry)
            return True

        return bool(await self._change(change, durable=True))

    async def list_confirmations(
        self, tenant: str, *, status: ConfirmationStatus | None = None, before: str = "", limit: int = 50
    ) -> list[Confirmation]:
        position = await self._position(sql.CONFIRMATION_SEQ, tenant, before)
        if status is None:
            rows = await self._reader.fetch(sql.LIST_ALL_CONFIRMATIONS, tenant, position, limit)
        else:
            rows = await self._reader.fetch(sql.LIST_CONFIRMATIONS, tenant, position, limit, status.value)
        return [confirmation_of(row) for row in rows]

    # The audit chain

    async def audit_records(self, *, after: int = 0) -> AsyncIterator[AuditRecord | UnreadableRecord]:
        await self._write_deferred()
        after = after or _BEGINNING  # a row that was slipped in before the first must be seen too
        while rows := await self._reader.fetch_raw(sql.READ_AUDIT, after, _PORTION):
            for row in rows:
                yield audit_of(row)
            after = rows[-1][0]

    async def list_audit(self, tenant: str, *, before: int = 0, limit: int = 50) -> list[AuditRecord]:
        await self._write_deferred()
        rows = await self._reader.fetch_raw(sql.LIST_AUDIT, tenant, before or _END, limit)
        return [record for row in rows if isinstance(record := audit_of(row), AuditRecord)]

    async def audit_head(self) -> AuditHead:
        await self._write_deferred()
        return await self._head()

    async def _head(self) -> AuditHead:
        rows = await self._reader.fetch(sql.SELECT_HEAD)
        return AuditHead(seq=rows[0][0], hash=rows[0][1]) if rows else AuditHead()

    async def prune_audit(self, *, created_before: str, entry: AuditEntry) -> int:
        async def change(transaction: Transaction, links: Links) -> int:
            return await ledger.prune_audit(transaction, links, created_before, entry)

        await self._write_deferred()
        count: int = await self._change(change, durable=True)
        return count

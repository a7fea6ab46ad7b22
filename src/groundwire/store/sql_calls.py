"""Calls, counts and spilled outputs."""

from collections.abc import Sequence

from groundwire.contracts.records import AuditHead, CallRecord, Charge, Closing, ToolSample
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import call_of
from groundwire.store.rules import gone
from groundwire.store.sql_access import END, SqlAccess
from groundwire.store.sql_audit import read_head
from groundwire.store.transactions import Transaction
from groundwire.store.works import Work

_PAIRS = 20


class SqlCalls(SqlAccess):
    """The port `CallStore`."""

    def enqueue(self, closing: Closing) -> None:
        self._batches.enqueue(closing)

    async def flush(self) -> AuditHead:
        if self._writer.is_owing:
            await self._batches.submit(Work(durable=True))
            self._writer.report_refused()
        return await read_head(self._reader)

    async def find_call(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None:
        deferred = self._writer.find_deferred(tenant, session_id, call_id)
        rows = await self._reader.fetch(sql.SELECT_CALL, tenant, session_id, call_id)
        return call_of(rows[0]) if rows else deferred

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
        """`before` is a call id or, as ids may repeat in other sessions, `session_id/call_id`."""
        await self._write_deferred()
        position = await self._call_position(tenant, session_id, before)
        filters = {"session_id": session_id, "turn": turn, "run_id": run_id}
        given = {column: value for column, value in filters.items() if value is not None}
        statement = sql.list_calls(*given)
        return [call_of(row) for row in await self._reader.fetch(statement, tenant, position, limit, *given.values())]

    async def _call_position(self, tenant: str, session_id: str | None, before: str) -> int:
        if not before:
            return END
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

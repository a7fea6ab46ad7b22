"""The audit chain, as it is read and shortened. It grows with the closings of calls."""

from collections.abc import AsyncIterator

from groundwire.contracts.records import AuditEntry, AuditHead, AuditRecord, UnreadableRecord
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import audit_of
from groundwire.store.sql_access import END, Reader, SqlAccess
from groundwire.store.transactions import Transaction

_BEGINNING = -(2**63) + 1
_PORTION = 500


class SqlAudit(SqlAccess):
    """The port `AuditStore`."""

    async def audit_records(self, *, after: int = 0) -> AsyncIterator[AuditRecord | UnreadableRecord]:
        await self._write_deferred()
        after = after or _BEGINNING  # a row that was slipped in before the first must be seen too
        while rows := await self._reader.fetch_raw(sql.READ_AUDIT, after, _PORTION):
            for row in rows:
                yield audit_of(row)
            after = rows[-1][0]

    async def list_audit(self, tenant: str, *, before: int = 0, limit: int = 50) -> list[AuditRecord]:
        await self._write_deferred()
        rows = await self._reader.fetch_raw(sql.LIST_AUDIT, tenant, before or END, limit)
        return [record for row in rows if isinstance(record := audit_of(row), AuditRecord)]

    async def audit_head(self) -> AuditHead:
        await self._write_deferred()
        return await read_head(self._reader)

    async def prune_audit(self, *, created_before: str, entry: AuditEntry) -> int:
        async def change(transaction: Transaction, links: Links) -> int:
            return await ledger.prune_audit(transaction, links, created_before, entry)

        await self._write_deferred()
        count: int = await self._change(change, durable=True)
        return count


async def read_head(reader: Reader) -> AuditHead:
    rows = await reader.fetch(sql.SELECT_HEAD)
    return AuditHead(seq=rows[0][0], hash=rows[0][1]) if rows else AuditHead()

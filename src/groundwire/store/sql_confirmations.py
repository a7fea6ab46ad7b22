"""Questions to people, and what they decided."""

from groundwire.contracts.records import Agreement, AuditEntry, Confirmation, ConfirmationStatus
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import confirmation_of
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction


class SqlConfirmations(SqlAccess):
    """The port `ConfirmationStore`."""

    async def find_confirmation(
        self, tenant: str, binding: str, tool: str, input_digest: str, *, now: float
    ) -> Confirmation | None:
        rows = await self._reader.fetch(sql.FIND_CONFIRMATION, tenant, binding, tool, input_digest, now)
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
        instead: Agreement | None = None,
    ) -> bool:
        decision = (tenant, confirmation_id, status.value, by, note, now)

        async def change(transaction: Transaction, links: Links) -> bool:
            if not await transaction.change(sql.DECIDE_CONFIRMATION, *decision):
                return False
            await transaction.change(sql.WAKE_RUNS, tenant, confirmation_id, now)
            if instead is not None:
                await ledger.edit_confirmation(transaction, tenant, confirmation_id, instead)
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

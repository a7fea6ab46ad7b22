"""Sessions, and the registry versions that they keep."""

from groundwire.contracts.records import Session, SessionTotals
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import session_of
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction


class SqlSessions(SqlAccess):
    """The port `SessionStore`."""

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

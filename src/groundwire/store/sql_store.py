"""The port `Store` over a database, the same for all of them. What differs is in the engine and in the queue."""

from groundwire.contracts.ports import Database
from groundwire.store.batches import Batches
from groundwire.store.sql_access import Reader
from groundwire.store.sql_audit import SqlAudit
from groundwire.store.sql_calls import SqlCalls
from groundwire.store.sql_confirmations import SqlConfirmations
from groundwire.store.sql_effects import SqlEffects
from groundwire.store.sql_keys import SqlKeys
from groundwire.store.sql_runs import SqlRuns
from groundwire.store.sql_sessions import SqlSessions
from groundwire.store.writers import Writer


class SqlStore(SqlSessions, SqlEffects, SqlCalls, SqlConfirmations, SqlAudit, SqlRuns, SqlKeys):
    """One part per port. Open by itself when first used."""

    def __init__(self, reader: Reader, writer: Writer, batches: Batches, database: Database) -> None:
        super().__init__(reader, writer, batches)
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

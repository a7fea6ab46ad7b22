"""Runs: a head that says how many entries there are, and the entries, which only ever grow."""

from collections.abc import Sequence

from groundwire.contracts.runs import Run, RunEntry
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import run_changes, run_entry_of, run_entry_values, run_of, run_values
from groundwire.store.rules import appended, begun, run_exists
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction


class SqlRuns(SqlAccess):
    """The port `RunStore`."""

    async def create_run(self, run: Run, entries: Sequence[RunEntry]) -> None:
        head = run_values(begun(run, entries))
        if not await self._write_run(run, entries, sql.INSERT_RUN, head):
            raise run_exists(run)

    async def append_run(self, run: Run, entries: Sequence[RunEntry]) -> bool:
        changes = run_changes(appended(run, entries))
        return await self._write_run(run, entries, sql.UPDATE_RUN, (run.tenant, run.run_id, run.entries, *changes))

    async def _write_run(self, run: Run, entries: Sequence[RunEntry], statement: str, values: Sequence[object]) -> bool:
        """The head decides who was first; whoever was writes the entries too."""

        async def change(transaction: Transaction, _: Links) -> bool:
            if not await transaction.change(statement, *values):
                return False
            if entries:
                rows = [run_entry_values(run, entry) for entry in entries]
                await transaction.change_many(sql.INSERT_RUN_ENTRY, rows)
            return True

        return bool(await self._change(change, durable=True))

    async def load_run(self, tenant: str, run_id: str) -> Run | None:
        rows = await self._reader.fetch(sql.SELECT_RUN, tenant, run_id)
        return run_of(rows[0]) if rows else None

    async def run_entries(self, tenant: str, run_id: str) -> list[RunEntry]:
        return [run_entry_of(row) for row in await self._reader.fetch(sql.SELECT_RUN_ENTRIES, tenant, run_id)]

    async def list_runs(
        self, tenant: str, *, session_id: str | None = None, before: str = "", limit: int = 50
    ) -> list[Run]:
        position = await self._position(sql.RUN_SEQ, tenant, before)
        if session_id is None:
            rows = await self._reader.fetch(sql.LIST_ALL_RUNS, tenant, position, limit)
        else:
            rows = await self._reader.fetch(sql.LIST_RUNS, tenant, position, limit, session_id)
        return [run_of(row) for row in rows]

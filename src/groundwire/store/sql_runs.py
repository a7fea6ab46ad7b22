"""Runs: a head that says how many entries there are, and the entries, which only ever grow."""

from collections.abc import Sequence
from operator import attrgetter

from groundwire.contracts.runs import Appending, Run, RunEntry
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import lease_values, run_entry_of, run_of, run_values
from groundwire.store.rules import begun, run_exists
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction
from groundwire.store.works import Work


class SqlRuns(SqlAccess):
    """The port `RunStore`."""

    async def create_run(self, run: Run, entries: Sequence[RunEntry]) -> None:
        head = run_values(begun(run, entries))

        async def change(transaction: Transaction, _: Links) -> bool:
            if not await transaction.change(sql.INSERT_RUN, *head):
                return False
            if entries:
                await ledger.insert_run_entries(transaction, run, entries)
            return True

        if not await self._change(change, durable=True):
            raise run_exists(run)

    async def append_run(self, run: Run, entries: Sequence[RunEntry], *, waiting: Sequence[str] = ()) -> bool:
        appending = Appending(run=run, entries=tuple(entries), waiting=tuple(waiting))

        async def change(transaction: Transaction, _: Links) -> bool:
            return await ledger.append_run(transaction, appending)

        return bool(await self._see_through(Work(change=change, durable=True, tells=True)))

    async def swap_lease(self, seen: Run, wanted: Run) -> bool:
        lease = (*lease_values(wanted), *lease_values(seen))

        async def change(transaction: Transaction, _: Links) -> bool:
            if not await transaction.change(sql.SWAP_LEASE, seen.tenant, seen.run_id, *lease):
                return False
            if wanted.owner != seen.owner:  # an execution that takes the run reads its approvals again
                await transaction.change(sql.DELETE_RUN_WAITS, seen.tenant, seen.run_id)
            return True

        return bool(await self._change(change, durable=True))

    async def due_runs(self, *, now: float, limit: int = 100) -> list[Run]:
        return [run_of(row) for row in await self._reader.fetch(sql.DUE_RUNS, now, limit)]

    async def runs_to_cancel(self, owners: Sequence[str]) -> list[str]:
        wanted = set(owners)
        return [row[0] for row in await self._reader.fetch(sql.RUNS_TO_CANCEL) if row[0] in wanted]

    async def load_run(self, tenant: str, run_id: str) -> Run | None:
        rows = await self._reader.fetch(sql.SELECT_RUN, tenant, run_id)
        return run_of(rows[0]) if rows else None

    async def run_entries(self, tenant: str, run_id: str) -> list[RunEntry]:
        return [run_entry_of(row) for row in await self._reader.fetch(sql.SELECT_RUN_ENTRIES, tenant, run_id)]

    async def session_entries(self, tenant: str, session_id: str) -> dict[str, list[RunEntry]]:
        found: dict[str, list[RunEntry]] = {}
        for run_id, *row in await self._reader.fetch(sql.SELECT_SESSION_ENTRIES, tenant, session_id):
            found.setdefault(str(run_id), []).append(run_entry_of(row))
        for entries in found.values():
            entries.sort(key=attrgetter("seq"))
        return found

    async def list_runs(
        self, tenant: str, *, session_id: str | None = None, before: str = "", limit: int = 50
    ) -> list[Run]:
        position = await self._position(sql.RUN_SEQ, tenant, before)
        if session_id is None:
            rows = await self._reader.fetch(sql.LIST_ALL_RUNS, tenant, position, limit)
        else:
            rows = await self._reader.fetch(sql.LIST_RUNS, tenant, position, limit, session_id)
        return [run_of(row) for row in rows]

"""Rows of the brain: signals that came, and the goals of each session. Knows rows, not what they mean.

Times are milliseconds since the epoch.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from groundwire import Database, NotFound
from groundwire.apps.supplier.brain.migrations import APP, SCRIPTS

_COLUMNS = "signal_id, webhook_id, session_id, signal_type, severity, goal_id, received, deliveries, signal"


class ReceivedRow(Struct, frozen=True, kw_only=True):
    """`signal` is as it came. `deliveries` counts how often it did."""

    signal_id: str
    webhook_id: str
    session_id: str
    signal_type: str
    severity: str
    goal_id: str
    received: int
    deliveries: int = 1
    signal: str


class BrainTables:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.migrate(APP, SCRIPTS)

    async def add(self, tenant: str, row: ReceivedRow) -> list[ReceivedRow]:
        """Keep it; nothing is said then. Else those that have its place already: by their signal's id, or webhook's."""
        added = await self._database.execute(
            f"INSERT INTO brain_signals (tenant, {_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)"  # noqa: S608
            " ON CONFLICT DO NOTHING",
            tenant, row.signal_id, row.webhook_id, row.session_id, row.signal_type, row.severity, row.goal_id,
            row.received, row.signal,
        )  # fmt: skip
        if added:
            return []
        return await self._rows("AND (signal_id = $2 OR webhook_id = $3)", tenant, row.signal_id, row.webhook_id)

    async def count_again(self, tenant: str, signal_id: str) -> None:
        await self._database.execute(
            "UPDATE brain_signals SET deliveries = deliveries + 1 WHERE tenant = $1 AND signal_id = $2",
            tenant, signal_id,
        )  # fmt: skip

    async def find(self, tenant: str, signal_id: str) -> ReceivedRow:
        rows = await self._rows("AND signal_id = $2", tenant, signal_id)
        if not rows:
            raise NotFound(f"there is no signal {signal_id[:40]!r}")
        return rows[0]

    async def list_newest(
        self,
        tenant: str,
        *,
        session_id: str | None = None,
        signal_type: str | None = None,
        severity: str | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[ReceivedRow]:
        """The newest first; `before` is the id of the last one that was listed."""
        wanted = {"session_id": session_id, "signal_type": signal_type, "severity": severity}
        conditions, values = [], list[object]()
        for column, value in wanted.items():
            if value is not None:
                values.append(value)
                conditions.append(f"AND {column} = ${len(values) + 1}")
        if before:
            last = await self.find(tenant, before)
            values += [last.received, last.signal_id]
            conditions.append(f"AND (received, signal_id) < (${len(values)}, ${len(values) + 1})")
        values.append(limit)
        ending = f"ORDER BY received DESC, signal_id DESC LIMIT ${len(values) + 1}"
        return await self._rows(f"{' '.join(conditions)} {ending}", tenant, *values)

    async def set_goals(self, tenant: str, session_id: str, goals: Sequence[str]) -> None:
        """In place of those that the session had."""
        added = "INSERT INTO brain_goals (tenant, session_id, goal_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        await self._database.transact(
            [
                ("DELETE FROM brain_goals WHERE tenant = $1 AND session_id = $2", (tenant, session_id)),
                *((added, (tenant, session_id, goal)) for goal in goals),
            ]
        )

    async def goals(self, tenant: str, sessions: Iterable[str]) -> dict[str, frozenset[str]]:
        """By session, for those whose goals are known."""
        wanted = sorted(set(sessions))
        if not wanted:
            return {}
        places = ", ".join(f"${number}" for number in range(2, len(wanted) + 2))
        rows = await self._database.fetch(
            f"SELECT session_id, goal_id FROM brain_goals WHERE tenant = $1 AND session_id IN ({places})",  # noqa: S608
            tenant,
            *wanted,
        )
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in rows:
            found[str(row["session_id"])].add(str(row["goal_id"]))
        return {session: frozenset(goals) for session, goals in found.items()}

    async def _rows(self, condition: str, tenant: str, *values: object) -> list[ReceivedRow]:
        rows = await self._database.fetch(
            f"SELECT {_COLUMNS} FROM brain_signals WHERE tenant = $1 {condition}",  # noqa: S608
            tenant,
            *values,
        )
        return msgspec.convert(rows, list[ReceivedRow])

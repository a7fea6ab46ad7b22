"""Rows of signals on their way, and of the addresses that want no more of them.

Knows rows, not what is done with them. Times are milliseconds since the epoch.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from groundwire import Database, NotFound
from groundwire.apps.supplier.contracts import Signal
from groundwire.apps.supplier.signals.events import write_signal
from groundwire.apps.supplier.signals.migrations import APP, SCRIPTS

SignalState: TypeAlias = Literal["queued", "delivered", "dead"]
"""`dead` ones are not tried again until somebody asks for it."""

_COLUMNS = "signal_id, session_id, created, signal, body, state, attempts, status, error, delivered"


class SignalRow(Struct, frozen=True, kw_only=True):
    """`body` is what is sent, to the byte, in every attempt; `status` and `error` are of the newest one."""

    signal_id: str
    session_id: str
    created: int
    signal: str
    body: str
    state: SignalState = "queued"
    attempts: int = 0
    status: int = 0
    error: str = ""
    delivered: int = 0


class SignalTables:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.migrate(APP, SCRIPTS)

    async def add(self, tenant: str, signal: Signal, body: bytes, created: int) -> None:
        """Keep a signal that is to be delivered; one that is kept already stays as it is."""
        await self._database.execute(
            f"INSERT INTO supplier_signals (tenant, {_COLUMNS})"  # noqa: S608
            " VALUES ($1, $2, $3, $4, $5, $6, 'queued', 0, 0, '', 0) ON CONFLICT DO NOTHING",
            tenant, signal.signal_id, signal.session_id, created, write_signal(signal).decode(), body.decode(),
        )  # fmt: skip

    async def find(self, tenant: str, signal_id: str) -> SignalRow:
        rows = await self._rows("AND signal_id = $2", tenant, signal_id)
        if not rows:
            raise NotFound(f"there is no signal {signal_id[:40]!r}")
        return rows[0]

    async def of_session(self, tenant: str, session_id: str) -> list[SignalRow]:
        """In the order in which they were raised."""
        return await self._rows("AND session_id = $2 ORDER BY created, signal_id", tenant, session_id)

    async def list_newest(
        self, tenant: str, *, session_id: str | None = None, state: str | None = None, before: str = "", limit: int = 50
    ) -> list[SignalRow]:
        """The newest first; `before` is the id of the last one that was listed."""
        conditions, values = [], list[object]()
        for column, value in (("session_id", session_id), ("state", state)):
            if value is not None:
                values.append(value)
                conditions.append(f"AND {column} = ${len(values) + 1}")
        if before:
            last = await self.find(tenant, before)
            values += [last.created, last.signal_id]
            conditions.append(f"AND (created, signal_id) < (${len(values)}, ${len(values) + 1})")
        values.append(limit)
        ending = f"ORDER BY created DESC, signal_id DESC LIMIT ${len(values) + 1}"
        return await self._rows(f"{' '.join(conditions)} {ending}", tenant, *values)

    async def note_attempt(
        self, tenant: str, signal_id: str, state: SignalState, *, status: int, error: str, delivered: int
    ) -> None:
        await self._database.execute(
            "UPDATE supplier_signals SET state = $3, attempts = attempts + 1, status = $4, error = $5, delivered = $6"
            " WHERE tenant = $1 AND signal_id = $2",
            tenant, signal_id, state, status, error, delivered,
        )  # fmt: skip

    async def bury(self, tenant: str, signal_id: str, error: str) -> None:
        """For one that was not even tried."""
        await self._database.execute(
            "UPDATE supplier_signals SET state = 'dead', error = $3 WHERE tenant = $1 AND signal_id = $2",
            tenant, signal_id, error,
        )  # fmt: skip

    async def disable(self, tenant: str, url: str, now: int) -> None:
        await self._database.execute(
            "INSERT INTO supplier_endpoints (tenant, url, disabled) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            tenant, url, now,
        )  # fmt: skip

    async def enable(self, tenant: str, url: str) -> bool:
        """False where it was not disabled."""
        removed = await self._database.execute(
            "DELETE FROM supplier_endpoints WHERE tenant = $1 AND url = $2", tenant, url
        )
        return removed == 1

    async def disabled(self, tenant: str) -> dict[str, int]:
        """Addresses that want no more, and since when."""
        rows = await self._database.fetch(
            "SELECT url, disabled FROM supplier_endpoints WHERE tenant = $1 ORDER BY url", tenant
        )
        return {str(row["url"]): cast("int", row["disabled"]) for row in rows}

    async def _rows(self, condition: str, tenant: str, *values: object) -> list[SignalRow]:
        rows = await self._database.fetch(
            f"SELECT {_COLUMNS} FROM supplier_signals WHERE tenant = $1 {condition}",  # noqa: S608
            tenant,
            *values,
        )
        return msgspec.convert(rows, list[SignalRow])


def ids_of(rows: Sequence[SignalRow], *states: SignalState) -> tuple[str, ...]:
    return tuple(row.signal_id for row in rows if row.state in states)

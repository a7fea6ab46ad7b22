"""Rows of the gateway: turns of conversations, and the model's steps that clients may bring back without their proofs.

Knows rows, not what is done with them.
"""

from collections.abc import Sequence

from msgspec import Struct

from groundwire.contracts.ports import Database
from groundwire.contracts.texts import storable
from groundwire.gateway.migrations import APP, SCRIPTS

_COLUMNS = "thread, position, response_id, parent_thread, parent_position, created, turn, response"
_LAST = 2**31 - 1

_MAX_KEYS = 1000
"""Databases take only so many values in one statement."""


class TurnRow(Struct, frozen=True, kw_only=True):
    """One turn. `thread` and `position` place it; the first of a branch names the turn that it goes on from.

    `response` is the body that was answered, empty once it was deleted.
    """

    thread: str
    position: int
    response_id: str
    parent_thread: str = ""
    parent_position: int = -1
    created: int
    turn: str
    response: str


class Tables:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.migrate(APP, SCRIPTS)

    async def add_turn(self, tenant: str, row: TurnRow) -> bool:
        """False where that place of the thread is taken."""
        written = await self._database.execute(
            f"INSERT INTO gateway_turns (tenant, {_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"  # noqa: S608
            " ON CONFLICT DO NOTHING",
            tenant, row.thread, row.position, row.response_id, row.parent_thread, row.parent_position, row.created,
            row.turn, row.response,
        )  # fmt: skip
        return written == 1

    async def turns(self, tenant: str, thread: str, until: int = _LAST, *, most: int) -> list[TurnRow] | None:
        """All turns of a thread up to a position, in order, those before its beginning included; None if more than `most`.

        One query, and one more for each branch on the way there.
        """
        parts: list[list[TurnRow]] = []
        left = most
        while thread:  # a thread's parent is older than it, so there is a first one
            rows = await self._rows(
                "thread = $2 AND position <= $3 ORDER BY position LIMIT $4", tenant, thread, until, left + 1
            )
            left -= len(rows)
            if left < 0:
                return None
            parts.append(rows)
            thread, until = (rows[0].parent_thread, rows[0].parent_position) if rows else ("", _LAST)
        return [row for part in reversed(parts) for row in part]

    async def last_turn(self, tenant: str, thread: str) -> TurnRow | None:
        rows = await self._rows("thread = $2 ORDER BY position DESC LIMIT 1", tenant, thread)
        return rows[0] if rows else None

    async def response(self, tenant: str, response_id: str) -> TurnRow | None:
        rows = await self._rows("response_id = $2", tenant, storable(response_id))
        return rows[0] if rows else None

    async def complete_response(self, tenant: str, response_id: str, pending: str, completed: str, turn: str) -> bool:
        """Replace response and turn, if the response is still the pending one."""
        changed = await self._database.execute(
            "UPDATE gateway_turns SET response = $4, turn = $5"
            " WHERE tenant = $1 AND response_id = $2 AND response = $3",
            tenant,
            storable(response_id),
            pending,
            completed,
            turn,
        )
        return changed == 1

    async def forget_response(self, tenant: str, response_id: str) -> bool:
        """Remove what was answered; what was said stays in the conversation. False where there is none."""
        changed = await self._database.execute(
            "UPDATE gateway_turns SET response = '' WHERE tenant = $1 AND response_id = $2 AND response <> ''",
            tenant,
            storable(response_id),
        )
        return changed == 1

    async def add_step(self, tenant: str, key: str, created: int, items: str) -> None:
        await self._database.execute(
            "INSERT INTO gateway_steps (tenant, step, created, items) VALUES ($1, $2, $3, $4)"
            " ON CONFLICT (tenant, step) DO UPDATE SET created = excluded.created, items = excluded.items",
            tenant, key, created, items,
        )  # fmt: skip

    async def steps(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """The steps that are known, by their keys."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), _MAX_KEYS):
            wanted = keys[start : start + _MAX_KEYS]
            places = ", ".join(f"${number}" for number in range(2, len(wanted) + 2))
            rows = await self._database.fetch(
                f"SELECT step, items FROM gateway_steps WHERE tenant = $1 AND step IN ({places})",  # noqa: S608
                tenant,
                *wanted,
            )
            found.update((str(row["step"]), str(row["items"])) for row in rows)
        return found

    async def _rows(self, condition: str, tenant: str, *values: object) -> list[TurnRow]:
        rows = await self._database.fetch(
            f"SELECT {_COLUMNS} FROM gateway_turns WHERE tenant = $1 AND {condition}",  # noqa: S608
            tenant,
            *values,
        )
        return [TurnRow(**row) for row in rows]  # type: ignore[arg-type]

"""Rows of answers that are kept under the key of their request, and of requests that are still being answered.

Knows rows, not what is done with them. Two processes may use it at once: taking a key is one statement.
"""

from msgspec import Struct

from groundwire.contracts.ports import Database

_COLUMNS = "digest, holder, held_until, expires, status, headers, body"


class AnswerRow(Struct, frozen=True, kw_only=True):
    """`digest` is of the request. The status is 0 while its `holder` is at it, who is believed dead after `held_until`."""

    digest: str
    holder: str
    held_until: int
    expires: int
    status: int = 0
    headers: str = "[]"
    body: str = ""


class AnswerTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, tenant: str, key: str, row: AnswerRow, now: int) -> AnswerRow | None:
        """Hold the key, and get None; or the row of whoever has it."""
        while True:
            written = await self._database.execute(
                f"INSERT INTO gateway_answers (tenant, request_key, {_COLUMNS})"  # noqa: S608
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
                " ON CONFLICT (tenant, request_key) DO UPDATE SET digest = excluded.digest, holder = excluded.holder,"
                " held_until = excluded.held_until, expires = excluded.expires, status = excluded.status,"
                " headers = excluded.headers, body = excluded.body WHERE gateway_answers.expires <= $10"
                " OR (gateway_answers.status = 0 AND gateway_answers.held_until <= $10)",
                tenant, key, row.digest, row.holder, row.held_until, row.expires, row.status, row.headers, row.body, now,
            )  # fmt: skip
            if written == 1:
                return None
            rows = await self._database.fetch(
                f"SELECT {_COLUMNS} FROM gateway_answers WHERE tenant = $1 AND request_key = $2",  # noqa: S608
                tenant,
                key,
            )
            if rows:  # else it was given up in between
                return AnswerRow(**rows[0])  # type: ignore[arg-type]

    async def hold(self, tenant: str, key: str, holder: str, until: int) -> None:
        await self._database.execute(
            "UPDATE gateway_answers SET held_until = $4 WHERE tenant = $1 AND request_key = $2 AND holder = $3",
            tenant, key, holder, until,
        )  # fmt: skip

    async def keep(self, tenant: str, key: str, row: AnswerRow) -> None:
        await self._database.execute(
            "UPDATE gateway_answers SET status = $4, headers = $5, body = $6, expires = $7"
            " WHERE tenant = $1 AND request_key = $2 AND holder = $3",
            tenant, key, row.holder, row.status, row.headers, row.body, row.expires,
        )  # fmt: skip

    async def give_up(self, tenant: str, key: str, holder: str) -> None:
        """Nothing came of it that is worth keeping."""
        await self._database.execute(
            "DELETE FROM gateway_answers WHERE tenant = $1 AND request_key = $2 AND holder = $3 AND status = 0",
            tenant, key, holder,
        )  # fmt: skip

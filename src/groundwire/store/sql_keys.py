"""Keys to a server, and what was used of their limits."""

from groundwire.contracts.keys import ApiKey, KeySpend, OverLimit
from groundwire.contracts.records import AuditEntry
from groundwire.store import statements as sql
from groundwire.store.key_limits import UNUSED, Use, usage_at
from groundwire.store.ledger import Links
from groundwire.store.rows import key_of, key_values
from groundwire.store.rules import key_exists
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction
from groundwire.store.works import Work


class SqlKeys(SqlAccess):
    """The port `KeyStore`."""

    async def create_key(self, key: ApiKey, *, entry: AuditEntry | None = None) -> None:
        async def change(transaction: Transaction, links: Links) -> bool:
            if not await transaction.change(sql.INSERT_KEY, *key_values(key)):
                return False
            if key.limits:
                rows = [(key.key_id, place, *UNUSED) for place in range(len(key.limits))]
                await transaction.change_many(sql.INSERT_KEY_USAGE, rows)
            if entry is not None:
                await links.append(entry)
            return True

        if not await self._change(change, durable=True):
            raise key_exists(key)
        self._reader.forget_keys_version()

    async def find_key(self, digest: str) -> ApiKey | None:
        rows = await self._reader.fetch(sql.FIND_KEY, digest)
        return key_of(rows[0]) if rows else None

    async def list_keys(self, tenant: str, *, before: str = "", limit: int = 50) -> list[ApiKey]:
        position = await self._position(sql.KEY_SEQ, tenant, before)
        return [key_of(row) for row in await self._reader.fetch(sql.LIST_KEYS, tenant, position, limit)]

    async def revoke_key(self, tenant: str, key_id: str, *, now: float, entry: AuditEntry | None = None) -> bool:
        async def change(transaction: Transaction, links: Links) -> bool:
            if not await transaction.change(sql.REVOKE_KEY, tenant, key_id, now):
                return False
            if entry is not None:
                await links.append(entry)
            return True

        is_revoked = bool(await self._change(change, durable=True))
        self._reader.forget_keys_version()
        return is_revoked

    async def keys_version(self) -> int:
        return await self._reader.keys_version()

    async def spend(self, spend: KeySpend) -> OverLimit | None:
        outcome: OverLimit | None = await self._batches.submit(Work(spend=spend))
        return outcome

    async def key_usage(self, key: ApiKey, *, now: float) -> list[float]:
        rows = await self._reader.fetch(sql.SELECT_KEY_USAGE, key.key_id)
        return usage_at(key, [Use(*row) for row in rows], now)

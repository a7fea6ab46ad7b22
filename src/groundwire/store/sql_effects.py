"""Effects: reserved, settled, decided, forgotten."""

import asyncio
from collections.abc import Sequence

from groundwire.contracts.records import Closing, Effect, EffectStatus, Reservation, Reserved, ReserveOutcome
from groundwire.store import ledger
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rows import effect_of
from groundwire.store.rules import is_lapsed, lapsed
from groundwire.store.sql_access import SqlAccess
from groundwire.store.transactions import Transaction
from groundwire.store.works import Work

_FORGET_PORTION = 5_000


class SqlEffects(SqlAccess):
    """The port `EffectLedger`."""

    async def reserve(self, reservation: Reservation) -> ReserveOutcome:
        work = Work(reservation=reservation, durable=True)
        try:
            outcome: ReserveOutcome = await self._batches.submit(work)
        except asyncio.CancelledError:
            self._abandon(work, reservation)
            raise
        return outcome

    def _abandon(self, work: Work, reservation: Reservation) -> None:
        """Nobody will run what may still be reserved, or has just been: give it back right after."""

        async def change(transaction: Transaction, _: Links) -> None:
            if isinstance(work.outcome, Reserved):
                await ledger.undo(transaction, reservation)

        self._batches.post(Work(change=change))

    async def find_effect(self, tenant: str, tool: str, key: str, *, now: float) -> Effect | None:
        rows = await self._reader.fetch(sql.SELECT_EFFECT, tenant, tool, key)
        if not rows:
            return None
        effect = effect_of(rows[0])
        if not is_lapsed(effect, now):
            return effect
        if await self._execute(sql.LAPSE_EFFECT, tenant, tool, key, now):
            return lapsed(effect)
        return await self.find_effect(tenant, tool, key, now=now)

    async def close(self, closing: Closing) -> bool:
        applied: bool = await self._see_through(Work(closing=closing))
        return applied

    async def renew_leases(
        self, owner: str, keys: Sequence[tuple[str, str, str]], *, now: float, lease_until: float
    ) -> int:
        async def change(transaction: Transaction, _: Links) -> int:
            rows = [(*key, owner, now, lease_until) for key in sorted(keys)]
            return len(await transaction.change_each(sql.RENEW_LEASES, rows))

        count: int = await self._change(change)
        return count

    async def get_effect(self, tenant: str, effect_id: str) -> Effect | None:
        rows = await self._reader.fetch(sql.SELECT_EFFECT_BY_ID, tenant, effect_id)
        return effect_of(rows[0]) if rows else None

    async def decide_effect(self, tenant: str, effect_id: str, closing: Closing, *, by: str) -> bool:
        async def change(transaction: Transaction, links: Links) -> bool:
            return await ledger.decide_effect(transaction, links, tenant, effect_id, closing, by)

        return bool(await self._change(change, durable=True))

    async def list_effects(
        self,
        tenant: str,
        *,
        status: EffectStatus | None = None,
        before: str = "",
        limit: int = 50,
        now: float | None = None,
    ) -> list[Effect]:
        """With `now`, reservations whose lease ran out are listed as what they are: unknown."""
        if now is not None:
            await self._execute(sql.LAPSE_EFFECTS, tenant, now)
        position = await self._position(sql.EFFECT_SEQ, tenant, before)
        if status is None:
            rows = await self._reader.fetch(sql.LIST_ALL_EFFECTS, tenant, position, limit)
        elif status is EffectStatus.UNKNOWN:
            rows = await self._reader.fetch(sql.LIST_UNKNOWN_EFFECTS, tenant, position, limit)
        else:
            rows = await self._reader.fetch(sql.LIST_EFFECTS, tenant, position, limit, status.value)
        return [effect_of(row) for row in rows]

    async def forget_effects(self, *, settled_before: float) -> int:
        # In portions, so that calls get their turn between them.
        oldest = (await self._reader.fetch(sql.OLDEST_EFFECT))[0][0]
        young = await self._reader.fetch(sql.FIRST_YOUNG_EFFECT, settled_before)
        end = young[0][0] if young else (await self._reader.fetch(sql.HIGHEST_EFFECT))[0][0]
        forgotten = 0
        for first in range(oldest, end, _FORGET_PORTION):
            upto = min(first + _FORGET_PORTION, end)
            forgotten += await self._execute(sql.FORGET_EFFECTS, first, upto, settled_before)
        return forgotten

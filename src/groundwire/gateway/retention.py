"""What clients left behind and nobody came back for: old conversations, steps, relayed calls and kept answers.

Removed off the request path, a few rows at a time, by one process of all. Runs, calls, effects and the audit chain are not
the gateway's, and stay.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence

from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.ports import Clock, Database

log = logging.getLogger("groundwire.gateway")

INTERVAL = 3600.0
"""Seconds between two rounds."""
BATCH = 500
"""As many rows, or threads, are looked for at a time."""
_LEASE_SECONDS = 600
_DAY = 86_400


class Retention:
    """Keeps for so many days. A conversation is as old as its last turn, and stays while another one goes on from it."""

    def __init__(self, database: Database, clock: Clock, *, days: int) -> None:
        self._database = database
        self._clock = clock
        self._days = days
        self._holder = secrets.token_hex(8)
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def prune(self) -> int:
        """One round; how many rows were removed. Where another process is at it, that one removes them."""
        if not await self._take():
            return 0
        removed = await self._repeat(self._prune_answers)
        if self._days:
            removed += await self._repeat(self._prune_threads)
            removed += await self._repeat(self._prune_steps)
            removed += await self._repeat(self._prune_relay)
        await self._database.execute("DELETE FROM gateway_leases WHERE holder = $1", self._holder)
        return removed

    @property
    def _cut(self) -> int:
        return int(self._clock.now()) - self._days * _DAY

    async def _take(self) -> bool:
        now = int(self._clock.now())
        written = await self._database.execute(
            "INSERT INTO gateway_leases (name, holder, held_until) VALUES ('retention', $1, $2)"
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until"
            " WHERE gateway_leases.held_until <= $3 OR gateway_leases.holder = excluded.holder",
            self._holder, now + _LEASE_SECONDS, now,
        )  # fmt: skip
        return written == 1

    async def _repeat(self, batch: Callable[[], Awaitable[int]]) -> int:
        """Batch after batch, for as long as the lease holds and there is something left."""
        total = 0
        while removed := await batch():
            total += removed
            if not await self._take():
                break
        return total

    async def _prune_answers(self) -> int:
        return await self._database.execute(
            "DELETE FROM gateway_answers WHERE (tenant, request_key) IN"
            " (SELECT tenant, request_key FROM gateway_answers WHERE expires <= $1 LIMIT $2)",
            int(self._clock.now()), BATCH,
        )  # fmt: skip

    async def _prune_steps(self) -> int:
        return await self._database.execute(
            "DELETE FROM gateway_steps WHERE (tenant, step) IN"
            " (SELECT tenant, step FROM gateway_steps WHERE created < $1 LIMIT $2)",
            self._cut, BATCH,
        )  # fmt: skip

    async def _prune_threads(self) -> int:
        """Whole conversations: half of one would be worse than none."""
        old = await self._database.fetch(
            "SELECT tenant, thread FROM gateway_turns AS own GROUP BY tenant, thread HAVING max(created) < $1"
            " AND NOT EXISTS (SELECT 1 FROM gateway_turns AS later"
            " WHERE later.tenant = own.tenant AND later.parent_thread = own.thread) LIMIT $2",
            self._cut, BATCH,
        )  # fmt: skip
        removed = 0
        for row in old:
            removed += await self._database.execute(
                "DELETE FROM gateway_turns WHERE tenant = $1 AND thread = $2 AND NOT EXISTS"
                " (SELECT 1 FROM gateway_turns AS new WHERE new.tenant = $1 AND new.thread = $2 AND new.created >= $3)",
                row["tenant"], row["thread"], self._cut,
            )  # fmt: skip
        return removed

    async def _prune_relay(self) -> int:
        old = await self._database.fetch(
            "SELECT tenant, session, step_id FROM gateway_relay_steps WHERE created < $1 LIMIT $2",
            self._cut * 1_000_000, BATCH,
        )  # fmt: skip
        keys: list[Sequence[object]] = [(row["tenant"], row["session"], row["step_id"]) for row in old]
        if keys:
            tables = ("gateway_relay_calls", "gateway_relay_steps")
            place = "tenant = $1 AND session = $2 AND step_id = $3"
            await self._database.transact(
                [(f"DELETE FROM {table} WHERE {place}", key) for table in tables for key in keys]  # noqa: S608
            )
        return len(keys)

    async def _keep(self) -> None:
        while True:
            try:
                if removed := await self.prune():
                    log.info("removed %d rows of the gateway that were older than %d days", removed, self._days)
            except GroundwireError as error:
                log.warning("old rows of the gateway could not be removed: %s", error)
            await self._clock.sleep(INTERVAL)

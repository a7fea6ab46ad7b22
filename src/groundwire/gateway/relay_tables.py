"""Rows of the relay: the steps of a session in which the model called tools, and the calls with their results.

Knows rows, not what is done with them. What two processes may do at once is one statement each.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.ports import Database

CallState: TypeAlias = Literal["waiting", "ready", "sent"]
_MAX_STEPS = 200
"""As many of a session are looked at; what is older stays in its history as the client tells it."""
_STEPS = "step_id, created, context, items, is_open"
_CALLS = "call_id, step_id, position, name, arguments, state, result"


class StepRow(Struct, frozen=True, kw_only=True):
    """`items` are what the model made, `context` is the digest of what stood before it, `created` counts microseconds.

    `is_open` is 0 once the model has answered the results with something else than calls.
    """

    step_id: str
    created: int
    context: str
    items: str
    is_open: int = 1


class CallRow(Struct, frozen=True, kw_only=True):
    """`arguments` and `result` are JSON; a call that waits has no result."""

    call_id: str
    step_id: str
    position: int
    name: str
    arguments: str
    state: CallState = "waiting"
    result: str = ""


class RelayTables:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_step(self, tenant: str, session: str, step: StepRow, calls: Iterable[CallRow]) -> None:
        add_step = (
            f"INSERT INTO gateway_relay_steps (tenant, session, {_STEPS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",  # noqa: S608
            (tenant, session, step.step_id, step.created, step.context, step.items, step.is_open),
        )
        add_call = (
            f"INSERT INTO gateway_relay_calls (tenant, session, {_CALLS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"  # noqa: S608
        )
        added = [
            (add_call, (tenant, session, call.call_id, call.step_id, call.position, call.name, call.arguments,
                        call.state, call.result))
            for call in calls
        ]  # fmt: skip
        await self._database.transact([add_step, *added])

    async def steps(self, tenant: str, session: str) -> list[StepRow]:
        """The latest steps, in the order in which they were made."""
        rows = await self._database.fetch(
            f"SELECT {_STEPS} FROM gateway_relay_steps WHERE tenant = $1 AND session = $2"  # noqa: S608
            " ORDER BY created DESC, step_id DESC LIMIT $3",
            tenant, session, _MAX_STEPS,
        )  # fmt: skip
        return [StepRow(**row) for row in reversed(rows)]  # type: ignore[arg-type]

    async def calls(self, tenant: str, session: str) -> list[CallRow]:
        """All calls, those of one step in their order."""
        rows = await self._database.fetch(
            f"SELECT {_CALLS} FROM gateway_relay_calls WHERE tenant = $1 AND session = $2 ORDER BY position",  # noqa: S608
            tenant, session,
        )  # fmt: skip
        return [CallRow(**row) for row in rows]  # type: ignore[arg-type]

    async def waiting_calls(self, tenant: str, session: str) -> list[CallRow]:
        """The calls without a result, in the order in which they were made."""
        rows = await self._database.fetch(
            f"SELECT {', '.join(f'c.{name.strip()}' for name in _CALLS.split(','))} FROM gateway_relay_calls c"  # noqa: S608
            " JOIN gateway_relay_steps s ON s.tenant = c.tenant AND s.session = c.session AND s.step_id = c.step_id"
            " WHERE c.tenant = $1 AND c.session = $2 AND c.state = 'waiting' ORDER BY s.created, s.step_id, c.position",
            tenant, session,
        )  # fmt: skip
        return [CallRow(**row) for row in rows]  # type: ignore[arg-type]

    async def add_result(self, tenant: str, session: str, call_id: str, result: str) -> bool:
        """False where the call has a result already, or there is no such call."""
        changed = await self._database.execute(
            "UPDATE gateway_relay_calls SET state = 'ready', result = $4"
            " WHERE tenant = $1 AND session = $2 AND call_id = $3 AND state = 'waiting'",
            tenant, session, call_id, result,
        )  # fmt: skip
        return changed == 1

    async def take_results(self, tenant: str, session: str) -> set[str]:
        """The calls of whole steps whose results nobody took before. Whoever gets them is the only one."""
        rows = await self._database.fetch(
            "UPDATE gateway_relay_calls SET state = 'sent' WHERE tenant = $1 AND session = $2 AND state = 'ready'"
            " AND step_id NOT IN (SELECT step_id FROM gateway_relay_calls"
            " WHERE tenant = $1 AND session = $2 AND state = 'waiting') RETURNING call_id",
            tenant, session,
        )  # fmt: skip
        return {str(row["call_id"]) for row in rows}

    async def give_back(self, tenant: str, session: str, call_ids: Sequence[str]) -> None:
        """What was taken came to nothing."""
        await self._database.transact(
            [
                (
                    "UPDATE gateway_relay_calls SET state = 'ready' WHERE tenant = $1 AND session = $2 AND call_id = $3",
                    (tenant, session, call_id),
                )
                for call_id in call_ids
            ]
        )

    async def move_step(self, tenant: str, session: str, step_id: str, context: str) -> None:
        """It was found behind other words than before."""
        await self._database.execute(
            "UPDATE gateway_relay_steps SET context = $4 WHERE tenant = $1 AND session = $2 AND step_id = $3",
            tenant, session, step_id, context,
        )  # fmt: skip

    async def close_step(self, tenant: str, session: str, step_id: str) -> None:
        await self._database.execute(
            "UPDATE gateway_relay_steps SET is_open = 0 WHERE tenant = $1 AND session = $2 AND step_id = $3",
            tenant, session, step_id,
        )  # fmt: skip

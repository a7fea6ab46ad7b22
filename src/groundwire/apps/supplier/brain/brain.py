"""What the brain does with a signal: keep it once, and say where its goal is none that was asked for.

In process it is a receiver like the others; `endpoints` puts it behind HTTP. Knows no signature and no route.
"""

import json
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from groundwire.apps.supplier.brain.tables import BrainTables, ReceivedRow
from groundwire.apps.supplier.contracts import TAXONOMY, BrainReceipt, Rejection, Signal
from groundwire.apps.supplier.signals.events import (
    EVENT_TYPE,
    SignalEvent,
    decode_signal,
    identified,
    iso_time,
    webhook_id_of,
    write_signal,
)

UNKNOWN_GOAL = "unknown_goal"
"""The flag of a signal whose goal is not among those of its session; where nobody has told these, not a usual one."""
UNKNOWN_TYPE = "unknown_type"
ID_REUSED = "id_reused"
"""Why something is rejected that comes under the id of another signal: what came first stays as it is."""


class Received(Struct, frozen=True, kw_only=True):
    """A signal that was kept, with what is to be said about it."""

    row: ReceivedRow
    flags: tuple[str, ...]


class Brain:
    def __init__(self, tables: BrainTables, *, tenant: str = "default", now: Callable[[], float] = time.time) -> None:
        self._tables = tables
        self._now = now
        self._tenant = tenant

    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        named = [identified(signal) for signal in signals]
        taken = [await self._keep(webhook_id_of(one.signal_id), one, write_signal(one)) for one in named]
        return self._receipt([signal.signal_id for signal in named], taken)

    async def receive_event(self, webhook_id: str, event: SignalEvent) -> BrainReceipt:
        """WireError where its data is no signal. An event of another type is not for us, and trying again is no use."""
        if event.type != EVENT_TYPE:
            return BrainReceipt(rejected=(Rejection(id=webhook_id, reason=UNKNOWN_TYPE),))
        signal = decode_signal(event.data)
        if not signal.signal_id:
            signal = msgspec.structs.replace(signal, signal_id=webhook_id)
        return self._receipt([signal.signal_id], [await self._keep(webhook_id, signal, bytes(event.data))])

    async def _keep(self, webhook_id: str, signal: Signal, data: bytes) -> bool:
        """False where its id belongs to another one."""
        row = ReceivedRow(
            signal_id=signal.signal_id,
            webhook_id=webhook_id,
            session_id=signal.session_id,
            signal_type=signal.signal_type.value,
            severity=signal.severity,
            goal_id=signal.goal_id or "",
            received=int(self._now() * 1000),
            signal=data.decode(),
        )
        there = await self._tables.add(self._tenant, row)
        if not all(_is_same(row, one) for one in there):
            return False
        if there:
            await self._tables.count_again(self._tenant, signal.signal_id)
        return True

    def _receipt(self, signal_ids: Sequence[str], taken: Sequence[bool]) -> BrainReceipt:
        judged = dict(zip(signal_ids, taken, strict=True))
        accepted = tuple(name for name, is_taken in judged.items() if is_taken)
        return BrainReceipt(
            accepted=accepted,
            rejected=tuple(Rejection(id=name, reason=ID_REUSED) for name in judged if name not in accepted),
            delivered_at=iso_time(self._now()) if accepted else "",
        )

    async def expect(self, session_id: str, goals: Sequence[str]) -> None:
        """Say which goals a session has. Signals that came before are judged by them, too."""
        await self._tables.set_goals(self._tenant, session_id, goals)

    async def goals(self, session_id: str) -> Sequence[str]:
        return sorted((await self._tables.goals(self._tenant, [session_id])).get(session_id, ()))

    async def find(self, signal_id: str) -> Received:
        [found] = await self._judged([await self._tables.find(self._tenant, signal_id)])
        return found

    async def list_newest(
        self,
        *,
        session_id: str | None = None,
        signal_type: str | None = None,
        severity: str | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[Received]:
        """The newest first; `before` is the id of the last one that was listed."""
        rows = await self._tables.list_newest(
            self._tenant,
            session_id=session_id,
            signal_type=signal_type,
            severity=severity,
            before=before,
            limit=limit,
        )
        return await self._judged(rows)

    async def _judged(self, rows: Sequence[ReceivedRow]) -> list[Received]:
        goals = await self._tables.goals(self._tenant, (row.session_id for row in rows))
        known = [goals.get(row.session_id, TAXONOMY) for row in rows]
        return [
            Received(row=row, flags=(UNKNOWN_GOAL,) if row.goal_id and row.goal_id not in names else ())
            for row, names in zip(rows, known, strict=True)
        ]


def _is_same(row: ReceivedRow, other: ReceivedRow) -> bool:
    """The same signal, however it was written: a sender may order its fields otherwise the second time."""
    if row.signal_id != other.signal_id:
        return False
    try:
        return row.signal == other.signal or bool(json.loads(row.signal) == json.loads(other.signal))
    except (ValueError, RecursionError):  # figures or nesting without end, which are kept and not understood
        return False

"""What one caller wants written, and several such works as a batch."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.keys import KeySpend
from groundwire.contracts.records import Closing, Reservation
from groundwire.store import key_counts, ledger
from groundwire.store.ledger import Links
from groundwire.store.transactions import Transaction

Change: TypeAlias = Callable[[Transaction, Links], Awaitable[Any]]
"""A write that is neither a reservation nor a closing."""


class Work(Struct, eq=False, kw_only=True):
    """Exactly one of reservation, closing, change and spend, or none of them: then it is a mere barrier.

    `tells`: it tells of something that cannot be taken back, and is written even when its caller has gone.
    """

    reservation: Reservation | None = None
    closing: Closing | None = None
    change: Change | None = None
    spend: KeySpend | None = None
    durable: bool = False
    tells: bool = False
    place: int = 0
    outcome: Any = None
    error: GroundwireError | None = None
    future: asyncio.Future[Any] | None = None
    is_done: bool = False

    @property
    def has_happened(self) -> bool:
        return self.tells or self.closing is not None or (self.spend is not None and not self.spend.must_fit)

    @property
    def is_barrier(self) -> bool:
        return self.closing is None and self.reservation is None and self.change is None and self.spend is None

    @property
    def is_plain(self) -> bool:
        """Whether it is a key to be reserved, and nothing else: one statement does it."""
        reservation = self.reservation
        return (
            reservation is not None
            and reservation.effect is not None
            and reservation.appending is None
            and not reservation.charges
            and not reservation.confirmation_id
        )

    @property
    def takes_deferred(self) -> bool:
        return self.closing is not None or self.is_barrier

    def apply(self, transaction: Transaction, links: Links) -> Awaitable[Any]:
        """What gives its outcome."""
        if self.closing is not None:
            return ledger.close_one(transaction, links, self.closing)
        if self.reservation is not None:
            return ledger.reserve(transaction, self.reservation)
        if self.change is not None:
            return self.change(transaction, links)
        return self._apply_rest(transaction)

    async def _apply_rest(self, transaction: Transaction) -> Any:
        if self.spend is not None:
            (refusal,) = await key_counts.spend_all(transaction, [self.spend])
            return refusal
        return None

    def wake(self) -> None:
        """Tell the caller, unless it has gone."""
        self.is_done = True
        future = self.future
        if future is None or future.done():
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.outcome)


class Batch:
    """Several works in one transaction, together with the closings that were deferred before them.

    To the writer it is like a work of its own. `written` is how many closings were deferred and written before.
    """

    def __init__(self, works: Sequence[Work], deferred: Sequence[Closing], written: int) -> None:
        self.outcome = None
        self._works = works
        self._deferred = deferred
        self._written = written
        self.durable = any(work.durable for work in works)
        self.is_plain = not deferred and all(work.is_plain for work in works)
        self.is_barrier = not deferred and all(work.is_barrier for work in works)

    async def apply(self, transaction: Transaction, links: Links) -> None:
        """Plain reservations, spends and closings all at once, the rest one by one between them."""
        plain = [(work, work.reservation) for work in self._works if work.is_plain and work.reservation is not None]
        if plain:
            outcomes = await ledger.reserve_plain(transaction, [reservation for _, reservation in plain])
            for (work, _), outcome in zip(plain, outcomes, strict=True):
                work.outcome = outcome
        spends = [(work, work.spend) for work in self._works if work.spend is not None]
        if spends:
            refusals = await key_counts.spend_all(transaction, [spend for _, spend in spends])
            for (work, _), refusal in zip(spends, refusals, strict=True):
                work.outcome = refusal
        for work in self._works:
            if work.closing is None and work.spend is None and not work.is_plain:
                work.outcome = await work.apply(transaction, links)
        await self._close(transaction, links)

    async def _close(self, transaction: Transaction, links: Links) -> None:
        """Write deferred closings before those that were handed in after them."""
        closings: list[Closing] = []
        places: list[tuple[Work, int]] = []
        done = 0
        for work in self._works:
            if work.closing is not None:
                upto = min(max(work.place - self._written, done), len(self._deferred))
                closings.extend(self._deferred[done:upto])
                done = upto
                places.append((work, len(closings)))
                closings.append(work.closing)
        closings.extend(self._deferred[done:])
        if closings:
            await links.look()  # if somebody moved the chain on, all of them would have to be written one by one
            applied = await ledger.close(transaction, links, closings)
            for work, place in places:
                work.outcome = applied[place]


def still_wanted(works: Iterable[Work]) -> list[Work]:
    """Without those whose caller has gone before their turn, except for what has happened.

    That is the ends of calls, what an answer cost, and the entries of a run, also those that came with a reservation.
    """
    wanted: list[Work] = []
    for work in works:
        if work.has_happened or work.future is None or not work.future.cancelled():
            wanted.append(work)
        elif work.reservation is not None and work.reservation.appending is not None:
            wanted.append(Work(reservation=_without_effect(work.reservation), durable=work.durable))
    return wanted


def _without_effect(reservation: Reservation) -> Reservation:
    return Reservation(tenant=reservation.tenant, appending=reservation.appending, now=reservation.now)

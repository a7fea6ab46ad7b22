"""One caller's part of a batch, and the batch as a whole."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.keys import KeySpend
from groundwire.contracts.records import Closing, Reservation
from groundwire.store.ledger import Links
from groundwire.store.transactions import Transaction

Change: TypeAlias = Callable[[Transaction, Links], Awaitable[Any]]
"""A write that is neither a reservation nor a closing."""


class Work:
    """Exactly one of reservation, closing, change and spend, or none of them: then it is a mere barrier.

    `has_happened`: it tells of something that cannot be taken back, and is written even when its caller has gone.
    """

    __slots__ = (
        "change",
        "closing",
        "durable",
        "error",
        "future",
        "has_happened",
        "is_done",
        "outcome",
        "place",
        "reservation",
        "spend",
    )

    def __init__(
        self,
        *,
        reservation: Reservation | None = None,
        closing: Closing | None = None,
        change: Change | None = None,
        spend: KeySpend | None = None,
        durable: bool = False,
        has_happened: bool = False,
    ) -> None:
        self.reservation = reservation
        self.closing = closing
        self.change = change
        self.spend = spend
        self.durable = durable
        self.has_happened = has_happened or closing is not None or (spend is not None and not spend.must_fit)
        self.place = 0
        self.outcome: Any = None
        self.error: GroundwireError | None = None
        self.future: asyncio.Future[Any] | None = None
        self.is_done = False

    def finish(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.outcome

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
    """Works sorted by what has to be done for them.

    Those whose caller has gone before their turn are left out, except for what has happened: the ends of calls, what
    an answer cost, and the entries of a run, also those that came with a reservation.
    """

    __slots__ = ("changes", "closings", "durable", "plain", "spends", "takes_deferred", "works")

    def __init__(self, works: Iterable[Work]) -> None:
        self.works: list[Work] = []
        self.plain: list[tuple[Work, Reservation]] = []
        self.changes: list[Work] = []
        self.closings: list[tuple[Work, Closing]] = []
        self.spends: list[tuple[Work, KeySpend]] = []
        self.durable = False
        self.takes_deferred = False
        for work in works:
            if work.has_happened or work.future is None or not work.future.cancelled():
                self._add(work)
            elif work.reservation is not None and work.reservation.appending is not None:
                self._add(Work(reservation=_without_effect(work.reservation), durable=work.durable))

    def _add(self, work: Work) -> None:
        self.works.append(work)
        reservation = work.reservation
        if work.durable:
            self.durable = True
        if work.closing is not None:
            self.closings.append((work, work.closing))
            self.takes_deferred = True
        elif reservation is not None:
            is_bare = reservation.appending is None and not reservation.charges and not reservation.confirmation_id
            if is_bare and reservation.effect is not None:
                self.plain.append((work, reservation))
            else:
                self.changes.append(work)
        elif work.spend is not None:
            self.spends.append((work, work.spend))
        elif work.change is not None:
            self.changes.append(work)
        else:
            self.takes_deferred = True

    @property
    def is_plain(self) -> bool:
        """Whether one statement does it all."""
        return bool(self.plain) and len(self.plain) == len(self.works)

    @property
    def is_barrier(self) -> bool:
        return not (self.plain or self.spends or self.changes or self.closings)


def _without_effect(reservation: Reservation) -> Reservation:
    return Reservation(tenant=reservation.tenant, appending=reservation.appending, now=reservation.now)

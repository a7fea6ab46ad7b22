"""Writes batches: one transaction for all, or each alone where one of them spoils it.

Above it a queue decides when, below it stands one writing connection. It knows the ledger's steps, but no table.
"""

from collections.abc import Iterable, Sequence

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import GroundwireError, InvalidJson, StoreError, StoreUnavailable
from groundwire.contracts.records import AuditHead, CallRecord, Closing
from groundwire.store import statements as sql
from groundwire.store.ledger import Links
from groundwire.store.rules import storable
from groundwire.store.transactions import Engine
from groundwire.store.works import Batch, Work, still_wanted

_WRITE_AT = 256
"""So many deferred closings are written without waiting for a flush."""


class Writer:
    """Keeps what was only deferred, and gives every caller its own outcome."""

    def __init__(self, engine: Engine, chain: Chain, *, syncs: bool) -> None:
        self._engine = engine
        self._chain = chain
        self._syncs = syncs
        self._deferred: list[Closing] = []
        self._calls: dict[tuple[str, str, str], CallRecord] = {}
        self.deferred_so_far = 0
        """How many closings were ever deferred: the place of the next one."""
        self._written = 0
        self._refused: list[str] = []
        self._head: AuditHead | None = None
        """Where this process left the chain, if it is the rule that nobody else moves it on."""
        self._doubtful: tuple[AuditHead, int] | None = None
        self._has_soft_commits = False

    # Deferred closings leave the list only when they are durable, so a failed batch loses none.

    def defer(self, closing: Closing) -> bool:
        """Take a closing for later; whether so many wait that they should be written now."""
        self._deferred.append(closing)
        self.deferred_so_far += 1
        call = closing.call
        if call is not None:
            self._calls.setdefault((call.tenant, call.session_id, call.call_id), call)
        return len(self._deferred) % _WRITE_AT == 0

    @property
    def has_deferred(self) -> bool:
        return bool(self._deferred)

    @property
    def is_owing(self) -> bool:
        """Whether a flush would have anything to do."""
        return bool(self._deferred or self._refused or self._has_soft_commits)

    def find_deferred(self, tenant: str, session_id: str, call_id: str) -> CallRecord | None:
        return self._calls.get((tenant, session_id, call_id))

    def report_refused(self) -> None:
        if self._refused:
            refused, self._refused = self._refused, []
            raise StoreError(
                f"records that cannot be stored: {'; '.join(refused)}",
                hint="Their content is at fault; all other records were stored.",
            )

    def _drop_deferred(self, count: int) -> None:
        for closing in self._deferred[:count]:
            call = closing.call
            if call is not None:
                self._calls.pop((call.tenant, call.session_id, call.call_id), None)
        del self._deferred[:count]
        self._written += count

    # Batches

    async def write(self, works: Sequence[Work]) -> None:
        """Apply the works as one transaction, or each alone if one of them spoils it. Sets outcomes, never raises."""
        if len(works) > 1 or works[0].future is not None:
            works = still_wanted(works)
        count = 0
        try:
            if self._doubtful is not None:
                await self._came_through()
            if self._deferred and any(work.takes_deferred for work in works):
                count = len(self._deferred)
            is_alone = len(works) == 1 and not count
            await self._attempt(works[0] if is_alone else Batch(works, self._deferred[:count], self._written), count)
        except Exception as error:  # noqa: BLE001 - whatever it was, callers must hear of it
            await self._recover(works, count, self._explain(error))

    async def write_deferred(self) -> None:
        """Write what waits; a failure shows at the next flush."""
        await self.write([Work()])

    async def _attempt(self, wanted: Work | Batch, count: int) -> None:
        durable = self._syncs and wanted.durable
        owes_sync = durable and self._has_soft_commits
        is_barrier = wanted.is_barrier
        if is_barrier and not owes_sync:
            return
        transaction = await self._engine.begin(durable=durable, single=wanted.is_plain)
        links = Links(transaction, self._chain, self._head)
        try:
            wanted.outcome = await wanted.apply(transaction, links)
            if links.unwritten:
                await links.write()
            if is_barrier:
                await transaction.change(sql.TOUCH_HEAD)  # a commit without a change would not reach the disk
            if links.newest is not None:
                self._doubtful = (links.newest, count)
            await self._engine.commit()
        except BaseException:
            self._head = None
            await self._engine.rollback()
            raise
        if links.newest is not None and not transaction.row_lock:
            self._head = links.newest
        self._doubtful = None
        self._has_soft_commits = self._syncs and not durable
        if count:
            self._drop_deferred(count)

    # When something went wrong

    async def _recover(self, works: Sequence[Work], count: int, error: GroundwireError) -> None:
        if isinstance(error, StoreUnavailable):
            if self._doubtful is None or not await self._came_through():
                _fail(works, error)
            return
        if count and not await self._write_deferred_singly(count, works):
            return
        for index, work in enumerate(works):
            try:
                await self._attempt_cleaned(work)
            except Exception as failure:  # noqa: BLE001 - as above
                work.error = self._explain(failure)
                if isinstance(work.error, StoreUnavailable):
                    _fail(works[index + 1 :], work.error)
                    return

    async def _attempt_cleaned(self, work: Work) -> None:
        try:
            await self._attempt(work, 0)
        except Exception as error:  # a database names what it cannot keep in words of its own
            if work.closing is None or isinstance(self._explain(error), StoreUnavailable):
                raise
            work.closing = storable(work.closing)
            await self._attempt(work, 0)

    async def _write_deferred_singly(self, count: int, works: Sequence[Work]) -> bool:
        """One by one; what cannot be stored at all is given up, and named by the next flush."""
        for _ in range(count):
            closing = self._deferred[0]
            try:
                await self._attempt_cleaned(Work(closing=closing))
            except Exception as error:  # noqa: BLE001 - as above
                failure = self._explain(error)
                if isinstance(failure, StoreUnavailable):
                    _fail(works, failure)
                    return False
                self._refused.append(f"{closing.entry.id} ({failure.message})")
            self._drop_deferred(1)
        return True

    async def _came_through(self) -> bool:
        """Find out whether a commit was done whose answer got lost, so that nothing is written twice."""
        if self._doubtful is None:
            return False
        head, count = self._doubtful
        try:
            transaction = await self._engine.begin(durable=False, single=True)
            rows = await transaction.fetch(sql.SELECT_AUDIT_HASH, head.seq)
            await self._engine.commit()
        except Exception:  # noqa: BLE001 - the doubt stays until the store can be asked
            await self._engine.rollback()
            return False
        is_there = bool(rows) and rows[0][0] == head.hash
        if is_there:
            self._drop_deferred(count)
        self._doubtful = None
        return is_there

    def _explain(self, error: Exception) -> GroundwireError:
        if isinstance(error, InvalidJson):
            return StoreError(f"only JSON can be stored: {error.message}")
        if isinstance(error, GroundwireError):
            return error
        explained = self._engine.explain(error)
        explained.__cause__ = error
        return explained


def _fail(works: Iterable[Work], error: StoreUnavailable) -> None:
    for work in works:
        work.error = StoreUnavailable(error.message, hint=error.hint)
        work.error.__cause__ = error.__cause__

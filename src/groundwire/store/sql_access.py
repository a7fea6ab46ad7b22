"""How the parts of a store reach their database: writes go through the batches, reads beside them. Knows no table."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from groundwire.store.batches import Batches
from groundwire.store.ledger import Links
from groundwire.store.rules import gone
from groundwire.store.transactions import Row, Transaction
from groundwire.store.works import Change, Work
from groundwire.store.writers import Writer

END = sys.maxsize
"""Above the number of any row: where a list begins."""
_LAST_WORDS = 5.0
"""Seconds that a cancelled caller waits for what has happened to be written."""


class Reader(Protocol):
    """Reads beside the writer."""

    async def open(self) -> None: ...

    async def shut(self) -> None: ...

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]: ...

    async def fetch_raw(self, sql: str, *values: object) -> Sequence[Row]:
        """Like fetch, but text that is not UTF-8 comes back with surrogates instead of failing."""
        ...

    async def keys_version(self) -> int:
        """The number that each change of a key moves on; known without a round trip while nothing has changed."""
        ...

    def forget_keys_version(self) -> None:
        """Ask again: this process has changed it."""
        ...


class SqlAccess:
    """What each part of the store is made of. All parts of one store share reader, writer and batches."""

    def __init__(self, reader: Reader, writer: Writer, batches: Batches) -> None:
        self._reader = reader
        self._writer = writer
        self._batches = batches

    async def _change(self, change: Change, *, durable: bool = False) -> Any:
        return await self._batches.submit(Work(change=change, durable=durable))

    async def _see_through(self, work: Work) -> Any:
        """Do not return before what has happened is written, although the caller may have been told to stop."""
        try:
            return await self._batches.submit(work)
        except asyncio.CancelledError:
            while not work.is_done:
                work.future = asyncio.get_running_loop().create_future()
                try:
                    done, _ = await asyncio.wait((work.future,), timeout=_LAST_WORDS)
                except asyncio.CancelledError:
                    continue
                if not done:
                    break
            raise

    async def _execute(self, statement: str, *values: object) -> int:
        async def change(transaction: Transaction, _: Links) -> int:
            return await transaction.change(statement, *values)

        count: int = await self._change(change)
        return count

    async def _write_deferred(self) -> None:
        """Let lists show what this process has already taken."""
        if self._writer.has_deferred:
            await self._batches.submit(Work())

    async def _position(self, statement: str, tenant: str, before: str) -> int:
        """Where to go on: below the row that the caller saw last."""
        if not before:
            return END
        rows = await self._reader.fetch(statement, tenant, before)
        if not rows:
            raise gone(before)
        position: int = rows[0][0]
        return position

"""The application's door to the store's database: its own tables beside ours, through the same writer."""

import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import lru_cache
from typing import Any, Protocol

from groundwire.contracts.errors import StoreError
from groundwire.store.migrations import OWN, migrate
from groundwire.store.transactions import Program, T, Transaction

_READS = re.compile(r"\s*(?:SELECT|VALUES)\b|\s*WITH\b(?!.*\b(?:INSERT|UPDATE|DELETE)\b)", re.IGNORECASE | re.DOTALL)
_CONTROLS = re.compile(r"\s*(?:BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|START)\b", re.IGNORECASE)


class Runner(Protocol):
    """Runs a program in a transaction of its own, or in one that others share."""

    def __call__(self, program: Program[T], /) -> Awaitable[T]: ...


class SqlDatabase:
    """The port `Database` over a store."""

    def __init__(self, write: Runner, read: Callable[..., Awaitable[list[dict[str, object]]]]) -> None:
        self._write = write
        self._read = read

    async def migrate(self, app: str, scripts: Sequence[tuple[str, str]]) -> None:
        if app == OWN:
            raise StoreError(f"{OWN} is the name of the store's own tables", hint="Choose the application's name.")

        def program(transaction: Transaction) -> Coroutine[Any, Any, None]:
            return migrate(transaction, app, scripts)

        await self._write(program)

    async def execute(self, sql: str, *values: object) -> int:
        _refuse_control(sql)

        def program(transaction: Transaction) -> Coroutine[Any, Any, int]:
            return transaction.change(sql, *values)

        return await self._write(program)

    async def fetch(self, sql: str, *values: object) -> list[dict[str, object]]:
        if _READS.match(sql):
            return await self._read(sql, *values)
        _refuse_control(sql)

        def program(transaction: Transaction) -> Coroutine[Any, Any, list[dict[str, object]]]:
            return transaction.fetch_dicts(sql, *values)

        return await self._write(program)

    async def transact(self, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        for sql, _ in statements:
            _refuse_control(sql)

        async def program(transaction: Transaction) -> None:
            for sql, values in statements:
                await transaction.change(sql, *values)

        await self._write(program)


@lru_cache(maxsize=256)  # of programs, which say the same few over and over
def _refuse_control(sql: str) -> None:
    if _CONTROLS.match(sql):
        raise StoreError("a statement must not begin or end transactions", hint="Use transact() for several together.")

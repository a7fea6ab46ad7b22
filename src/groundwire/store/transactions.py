"""What the store's logic needs from a database. It is written once, as coroutines that on SQLite never wait."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from groundwire.contracts.errors import StoreError

Durability: TypeAlias = Literal["process", "power"]
Row: TypeAlias = Sequence[Any]
Values: TypeAlias = Sequence[object]
T = TypeVar("T")


class Transaction(Protocol):
    """An open transaction. Placeholders are `$1`, `$2` …"""

    row_lock: str
    """What follows a SELECT that must keep others from changing the row; nothing where one writer is the rule."""

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]: ...

    async def fetch_dicts(self, sql: str, *values: object) -> list[dict[str, object]]: ...

    async def change(self, sql: str, *values: object) -> int:
        """Run one statement; how many rows it changed."""
        ...

    async def change_each(self, sql: str, rows: Sequence[Values]) -> set[int]:
        """Run a statement for each of the rows; the positions of those that changed something."""
        ...

    async def change_together(self, statements: Sequence[tuple[str, Values]]) -> Sequence[int]:
        """Run statements on different tables, none of which sees the others' rows; how many rows each changed."""
        ...

    async def change_many(self, sql: str, rows: Sequence[Values]) -> None: ...

    async def run_script(self, sql: str) -> None:
        """Run several statements without values, as migrations need it."""
        ...


class Engine(Protocol):
    """One writing connection, used by one caller at a time."""

    async def begin(self, *, durable: bool, single: bool) -> Transaction:
        """Start a transaction that reaches the disk when committed, if `durable`.

        With `single`, every statement in it is whole by itself, so that a server may be spared the frame around it.
        """
        ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None:
        """Undo what was begun, if anything was. Never raises."""
        ...

    def explain(self, error: Exception) -> StoreError:
        """The driver's exception in the store's words."""
        ...


Program: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise StoreError("a statement waited where it must not")

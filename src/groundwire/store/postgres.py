"""The store in PostgreSQL, for several serving processes. Needs the extra `groundwire[postgres]`."""

import asyncio
import re
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import ConfigError, StoreError, StoreUnavailable
from groundwire.extras import needs_extra
from groundwire.store.batches import TaskBatches
from groundwire.store.databases import SqlDatabase
from groundwire.store.migrations import OWN, SELECT_APPLIED, is_up_to_date, migrate, own_scripts
from groundwire.store.postgres_watch import WatchedNumber
from groundwire.store.sql_store import SqlStore
from groundwire.store.statements import SELECT_KEYS_VERSION
from groundwire.store.transactions import Durability, Program, Row, T, Transaction, Values
from groundwire.store.writers import Writer

_READERS = 4
CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 30.0
_PLACEHOLDER = re.compile(r"\$(\d+)")
_MIGRATION_LOCK = 0x67726F756E64  # "ground": one number that all our processes know
# Classes of SQLSTATE that may pass by themselves: connection, resources, operator, authorisation, missing database.
_UNAVAILABLE = {
    "08": "Check that the server runs and can be reached.",
    "53": "The server has run out of something: connections, memory or disk.",
    "57": "The server is stopping or starting, or somebody cancelled the statement.",
    "58": "The server has trouble with its disk.",
    "28": "Check the user and the password.",
    "3D": "Create the database first.",
    "25": "The server takes no writes. Is it a replica?",
}


class PostgresStore(SqlStore):
    """The port `Store` on a server.

    Level `power` waits for the server's disk at each reservation and flush; a lost settle only becomes an unknown
    outcome. Level `process` never waits for it: what was acknowledged survives our death, not the server's.
    """

    def __init__(self, dsn: str, *, durability: Durability = "power", chain: Chain | None = None) -> None:
        if durability not in {"process", "power"}:
            raise ConfigError(f"durability is process or power, not {durability}")
        syncs = durability == "power"
        engine = PostgresEngine(dsn, syncs=syncs)
        writer = Writer(engine, chain or Chain(), syncs=syncs)
        super().__init__(engine, writer, TaskBatches(writer), SqlDatabase(engine.run, engine.fetch_dicts))


class PostgresTransaction:
    """Statements on one connection."""

    row_lock = " FOR UPDATE"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        rows: Sequence[Row] = await self._connection.fetch(sql, *values)
        return rows

    async def fetch_dicts(self, sql: str, *values: object) -> list[dict[str, object]]:
        return [dict(row) for row in await self._connection.fetch(sql, *values)]

    async def change(self, sql: str, *values: object) -> int:
        status: str = await self._connection.execute(sql, *values)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdecimal() else 0

    async def change_each(self, sql: str, rows: Sequence[Values]) -> set[int]:
        if len(rows) == 1:
            return {0} if await self.change(sql, *rows[0]) else set()
        # All at once; each row that changed something says its number.
        numbered = f"{sql} RETURNING CAST(${len(rows[0]) + 1} AS INTEGER)"
        changed = await self._connection.fetchmany(numbered, [(*row, index) for index, row in enumerate(rows)])
        return {row[0] for row in changed}

    async def change_together(self, statements: Sequence[tuple[str, Values]]) -> Sequence[int]:
        combined = _combine(tuple((sql, len(values)) for sql, values in statements))
        rows: Sequence[Row] = await self.fetch(combined, *(value for _, values in statements for value in values))
        return tuple(rows[0])

    async def change_many(self, sql: str, rows: Sequence[Values]) -> None:
        if len(rows) == 1:
            await self._connection.execute(sql, *rows[0])
        else:
            await self._connection.executemany(sql, rows)

    async def run_script(self, sql: str) -> None:
        await self._connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
        await self._connection.execute(sql)


class PostgresEngine:
    """One connection that writes, a few that read. They belong to an event loop; another one gets new ones."""

    def __init__(self, dsn: str, *, syncs: bool) -> None:
        self._driver = _import_driver()
        self._dsn = dsn
        self._syncs = syncs
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(_READERS)
        self._idle: list[Any] = []
        self._writing: Any = None
        self._is_single = False
        self._is_up_to_date = False
        self._keys = WatchedNumber(self._connect, SELECT_KEYS_VERSION, channel="groundwire_keys")

    async def open(self) -> None:
        if self._loop is not asyncio.get_running_loop():
            self._enter(asyncio.get_running_loop())
        if self._is_up_to_date:
            return
        async with self._opening:
            if not self._is_up_to_date:
                await self._bring_up_to_date()
                self._is_up_to_date = True

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make this loop the one that the connections belong to, if the one before it has come to rest."""
        if self._loop is not None and self._loop.is_running() and self._loop is not loop:
            raise ConfigError(
                "this PostgreSQL store belongs to another event loop that is still running",
                hint="Open one Runtime per event loop; they share the database.",
            )
        self._drop([*self._idle, self._writing])
        self._idle, self._writing = [], None
        self._keys.drop()
        self._opening, self._places = asyncio.Lock(), asyncio.Semaphore(_READERS)
        self._loop = loop

    async def _bring_up_to_date(self) -> None:
        scripts = own_scripts("postgres")
        connection = await self._connect()
        transaction = PostgresTransaction(connection)
        try:
            known = await transaction.fetch("SELECT to_regclass('schema_migrations')")
            applied = await transaction.fetch(SELECT_APPLIED, OWN) if known[0][0] is not None else []
            if not is_up_to_date([row[0] for row in applied], scripts):
                async with connection.transaction():
                    await migrate(transaction, OWN, scripts)
        except BaseException as error:
            self._drop([connection])
            if isinstance(error, (self._driver.PostgresError, self._driver.InterfaceError, OSError)):
                raise self.explain(error) from error
            raise
        self._idle.append(connection)

    async def _connect(self) -> Any:
        # Sessions default to what a statement without a frame needs: reservations and an application's own writes.
        settings = {"synchronous_commit": "on" if self._syncs else "off", "application_name": "groundwire"}
        try:
            return await self._driver.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                statement_cache_size=256,
                server_settings=settings,
            )
        except (self._driver.InterfaceError, ValueError):
            # Without the cause: it may quote the address, which may hold a password.
            raise ConfigError(
                "the address of the PostgreSQL store cannot be read",
                hint="Expected: postgresql://user:password@host/database, special characters percent-encoded.",
            ) from None
        except Exception as error:
            raise self.explain(error) from error

    def _drop(self, connections: Sequence[Any]) -> None:
        for connection in connections:
            if connection is None:
                continue
            try:
                connection.terminate()
            except RuntimeError:  # its event loop has ended
                continue

    async def shut(self) -> None:
        if self._loop is asyncio.get_running_loop():
            for connection in [*self._idle, self._writing]:
                if connection is not None and not connection.is_closed():
                    await _close(connection)
        self._drop([*self._idle, self._writing])
        self._keys.drop()
        self._idle, self._writing, self._loop = [], None, None

    # Writing

    async def begin(self, *, durable: bool, single: bool) -> Transaction:
        await self.open()
        if self._writing is None or self._writing.is_closed():
            self._writing = await self._connect()
        self._is_single = single
        if not single:
            soft = self._syncs and not durable
            await self._frame("BEGIN; SET LOCAL synchronous_commit = off" if soft else "BEGIN")
        return PostgresTransaction(self._writing)

    async def _frame(self, begin: str) -> None:
        try:
            await self._writing.execute(begin)
        except (self._driver.PostgresError, self._driver.InterfaceError, OSError):
            # The connection died while nobody used it. Nothing is lost yet, so a new one may try.
            self._drop([self._writing])
            self._writing = await self._connect()
            await self._writing.execute(begin)

    async def commit(self) -> None:
        if not self._is_single and await self._writing.execute("COMMIT") != "COMMIT":
            raise StoreError("the server rolled the transaction back")

    async def rollback(self) -> None:
        writing = self._writing
        if writing is None or writing.is_closed() or not writing.is_in_transaction():
            return
        try:
            await writing.execute("ROLLBACK")
        except (self._driver.PostgresError, self._driver.InterfaceError, OSError):
            self._drop([writing])
            self._writing = None
        except BaseException:
            self._drop([writing])
            self._writing = None
            raise

    def explain(self, error: Exception) -> StoreError:
        state = getattr(error, "sqlstate", None) or ""
        if hint := _UNAVAILABLE.get(state[:2]):
            return StoreUnavailable(f"the PostgreSQL store cannot be used now: {_message(error)}", hint=hint)
        if not state and isinstance(error, (self._driver.InterfaceError, OSError, EOFError)):
            hint = _UNAVAILABLE["08"]
            return StoreUnavailable(f"the PostgreSQL store cannot be reached: {_message(error)}", hint=hint)
        hint = "Its content or its SQL is at fault."
        return StoreError(f"the PostgreSQL store refused a statement: {_message(error)}", hint=hint)

    # Reading, and an application's own tables

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        rows: Sequence[Row] = await self._read(sql, values)
        return rows

    async def fetch_raw(self, sql: str, *values: object) -> Sequence[Row]:
        return await self.fetch(sql, *values)

    async def fetch_dicts(self, sql: str, *values: object) -> list[dict[str, object]]:
        return [dict(row) for row in await self._read(sql, values)]

    async def keys_version(self) -> int:
        await self.open()
        try:
            return await self._keys.read()
        except (self._driver.PostgresError, self._driver.InterfaceError, OSError) as error:
            raise self.explain(error) from error

    def forget_keys_version(self) -> None:
        self._keys.forget()

    async def _read(self, sql: str, values: Sequence[object]) -> Any:
        async def read(connection: Any) -> Any:
            return await connection.fetch(sql, *values)

        return await self._borrow(read)

    async def run(self, program: Program[T], /) -> T:
        """Run an application's program in a transaction of its own, beside the ledger's."""

        async def transact(connection: Any) -> T:
            async with connection.transaction():
                return await program(PostgresTransaction(connection))

        result: T = await self._borrow(transact)
        return result

    async def _borrow(self, use: Any) -> Any:
        await self.open()
        async with self._places:
            connection = self._idle.pop() if self._idle else None
            if connection is None or connection.is_closed():
                connection = await self._connect()
            try:
                result = await use(connection)
            except self._driver.PostgresError as error:
                self._idle.append(connection)
                raise self.explain(error) from error
            except BaseException as error:
                self._drop([connection])
                if isinstance(error, (self._driver.InterfaceError, OSError)):
                    raise self.explain(error) from error
                raise
            self._idle.append(connection)
            return result


@lru_cache(maxsize=64)
def _combine(statements: tuple[tuple[str, int], ...]) -> str:
    """Several statements as one, so that the server is asked once: parts of a WITH, of which the changes are counted."""
    parts: list[str] = []
    used = 0
    for number, (sql, count) in enumerate(statements):
        parts.append(f"part{number} AS ({_shift(sql, used)} RETURNING 1)")
        used += count
    counts = ", ".join(f"(SELECT COUNT(*) FROM part{number})" for number in range(len(statements)))  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT {counts}"


def _shift(sql: str, offset: int) -> str:
    return _PLACEHOLDER.sub(lambda found: f"${int(found[1]) + offset}", sql)


async def _close(connection: Any) -> None:
    try:
        await connection.close(timeout=CONNECT_SECONDS)
    except OSError:
        connection.terminate()


def _message(error: Exception) -> str:
    """The server's first line, without the values that it may quote further down."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _import_driver() -> ModuleType:
    with needs_extra("postgres", "PostgreSQL"):
        import asyncpg
    driver: ModuleType = asyncpg
    return driver

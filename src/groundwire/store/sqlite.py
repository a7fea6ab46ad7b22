"""The store in one SQLite file. Meant for one serving process; others may read, and write now and then."""

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import Awaitable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import ConfigError, StoreError, StoreUnavailable
from groundwire.database_files import RECENT_SECONDS, DatabaseFiles
from groundwire.store.batches import Batches, InlineBatches, ThreadBatches
from groundwire.store.databases import SqlDatabase
from groundwire.store.ledger import Links
from groundwire.store.migrations import OWN, SELECT_APPLIED, is_up_to_date, migrate, own_scripts
from groundwire.store.sql_store import SqlStore
from groundwire.store.statements import BY_NUMBER, SELECT_KEYS_VERSION
from groundwire.store.transactions import Durability, Program, Row, T, Transaction, Values, drive
from groundwire.store.works import Work
from groundwire.store.writers import Writer

CHECK_SECONDS = 1.0
"""How often an idle store checks whether its files are still in place."""
_PLACEHOLDER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\d+)")
_MEMORY = ":memory:"
_SETTINGS = (
    "page_size = 2048",  # a call touches a few small rows; whole pages go into the log (69 against 76 µs of SQL per action)
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "fullfsync = ON",
    "journal_size_limit = 67108864",
    "wal_autocheckpoint = 4000",
)

# What the caller can do about a primary result code. Only what may pass by itself is unavailability.
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "Another process is writing. Several serving processes need PostgreSQL.",
    sqlite3.SQLITE_LOCKED: "Another connection is writing.",
    sqlite3.SQLITE_IOERR: "Check the disk.",
    sqlite3.SQLITE_FULL: "The disk is full.",
    sqlite3.SQLITE_CANTOPEN: "Check that the folder exists and may be written.",
    sqlite3.SQLITE_READONLY: "The file or its folder may not be written.",
    sqlite3.SQLITE_NOMEM: "There is no memory left.",
}
_BROKEN = {
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore it from a backup.",
    sqlite3.SQLITE_NOTADB: "The file is no SQLite database.",
}


class SqliteStore(SqlStore):
    """The port `Store` in a file.

    Level `process` survives the death of the process: commits run on the loop's own thread. Level `power` survives
    the loss of power: reservations and flushes wait for the disk, in a thread of their own if there are several or the
    disk is slow.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "process",
        chain: Chain | None = None,
        busy_seconds: float = 10.0,
    ) -> None:
        if durability not in {"process", "power"}:
            raise ConfigError(f"durability is process or power, not {durability}")
        syncs = durability == "power" and os.fspath(path) != _MEMORY
        engine = SqliteEngine(path, syncs=syncs, busy_seconds=busy_seconds)
        writer = Writer(engine, chain or Chain(), syncs=syncs)
        batches: Batches = ThreadBatches(writer) if syncs else InlineBatches(writer, engine.lock)

        def write(program: Program[T], /) -> Awaitable[T]:
            def change(transaction: Transaction, _: Links) -> Awaitable[T]:
                return program(transaction)

            return batches.submit(Work(change=change, durable=True))

        super().__init__(engine, writer, batches, SqlDatabase(write, engine.fetch_dicts))
        self._engine = engine
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        await super().open()
        if self._timer is None:
            self._check_later(asyncio.get_running_loop())

    async def shut(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await super().shut()

    def _check_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(CHECK_SECONDS, self._check_files, loop)

    def _check_files(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close lost files while nothing is written. Transactions check for themselves."""
        if self._engine.has_lost_files:
            self._batches.post(Work(change=_change_nothing))
        self._check_later(loop)


async def _change_nothing(_: Transaction, __: Links) -> None:
    """The smallest write: beginning it closes lost files."""


@lru_cache(maxsize=1024)
def numbered(sql: str) -> str:
    """`$1` as `?1`, outside of quotes."""
    sql = sql.replace(BY_NUMBER, "NOT INDEXED")
    return _PLACEHOLDER.sub(lambda found: f"?{found[1]}" if found[1] else found[0], sql)


class SqliteTransaction:
    """Statements on one connection. Its coroutines never wait."""

    row_lock = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor()

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        return self.cursor.execute(numbered(sql), values).fetchall()

    def fetch_leniently(self, sql: str, *values: object) -> Sequence[Row]:
        """Text that is not UTF-8 fails the whole statement otherwise."""
        self.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        try:
            return self.cursor.execute(numbered(sql), values).fetchall()
        finally:
            self.connection.text_factory = str

    async def fetch_dicts(self, sql: str, *values: object) -> list[dict[str, object]]:
        rows = self.cursor.execute(numbered(sql), values).fetchall()
        names = [column[0] for column in self.cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def change(self, sql: str, *values: object) -> int:
        return max(self.cursor.execute(numbered(sql), values).rowcount, 0)

    async def change_each(self, sql: str, rows: Sequence[Values]) -> set[int]:
        cursor, statement = self.cursor, numbered(sql)
        if len(rows) == 1:
            return {0} if cursor.execute(statement, rows[0]).rowcount > 0 else set()
        if not self.connection.in_transaction:  # begun as single: one transaction for all rows, all the same
            cursor.execute("BEGIN IMMEDIATE")
        return {index for index, row in enumerate(rows) if cursor.execute(statement, row).rowcount > 0}

    async def change_together(self, statements: Sequence[tuple[str, Values]]) -> Sequence[int]:
        execute = self.cursor.execute
        return [execute(numbered(sql), values).rowcount for sql, values in statements]

    async def change_many(self, sql: str, rows: Sequence[Values]) -> None:
        self.cursor.executemany(numbered(sql), rows)

    async def run_script(self, sql: str) -> None:
        for statement in _split(sql):
            self.cursor.execute(statement)


def _split(script: str) -> Iterable[str]:
    """A script's statements. The driver's own executescript would end our transaction first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


class SqliteEngine:
    """The file's connections: one that writes and, where a thread writes, another one that reads."""

    def __init__(self, path: str | os.PathLike[str], *, syncs: bool, busy_seconds: float) -> None:
        self._path = path
        self._files = None if os.fspath(path) == _MEMORY else DatabaseFiles(path)
        self._busy_seconds = busy_seconds
        self._syncs = syncs
        self._is_full = False
        self._opening = threading.Lock()
        # Of the connection that is read from; where nothing is synced, that is the only one, and writers take it too.
        self.lock = threading.RLock()
        self._writing: SqliteTransaction | None = None
        self._reading: SqliteTransaction | None = None

    async def open(self) -> None:
        self._opened()

    def _opened(self) -> tuple[SqliteTransaction, SqliteTransaction]:
        """The writing and the reading side, connected and up to date."""
        with self._opening:
            if self._writing is None or self._reading is None:
                self._disconnect()
                self._writing, self._reading = self._connect()
            return self._writing, self._reading

    def _connect(self) -> tuple[SqliteTransaction, SqliteTransaction]:
        self._refuse_lost_files()  # opening again must not create another database
        opened: list[sqlite3.Connection] = []
        try:
            for _ in range(2 if self._syncs else 1):
                # Each connection has one user at a time: the loop's thread or the writing one.
                connection = sqlite3.connect(
                    self._path if self._files is None else self._files.path,
                    timeout=self._busy_seconds,
                    isolation_level=None,
                    cached_statements=256,
                    check_same_thread=False,
                )
                opened.append(connection)
                for setting in _SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
            writing = SqliteTransaction(opened[0])
            drive(self._bring_up_to_date(writing))
            if self._files is not None:
                self._files.remember()
            return writing, SqliteTransaction(opened[1]) if self._syncs else writing
        except BaseException as error:
            for connection in opened:
                connection.close()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise self.explain(error) from error
            raise

    async def _bring_up_to_date(self, transaction: SqliteTransaction) -> None:
        scripts = own_scripts("sqlite")
        known = await transaction.fetch("SELECT name FROM sqlite_master WHERE name = 'schema_migrations'")
        if known and is_up_to_date([row[0] for row in await transaction.fetch(SELECT_APPLIED, OWN)], scripts):
            return
        await transaction.change("BEGIN IMMEDIATE")
        try:
            await migrate(transaction, OWN, scripts)
            await transaction.change("COMMIT")
        except BaseException:
            await transaction.change("ROLLBACK")
            raise

    async def shut(self) -> None:
        with self._opening:
            self._disconnect()
            if self._files is not None:
                self._files.forget()

    def _disconnect(self) -> None:
        connections = {side.connection for side in (self._writing, self._reading) if side is not None}
        if self._files is not None:
            self._files.prepare_close()
        for connection in connections:
            connection.close()
        self._writing = self._reading = None
        self._is_full = False

    # Files

    @property
    def has_lost_files(self) -> bool:
        """Whether a file was deleted, replaced or truncated while it was open."""
        return self._files is not None and bool(self._files.find_problem())

    def _refuse_lost_files(self) -> None:
        """Raise StoreUnavailable if other processes find another database under this name, or none."""
        if self._files is not None and (problem := self._files.find_problem()):
            raise StoreUnavailable(
                f"the store {Path(self._path).name} is unavailable: {problem} while it was open",
                hint="Restart this process to use what is there now.",
            )

    def _leave_lost_files(self) -> None:
        """Close lost files, and raise StoreUnavailable. Only the writer may call this: no other write may be open then."""
        try:
            self._refuse_lost_files()
        except StoreUnavailable:
            with self.lock, self._opening:
                self._disconnect()  # while it is open, its log keeps the next process from using its own
            raise

    # Writing

    async def begin(self, *, durable: bool, single: bool) -> Transaction:
        writing = self._writing or self._opened()[0]
        # Before the write: another database of the same name may share the index of its log with this one.
        if self._files is not None and not self._files.are_in_place(RECENT_SECONDS):
            self._leave_lost_files()
        if durable != self._is_full:
            writing.cursor.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._is_full = durable
        if not single:
            writing.cursor.execute("BEGIN IMMEDIATE")
        return writing

    async def commit(self) -> None:
        if self._writing is not None and self._writing.connection.in_transaction:
            self._writing.cursor.execute("COMMIT")
        # After the commit, before its result is reported: a process that opens this name later must find the result.
        if self._files is not None and not self._files.are_in_place():
            self._leave_lost_files()

    async def rollback(self) -> None:
        writing = self._writing
        if writing is None or not writing.connection.in_transaction:
            return
        try:
            writing.connection.execute("ROLLBACK")
        except sqlite3.Error:  # nothing more can be done with it; the next batch opens a new one
            with self._opening:
                self._disconnect()

    def explain(self, error: Exception) -> StoreError:
        name = Path(self._path).name
        code = getattr(error, "sqlite_errorcode", None) or 0
        if hint := _UNAVAILABLE.get(code & 0xFF):
            return StoreUnavailable(f"the store {name} cannot be used now: {error}", hint=hint)
        if isinstance(error, OSError):
            return StoreUnavailable(f"the store {name} cannot be used now: {error.strerror}", hint="Check its folder.")
        if hint := _BROKEN.get(code & 0xFF):
            return StoreError(f"the store {name} cannot be read: {error}", hint=hint)
        return StoreError(f"the store {name} refused a statement: {error}", hint="Its content or its SQL is at fault.")

    # Reading

    def _reads(self) -> SqliteTransaction:
        reading = self._reading or self._opened()[1]
        if self._files is not None and not self._files.are_in_place(RECENT_SECONDS):
            self._refuse_lost_files()
        return reading

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        try:
            with self.lock:
                return await self._reads().fetch(sql, *values)
        except sqlite3.Error as error:
            raise self.explain(error) from error

    async def keys_version(self) -> int:
        version: int = (await self.fetch(SELECT_KEYS_VERSION))[0][0]
        return version

    def forget_keys_version(self) -> None:
        """Reading it costs three microseconds, so it is not kept."""

    async def fetch_dicts(self, sql: str, *values: object) -> list[dict[str, object]]:
        try:
            with self.lock:
                return await self._reads().fetch_dicts(sql, *values)
        except sqlite3.Error as error:
            raise self.explain(error) from error

    async def fetch_raw(self, sql: str, *values: object) -> Sequence[Row]:
        try:
            with self.lock:
                return self._reads().fetch_leniently(sql, *values)
        except sqlite3.Error as error:
            raise self.explain(error) from error

"""Which workers live: each holds a lock that ends with its process, and whoever can take it knows that the worker is dead.

Beside a SQLite file the lock is SQLite's own on a small file; on PostgreSQL it is an advisory lock of a session. Everything
here blocks.
"""

import glob
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa

from groundwire.jobs.failures import in_our_words
from groundwire.jobs.locks import lock_file

BEING_MADE_SECONDS = 60.0
"""A lock file that is younger may be one that its worker is about to lock, who would then hold what nobody else sees."""


class Liveness(Protocol):
    def hold(self, worker: str) -> None:
        """Be alive under that name."""
        ...

    def is_held(self) -> bool:
        """Whether the lock is still this process's. Once it is not, others may have taken over its work."""
        ...

    def seize(self, worker: str) -> AbstractContextManager[bool]:
        """A context that says whether that worker is dead; while it lasts, nobody else finds out."""
        ...

    def let_go(self) -> None: ...

    def tidy(self) -> None:
        """Remove what the dead have left behind."""
        ...


class FileLiveness:
    def __init__(self, file: str) -> None:
        self._file = file
        self._held: sqlite3.Connection | None = None
        self._path = Path()

    def hold(self, worker: str) -> None:
        self._path = self._lock_file(worker)
        with in_our_words():
            self._held = lock_file(self._path)

    def is_held(self) -> bool:
        return self._held is not None and self._held.in_transaction

    @contextmanager
    def seize(self, worker: str) -> Iterator[bool]:
        path = self._lock_file(worker)
        try:
            lock = lock_file(path)
        except sqlite3.OperationalError:
            yield False
            return
        try:
            yield True
            path.unlink(missing_ok=True)
        finally:
            lock.close()

    def let_go(self) -> None:
        if self._held is not None:
            self._path.unlink(missing_ok=True)
            self._held.close()
            self._held = None

    def tidy(self) -> None:
        known = Path(self._file)
        for path in known.parent.glob(f"{glob.escape(known.name)}-worker-*"):
            with suppress(sqlite3.OperationalError, FileNotFoundError):
                if path.stat().st_mtime > time.time() - BEING_MADE_SECONDS:
                    continue
                lock = lock_file(path)
                path.unlink(missing_ok=True)
                lock.close()

    def _lock_file(self, worker: str) -> Path:
        return Path(f"{self._file}-worker-{worker}")


class PostgresLiveness:
    def __init__(self, pool: sa.Engine, schema: str) -> None:
        self._pool = pool
        self._schema = schema
        self._held: sa.Connection | None = None

    def hold(self, worker: str) -> None:
        self._held = self._session()
        self._held.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": self._key(worker)})

    def is_held(self) -> bool:
        """A session that answers has all its locks."""
        try:
            return self._held is not None and self._held.execute(sa.text("SELECT true")).scalar_one()
        except sa.exc.DBAPIError:
            return False

    @contextmanager
    def seize(self, worker: str) -> Iterator[bool]:
        session = self._session()
        try:
            yield session.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key(worker)}).scalar_one()
        finally:
            _end(session)

    def let_go(self) -> None:
        if self._held is not None:
            _end(self._held)
            self._held = None

    def tidy(self) -> None:
        """A session that has ended leaves nothing."""

    def _session(self) -> sa.Connection:
        """A connection outside the pool: what it holds ends when it is closed."""
        with in_our_words():
            session = self._pool.connect().execution_options(isolation_level="AUTOCOMMIT")
        session.detach()
        return session

    def _key(self, worker: str) -> int:
        digest = hashlib.sha256(f"{self._schema}/{worker}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


def _end(session: sa.Connection) -> None:
    """Its locks go first: a server may take a while to notice that a connection was closed."""
    with suppress(sa.exc.SQLAlchemyError):
        session.execute(sa.text("SELECT pg_advisory_unlock_all()"))
    with suppress(sa.exc.DBAPIError):
        session.close()

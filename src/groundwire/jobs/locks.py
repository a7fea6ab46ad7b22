"""A lock that ends with its process: SQLite's own, on a small file. Works wherever SQLite does."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock_file(path: Path, *, timeout: float = 0.0) -> sqlite3.Connection:
    """Hold it until the connection is closed; sqlite3.OperationalError if somebody else does, longer than that."""
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=MEMORY")  # or there would be a second file beside it
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def one_at_a_time(path: Path, *, timeout: float) -> Iterator[None]:
    """The others wait. What is done in here must do no harm when it was done before."""
    lock = lock_file(path, timeout=timeout)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        lock.close()

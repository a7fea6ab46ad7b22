"""What every test may rely on. Fixtures of one package belong in that package's folder."""

import inspect
import signal
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bounds import bounded


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


def pytest_configure():
    """Processes that tests start must see Ctrl-C, though a shell that runs the tests in the background ignores it for them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Each test with an event loop has a bound; one that hangs fails with what each of its tasks was waiting for."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.obj = bounded(item.obj)


@pytest.fixture(autouse=True)
def _every_database_is_closed_again():
    """A connection left open is found by the garbage collector, if at all, and would fail whichever test runs then."""
    opened = []
    connect = sqlite3.connect

    def noted(database, *arguments, **options):
        connection = connect(database, *arguments, **options)
        opened.append((connection, str(database)))
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", noted)
        yield
    left_open = []
    for connection, database in opened:
        if _is_open(connection):
            left_open.append(database)
            with suppress(sqlite3.ProgrammingError):  # only the thread that opened it may close it
                connection.close()
    assert left_open == []


def _is_open(connection):
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False

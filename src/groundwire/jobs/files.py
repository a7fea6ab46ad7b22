"""Refuses to use a job database whose file was deleted or replaced while it was open. Knows nothing of jobs."""

import sqlite3

import sqlalchemy as sa

from groundwire.database_files import DatabaseFiles


class FileGuard:
    """Checks the files each time that a connection is opened or taken from the pool, also by DBOS."""

    def __init__(self, pool: sa.Engine, file: str) -> None:
        self._files = DatabaseFiles(file)
        sa.event.listen(pool, "do_connect", lambda *_: self.check())  # connecting would create another database
        sa.event.listen(pool, "checkout", lambda *_: self.check())

    def remember(self) -> None:
        """Take the files that are there now as the database's own. Call this when the tables exist."""
        self._files.remember()

    def check(self) -> None:
        """Raise OperationalError, as for any database that cannot be reached, if the files are not in place."""
        if not self._files.are_in_place() and (problem := self._files.find_problem()):
            raise sqlite3.OperationalError(f"{problem} while it was open")

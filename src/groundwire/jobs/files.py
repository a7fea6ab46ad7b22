"""Refuses to use a job database whose file was deleted or replaced while it was open. Knows nothing of jobs."""

import sqlite3

import sqlalchemy as sa

from groundwire.database_files import DatabaseFiles


class FileGuard:
    """Checks the files each time a connection is made or taken from the pool, whoever does that."""

    def __init__(self, pool: sa.Engine, file: str) -> None:
        self._files = DatabaseFiles(file)
        sa.event.listen(pool, "do_connect", lambda *_: self.check())  # to connect would create another database
        sa.event.listen(pool, "checkout", lambda *_: self.check())

    def remember(self) -> None:
        """To be called when the tables are there."""
        self._files.remember()

    def check(self) -> None:
        """Raise OperationalError, as for any database that cannot be reached, if the files are not in place."""
        if not self._files.are_in_place() and (problem := self._files.find_problem()):
            raise sqlite3.OperationalError(f"{problem} while it was open")

"""Checks whether the files of an open SQLite database are still the ones that were opened.

SQLite does not notice when its file is deleted or replaced: it continues with the open descriptor, and the next process
that opens the name starts another database. Two processes would then execute the same effect, each on a ledger of its own.
The same holds for the write-ahead log and its index, which carry recent commits and all locks. Knows no SQL.
"""

import logging
import os
import time
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("groundwire")

RECENT_SECONDS = 0.0001
"""How long a check before a transaction or a read is valid. It costs a system call of a microsecond for each file."""
SIDECAR_SECONDS = 0.001
"""How long a check of the sidecars is valid. At each commit it would add 18 µs to the 160 µs of an action."""


class DatabaseFiles:
    """Identities of a database file and its sidecars, taken when they were opened.

    A database file may grow, but a smaller one was truncated: groundwire never shrinks it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)  # noqa: PTH100 - as SQLite does; resolving links would hide a changed one
        self._inode = self._device = self._size = 0
        self._sidecars: list[tuple[str, int, int]] = []
        self._is_known = False
        self._problem = ""
        self._checked_at = self._all_checked_at = 0.0

    def remember(self) -> None:
        """Take the files that are there now as the database's own. Call this after the database was opened.

        When it is opened again, the database file must be the same, but SQLite may have made its sidecars anew.
        """
        if not self._is_known:
            found = os.stat(self.path)  # noqa: PTH116 - as below
            self._inode, self._device, self._size = found.st_ino, found.st_dev, found.st_size
            self._is_known = True
        self._sidecars.clear()
        for suffix in ("-wal", "-shm"):  # there are none where a file system does not allow write-ahead logs
            with suppress(FileNotFoundError):
                found = os.stat(f"{self.path}{suffix}")  # noqa: PTH116 - as below
                self._sidecars.append((f"{self.path}{suffix}", found.st_ino, found.st_dev))

    def prepare_close(self) -> None:
        """Forget the sidecars, which SQLite may delete with the last connection. Call this before closing connections."""
        if not self.find_problem():
            self._sidecars.clear()

    def forget(self) -> None:
        """Forget all files. Call this after the database was closed for good: the next one to open may be another."""
        self._is_known = False
        self._problem = ""
        self._sidecars.clear()

    def are_in_place(self, within: float = 0.0) -> bool:
        """Return whether nothing unusual is seen. If not, call `find_problem` for the reason.

        A check within the last `within` seconds is not repeated, nor one of the sidecars within SIDECAR_SECONDS.
        """
        now = time.monotonic()
        if now < self._checked_at + within:
            return True
        try:
            found = os.stat(self.path)  # noqa: PTH116 - twice as fast as a Path, and each transaction does it
            if found.st_ino != self._inode or found.st_dev != self._device or found.st_size < self._size:
                return False
            if now >= self._all_checked_at + SIDECAR_SECONDS:
                if self._find_sidecar_problem():
                    return False
                self._all_checked_at = now
        except OSError:
            return False
        if self._problem:
            return False
        self._checked_at, self._size = now, found.st_size
        return True

    def find_problem(self) -> str:
        """Return what happened to the files, as a clause for an error message; empty while all of them are in place.

        The first finding is final: a file system may give the inode of a deleted file to the next one.
        """
        if self._is_known and not self._problem:
            self._problem = self._find_database_problem() or self._find_sidecar_problem()
            if self._problem:
                log.error("The database %s is unavailable: %s while it was open.", self.path, self._problem)
        return self._problem

    def _find_database_problem(self) -> str:
        if problem := _find_change(self.path, self._inode, self._device):
            return problem
        with suppress(OSError):
            size = os.stat(self.path).st_size  # noqa: PTH116 - as above
            if size < self._size:
                return f"{Path(self.path).name} was truncated from {self._size} to {size} bytes"
        return ""

    def _find_sidecar_problem(self) -> str:
        for sidecar in self._sidecars:
            if problem := _find_change(*sidecar):
                return problem
        return ""


def _find_change(path: str, inode: int, device: int) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return f"{Path(path).name} was deleted or moved"
    except OSError:  # its folder cannot be read any more, but no other process can read it, either
        return ""
    is_same = found.st_ino == inode and found.st_dev == device
    return "" if is_same else f"{Path(path).name} was replaced by another file"

"""Finds, adopts and ends processes that workers leave behind.

Uses what Linux has: `/proc`, and `PR_SET_CHILD_SUBREAPER`. Elsewhere nothing is found, and nothing is ended.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_SET_CHILD_SUBREAPER = 36
_GRACE_SECONDS = 1.0
"""Between SIGTERM and SIGKILL."""
_PATIENCE_SECONDS = 3.0
"""After which a killed process that still runs is left alone: it is stuck in the kernel."""
_POLL_SECONDS = 0.01
_HANDOVER_SECONDS = 1.0
"""How long before the report of a worker's death its children may have been seen."""


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent dies, so that they can be found."""
    if sys.platform == "linux":
        import ctypes  # only here

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children_of(pid: int) -> set[int]:
    """Ids of the direct children of a process."""
    found: set[int] = set()
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread or the process has just ended
            found.update(map(int, thread.read_text().split()))
    return found


def descendants_of(pid: int) -> set[int]:
    """Ids of the children of a process, their children, and so on."""
    found: set[int] = set()
    waiting = children_of(pid)
    while waiting:
        found |= waiting
        waiting = set[int]().union(*map(children_of, waiting)) - found
    return found


def end_processes(find: Callable[[], Iterable[int]]) -> None:
    """End the processes that `find` returns: SIGTERM, then SIGKILL for those that remain.

    `find` is called again until all are gone, because a process may start others while it ends.
    """
    started = time.monotonic()
    asked: set[int] = set()
    while time.monotonic() - started < _PATIENCE_SECONDS:
        found = {pid for pid in (*find(), *asked) if _is_running(pid)}
        if not found:
            return
        is_late = time.monotonic() - started > _GRACE_SECONDS
        for pid in found if is_late else found - asked:
            send_signal(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= found
        time.sleep(_POLL_SECONDS)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, which may have ended."""
    with suppress(ProcessLookupError, PermissionError):  # it has ended, or belongs to another user by now
        os.kill(pid, number)


def reap(pid: int) -> None:
    """Let the kernel forget a child that has ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _is_running(pid: int) -> bool:
    reap(pid)
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


class Orphans:
    """Children of this process that it did not start: their parents were workers, and have died.

    Those that have been here for a while when a worker dies were left by other workers; they run until the server ends.
    """

    def __init__(self, workers: Callable[[], set[int]], clock: Callable[[], float] = time.monotonic) -> None:
        self._workers = workers
        self._clock = clock
        self._spared = children_of(os.getpid())  # started by the program that became this server
        self._seen: dict[int, float] = {}
        self._kill_at: dict[int, float] = {}

    def check(self) -> None:
        """Reap those that have ended, and kill those that `end_new` has sent SIGTERM and that have not ended in time."""
        now = self._clock()
        for pid in self._found():
            reap(pid)
            if self._kill_at.get(pid, now) < now:
                send_signal(pid, signal.SIGKILL)
        found = self._found()
        self._seen = {pid: self._seen.get(pid, now) for pid in found}
        self._kill_at = {pid: due for pid, due in self._kill_at.items() if pid in found}

    def end_new(self) -> None:
        """Send SIGTERM to the children of a worker that has just died.

        They may have been seen already: the kernel hands them over first and reports the death later, when the last thread
        of the worker has ended.
        """
        now = self._clock()
        for pid in self._found():
            if self._seen.get(pid, now) > now - _HANDOVER_SECONDS and pid not in self._kill_at:
                send_signal(pid, signal.SIGTERM)
                self._kill_at[pid] = now + _GRACE_SECONDS

    def end_all(self) -> None:
        """End all of them, and the processes that they have started."""
        end_processes(lambda: set[int]().union(*({pid} | descendants_of(pid) for pid in self._found())))

    def _found(self) -> set[int]:
        return children_of(os.getpid()) - self._workers() - self._spared

"""Processes that attacks start: each leads a process group, whose id is noted so that the runner can end what is left."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

NOTED = "process-groups"
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TMPDIR", "USER")
"""Nothing else is passed on: keys of vendors, stores and telemetry of the caller have no place here."""


class GroupProcess:
    """A command in a process group of its own, with stdout and stderr in one file."""

    def __init__(
        self, command: Sequence[str], folder: Path, log: Path, *, noted: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.log = log
        variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**variables, "PYTHONUNBUFFERED": "1", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self._process.pid
        with noted.open("a", encoding="utf-8") as file:
            file.write(f"{self.pid}\n")

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def exit_code(self) -> int:
        code = self._process.poll()
        return -1 if code is None else code

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def terminate(self, seconds: float) -> bool:
        """SIGTERM to the process itself. Whether it ended in time."""
        self._process.terminate()
        return self.wait(seconds)

    def wait(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def signal_group(self, sent: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, sent)

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        self.signal_group(signal.SIGKILL)
        self._process.wait()


def end_noted(noted: Path) -> None:
    """SIGKILL to every process group that was noted."""
    with suppress(FileNotFoundError):
        for line in noted.read_text(encoding="utf-8").split():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(line), signal.SIGKILL)


def _processes() -> Iterator[tuple[int, int, int, str]]:
    """Id, parent, resident kilobytes and state of every process."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,rss=,state="], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        pid, parent, resident, state = line.split()[:4]
        yield int(pid), int(parent), int(resident), state


def children_of(parent: int) -> list[int]:
    """Ids of the direct children that are running, in the order in which they were started."""
    return sorted(pid for pid, its_parent, _, state in _processes() if its_parent == parent and state[0] != "Z")


def is_alive(pid: int) -> bool:
    return any(found == pid and state[0] != "Z" for found, _, _, state in _processes())


def memory_of(root: int) -> int:
    """Resident megabytes of a process and all its descendants."""
    rows = list(_processes())
    family, size = {root}, 0
    while len(family) != size:
        size = len(family)
        family |= {pid for pid, parent, _, _ in rows if parent in family}
    return sum(resident for pid, _, resident, _ in rows if pid in family) // 1024


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(check: Callable[[], object], seconds: float, every: float = 0.05) -> bool:
    """Whether `check` became true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(every)
    return bool(check())

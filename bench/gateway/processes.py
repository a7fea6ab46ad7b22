"""Processes that are measured: each on one core, with its CPU time and memory read from the system's own accounts."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

HERTZ = os.sysconf("SC_CLK_TCK")
_PATIENCE = 10


@contextmanager
def running(
    command: Sequence[str], *, core: int, log: Path, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process, with all that it starts, until the end of the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            env={**os.environ, **(environ or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, number)
                    process.wait(_PATIENCE)


def family_of(pid: int) -> list[int]:
    """A process and its descendants."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            for thread in Path(f"/proc/{one}/task").glob("*"):
                waiting.extend(int(child) for child in _read(thread / "children").split())
    return found


def cpu_seconds(pid: int) -> float:
    """What all threads of a process and its descendants have spent on a core."""
    threads = [thread for one in family_of(pid) for thread in Path(f"/proc/{one}/task").glob("*")]
    return sum(int((_read(thread / "schedstat").split() or ["0"])[0]) for thread in threads) / 1e9


def busy_seconds(core: int) -> float:
    """How long a core has not been idle, whoever used it."""
    found = re.search(rf"^cpu{core} (.*)$", _read(Path("/proc/stat")), re.MULTILINE)
    counts = [int(count) for count in found[1].split()] if found else [0] * 8
    return (sum(counts[:8]) - counts[3] - counts[4]) / HERTZ


def memory_mb(pid: int) -> float:
    """The proportional set size of a process and its descendants."""
    sizes = [
        re.search(r"^Pss:\s+(\d+)", _read(Path(f"/proc/{one}/smaps_rollup")), re.MULTILINE) for one in family_of(pid)
    ]
    return sum(int(size[1]) for size in sizes if size) / 1024


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

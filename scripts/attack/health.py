"""Health checks and memory of a server while it is attacked."""

import threading
import time
from types import TracebackType
from typing import Self

from scripts.attack.processes import memory_of
from scripts.attack.project import Server

MAX_LATENCY = 1.0
"""Seconds that a health check may take, whatever else goes on."""
MAX_MEMORY_MB = 1500
LETHAL_MEMORY_MB = 4000
"""Beyond this the server is killed, so that a broken one does not take the machine with it."""
_GIVE_UP = 5.0


class HealthMonitor:
    """Polls /health/live on a new connection ten times a second, and memory twice a second, while the block runs."""

    def __init__(self, server: Server, *, max_memory_mb: int = MAX_MEMORY_MB) -> None:
        self._server = server
        self._max_memory = max_memory_mb
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._check_health), threading.Thread(target=self._check_memory)]
        self.latency = 0.0
        """The longest one so far, in seconds."""
        self.failures = 0
        self.checks = 0
        self.memory_mb = 0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _check_health(self) -> None:
        while not self._stop.is_set():
            started = time.monotonic()
            is_live = self._server.is_live(timeout=_GIVE_UP)
            self.latency = max(self.latency, time.monotonic() - started)
            self.checks += 1
            self.failures += not is_live
            self._stop.wait(0.1)

    def _check_memory(self) -> None:
        while not self._stop.is_set():
            self.memory_mb = max(self.memory_mb, memory_of(self._server.pid))
            if self.memory_mb > LETHAL_MEMORY_MB:
                self._server.kill()
                return
            self._stop.wait(0.5)

    def faults(self) -> list[str]:
        """What was wrong so far."""
        found = []
        if self.failures:
            found.append(
                f"{self.failures} of {self.checks} health checks failed, the slowest took {self.latency:.1f} s"
            )
        elif self.latency > MAX_LATENCY:
            found.append(f"a health check took {self.latency:.1f} s")
        if self.memory_mb > self._max_memory:
            found.append(f"memory grew to {self.memory_mb} MB")
        return found

    def __str__(self) -> str:
        return (
            f"slowest of {self.checks} health checks {self.latency * 1000:.0f} ms, memory at most {self.memory_mb} MB"
        )

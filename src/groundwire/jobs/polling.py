"""Polls for work often while some is expected, and rarely while idle."""

import time
from collections.abc import Callable

EXPECTED_SECONDS = 2.0
"""How long more work is expected after something was enqueued or claimed by this process."""
IDLE_FACTOR = 10
"""How many times longer the interval is while no work is expected. Jobs of other processes are found at this rate."""


class AdaptivePolling:
    """Decides which polls of the engine's threads reach the database."""

    def __init__(self, poll_seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._idle_seconds = IDLE_FACTOR * poll_seconds
        self._now = now
        self._expected_until = now() + EXPECTED_SECONDS
        self._polled_at: dict[str, float] = {}

    def expect(self) -> None:
        """Poll at the full rate for the next seconds."""
        self._expected_until = self._now() + EXPECTED_SECONDS

    def is_due(self, queue: str) -> bool:
        """Return whether to poll this queue now. Each queue is polled by one thread."""
        now = self._now()
        is_due = now < self._expected_until or now - self._polled_at.get(queue, 0.0) >= self._idle_seconds
        if is_due:
            self._polled_at[queue] = now
        return is_due

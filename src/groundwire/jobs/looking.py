"""How often the database is asked for work: each time its threads wake while there is some, and now and then otherwise."""

import time
from collections.abc import Callable

EXPECTED_SECONDS = 2.0
"""So long after something was enqueued, released or handed out, more is expected."""
SELDOM = 10
"""How many times rarer looks are while nothing is expected. What others enqueue is found by these."""


class Looks:
    def __init__(self, poll_seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._rare_seconds = SELDOM * poll_seconds
        self._now = now
        self._expected_until = now() + EXPECTED_SECONDS
        self._looked: dict[str, float] = {}

    def expect(self) -> None:
        self._expected_until = self._now() + EXPECTED_SECONDS

    def is_due(self, queue: str) -> bool:
        """Whether to look into this queue now. Each queue has one thread that asks."""
        now = self._now()
        is_due = now < self._expected_until or now - self._looked.get(queue, 0.0) >= self._rare_seconds
        if is_due:
            self._looked[queue] = now
        return is_due

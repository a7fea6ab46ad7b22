"""Decides when a worker that died is restarted, and when a server gives up. Knows numbers and seconds, no processes."""

from collections import deque

_FIRST_DELAY = 0.25
_LONGEST_DELAY = 2.0


class RestartPolicy:
    """Restarts a worker at once, then after delays that double, and gives up at `max_deaths` within `window` seconds.

    Deaths of all workers count towards giving up, but only a worker's own deaths delay its restart: one that keeps dying
    must not slow down the others. With `max_deaths` 0 the server never gives up.
    """

    def __init__(self, max_deaths: int, window: float) -> None:
        self._max_deaths = max_deaths
        self._window = window
        self._deaths: deque[tuple[float, int]] = deque()

    def delay_after_death(self, number: int, now: float) -> float | None:
        """Record the death of worker `number`; return the seconds until its restart, or None to give up."""
        self._deaths.append((now, number))
        while self._deaths[0][0] <= now - self._window:
            self._deaths.popleft()
        if self._max_deaths and len(self._deaths) >= self._max_deaths:
            return None
        repeated = sum(1 for _, each in self._deaths if each == number) - 1
        # The exponent is bounded because a float overflows at 2 ** 1024, and a window may hold that many deaths.
        return min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(repeated - 1, 10)) if repeated else 0.0

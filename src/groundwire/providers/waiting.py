"""How much of a request's time was waited for a provider: the rest is what whoever asked has cost by itself.

A context variable and no argument, because runs, retries and fallbacks stand between who wants to know and the socket.
Knows nothing of what is asked.
"""

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns

_running: ContextVar["Stopwatch | None"] = ContextVar("groundwire_stopwatch", default=None)


class Stopwatch:
    """Runs from the moment it is made. Waits that overlap count once."""

    __slots__ = ("_now", "_since", "_started", "_waited", "_waits")

    def __init__(self, now: Callable[[], int] = perf_counter_ns) -> None:
        self._now = now
        self._started = now()
        self._since = 0
        self._waited = 0
        self._waits = 0
        _running.set(self)

    @property
    def own_microseconds(self) -> int:
        """What has passed so far and was not waited."""
        now = self._now()
        waited = self._waited + (now - self._since if self._waits else 0)
        return (now - self._started - waited) // 1000

    def _wait(self) -> None:
        if not self._waits:
            self._since = self._now()
        self._waits += 1

    def _go_on(self) -> None:
        self._waits -= 1
        if not self._waits:
            self._waited += self._now() - self._since


class waiting:  # noqa: N801 - reads as the statement it is: `with waiting(): …`
    """What is done inside is waiting for a provider, for the stopwatch that runs in this context, if one does."""

    __slots__ = ("_watch",)

    def __enter__(self) -> None:
        self._watch = _running.get()
        if self._watch is not None:
            self._watch._wait()  # noqa: SLF001 - its other half

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch._go_on()  # noqa: SLF001

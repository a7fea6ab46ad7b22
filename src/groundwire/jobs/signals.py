"""Waking those on one event loop who wait for something to change."""

import asyncio
from contextlib import suppress


class Signal:
    """Counts changes. Who has looked at the state of one count can wait for the next, without missing any."""

    def __init__(self) -> None:
        self.count = 0
        self._waiters: set[asyncio.Event] = set()

    async def wait(self, seen: int, seconds: float) -> None:
        """Until there was a change after `seen`, or so long: others may have changed something without telling."""
        if self.count != seen:
            return
        event = asyncio.Event()
        self._waiters.add(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
        finally:
            self._waiters.discard(event)

    def send(self) -> None:
        self.count += 1
        for event in self._waiters:
            event.set()

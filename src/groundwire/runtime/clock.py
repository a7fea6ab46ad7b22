"""Real time, real ids and real flags: what the ports are when nobody injects another."""

import asyncio
import itertools
import os
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache


class SystemClock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.perf_counter)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    """Unique by 80 random bits per process and a counter: an id costs no system call.

    They sort in the order in which they were made, so that an index of them grows at its end.
    """

    def __init__(self) -> None:
        self._seed()
        os.register_at_fork(after_in_child=self._seed)  # a forked child must not repeat its parent's ids

    def new(self, prefix: str) -> str:
        return f"{prefix}_{self._process}{next(self._counter):08x}"

    def _seed(self) -> None:
        self._process = secrets.token_hex(10)
        self._counter = itertools.count(1)


class EnvironmentFlags:
    """A flag is on when it is set true in the configuration, or in the environment."""

    def __init__(self, configured: Mapping[str, bool] | None = None) -> None:
        self._configured = dict(configured or {})

    def is_on(self, flag: str) -> bool:
        if flag in self._configured:
            return self._configured[flag]
        return os.environ.get(flag, "").strip().lower() in ("1", "true", "yes", "on")


class CharsPerFour:
    """The default estimate: nothing for nothing, else a token for every four characters, rounded up."""

    def estimate(self, text: str) -> int:
        return -(-len(text) // 4)


FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999: what ISO 8601 spells with four digits, and so keeps in order as text."""


def to_iso(seconds: float) -> str:
    """ISO 8601, UTC, milliseconds. A time before the year 1 or after 9999 becomes the first or the last there is."""
    try:
        milliseconds = int(seconds * 1000)
        return f"{_to_the_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"
    except (ValueError, OverflowError, OSError):  # a clock gone wrong must not undo the call that it times
        return to_iso(LAST_SECOND + 0.999 if seconds > 0 else FIRST_SECOND)


@lru_cache(maxsize=64)
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]

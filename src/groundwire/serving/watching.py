"""What is done about requests that take long: one timer looks after all, as one for each would cost more than most do.

Knows tasks and seconds; nothing of what is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from groundwire.contracts.errors import GroundwireError

LOOK_EVERY = 0.25
"""Seconds between two looks: by so much may something be noticed too late."""


class Waiting(Protocol):
    due: float
    """When it has waited too long, by the loop's time."""

    def expire(self) -> None:
        """It has. Called once."""
        ...


class Rounds:
    """Tells those who are still there when they are due. The timer runs only while there is anybody."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, waiting: Waiting) -> None:
        self._waiting[waiting] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)

    def leave(self, waiting: Waiting) -> None:
        self._waiting.pop(waiting, None)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for waiting in [waiting for waiting in self._waiting if waiting.due <= now]:
            del self._waiting[waiting]
            waiting.expire()
        self._timer = loop.call_later(LOOK_EVERY, self._look) if self._waiting else None


class TimeLimit:
    """Ends what is done inside when it is due, and raises the error that was given for that."""

    __slots__ = ("_error", "_is_over", "_rounds", "_task", "due")

    def __init__(self, rounds: Rounds, due: float, error: Callable[[], GroundwireError]) -> None:
        self._rounds = rounds
        self.due = due
        self._error = error
        self._is_over = False

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._rounds.enter(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._rounds.leave(self)
        if self._is_over and self._task is not None and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            raise self._error() from None

    def expire(self) -> None:
        self._is_over = True
        if self._task is not None:
            self._task.cancel()


class ClientWatch:
    """Ends what is done inside when the client has gone away, and raises the error that was given for that.

    Nobody looks before `after` seconds have passed: most answers are given by then.
    """

    __slots__ = ("_after", "_error", "_gone", "_is_gone", "_rounds", "_task", "_watcher", "due")

    def __init__(
        self, rounds: Rounds, gone: Callable[[], Awaitable[object]], error: Callable[[], GroundwireError], after: float
    ) -> None:
        self._rounds = rounds
        self._gone = gone
        self._error = error
        self._after = after
        self._is_gone = False
        self._watcher: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self.due = asyncio.get_running_loop().time() + self._after
        self._rounds.enter(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._rounds.leave(self)
        if self._watcher is not None:
            self._watcher.cancel()
        if self._is_gone and self._task is not None and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            raise self._error() from None

    def expire(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._cancel_when_gone())

    async def _cancel_when_gone(self) -> None:
        await self._gone()
        self._is_gone = True
        if self._task is not None:
            self._task.cancel()

"""A number on the server that this process knows without asking: the server tells when it changes.

Whether its connection still stands is found out by asking once in a while. So even if it was cut without a word, or
somebody in between swallows notifications, nothing older than that is believed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

_BELIEVED_SECONDS = 1.0
_ANSWER_SECONDS = 5.0


class WatchedNumber:
    """The value of a query with one row and column. Whoever changes it notifies the channel."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        query: str,
        *,
        channel: str,
        believed_seconds: float = _BELIEVED_SECONDS,
    ) -> None:
        self._connect = connect
        self._query = query
        self._channel = channel
        self._believed_seconds = believed_seconds
        self._connection: Any = None
        self._asking = asyncio.Lock()
        self._number: int | None = None
        self._believed_until = 0.0
        self._times_forgotten = 0

    async def read(self) -> int:
        number = self._number
        if number is not None and asyncio.get_running_loop().time() < self._believed_until:
            return number
        return await self._ask()

    async def _ask(self) -> int:
        """Ask on the connection that listens: what changes after the answer is told after the answer."""
        loop = asyncio.get_running_loop()
        async with self._asking:
            if self._number is not None and loop.time() < self._believed_until:
                return self._number  # somebody else has just asked
            forgotten, asked_at = self._times_forgotten, loop.time()
            try:
                if self._connection is None or self._connection.is_closed():
                    await self._listen()
                number: int = await self._connection.fetchval(self._query, timeout=_ANSWER_SECONDS)
            except BaseException:
                self._hang_up()
                raise
            if forgotten == self._times_forgotten:
                self._number, self._believed_until = number, asked_at + self._believed_seconds
            return number

    async def _listen(self) -> None:
        self._connection = await self._connect()
        self._connection.add_termination_listener(self.forget)
        await self._connection.add_listener(self._channel, self.forget)

    def forget(self, *_: object) -> None:
        """Ask again before the number is next used; an answer that is still on its way does not count."""
        self._number = None
        self._times_forgotten += 1

    def drop(self) -> None:
        """Give the connection up; the next to read makes another one, on whatever loop it is."""
        self._asking = asyncio.Lock()
        self.forget()
        self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(RuntimeError):  # its event loop has ended
                connection.terminate()

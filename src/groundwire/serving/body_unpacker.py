"""Unpacks compressed bodies: small ones on the event loop, large ones in threads, within a bound of memory."""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from groundwire.contracts.servers import ServerSettings
from groundwire.serving.answers import Overloaded
from groundwire.serving.bodies import RequestTooLarge, UnpackLimits, decoders_of, unpack

BODIES_IN_MEMORY = 4
"""Large unpacked bodies may take this many times `maxBody` together, until their requests end."""
WAIT_SECONDS = 10.0
"""How long a large body waits for memory before its request is answered with 503."""
_SMALL_PACKED = 64 * 1024
_SMALL = 256 * 1024
"""Bytes that are unpacked on the event loop, which takes less than a millisecond; a thread costs a tenth of that."""
_THREADS = 2


@dataclass(frozen=True)
class UnpackedBody:
    """A body, and the memory that it has reserved."""

    data: bytes
    reserved: int
    """Bytes that are to be released when the request ends."""


class BodyUnpacker:
    """Shared by all requests of a process."""

    def __init__(self, settings: ServerSettings, wait_seconds: float = WAIT_SECONDS) -> None:
        self._ratio = settings.max_compression_ratio
        self._capacity = self._free = BODIES_IN_MEMORY * settings.max_body
        self._wait_seconds = wait_seconds
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._executor: ThreadPoolExecutor | None = None

    async def unpack(self, data: bytes, encodings: str, limit: int) -> UnpackedBody:
        """Unpack a body to at most `limit` bytes. The caller releases what it reserved.

        Raises UnreadableBody, RequestTooLarge, and Overloaded if there is no memory for it within WAIT_SECONDS.
        """
        decoders = decoders_of(encodings)
        if not decoders:
            return UnpackedBody(data, 0)
        limits = UnpackLimits(limit, self._ratio, len(data))
        if len(data) <= _SMALL_PACKED:
            try:
                return UnpackedBody(unpack(data, decoders, UnpackLimits(min(limit, _SMALL), self._ratio, len(data))), 0)
            except RequestTooLarge:
                if limit <= _SMALL:
                    raise
        wanted = min(self._capacity, limits.most * len(decoders))
        await self._reserve(wanted)
        kept = 0
        try:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_THREADS, "unpack")
            loop = asyncio.get_running_loop()
            body = await loop.run_in_executor(self._executor, unpack, data, decoders, limits)
            kept = len(body)
        finally:
            limits.is_cancelled = True
            self.release(wanted - kept)
        return UnpackedBody(body, kept)

    def release(self, size: int) -> None:
        """Give back reserved bytes, and let bodies that wait for memory continue."""
        self._free += size
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, reserved = self._waiting.popleft()
            self._free -= wanted
            if not reserved.cancelled():  # else its task has yet to run, and releases what it was given here
                reserved.set_result(None)

    def close(self) -> None:
        """End the threads, without waiting for them."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    async def _reserve(self, size: int) -> None:
        """Wait until `size` bytes are free, in the order of arrival: a large body must not wait behind small ones for ever."""
        if not self._waiting and size <= self._free:
            self._free -= size
            return
        entry = (size, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(self._wait_seconds):
                await entry[1]
        except BaseException as error:
            if entry in self._waiting:
                self._waiting.remove(entry)
                size = 0
            self.release(size)  # what was reserved just now, or room for those that waited behind it
            if isinstance(error, TimeoutError):
                raise Overloaded("Too many large bodies are being worked on; try again soon.") from None
            raise

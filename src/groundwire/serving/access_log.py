"""One line of JSON for each request, where that is asked for. Never what could hold a secret: no query, no header, no body."""

from collections.abc import Callable

import msgspec

from groundwire.contracts.ports import Clock
from groundwire.runtime.clock import to_iso

MAX_PATH = 500
_encode = msgspec.json.Encoder().encode


class AccessLog:
    def __init__(self, write: Callable[[bytes], object], clock: Clock) -> None:
        self._write = write
        self._clock = clock

    def note(self, request_id: str, method: str, path: str, route: str, status: int, nanoseconds: int) -> None:
        line = {
            "time": to_iso(self._clock.now()),
            "requestId": request_id,
            "method": method,
            "path": path[:MAX_PATH],
            "route": route,
            "status": status,
            "ms": round(nanoseconds / 1_000_000, 3),
        }
        self._write(_encode(line) + b"\n")

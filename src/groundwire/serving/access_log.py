"""One line of JSON for each request, if configured. It holds no query, header or body, and no key that a path holds."""

from collections.abc import Callable, Collection

import msgspec

from groundwire.contracts.ports import Clock
from groundwire.contracts.redaction import redact
from groundwire.runtime.clock import to_iso

MAX_PATH = 500
_encode = msgspec.json.Encoder().encode


class AccessLog:
    """Writes the lines. `secrets` are hidden in paths, besides everything that looks like a key."""

    def __init__(self, write: Callable[[bytes], object], clock: Clock, *, secrets: Collection[str] = ()) -> None:
        self._write = write
        self._clock = clock
        self._secrets = secrets

    def note(self, request_id: str, method: str, path: str, route: str, status: int, nanoseconds: int) -> None:
        line = {
            "time": to_iso(self._clock.now()),
            "requestId": request_id,
            "method": method,
            "path": redact(path, self._secrets)[:MAX_PATH],
            "route": route,
            "status": status,
            "ms": round(nanoseconds / 1_000_000, 3),
        }
        self._write(_encode(line) + b"\n")

"""JSON objects in bytes that arrive piece by piece. Knows where an object ends, not whether it is valid JSON."""

import re

from groundwire.codecs.wire.sse import MAX_EVENT

_SIGN = re.compile(rb'["{}\\]')


class ObjectReader:
    """Finds the objects of an array, or one object alone; whatever stands between them says nothing.

    Each byte is looked at once, and an object is put together only when it is whole.
    """

    __slots__ = ("_depth", "_in_text", "_is_escaped", "_most", "_pieces", "_size")

    def __init__(self, *, limit: int = MAX_EVENT) -> None:
        self._most = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._depth = 0
        self._in_text = False
        self._is_escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        if not data:
            return []
        found: list[bytes] = []
        start = 0
        place = int(self._is_escaped)
        self._is_escaped = False
        while (sign := _SIGN.search(data, place)) is not None:
            here = sign.start()
            mark = data[here]
            place = here + 1
            if mark == 0x5C:  # a backslash and what it protects are skipped together
                place += 1
                self._is_escaped = place > len(data)
            elif mark == 0x22:
                self._in_text = not self._in_text
            elif self._in_text:
                continue
            elif mark == 0x7B:
                start = start if self._depth else here
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    found.append(self._joined(data[start:place]))
        if self._depth:
            self._keep(data[start:])
        return found

    def _joined(self, last: bytes) -> bytes:
        whole = b"".join([*self._pieces, last]) if self._pieces else last
        self._pieces = []
        self._size = 0
        return whole

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most:
            raise ValueError(f"an object of the stream has more than {self._most} bytes")

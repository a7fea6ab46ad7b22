"""The frames of a Gemini stream: server-sent events, or one JSON array that arrives piece by piece.

The first bytes decide which. Either way the frames come out as the bytes of one JSON value each.
"""

import re

from groundwire.codecs.wire.sse import MAX_EVENT, SseReader

_SIGN = re.compile(rb'["{}\\]')
_SPACE = b" \t\r\n"
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


class FrameReader:
    """Feed bytes, get frames. What `finish` returns was not closed and may be cut."""

    __slots__ = ("_head", "_objects", "_sse")

    def __init__(self) -> None:
        self._head = b""
        self._sse: SseReader | None = None
        self._objects: ObjectReader | None = None

    def feed(self, data: bytes) -> list[bytes]:
        if self._sse is not None:
            # One whole event per piece is how they come off the network: one line, and a blank one.
            if data.startswith(b"data: ") and self._sse.is_between_events:
                end = data.find(b"\r")
                if end < 0 and data.find(b"\n") == len(data) - 2 and data.endswith(b"\n"):
                    return [data[6:-2]]
                if end == len(data) - 4 and data.find(b"\n") == end + 1 and data.endswith(b"\r\n\r\n"):
                    return [data[6:end]]
            return [event.data for event in self._sse.feed(data)]
        if self._objects is not None:
            return self._objects.feed(data)
        self._head += data
        begun = self._head.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
        if not begun or b"\xef\xbb\xbf".startswith(begun):
            return []
        if begun[:1] in (b"[", b"{"):
            self._objects = ObjectReader()
            return self._objects.feed(begun)
        self._sse = SseReader()
        return [event.data for event in self._sse.feed(self._head)]

    def finish(self) -> list[bytes]:
        if self._sse is not None:
            return [event.data for event in self._sse.finish()]
        return []

    @property
    def head(self) -> bytes:
        """The first bytes of the body."""
        return self._head

    @property
    def is_foreign(self) -> bool:
        """Whether the body begins like neither form, such as a proxy's page."""
        begun = self._head.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
        if not begun or self._objects is not None:
            return False
        return not any(begun.startswith(field) or field.startswith(begun) for field in _FIELDS)


class ObjectReader:
    """Finds the objects of an array, or one object alone; whatever stands between them says nothing."""

    __slots__ = ("_buffer", "_depth", "_in_text", "_scanned", "_start")

    def __init__(self) -> None:
        self._buffer = b""
        self._scanned = 0
        self._start = -1
        self._depth = 0
        self._in_text = False

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        found: list[bytes] = []
        while (sign := _SIGN.search(self._buffer, self._scanned)) is not None:
            place = sign.start()
            mark = self._buffer[place]
            if mark == 0x5C:  # a backslash and what it protects are skipped together
                if place + 1 == len(self._buffer):
                    self._scanned = place
                    return self._kept(found)
                self._scanned = place + 2
                continue
            self._scanned = place + 1
            if mark == 0x22:
                self._in_text = not self._in_text
            elif not self._in_text:
                self._brace(mark == 0x7B, place, found)
        self._scanned = len(self._buffer)
        return self._kept(found)

    def _brace(self, opens: bool, place: int, found: list[bytes]) -> None:  # noqa: FBT001 - one sign of two
        if opens:
            if self._depth == 0:
                self._start = place
            self._depth += 1
        elif self._depth:
            self._depth -= 1
            if self._depth == 0:
                found.append(self._buffer[self._start : place + 1])
                self._start = -1

    def _kept(self, found: list[bytes]) -> list[bytes]:
        """Forget what has been handed out."""
        keep = self._scanned if self._start < 0 else self._start
        self._buffer = self._buffer[keep:]
        self._scanned -= keep
        self._start = min(0, self._start)
        if len(self._buffer) > MAX_EVENT:
            raise ValueError(f"an object of the stream has more than {MAX_EVENT} bytes")
        return found

"""The frames of a Gemini stream: server-sent events, or one JSON array that arrives piece by piece.

The first bytes decide which. Either way the frames come out as the bytes of one JSON value each.
"""

from groundwire.codecs.wire.objects import ObjectReader
from groundwire.codecs.wire.sse import SseReader

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


class FrameReader:
    """Feed bytes, get frames. What `finish` returns was not closed and may be cut."""

    __slots__ = ("_blank", "_head", "_objects", "_sse")

    def __init__(self) -> None:
        self._blank: list[bytes] = []
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
        self._blank.append(data)
        if not data.strip(_SPACE + _BOM):
            return []
        self._head = b"".join(self._blank)
        begun = self._head.removeprefix(_BOM).lstrip(_SPACE)
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
        begun = self._head.removeprefix(_BOM).lstrip(_SPACE)
        if not begun or self._objects is not None:
            return False
        return not any(begun.startswith(field) or field.startswith(begun) for field in _FIELDS)

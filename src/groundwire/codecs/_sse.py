"""Server-sent events, read from bytes however they were cut, and written.

Follows the HTML standard: CR, LF or CRLF, comments, several data lines, fields in any order, an optional BOM. Unlike a
browser, the end of the body also ends the last event, because servers forget the final blank line.
"""

import re
from typing import NamedTuple

MAX_EVENT = 64 * 1024 * 1024
"""Bytes that one event may have before the stream is given up: no provider comes near it."""

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n|\r\n\r|\r\r\n|\n\r")
_LINE = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    event: str
    data: bytes


class SseReader:
    """Feed bytes, get events. What `finish` returns was not closed by a blank line."""

    __slots__ = ("_buffer", "_scanned", "_started")

    def __init__(self) -> None:
        self._buffer = b""
        self._scanned = 0
        self._started = False

    def feed(self, data: bytes) -> list[Event]:
        buffer = self._buffer + data if self._buffer else data
        if not self._started:
            if len(buffer) < 3 and b"\xef\xbb\xbf".startswith(buffer):
                self._buffer = buffer
                return []
            self._started = True
            buffer = buffer.removeprefix(b"\xef\xbb\xbf")
        events: list[Event] = []
        start = 0
        if b"\r" not in buffer:  # nearly every server; searching one pair of signs is ten times faster
            end = buffer.find(b"\n\n", self._scanned)
            while end >= 0:
                event = _read(buffer[start:end])
                if event is not None:
                    events.append(event)
                start = end + 2
                end = buffer.find(b"\n\n", start)
            return self._keep(buffer[start:] if start else buffer, events)
        found = _BLANK_LINE.search(buffer, self._scanned)
        # A CR at the very end may be the first half of a CRLF that goes on in the next bytes.
        while found and not (found.end() == len(buffer) and buffer.endswith(b"\r")):
            event = _read(buffer[start : found.start()])
            if event is not None:
                events.append(event)
            start = found.end()
            found = _BLANK_LINE.search(buffer, start)
        return self._keep(buffer[start:] if start else buffer, events)

    def _keep(self, rest: bytes, events: list[Event]) -> list[Event]:
        self._buffer = rest
        self._scanned = max(0, len(self._buffer) - 3)
        if len(self._buffer) > MAX_EVENT:
            raise ValueError(f"an event of the stream has more than {MAX_EVENT} bytes")
        return events

    @property
    def is_between_events(self) -> bool:
        """Whether nothing is kept of what was fed, so that the next bytes begin an event."""
        return self._started and not self._buffer

    def finish(self) -> list[Event]:
        event = _read(self._buffer)
        self._buffer = b""
        return [] if event is None else [event]


def _read(block: bytes) -> Event | None:
    if block.startswith(b"data:") and b"\n" not in block and b"\r" not in block:
        return Event("", block[6:] if block[5:6] == b" " else block[5:])
    name = b""
    data: list[bytes] = []
    for line in _LINE.split(block):
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return Event(name.decode("utf-8", "replace"), b"\n".join(data)) if data else None


def write_event(data: bytes, event: str = "") -> bytes:
    """One event. Compact JSON has no line breaks, so one data line is enough."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data) if event else b"data: %b\n\n" % data

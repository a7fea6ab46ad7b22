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

    __slots__ = ("_buffer", "_end", "_most", "_pieces", "_scanned", "_size", "_started")

    def __init__(self, *, limit: int = MAX_EVENT) -> None:
        self._most = limit
        self._buffer = b""
        self._pieces: list[bytes] = []
        self._end = b""
        self._size = 0
        self._scanned = 0
        self._started = False

    def feed(self, data: bytes) -> list[Event]:
        if self._buffer and self._started and self._holds_on(data):
            return []
        buffer = self._joined() + data if self._buffer else data
        if not self._started:
            if len(buffer) < 3 and b"\xef\xbb\xbf".startswith(buffer):
                self._buffer = buffer
                return []
            self._started = True
            buffer = buffer.removeprefix(b"\xef\xbb\xbf")
        returns = buffer.count(b"\r")
        if not returns:
            return self._split(buffer, b"\n\n")
        if returns == buffer.count(b"\r\n") == buffer.count(b"\n"):
            return self._split(buffer, b"\r\n\r\n")
        return self._search(buffer)

    def finish(self) -> list[Event]:
        event = _read(self._joined())
        self._buffer = b""
        return [] if event is None else [event]

    @property
    def is_between_events(self) -> bool:
        """Whether nothing is kept of what was fed, so that the next bytes begin an event."""
        return self._started and not self._buffer

    def _holds_on(self, data: bytes) -> bool:
        """Put a piece in the middle of an event aside, so that a long event is not copied with each of its pieces."""
        window = (self._end if self._pieces else self._buffer[-3:]) + data
        if _BLANK_LINE.search(window):
            return False
        self._end = window[-3:]
        self._pieces.append(data)
        self._size += len(data)
        self._limit()
        return True

    def _joined(self) -> bytes:
        if not self._pieces:
            return self._buffer
        joined = b"".join([self._buffer, *self._pieces])
        self._pieces = []
        return joined

    def _split(self, buffer: bytes, blank_line: bytes) -> list[Event]:
        """Lines that all end alike, which is what servers send: ten times faster than looking for every ending."""
        if buffer.find(blank_line, self._scanned) < 0:
            self._keep(buffer)
            return []
        *blocks, rest = buffer.split(blank_line)
        self._keep(rest)
        return [event for block in blocks if (event := _read(block)) is not None]

    def _search(self, buffer: bytes) -> list[Event]:
        events: list[Event] = []
        start = 0
        found = _BLANK_LINE.search(buffer, self._scanned)
        # A CR at the very end may be the first half of a CRLF that goes on in the next bytes.
        while found and not (found.end() == len(buffer) and buffer.endswith(b"\r")):
            event = _read(buffer[start : found.start()])
            if event is not None:
                events.append(event)
            start = found.end()
            found = _BLANK_LINE.search(buffer, start)
        self._keep(buffer[start:])
        return events

    def _keep(self, rest: bytes) -> None:
        self._buffer = rest
        self._size = len(rest)
        self._scanned = max(0, len(rest) - 3)
        self._limit()

    def _limit(self) -> None:
        if self._size > self._most:
            raise ValueError(f"an event of the stream has more than {self._most} bytes")


def _read(block: bytes) -> Event | None:
    # `find` is several times faster than `in` for one byte, and this runs for every piece of every stream.
    line_end = block.find(b"\n")
    if block.find(b"\r") < 0:
        if line_end < 0 and block.startswith(b"data:"):
            return Event("", block[6:] if block[5:6] == b" " else block[5:])
        is_pair = block.startswith(b"event: ") and block.startswith(b"data: ", line_end + 1)
        if is_pair and block.find(b"\n", line_end + 1) < 0:
            return Event(block[7:line_end].decode("utf-8", "replace"), block[line_end + 7 :])
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

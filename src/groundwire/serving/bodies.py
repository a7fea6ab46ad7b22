"""Bodies of requests that came packed, and what can be wrong with a body before anybody has read it.

A limit counts what a body unpacks to, and no more than that is ever unpacked.
"""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

from groundwire.contracts.errors import GroundwireError

_WINDOW = 2**27
"""Bytes that a packed body may make us keep at a time; what zstd's own command takes."""

MOST_ENCODINGS = 2
"""Each may unpack to as much as the limit, and nobody else is served meanwhile."""


class RequestTooLarge(GroundwireError):
    code = "request_too_large"


class RequestTooSlow(GroundwireError):
    """The body did not come in time."""

    code = "request_timeout"
    retryable = True


class BrokenBody(GroundwireError):
    """The body ended before its end."""

    code = "broken_body"


class UnreadableBody(GroundwireError):
    """The `content-encoding` is not known, or the body is not what it says."""

    code = "unreadable_body"


def too_slow(seconds: float) -> RequestTooSlow:
    return RequestTooSlow(f"The body did not come within {seconds:g} seconds.")


def too_large(limit: int) -> RequestTooLarge:
    return RequestTooLarge(f"The body is longer than {limit} bytes.")


async def whole_pieces(scope: Any, protocol: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a body as they come; BrokenBody where the client broke it off.

    The server ends every body with an empty piece, and gives one more for an error and for trailers, which have to be
    announced. In HTTP/2 clients may send empty pieces themselves; there, nothing more comes of a body that broke off.
    """
    ends_once = scope.http_version.startswith("1") and scope.headers.get("trailer") is None
    was_empty = False
    async for piece in protocol:
        if was_empty and ends_once:
            raise BrokenBody("The body broke off.")
        was_empty = not piece
        if piece:
            yield piece


def unpacked(data: bytes, encodings: str, limit: int) -> bytes:
    """The body itself. `encodings` are told in the order in which they were applied."""
    named = [name for part in encodings.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if len(named) > MOST_ENCODINGS:
        raise UnreadableBody(f"The body is packed {len(named)} times; at most {MOST_ENCODINGS} are unpacked.")
    for name in reversed(named):
        read = _READERS.get(name)
        if read is None:
            known = ", ".join(sorted(_READERS))
            raise UnreadableBody(f"The content-encoding {name!r} is not known here; known are {known}.")
        data = read(data, limit)
        if len(data) > limit:
            raise too_large(limit)
    return data


def _inflate(data: bytes, limit: int) -> bytes:
    """gzip, and deflate with its frame or, as many send it, without."""
    is_framed = data[:1] == b"\x1f" or (data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32 if is_framed else -zlib.MAX_WBITS)
    try:
        whole = reader.decompress(data, limit + 1)
    except zlib.error as error:
        raise UnreadableBody(f"The body cannot be unpacked: {error}.") from None
    if len(whole) <= limit and not reader.eof:
        raise UnreadableBody("The body cannot be unpacked: it broke off.")
    return whole


def _read_zstd(data: bytes, limit: int) -> bytes:
    import zstandard  # most servers never need it

    try:
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(data) as reader:
            return bytes(reader.read(limit + 1))
    except zstandard.ZstdError as error:
        raise UnreadableBody(f"The body cannot be unpacked: {error}.") from None


_READERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _inflate,
    "zstd": _read_zstd,
}

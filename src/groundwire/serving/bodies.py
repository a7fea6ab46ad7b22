"""Request bodies: reading them in pieces, unpacking compressed ones, and the errors of both.

A limit counts what a body unpacks to, and no more than that is ever unpacked.
"""

import io
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, TypeAlias

from groundwire.contracts.errors import GroundwireError

_WINDOW = 2**27
"""Bytes that a packed body may make us keep at a time; what zstd's own command takes."""

MOST_ENCODINGS = 2
FREE_OF_RATIO = 1024 * 1024
"""Bytes to which a body may unpack at any ratio: repetitive JSON of this size is harmless."""
_PACKED_PIECE = 64 * 1024
_PIECE = 1024 * 1024
"""Bytes that are unpacked at a time: between two pieces, other threads run and limits are checked."""


class RequestTooLarge(GroundwireError):
    code = "request_too_large"


class CompressionRatioTooHigh(RequestTooLarge):
    """The body unpacks to so many times its length that it is taken for an attack."""

    code = "compression_ratio_too_high"


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


class UnpackLimits:
    """How much a body may unpack to: `limit` bytes, and at most `ratio` times its compressed length, `packed`."""

    def __init__(self, limit: int, ratio: float, packed: int) -> None:
        self._limit = limit
        self._ratio = ratio
        self.most = min(limit, max(FREE_OF_RATIO, int(ratio * packed)))
        self.is_cancelled = False
        """Set from another thread to stop unpacking at the next piece."""

    def check(self, size: int) -> None:
        """Raise RequestTooLarge if `size` bytes are too many, BrokenBody if the request was cancelled."""
        if self.is_cancelled:
            raise BrokenBody("The request was cancelled while its body was being unpacked.")
        if size > self._limit:
            raise too_large(self._limit)
        if size > self.most:
            raise CompressionRatioTooHigh(
                f"The body unpacks to more than {self._ratio:g} times its length.",
                hint="send it uncompressed, or raise server.maxCompressionRatio",
            )


Decoder: TypeAlias = Callable[[bytes, UnpackLimits], bytes]


def decoders_of(encodings: str) -> list[Decoder]:
    """Return the decoders for a `content-encoding`, in the order in which to apply them.

    Raises UnreadableBody for one that is unknown, and for more than MOST_ENCODINGS.
    """
    named = [name for part in encodings.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if len(named) > MOST_ENCODINGS:
        raise UnreadableBody(f"The body is compressed {len(named)} times; at most {MOST_ENCODINGS} are supported.")
    unknown = [name for name in named if name not in _DECODERS]
    if unknown:
        known = ", ".join(sorted(_DECODERS))
        raise UnreadableBody(f"The content-encoding {unknown[0]!r} is not supported; supported are {known}.")
    return [_DECODERS[name] for name in reversed(named)]


def unpack(data: bytes, decoders: list[Decoder], limits: UnpackLimits) -> bytes:
    """Return the unpacked body. Blocks for as long as that takes."""
    for decode in decoders:
        data = decode(data, limits)
    limits.check(len(data))
    return data


def _inflate(data: bytes, limits: UnpackLimits) -> bytes:
    """gzip, and deflate with a zlib header or, as many clients send it, without."""
    is_framed = data[:1] == b"\x1f" or (data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32 if is_framed else -zlib.MAX_WBITS)
    try:
        first = reader.decompress(data[:_PACKED_PIECE], _PIECE)
        limits.check(len(first))
        return first if reader.eof else _inflate_rest(reader, first, data, limits)
    except zlib.error as error:
        raise UnreadableBody(f"The body cannot be unpacked: {error}.") from None


def _inflate_rest(reader: Any, first: bytes, data: bytes, limits: UnpackLimits) -> bytes:
    whole = io.BytesIO()  # returns its buffer without copying it
    whole.write(first)
    rest: bytes | memoryview = reader.unconsumed_tail
    packed = memoryview(data)
    for start in range(_PACKED_PIECE, len(packed) + _PACKED_PIECE, _PACKED_PIECE):
        while piece := reader.decompress(rest, _PIECE):
            limits.check(whole.tell() + len(piece))
            whole.write(piece)
            rest = reader.unconsumed_tail
        if reader.eof:
            return whole.getvalue()
        rest = packed[start : start + _PACKED_PIECE]
    raise UnreadableBody("The body cannot be unpacked: it broke off.")


def _read_zstd(data: bytes, limits: UnpackLimits) -> bytes:
    import zstandard  # most servers never need it

    whole = io.BytesIO()
    try:
        declared = zstandard.frame_content_size(data)
        limits.check(declared)
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(data) as reader:
            while piece := reader.read(_PIECE):
                limits.check(whole.tell() + len(piece))
                whole.write(piece)
    except zstandard.ZstdError as error:
        raise UnreadableBody(f"The body cannot be unpacked: {error}.") from None
    if declared >= 0 and whole.tell() < declared:
        raise UnreadableBody("The body cannot be unpacked: it broke off.")
    return whole.getvalue()


_DECODERS: dict[str, Decoder] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _inflate,
    "zstd": _read_zstd,
}

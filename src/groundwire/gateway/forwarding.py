"""Bytes that go through as they are: the caller and the model's provider speak the same dialect, and nothing is to be done."""

from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.failures import Failure
from groundwire.contracts.keys import Caller
from groundwire.contracts.redaction import redact
from groundwire.contracts.replies import ReplyFailed
from groundwire.contracts.requests import Dialect
from groundwire.gateway.headers import headers_for, overhead, stream_headers
from groundwire.gateway.services import Services
from groundwire.providers.transport import HttpResponse, TransportError
from groundwire.providers.waiting import Stopwatch
from groundwire.serving.exchanges import Exchange

_OURS = b'"groundwire"'
"""Stands in every body that names tools of the server."""
_ENDS = (b"\n\n", b"\r\n\r\n")
_PASSED = ("anthropic-beta", "anthropic-version", "openai-beta")


class _Head(Struct, frozen=True, gc=False):
    model: str = ""
    stream: bool | None = None


_read_head = msgspec.json.Decoder(_Head).decode
_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Passage(Struct, frozen=True, kw_only=True):
    """A request that may go through. `model` and `stream` are what its path says of them."""

    exchange: Exchange
    caller: Caller
    dialect: Dialect
    model: str
    stream: bool
    watch: Stopwatch


async def pass_on(way: Passage, body: bytes, services: Services) -> bool:
    """Send the body on, and the answer back; False where that cannot be done."""
    exchange, dialect, model, models = way.exchange, way.dialect, way.model, services.models
    if _OURS in body:
        return False
    try:
        head = _read_head(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    name, is_stream = model or head.model, way.stream or bool(head.stream)
    direct = models.direct(name, dialect) if name else None
    if direct is None or not direct[0].takes(body, direct[1]):
        return False
    services.check_model(way.caller, name)
    provider, wire_name = direct
    if not model and wire_name != head.model:
        body = renamed(body, wire_name)
    headers = {key: value for key in _PASSED if (value := exchange.headers.get(key)) is not None}
    response = await provider.forward(body, wire_name, stream=is_stream, headers=headers)
    kind = response.headers.get("content-type", "text/event-stream")
    if is_stream and "json" not in kind:
        answered = [*stream_headers(exchange, dialect, kind=kind), overhead(way.watch)]
        await exchange.stream(200, answered, _chunks(response, dialect))
        return True
    data = await provider.read(response)
    exchange.answer(200, [*headers_for(exchange, dialect), overhead(way.watch)], data)
    return True


def renamed(body: bytes, model: str) -> bytes:
    """The body with another model's name; all else as it was."""
    members = _split(body)
    members["model"] = msgspec.Raw(dump(model))
    return msgspec.json.encode(members)


async def _chunks(response: HttpResponse, dialect: Dialect) -> AsyncGenerator[bytes]:
    """Events as they come, whole; where the connection breaks, the last one is an error as the dialect says it."""
    waiting = b""
    try:
        while chunk := await response.piece():
            if not waiting and chunk.endswith(_ENDS):
                yield chunk
                continue
            waiting += chunk
            end = max(waiting.rfind(mark) + len(mark) if mark in waiting else 0 for mark in _ENDS)
            if end:
                yield waiting[:end]
                waiting = waiting[end:]
        yield waiting
    except TransportError as error:
        failure = Failure(kind=error.kind, message=redact(error.message), status=0)
        yield codec_of(dialect).StreamEncoder().feed(ReplyFailed(failure=failure))
    finally:
        await response.close()

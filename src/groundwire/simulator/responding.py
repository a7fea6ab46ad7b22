"""Bodies on their way to the socket: whole or in pieces, with the faults of a connection acted out on them."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.failures import kind_of_status
from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.failures import Failure
from groundwire.contracts.ports import Clock
from groundwire.contracts.requests import Dialect
from groundwire.providers.faults import PAGE, Fault, FaultKind
from groundwire.simulator.http import Response, Upgrade
from groundwire.simulator.routes import Route

_UNARY_PIECE = 64
JSON = "application/json; charset=utf-8"


def json_response(
    body: JsonValue, headers: dict[str, str], *, clock: Clock, status: int = 200, fault: Fault | None = None
) -> Response:
    data = dump(body)
    pieces = [data[start : start + _UNARY_PIECE] for start in range(0, len(data), _UNARY_PIECE)]
    members = {"content-type": JSON, "content-length": str(len(data)), **headers}
    return Response(status=status, headers=members, chunks=paced(pieces if fault else [data], clock=clock, fault=fault))


def error_response(failure: Failure, route: Route, headers: dict[str, str], *, clock: Clock) -> Response:
    """The failure as its dialect says it; a hint when to come back stands where clients of that dialect look for it."""
    status, body = codec_of(route.dialect).encode_error(failure)
    if kind_of_status(failure.status) is failure.kind:
        status = failure.status  # as it was wanted, also where this dialect would choose another one
    error = body.get("error")
    if route.dialect == "gemini" and isinstance(error, dict):
        error["code"] = status
    shown = dict(headers)
    if failure.retry_after is not None and route.dialect != "gemini":
        shown["retry-after"] = f"{failure.retry_after:g}"
        if route.dialect != "anthropic":
            shown["retry-after-ms"] = f"{failure.retry_after * 1000:g}"
    if failure.should_retry is not None:
        shown["x-should-retry"] = "true" if failure.should_retry else "false"
    wrapped: JsonValue = [body] if route.array else body
    return json_response(wrapped, shown, clock=clock, status=status)


def web_page() -> Response:
    headers = {"content-type": "text/html; charset=utf-8", "content-length": str(len(PAGE))}
    return Response(headers=headers, chunks=_whole(PAGE))


def silence(fault: Fault, clock: Clock) -> Upgrade:
    """Not a byte, until the client has had enough or the fault's time is over."""

    async def wait(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        waiting = [asyncio.ensure_future(_until_closed(reader)), asyncio.ensure_future(clock.sleep(fault.seconds))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    return wait


async def _until_closed(reader: asyncio.StreamReader) -> None:
    while await reader.read(1024):
        pass


async def paced(
    pieces: Sequence[bytes], *, clock: Clock, pause: float = 0.0, fault: Fault | None = None
) -> AsyncIterator[bytes | None]:
    """The pieces with a pause between them; cut off, or drop by drop, where the fault wants it."""
    kind = fault.kind if fault is not None else None
    left = sum(map(len, pieces))
    if fault is not None and kind is FaultKind.CUT:
        left = min(fault.at_byte, left - 1)
    is_first = True
    for piece in pieces:
        if not piece:
            continue
        if pause and not is_first:
            await clock.sleep(pause)
        is_first = False
        if fault is not None and kind is FaultKind.SLOW_DRIP:
            for place in range(len(piece)):
                yield piece[place : place + 1]
            await clock.sleep(fault.seconds)
            continue
        if piece[:left]:
            yield piece[:left]
        left -= len(piece[:left])
        if kind is FaultKind.CUT and left <= 0:
            yield None
            return


async def _whole(data: bytes) -> AsyncIterator[bytes | None]:
    yield data


def with_one_id(data: bytes, call_ids: Sequence[str]) -> bytes:
    """The same bytes, where all calls have the first one's id: no encoder of ours would write that."""
    for other in call_ids[1:]:
        data = data.replace(dump(other), dump(call_ids[0]))
    return data


def request_id_headers(dialect: Dialect, request_id: str) -> dict[str, str]:
    if dialect == "anthropic":
        return {"request-id": request_id, "anthropic-organization-id": "org_simulator"}
    if dialect == "gemini":
        return {"x-request-id": request_id}
    return {"x-request-id": request_id, "openai-version": "2020-10-01", "openai-processing-ms": "1"}

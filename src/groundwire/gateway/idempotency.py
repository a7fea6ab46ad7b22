"""`Idempotency-Key` on model endpoints: a request that is sent again gets the answer that it got, and nobody is asked.

The answer is kept with the request's key in the store, so it does not matter which process the second one comes to.
Knows answers as bytes. A request without the header pays for one look.
"""

import asyncio
import base64
import hashlib
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.errors import GroundwireError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.keys import Caller
from groundwire.contracts.replies import FinishReason, ReplyEnded
from groundwire.contracts.requests import Dialect
from groundwire.gateway.answer_tables import AnswerRow, AnswerTable
from groundwire.gateway.failing import Refused, write_failure
from groundwire.gateway.governed import APPROVALS_HEADER, REQUEST_SECONDS, TOOLS_HEADER
from groundwire.gateway.headers import headers_for
from groundwire.gateway.services import Services
from groundwire.serving.exchanges import ClientGone, Exchange, Handler, Headers, Recording
from groundwire.serving.headers import APPROVAL_HEADER, SESSION_HEADER

T = TypeVar("T")

HEADER = "idempotency-key"
MAX_KEY = 255
MAX_ANSWER = 16 * 1024 * 1024
"""A longer answer is not kept."""
KEPT_SECONDS = REQUEST_SECONDS
HOLD_SECONDS = 30
WAIT_SECONDS = 2.0
"""How long a second request waits for the answer to the first."""
_LARGE = 256 * 1024
"""Bytes above which a body is compressed and hashed in a thread."""
_PAUSE = 0.1
_RETRY_SOON = 1.0
_KEPT_HEADERS = ("content-type", "cache-control", "x-groundwire-warnings", APPROVAL_HEADER)
_ASKING = (TOOLS_HEADER, SESSION_HEADER, APPROVALS_HEADER)
"""Headers without which it would be another request."""
_PASSING = frozenset({401, 403, 408, 409, 425, 429})
"""Refusals that the same request may not get again."""
_CUT = (FinishReason.INCOMPLETE, FinishReason.FAILED, FinishReason.CANCELLED)


def once(handler: Handler, dialect: Dialect, services: Services) -> Handler:
    """The handler, which answers a request with a key only once."""

    async def serve(exchange: Exchange) -> None:
        try:
            key = exchange.told(HEADER)
            if key is None:
                await handler(exchange)
                return
            caller = await services.recognize(exchange)
            await _Keyed(exchange, caller, key, dialect, services).serve(handler)
        except ClientGone:
            raise
        except GroundwireError as error:
            write_failure(exchange, error, dialect)

    return serve


class _Keyed:
    """One request with a key. What one caller was answered is no other caller's affair."""

    def __init__(self, exchange: Exchange, caller: Caller, key: str, dialect: Dialect, services: Services) -> None:
        if not 0 < len(key) <= MAX_KEY or not key.isprintable():
            raise WireError(f"has 1 to {MAX_KEY} printable characters", path=HEADER)
        self._exchange = exchange
        self._tenant = caller.tenant
        self._key = f"{caller.key_id}/{key}"
        self._dialect = dialect
        self._answers: AnswerTable = services.answers
        self._clock = services.clock
        self._limit = services.settings.max_body

    async def serve(self, handler: Handler) -> None:
        now = int(self._clock.now())
        row = AnswerRow(
            digest=await self._digest(),
            holder=self._exchange.request_id,
            held_until=now + HOLD_SECONDS,
            expires=now + KEPT_SECONDS,
        )
        named = f"{self._tenant}\n{self._key}\n{row.digest}"
        self._exchange.request_key = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
        found = await self._take(row)
        if found is None:
            await self._answer(handler, row)
        elif found.digest != row.digest:
            raise _conflict("This Idempotency-Key was used for another request.", None)
        elif not found.status:
            raise _conflict("The request with this Idempotency-Key is still being answered.", _RETRY_SOON)
        else:
            headers = [
                *headers_for(self._exchange, self._dialect)[1:],
                *msgspec.json.decode(found.headers, type=Headers),
            ]
            body = await _run_in_thread_if_large(len(found.body), lambda: zlib.decompress(base64.b64decode(found.body)))
            self._exchange.answer(found.status, [*headers, ("idempotent-replayed", "true")], body)

    async def _take(self, row: AnswerRow) -> AnswerRow | None:
        """None where the key is ours now, else what it stands for; a request that is being answered is waited for."""
        until = self._clock.monotonic() + WAIT_SECONDS
        while True:
            found = await self._answers.take(self._tenant, self._key, row, int(self._clock.now()))
            is_done = found is None or found.status or found.digest != row.digest
            if is_done or self._clock.monotonic() >= until:
                return found
            await self._clock.sleep(_PAUSE)

    async def _answer(self, handler: Handler, row: AnswerRow) -> None:
        recording = self._exchange.record(MAX_ANSWER)
        holding = asyncio.create_task(self._hold(row.holder))
        try:
            await handler(self._exchange)
            if not self._exchange.is_provisional and _is_final(recording, self._dialect):
                headers = [(name, value) for name, value in recording.headers if name in _KEPT_HEADERS]
                whole = recording.body
                body = await _run_in_thread_if_large(
                    len(whole), lambda: base64.b64encode(zlib.compress(whole)).decode()
                )
                written = msgspec.json.encode(headers).decode()
                await self._answers.keep(
                    self._tenant, self._key, replace(row, status=recording.status, headers=written, body=body)
                )
        finally:
            holding.cancel()
            with suppress(asyncio.CancelledError):
                await holding
            await self._answers.give_up(self._tenant, self._key, row.holder)

    async def _hold(self, holder: str) -> None:
        """As long as we live, nobody else takes the request over."""
        while True:
            await self._clock.sleep(HOLD_SECONDS / 3)
            until = int(self._clock.now()) + HOLD_SECONDS
            with suppress(GroundwireError):
                await self._answers.hold(self._tenant, self._key, holder, until)

    async def _digest(self) -> str:
        body = await self._exchange.body(self._limit)
        asked = f"{self._exchange.path}\n{self._exchange.parameter('alt')}\n"
        asked += "".join(f"{name}: {value}\n" for name in _ASKING if (value := self._exchange.told(name)) is not None)
        digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass"))
        await _run_in_thread_if_large(len(body), lambda: digest.update(body))
        return digest.hexdigest()


async def _run_in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    """Compressing or hashing 16 MiB takes half a second, in which the event loop would serve no other request."""
    return await asyncio.to_thread(work) if size > _LARGE else work()


def _is_final(recording: Recording, dialect: Dialect) -> bool:
    """Whether the same request would be answered no better the next time."""
    if not recording.is_whole or recording.status >= 500 or recording.status in _PASSING:
        return False
    if not recording.is_streamed or recording.status >= 300:
        return True
    decoder = codec_of(dialect).StreamDecoder()
    parts = [*decoder.feed(recording.body), *decoder.finish()]
    last = parts[-1] if parts else None
    return isinstance(last, ReplyEnded) and last.reply.finish.reason not in _CUT


def _conflict(message: str, retry_after: float | None) -> Refused:
    return Refused(
        Failure(
            kind=FailureKind.CONFLICT,
            message=message,
            status=409,
            code="idempotency_conflict",
            retry_after=retry_after,
            should_retry=retry_after is not None,
        )
    )

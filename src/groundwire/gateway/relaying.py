"""The relay's model endpoint: a client that cannot declare tools asks, and only ever reads text.

Its requests are rewritten for its session and sent on: as they are to a provider that speaks Gemini, translated to any
other. Calls stay behind; in their place the client reads the placeholder.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from time import perf_counter_ns

from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import GroundwireError, ProviderError, WireError
from groundwire.contracts.messages import CallItem, say
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
    FinishReason,
    ItemEnded,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyTextDelta,
)
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.gateway.asking import Asked, warnings_text
from groundwire.gateway.failing import headers_for, write_failure
from groundwire.gateway.relay_sessions import RelaySessions, RelayTurn, with_own_steps
from groundwire.gateway.services import Services
from groundwire.providers.failing import unreadable
from groundwire.serving.exchanges import ClientGone, Exchange, Headers

_HEADERS: dict[str, str] = {}


class RelayDoor:
    def __init__(self, services: Services) -> None:
        self._models = services.models
        self._settings = services.settings
        self._sessions: RelaySessions = services.relay

    async def serve(self, exchange: Exchange, session: str, asked: Asked) -> None:
        started = perf_counter_ns()
        try:
            body = await exchange.body(self._settings.max_body)
            with exchange.watched():
                if not await self._sessions.has_all_results("default", session):
                    await self._say_again(exchange, asked)
                    return
                turn = await self._sessions.begin("default", session, asked.model, body)
                try:
                    if asked.stream:
                        await self._stream(exchange, turn, asked)
                    else:
                        await self._answer(exchange, turn, asked, started)
                finally:
                    await self._sessions.give_back(turn)
        except ClientGone:
            raise
        except GroundwireError as error:
            write_failure(exchange, error, "gemini", array=asked.array)

    async def _answer(self, exchange: Exchange, turn: RelayTurn, asked: Asked, started: int) -> None:
        waiting = perf_counter_ns()
        direct = self._models.direct(asked.model, "gemini")
        if direct is None:
            written = b""
            reply = await self._models.complete(_translated(turn, asked), SendOptions(timeout=self._seconds(turn)))
        else:
            provider, name = direct
            response = await provider.forward(
                turn.rewriting.body, name, stream=False, headers=_HEADERS, seconds=self._seconds(turn)
            )
            written = await provider.read(response)
            reply = _read(written, turn)
        waited = perf_counter_ns() - waiting
        shown = await self._sessions.end(turn, reply)
        headers = headers_for(exchange, "gemini")
        if shown is not reply or direct is None:
            encoded = gemini.encode_response(shown)
            written = dump(encoded.body)
            if warnings := (*shown.warnings, *encoded.warnings):
                headers.append(("x-groundwire-warnings", warnings_text(warnings)))
        headers.append(("x-groundwire-overhead-us", str((perf_counter_ns() - started - waited) // 1000)))
        exchange.answer(200, headers, written)

    async def _stream(self, exchange: Exchange, turn: RelayTurn, asked: Asked) -> None:
        async with aclosing(await self._batches(turn, asked)) as batches:
            first = await anext(batches)
            if isinstance(first[0], ReplyFailed):
                raise ProviderError(first[0].failure)
            await exchange.stream(200, _stream_headers(exchange, asked), self._pieces(turn, asked, first, batches))

    async def _batches(self, turn: RelayTurn, asked: Asked) -> AsyncGenerator[list[ReplyPart]]:
        seconds = self._seconds(turn)
        direct = self._models.direct(asked.model, "gemini")
        if direct is None:
            return self._models.batches(_translated(turn, asked), SendOptions(timeout=seconds))
        provider, name = direct
        response = await provider.forward(turn.rewriting.body, name, stream=True, headers=_HEADERS, seconds=seconds)
        return provider.received(response, turn.names)

    async def _pieces(
        self, turn: RelayTurn, asked: Asked, first: list[ReplyPart], batches: AsyncGenerator[list[ReplyPart]]
    ) -> AsyncIterator[bytes]:
        encoder = gemini.StreamEncoder(array=asked.array)
        batch: list[ReplyPart] | None = first
        try:
            while batch is not None:
                shown = [await self._shown(turn, part) for part in batch if not _is_of_call(part)]
                yield b"".join([encoder.feed(part) for parts in shown for part in parts])
                batch = await anext(batches, None)
        except ProviderError as error:
            yield encoder.feed(ReplyFailed(failure=error.failure))
        yield encoder.finish()

    async def _shown(self, turn: RelayTurn, part: ReplyPart) -> tuple[ReplyPart, ...]:
        if type(part) is not ReplyEnded:
            return (part,)
        ended = ReplyEnded(reply=await self._sessions.end(turn, part.reply))
        if not turn.is_captured:
            return (ended,)
        return ReplyTextDelta(index=len(part.reply.items), text=self._sessions.placeholder), ended

    async def _say_again(self, exchange: Exchange, asked: Asked) -> None:
        """The results are not there yet; nobody is asked."""
        text = self._sessions.placeholder
        reply = Reply(model=asked.model, items=(say("assistant", text),), finish=Finish(reason=FinishReason.END))
        if not asked.stream:
            exchange.answer(200, headers_for(exchange, "gemini"), dump(gemini.encode_response(reply).body))
            return
        encoder = gemini.StreamEncoder(array=asked.array)

        async def pieces() -> AsyncIterator[bytes]:
            yield encoder.feed(ReplyTextDelta(index=0, text=text))
            yield encoder.feed(ReplyEnded(reply=reply))
            yield encoder.finish()

        await exchange.stream(200, _stream_headers(exchange, asked), pieces())

    def _seconds(self, turn: RelayTurn) -> float | None:
        return self._settings.result_timeout if turn.rewriting.brings_results else None


def _translated(turn: RelayTurn, asked: Asked) -> ModelRequest:
    request = gemini.decode_request(turn.rewriting.body, model=asked.model, stream=asked.stream)
    return replace(request, items=with_own_steps(request.items, turn.steps))


def _read(data: bytes, turn: RelayTurn) -> Reply:
    try:
        return gemini.decode_response(data, names=turn.names)
    except WireError as error:
        raise ProviderError(unreadable(error, data)) from None


def _is_of_call(part: ReplyPart) -> bool:
    if type(part) is ItemEnded:
        return type(part.item) is CallItem
    return type(part) in (ReplyCallStarted, CallDelta)


def _stream_headers(exchange: Exchange, asked: Asked) -> Headers:
    kind = "application/json" if asked.array else "text/event-stream; charset=utf-8"
    return [("content-type", kind), ("cache-control", "no-cache"), *headers_for(exchange, "gemini")[1:]]

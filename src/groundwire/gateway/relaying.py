"""The relay's model endpoint: a client that cannot declare tools asks, and only ever reads text.

Its requests are rewritten for its session and sent on: as they are to a provider that speaks Gemini, translated to any
other. Calls stay behind; in their place the client reads the placeholder.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import GroundwireError, ProviderError, WireError
from groundwire.contracts.keys import Caller, Held
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
from groundwire.gateway.asking import WARNINGS_HEADER, PathWish, early_warnings, warnings_text
from groundwire.gateway.failing import failure_of, write_failure
from groundwire.gateway.headers import headers_for, overhead, stream_headers
from groundwire.gateway.model_access import checked_body
from groundwire.gateway.relay_sessions import RelayTurn, with_own_steps
from groundwire.gateway.services import Services
from groundwire.providers.failing import unreadable
from groundwire.providers.router import ForwardingProvider
from groundwire.providers.waiting import Stopwatch
from groundwire.serving.exchanges import ClientGone, Exchange

_HEADERS: dict[str, str] = {}


class _Relayed(Struct, kw_only=True):
    """One request on its way: the body for a `direct` provider, or else the `request`, by which it is also counted.

    `heard` are characters of a stream so far.
    """

    caller: Caller
    asked: PathWish
    turn: RelayTurn
    seconds: float | None
    request: ModelRequest
    watch: Stopwatch
    direct: tuple[ForwardingProvider, str] | None = None
    heard: int = 0
    held: Held | None = None
    is_charged: bool = False


class RelayDoor:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._models = services.models
        self._sessions = services.relay

    async def serve(self, exchange: Exchange, session: str, asked: PathWish) -> None:
        watch = Stopwatch()
        try:
            caller = await self._services.admit(exchange)
            self._services.check_model(caller, asked.model)
            with exchange.watched():
                body = await exchange.body(self._services.settings.max_body)
                if not await self._sessions.has_all_results(caller.tenant, session):
                    await self._say_again(exchange, asked)
                    return
                turn = await self._sessions.begin(caller.tenant, session, asked.model, body)
                try:
                    body = checked_body(self._models, caller, turn.rewriting.body, asked.model)
                    turn.rewriting = replace(turn.rewriting, body=body)
                    await self._ask(exchange, self._relayed(caller, asked, turn, watch))
                finally:
                    await self._sessions.give_back(turn)
        except ClientGone:
            raise
        except GroundwireError as error:
            write_failure(exchange, error, "gemini", array=asked.array)

    async def _ask(self, exchange: Exchange, relayed: _Relayed) -> None:
        services, caller = self._services, relayed.caller
        relayed.held = await services.hold(caller, relayed.request)
        try:
            await (self._stream if relayed.asked.stream else self._answer)(exchange, relayed)
        except (ClientGone, asyncio.CancelledError):
            if not relayed.is_charged:
                relayed.is_charged = True
                await services.charge_abandoned(caller, relayed.held, relayed.request, relayed.heard)
            raise
        finally:
            if not relayed.is_charged:
                await services.charge_nothing(caller, relayed.held)

    def _relayed(self, caller: Caller, asked: PathWish, turn: RelayTurn, watch: Stopwatch) -> _Relayed:
        timeout = self._services.settings.result_timeout if turn.rewriting.brings_results else None
        direct = None if caller.limits else self._models.direct(asked.model, "gemini")
        request = ModelRequest(model=asked.model)
        if direct is None:
            request = gemini.decode_request(turn.rewriting.body, model=asked.model, stream=asked.stream)
            request = replace(request, items=with_own_steps(request.items, turn.steps))
        return _Relayed(
            caller=caller, asked=asked, turn=turn, seconds=timeout, request=request, direct=direct, watch=watch
        )

    async def _answer(self, exchange: Exchange, relayed: _Relayed) -> None:
        turn, written = relayed.turn, b""
        if relayed.direct is None:
            reply = await self._models.complete(relayed.request, SendOptions(timeout=relayed.seconds))
        else:
            provider, name = relayed.direct
            body = turn.rewriting.body
            response = await provider.forward(body, name, stream=False, headers=_HEADERS, seconds=relayed.seconds)
            written = await provider.read(response)
            reply = _read(written, turn)
        shown = await self._end(relayed, reply)
        headers = headers_for(exchange, "gemini")
        if shown is not reply or relayed.direct is None:
            encoded = gemini.encode_response(shown)
            written = dump(encoded.body)
            if warnings := (*shown.warnings, *encoded.warnings):
                headers.append((WARNINGS_HEADER, warnings_text(warnings)))
        headers.append(overhead(relayed.watch))
        exchange.answer(200, headers, written)

    async def _stream(self, exchange: Exchange, relayed: _Relayed) -> None:
        async with aclosing(await self._batches(relayed)) as batches:
            first = await anext(batches)
            if isinstance(first[0], ReplyFailed):
                raise ProviderError(first[0].failure)
            own = stream_headers(exchange, "gemini", array=relayed.asked.array)
            headers = [*own, overhead(relayed.watch), *early_warnings(first)]
            await exchange.stream(200, headers, self._pieces(relayed, first, batches))

    async def _batches(self, relayed: _Relayed) -> AsyncGenerator[list[ReplyPart]]:
        if relayed.direct is None:
            return self._models.batches(relayed.request, SendOptions(timeout=relayed.seconds))
        provider, name = relayed.direct
        body = relayed.turn.rewriting.body
        response = await provider.forward(body, name, stream=True, headers=_HEADERS, seconds=relayed.seconds)
        return provider.received(response, relayed.turn.names)

    async def _pieces(
        self, relayed: _Relayed, first: list[ReplyPart], batches: AsyncGenerator[list[ReplyPart]]
    ) -> AsyncGenerator[bytes]:
        encoder = gemini.StreamEncoder(array=relayed.asked.array)
        batch: list[ReplyPart] | None = first
        try:
            while batch is not None:
                if relayed.caller.limits:
                    relayed.heard += sum(len(getattr(part, "text", "")) for part in batch)
                shown = [await self._shown(relayed, part) for part in batch if not _is_of_call(part)]
                yield b"".join([encoder.feed(part) for parts in shown for part in parts])
                batch = await anext(batches, None)
        except GroundwireError as error:  # the status is sent, so the stream itself has to say it
            yield encoder.feed(ReplyFailed(failure=failure_of(error)))
        yield encoder.finish()

    async def _shown(self, relayed: _Relayed, part: ReplyPart) -> tuple[ReplyPart, ...]:
        if type(part) is not ReplyEnded:
            return (part,)
        ended = ReplyEnded(reply=await self._end(relayed, part.reply))
        if not relayed.turn.is_captured:
            return (ended,)
        return ReplyTextDelta(index=len(part.reply.items), text=self._sessions.placeholder), ended

    async def _end(self, relayed: _Relayed, reply: Reply) -> Reply:
        shown = await self._sessions.end(relayed.turn, reply)
        relayed.is_charged = True
        await self._services.charge(relayed.caller, relayed.held, relayed.request, reply)
        return shown

    async def _say_again(self, exchange: Exchange, asked: PathWish) -> None:
        """The results are not there yet; nobody is asked."""
        text = self._sessions.placeholder
        reply = Reply(model=asked.model, items=(say("assistant", text),), finish=Finish(reason=FinishReason.END))
        if not asked.stream:
            exchange.answer(200, headers_for(exchange, "gemini"), dump(gemini.encode_response(reply).body))
            return
        encoder = gemini.StreamEncoder(array=asked.array)

        async def pieces() -> AsyncGenerator[bytes]:
            yield encoder.feed(ReplyTextDelta(index=0, text=text))
            yield encoder.feed(ReplyEnded(reply=reply))
            yield encoder.finish()

        await exchange.stream(200, stream_headers(exchange, "gemini", array=asked.array), pieces())


def _read(data: bytes, turn: RelayTurn) -> Reply:
    try:
        return gemini.decode_response(data, names=turn.names)
    except WireError as error:
        raise ProviderError(unreadable(error, data)) from None


def _is_of_call(part: ReplyPart) -> bool:
    if type(part) is ItemEnded:
        return type(part.item) is CallItem
    return type(part) in (ReplyCallStarted, CallDelta)

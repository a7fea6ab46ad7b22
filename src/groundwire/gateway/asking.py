"""The endpoints that ask a model: bytes in, an answer or a stream of it out, in the caller's dialect."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from groundwire.codecs import gemini
from groundwire.codecs.dialects import ReplyEncoder, codec_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import GroundwireError, ProviderError, WireError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.keys import ApprovalMode, Caller, Held
from groundwire.contracts.messages import ResultItem
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed, ReplyStarted, ReplyTextDelta, WireWarning
from groundwire.contracts.requests import Dialect, FunctionTool, ModelRequest, SendOptions
from groundwire.gateway.approvals import PendingApproval, encode_header, with_approvals
from groundwire.gateway.failing import failure_of, write_failure
from groundwire.gateway.forwarding import Passage, pass_on
from groundwire.gateway.governed import (
    APPROVALS_HEADER,
    TOOLS_HEADER,
    GovernedModel,
    GovernedPart,
    Governing,
    Progress,
    check_names,
    checked_name,
    checked_patterns,
    patterns_in,
    tools_of,
)
from groundwire.gateway.headers import headers_for, overhead, stream_headers
from groundwire.gateway.model_access import check_request, checked_body
from groundwire.gateway.services import NOTHING_USED, Services
from groundwire.gateway.steps import Step
from groundwire.providers.catalogue import UNKNOWN_MODEL
from groundwire.providers.waiting import Stopwatch
from groundwire.runtime.policies.access import parse_names
from groundwire.serving.exchanges import ClientGone, Exchange, Headers, SignOfLife
from groundwire.serving.headers import APPROVAL_HEADER, SESSION_HEADER

log = logging.getLogger("groundwire.gateway")

WARNINGS_HEADER = "x-groundwire-warnings"
_MAX_WARNINGS = 2000
_USUAL = SendOptions()
_OPERATORS = frozenset({FailureKind.AUTHENTICATION, FailureKind.PERMISSION, FailureKind.BILLING, FailureKind.QUOTA})
"""What a provider holds against the server and not the caller, who can do nothing about it."""


class PathWish(Struct, frozen=True, kw_only=True):
    """What the path of a request says of it, which only Gemini's does."""

    model: str = ""
    stream: bool = False
    array: bool = False


_BY_BODY = PathWish()
_SIGNS = {
    "openai-chat": b": keep-alive\n\n",
    "openai-responses": b": keep-alive\n\n",
    "anthropic": b'event: ping\ndata: {"type":"ping"}\n\n',
}
"""Signs of life that a dialect's clients pass by; Google's takes everything for an answer."""


class Question(Struct, kw_only=True):
    """One request on its way: `request` is what the model is asked, `shown` what the caller had asked for."""

    caller: Caller
    request: ModelRequest
    shown: ModelRequest
    created: int
    watch: Stopwatch
    array: bool = False
    session: str = ""
    reply_id: str = ""
    """Ours, where the answer can be asked for again."""
    is_background: bool = False
    """Whether the client fetches the response later, by its id."""
    governed: GovernedModel | None = None
    """Who answers instead of the model alone, where tools of ours are named."""
    heard: int = 0
    """Characters of a stream so far; with tools of ours, of its last step."""
    held: Held | None = None
    is_charged: bool = False

    @property
    def approvals(self) -> tuple[PendingApproval, ...]:
        """The approvals that calls of server tools wait for; empty until the reply is complete."""
        return () if self.governed is None else self.governed.approvals


class ModelDoor:
    """Serves one dialect."""

    def __init__(self, dialect: Dialect, services: Services) -> None:
        self.dialect = dialect
        self._codec = codec_of(dialect)
        self._services = services
        self._may_pass_on = services.models.forwards(dialect)
        sign, seconds = _SIGNS.get(dialect), services.settings.keep_alive_seconds
        self._life = SignOfLife(sign, seconds) if sign is not None and seconds else None

    async def serve(self, exchange: Exchange, asked: PathWish = _BY_BODY) -> None:
        watch = Stopwatch()
        try:
            caller = await self._services.admit(exchange)
            with exchange.watched():
                models = self._services.models
                body = await exchange.body(self._services.settings.max_body)
                body = checked_body(models, caller, body, asked.model)
                if not await self._pass_on(exchange, caller, body, asked, watch):
                    question = self._governed(exchange, await self._begin(caller, body, asked, watch))
                    self._services.check_model(caller, question.request.model)
                    check_request(models, caller, question.request)
                    await self._accept(question)
                    if caller.limits and question.request.stream:
                        question.request = _counted(question.request)
                    await self._ask(exchange, question)
        except ClientGone:
            raise
        except GroundwireError as error:
            self._count_failure(error, exchange.tenant)
            self.refuse(exchange, error, array=asked.array)

    async def _ask(self, exchange: Exchange, question: Question) -> None:
        services, caller = self._services, question.caller
        question.held = await services.hold(caller, question.request)
        try:
            await (self._stream if question.request.stream else self._answer)(exchange, question)
            exchange.is_provisional = question.governed is not None and question.governed.is_paused
        except (ClientGone, asyncio.CancelledError):
            if caller.limits and not question.is_charged:  # or who leaves just before the end reaches no limit
                question.is_charged = True
                used = await question.governed.used() if question.governed is not None else NOTHING_USED
                await services.charge_abandoned(caller, question.held, question.request, question.heard, used)
            raise
        finally:
            if not question.is_charged:
                await services.charge_nothing(caller, question.held)

    def refuse(self, exchange: Exchange, error: GroundwireError, *, array: bool = False) -> None:
        write_failure(exchange, error, self.dialect, array=array)

    def _count_failure(self, error: GroundwireError, tenant: str) -> None:
        if isinstance(error, ProviderError) and error.failure.code != UNKNOWN_MODEL:
            self._services.tally.count_failure(error.failure.kind.value, tenant)
            if error.failure.kind in _OPERATORS:
                log.warning("%s: %s", error.hint or "a provider", error.message)

    async def _pass_on(
        self, exchange: Exchange, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch
    ) -> bool:
        """Not where something has to be counted, or tools of ours are wanted."""
        if not self._may_pass_on or asked.array or caller.limits or caller.default_tools:
            return False
        if exchange.told(TOOLS_HEADER) is not None:
            return False
        way = Passage(
            exchange=exchange,
            caller=caller,
            dialect=self.dialect,
            model=asked.model,
            stream=asked.stream,
            watch=watch,
        )
        return await pass_on(way, body, self._services)

    async def _begin(self, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch) -> Question:
        services = self._services
        request = self._codec.decode_request(body, model=asked.model, stream=asked.stream, cache=services.cache)
        services.schemas.check(request)
        items = await services.steps.restored(caller.tenant, request.items, self.dialect)
        return Question(
            caller=caller,
            request=request if items is request.items else replace(request, items=items),
            shown=request,
            created=int(services.clock.now()),
            watch=watch,
            array=asked.array,
        )

    def _governed(self, exchange: Exchange, question: Question) -> Question:
        """The question for the model with our tools, where the request names some."""
        request, caller = question.request, question.caller
        patterns, named = patterns_in(request), exchange.told(TOOLS_HEADER)
        if named is not None:
            patterns = (*patterns, *checked_patterns(parse_names(named) or ()))
        if not patterns and not caller.default_tools:
            return question
        agent = self._services.agent
        specs = tools_of(agent, patterns, caller)
        check_names(request.tools, specs)
        governing = Governing(
            names=tuple([spec.tool_id for spec in specs]),
            tenant=caller.tenant,
            session=_session(exchange) or question.session or None,
            actor=caller.key_id,
            key_id=caller.owner_id,
            request_key=exchange.request_key,
            approvals=self._approval_mode(exchange, caller),
        )
        clients = tuple(tool for tool in request.tools if type(tool) is FunctionTool)
        question.request = replace(request, tools=clients)
        question.governed = GovernedModel(agent, governing)
        return question

    def _approval_mode(self, exchange: Exchange, caller: Caller) -> ApprovalMode:
        """What a call does that needs an approval: as the request says, else its key, else the settings."""
        match exchange.told(APPROVALS_HEADER):
            case None:
                return caller.approvals or self._services.settings.approvals
            case "pause":
                return "pause"
            case "answer":
                return "answer"
            case _:
                raise WireError("must be pause or answer", path=APPROVALS_HEADER)

    async def _accept(self, question: Question) -> None:
        """Keep what has to be there before the model is asked. Nothing is written for a request that is refused."""

    async def _end(self, question: Question, reply: Reply, body: JsonObject | None) -> None:
        """Keep what a later turn needs, before the caller can send one. `body` is the answer, if it was written."""
        if question.governed is None and not self._services.settings.keep_steps:
            return
        done = question.governed.items if question.governed is not None else reply.items
        step = Step(dialect=self.dialect, asked=question.request.items, items=done, shown=reply.items)
        await self._services.steps.keep(question.caller.tenant, step, question.created)

    async def _charge(self, question: Question, reply: Reply) -> None:
        question.is_charged = True
        await self._services.charge(question.caller, question.held, question.request, reply)

    async def _answer(self, exchange: Exchange, question: Question) -> None:
        if question.governed is not None:
            reply = await question.governed.complete(question.request)
        else:
            reply = await self._services.models.complete(question.request, self._options(question.request))
        if question.reply_id:
            reply = self._as_ours(reply, question)
        reply = with_approvals(reply, self.dialect, question.approvals)
        encoded = self._codec.encode_response(reply, request=question.shown, created=question.created)
        await self._end(question, reply, encoded.body)
        await self._charge(question, reply)
        headers = headers_for(exchange, self.dialect)
        if reply.warnings or encoded.warnings:
            headers.append((WARNINGS_HEADER, warnings_text((*reply.warnings, *encoded.warnings))))
        if question.approvals:
            headers.append((APPROVAL_HEADER, encode_header(question.approvals)))
        written = dump(encoded.body)
        headers.append(overhead(question.watch))
        exchange.answer(200, headers, written)

    async def _stream(self, exchange: Exchange, question: Question) -> None:
        """What fails before its first piece is an error with a status; what fails later is one within the stream."""
        encoder: ReplyEncoder = (
            gemini.StreamEncoder(request=question.shown, array=True)
            if question.array
            else self._codec.StreamEncoder(request=question.shown, created=question.created)
        )
        asking: AsyncGenerator[Any] = (
            self._services.models.batches(question.request, self._options(question.request))
            if question.governed is None
            else question.governed.batches(question.request)
        )
        async with aclosing(asking) as batches:
            first = await anext(batches)
            await exchange.stream(
                200,
                self._stream_headers(exchange, question, first),
                self._pieces(question, first, batches, encoder),
                life=None if question.array else self._life,
            )

    async def _pieces(
        self,
        question: Question,
        first: list[GovernedPart],
        batches: AsyncGenerator[list[GovernedPart]],
        encoder: ReplyEncoder,
    ) -> AsyncGenerator[bytes]:
        """What came together goes on together; the end only when the turn is kept."""
        batch: list[GovernedPart] | None = first
        try:
            while batch is not None:
                if question.caller.limits:
                    question.heard += sum(len(getattr(part, "text", "")) for part in batch)
                if len(batch) == 1 and type(batch[0]) is ReplyTextDelta:
                    yield encoder.feed(batch[0])
                else:
                    yield b"".join([await self._piece(part, question, encoder) for part in batch])
                batch = await anext(batches, None)
        except GroundwireError as error:  # the status is sent, so the stream itself has to say it
            self._count_failure(error, question.caller.tenant)
            yield encoder.feed(ReplyFailed(failure=failure_of(error)))
        yield encoder.finish()

    async def _piece(self, part: GovernedPart, question: Question, encoder: ReplyEncoder) -> bytes:
        if isinstance(part, Progress):
            question.heard = 0  # that step is on record, with what it took
            return self._progress(part, question)
        if type(part) is ReplyEnded:
            if question.reply_id:
                part = ReplyEnded(reply=self._as_ours(part.reply, question))
            part = ReplyEnded(reply=with_approvals(part.reply, self.dialect, question.approvals))
            await self._end(question, part.reply, None)
            await self._charge(question, part.reply)
        elif type(part) is ReplyStarted and question.reply_id:
            part = replace(part, reply_id=question.reply_id)
        return encoder.feed(part)

    def _progress(self, progress: Progress, question: Question) -> bytes:
        """A comment within the stream, which clients of server-sent events pass by; Google's own does not."""
        return (
            b"" if self.dialect == "gemini" or question.array else b": groundwire %b\n\n" % dump(to_builtins(progress))
        )

    def _as_ours(self, reply: Reply, question: Question) -> Reply:
        """The reply under our id, without what its provider repeated of a request that was not the caller's."""
        extras = {origin: members for origin, members in reply.extras.items() if origin != self.dialect}
        return replace(reply, reply_id=question.reply_id, extras=extras)

    def _stream_headers(self, exchange: Exchange, question: Question, first: list[GovernedPart]) -> Headers:
        own = stream_headers(exchange, self.dialect, array=question.array)
        return [*own, overhead(question.watch), *early_warnings(first)]

    def _options(self, request: ModelRequest) -> SendOptions:
        """A turn that brings results may take longer."""
        last = request.items[-1] if request.items else None
        return SendOptions(timeout=self._services.settings.result_timeout) if type(last) is ResultItem else _USUAL


def _counted(request: ModelRequest) -> ModelRequest:
    """The request, with its tokens told at the end of the stream whether the caller wants to know them or not."""
    own = request.extras.get("openai-chat", {})
    kept = {name: value for name, value in own.items() if name not in ("stream_options", "_no_usage")}
    return replace(request, extras={**request.extras, "openai-chat": kept})


def _session(exchange: Exchange) -> str:
    named = exchange.told(SESSION_HEADER) or ""
    return checked_name(named, SESSION_HEADER) if named else ""


def early_warnings(first: Sequence[GovernedPart]) -> Headers:
    """The header of a stream for what is known with its first parts; the rest comes too late for one."""
    started = first[0] if first else None
    known = started.warnings if type(started) is ReplyStarted else ()
    return [(WARNINGS_HEADER, warnings_text(known))] if known else []


def warnings_text(warnings: tuple[WireWarning, ...]) -> str:
    """Codes and places, for a header: what each means stands in the reference."""
    text = ", ".join(dict.fromkeys(f"{warning.code} {warning.path}" for warning in warnings))
    clean = "".join(sign if " " <= sign <= "~" else "?" for sign in text)
    return clean if len(clean) <= _MAX_WARNINGS else clean[: _MAX_WARNINGS - 3] + "..."

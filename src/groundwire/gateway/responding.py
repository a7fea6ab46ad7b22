"""OpenAI's Responses API: conversations by their name, or from response to response."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonObject, parse_json
from groundwire.contracts.errors import AlreadyDecided, GroundwireError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.keys import Caller
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import Dialect, FunctionTool, ModelRequest
from groundwire.contracts.runs import Outcome
from groundwire.gateway.asking import PathWish, Question
from groundwire.gateway.background_responses import PENDING, BackgroundResponses, mark_pending, new_run_id, run_of
from groundwire.gateway.conversing import ConversationDoor, KeptQuestion, Wish, conversation_of
from groundwire.gateway.failing import Refused
from groundwire.gateway.governed import GovernedModel, Governing, finish_of
from groundwire.gateway.headers import headers_for
from groundwire.gateway.services import Services
from groundwire.providers.waiting import Stopwatch
from groundwire.runtime.runs.actions import RunActions
from groundwire.serving.exchanges import ClientGone, Exchange

_DIALECT: Dialect = "openai-responses"
_BASE = "/v1/responses/"
CANCEL = "/cancel"
_OURS = frozenset({"conversation", "previous_response_id", "store", "background"})
"""Members that the gateway acts on itself; a provider is not told."""


class _Head(Struct, frozen=True, gc=False):
    """What has to be known of a body to tell whether it is to be kept."""

    store: bool | None = None
    conversation: Raw | None = None
    previous_response_id: Raw | None = None


_read_head = msgspec.json.Decoder(_Head).decode


class ResponsesDoor(ConversationDoor):
    def __init__(self, services: Services) -> None:
        super().__init__(_DIALECT, services)

    async def _pass_on(
        self, exchange: Exchange, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch
    ) -> bool:
        """Only what neither goes on from something nor is to be kept."""
        try:
            head = _read_head(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return False
        if head.store is not False or head.conversation is not None or head.previous_response_id is not None:
            return False
        return await super()._pass_on(exchange, caller, body, asked, watch)

    def _wish(self, body: bytes, asked: PathWish) -> Wish:
        request = self._codec.decode_request(body, cache=self._services.cache)
        own = request.extras.get(_DIALECT, {})
        previous = own.get("previous_response_id")
        if previous is not None and not isinstance(previous, str):
            raise WireError("must be a string", path="previous_response_id")
        is_kept = own.get("store") is not False
        is_background = own.get("background") is True
        if is_background and not is_kept:
            raise WireError("needs a response that is stored: leave store out, or set it to true", path="background")
        if is_background and request.stream:
            raise WireError("cannot be streamed; ask for the response by its id", path="background")
        return Wish(
            request=_with_own(request, {name: value for name, value in own.items() if name not in _OURS}),
            shown=_with_own(request, {**own, "store": is_kept}),
            is_background=is_background,
            conversation=conversation_of(own.get("conversation")),
            previous=previous or "",
            is_kept=is_kept,
            clears_tools="_tools" in own,
        )

    async def _ask(self, exchange: Exchange, question: Question) -> None:
        if question.is_background and isinstance(question, KeptQuestion):
            await self._submit(exchange, question)
        else:
            await super()._ask(exchange, question)

    async def _submit(self, exchange: Exchange, question: KeptQuestion) -> None:
        """Store the response as pending and its run for a worker. The response first: without it, the run cannot be found."""
        services, caller = self._services, question.caller
        governed = question.governed
        if governed is None:
            governed = GovernedModel(
                services.agent, Governing(names=(), tenant=caller.tenant, actor=caller.key_id, key_id=caller.owner_id)
            )
            for place, tool in enumerate(question.request.tools):
                if type(tool) is not FunctionTool:
                    raise WireError("only function tools can be used in the background", path=f"tools[{place}]")
        # Whether the key has room for an answer. What it takes is counted when it is there.
        await services.charge_nothing(caller, await services.hold(caller, question.request))
        run_id = new_run_id(question.reply_id)
        nothing = Reply(reply_id=question.reply_id, model=question.request.model, finish=finish_of(Outcome.COMPLETED))
        body = self._codec.encode_response(nothing, request=question.shown, created=question.created).body
        mark_pending(body, run_id, status="queued")
        await self._keep(question, dump(body).decode(), ())
        await governed.submit(question.request, run_id)
        exchange.answer(200, headers_for(exchange, _DIALECT), dump(body))

    async def _end(self, question: Question, reply: Reply, body: JsonObject | None) -> None:
        """A run that paused for an approval completes the response later, when it has ended."""
        if reply.finish.raw == Outcome.AWAITING_APPROVAL and isinstance(question, KeptQuestion):
            if body is None:  # the end of a stream, which has reported the wait; the stored response is completed later
                body = self._codec.encode_response(reply, request=question.shown, created=question.created).body
            governed = question.governed
            if governed is not None:
                mark_pending(body, governed.run_id, governed.approvals)
        await super()._end(question, reply, body)


class StoredResponses:
    """`GET` and `DELETE` of a response that was stored, and `POST …/cancel` of one that is not ready."""

    def __init__(self, services: Services, door: ResponsesDoor) -> None:
        self._services = services
        self._door = door
        self._background = BackgroundResponses(services)
        self._actions = RunActions(services.agent.runtime)

    async def show(self, exchange: Exchange) -> None:
        await self._act(exchange, self._background.current)

    async def delete(self, exchange: Exchange) -> None:
        await self._act(exchange, self._services.threads.forget)

    async def cancel(self, exchange: Exchange) -> None:
        """Cancel a response that is not ready, and answer with it; one that is ready is answered unchanged."""
        await self._act(exchange, self._cancel)

    async def _cancel(self, tenant: str, response_id: str) -> bytes | None:
        stored = await self._background.current(tenant, response_id)
        body = None if stored is None else parse_json(stored)
        if not isinstance(body, dict) or body.get("status") not in PENDING:
            return stored  # like the vendor's: cancelling again changes nothing
        with suppress(AlreadyDecided):
            await self._actions.cancel(run_of(body), by="the client of the response", tenant=tenant)
        self._services.agent.notify()
        return await self._background.current(tenant, response_id)

    async def _act(self, exchange: Exchange, act: Callable[[str, str], Awaitable[bytes | None]]) -> None:
        response_id = exchange.path.removeprefix(_BASE).removesuffix(CANCEL)
        try:
            caller = await self._services.admit(exchange)
            body = await act(caller.tenant, response_id)
            if body is None:
                message = f"Response with id '{response_id}' not found."
                raise Refused(Failure(kind=FailureKind.NOT_FOUND, message=message, status=404))
        except ClientGone:
            raise
        except GroundwireError as error:
            self._door.refuse(exchange, error)
            return
        exchange.answer(200, headers_for(exchange, _DIALECT), body)


def _with_own(request: ModelRequest, own: JsonObject) -> ModelRequest:
    others = {dialect: members for dialect, members in request.extras.items() if dialect != _DIALECT}
    return replace(request, extras={**others, _DIALECT: own} if own else others)

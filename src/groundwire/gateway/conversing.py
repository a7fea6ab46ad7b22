"""Endpoints that keep conversations: what went before is put in front of what a request says, and the turn is kept."""

import secrets
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs.wire.json import dump
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.keys import Caller
from groundwire.contracts.messages import Item, ResultItem
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import DeclaredTool, ModelRequest, ToolChoice
from groundwire.gateway.asking import ModelDoor, PathWish, Question
from groundwire.gateway.governed import checked_name
from groundwire.gateway.threads import Offer, Thread, Turn, with_known_results
from groundwire.providers.waiting import Stopwatch

_KEEPER = "openai-responses"
_THOUGHTS = "reasoning.encrypted_content"


class Wish(Struct, frozen=True, kw_only=True):
    """What a request says about its conversation.

    `request` is without it, for the model; `shown` is as the answer repeats it. `clears_tools`: it says that there are
    none, which is more than not saying any.
    """

    request: ModelRequest
    shown: ModelRequest
    conversation: str = ""
    previous: str = ""
    is_kept: bool = True
    is_background: bool = False
    clears_tools: bool = False


class KeptQuestion(Question, kw_only=True):
    """`offer` is what the conversation goes on with, once the question is accepted."""

    thread: Thread
    offer: Offer


class ConversationDoor(ModelDoor):
    def _wish(self, body: bytes, asked: PathWish) -> Wish:
        raise NotImplementedError

    async def _begin(self, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch) -> Question:
        wish = self._wish(body, asked)
        self._services.schemas.check(wish.request)
        tenant = caller.tenant
        thread = await self._thread(tenant, wish)
        given = with_known_results(wish.request.items, thread.items)
        if not thread.items:
            given = await self._services.steps.restored(tenant, given, self.dialect)
        tools, choice = _tools_and_choice(wish, thread)
        question = Question(
            caller=caller,
            request=self._kept_here(
                replace(wish.request, items=(*thread.items, *given), tools=tools, tool_choice=choice)
            ),
            shown=replace(wish.shown, tools=tools, tool_choice=choice),
            created=int(self._services.clock.now()),
            watch=watch,
            array=asked.array,
            session=wish.conversation,
            reply_id=f"resp_{secrets.token_hex(24)}",
            is_background=wish.is_background,
        )
        return _kept(question, thread, _offer(wish, thread, tools)) if wish.is_kept else question

    async def _accept(self, question: Question) -> None:
        """What is on offer is kept before the model is asked, for others of the conversation, and if the model fails."""
        if not isinstance(question, KeptQuestion) or not question.thread.is_named:
            return
        thread, offer = question.thread, question.offer
        if offer != thread.offer:
            await self._services.threads.make_offer(question.caller.tenant, thread, offer, question.created)
            question.thread = replace(thread, position=thread.position + 1, offer=offer)

    async def _end(self, question: Question, reply: Reply, body: JsonObject | None) -> None:
        if not isinstance(question, KeptQuestion) or not question.thread.name:  # a client may also go on by the items
            await super()._end(question, reply, body)
        if not isinstance(question, KeptQuestion):
            return
        if body is None:
            body = self._codec.encode_response(reply, request=question.shown, created=question.created).body
        answered = reply.items if question.governed is None else question.governed.items
        await self._keep(question, dump(body).decode(), answered)

    async def _keep(self, question: KeptQuestion, body: str, answered: tuple[Item, ...]) -> None:
        """Store the turn: what the request added to the conversation, and what was answered."""
        thread = question.thread
        given = question.request.items[len(thread.items) :]
        turn = Turn(items=(*given, *answered), given=len(given), offer=thread.offer)
        await self._services.threads.keep(
            question.caller.tenant, thread, question.reply_id, question.created, turn, body
        )

    def _kept_here(self, request: ModelRequest) -> ModelRequest:
        """The conversation is kept by us, so OpenAI need not, and has to hand out its thoughts to be sent back."""
        if self._services.models.dialect_of(request.model) != _KEEPER:
            return request
        own = request.extras.get(_KEEPER, {})
        asked = own.get("include")
        include = asked if isinstance(asked, list) else []
        told = {**own, "store": False, "include": [*include, *([] if _THOUGHTS in include else [_THOUGHTS])]}
        return replace(request, extras={**request.extras, _KEEPER: told})

    async def _thread(self, tenant: str, wish: Wish) -> Thread:
        if wish.conversation and wish.previous:
            raise WireError("cannot be given together with conversation", path="previous_response_id")
        if wish.conversation:
            return await self._services.threads.conversation(tenant, wish.conversation)
        return await self._services.threads.after(tenant, wish.previous) if wish.previous else Thread(name="")


def conversation_of(value: Any) -> str:
    """The name, which may be given as it is or as an object's `id`; empty for none."""
    if isinstance(value, dict):
        value = value.get("id")
        if not isinstance(value, str) or not value:
            raise WireError("must be a string", path="conversation.id")
    if value is not None and (not isinstance(value, str) or not value):
        raise WireError("must be a string or an object with an id", path="conversation")
    return checked_name(value, "conversation") if value else ""


def _kept(question: Question, thread: Thread, offer: Offer) -> KeptQuestion:
    return KeptQuestion(
        caller=question.caller,
        request=question.request,
        shown=question.shown,
        created=question.created,
        watch=question.watch,
        array=question.array,
        session=question.session,
        reply_id=question.reply_id,
        is_background=question.is_background,
        thread=thread,
        offer=offer,
    )


def _tools_and_choice(wish: Wish, thread: Thread) -> tuple[tuple[DeclaredTool, ...], ToolChoice | None]:
    """As the request says; what it does not say is as before in a named conversation. A forced choice counts once."""
    request = wish.request
    before = thread.offer
    tools = request.tools or (() if wish.clears_tools else before.tools)
    choice = request.tool_choice
    if choice is None and before.tool_choice is not None:
        is_result = bool(request.items) and isinstance(request.items[-1], ResultItem)
        choice = None if is_result or before.tool_choice.mode == "required" else before.tool_choice
    return tools, choice if tools else None


def _offer(wish: Wish, thread: Thread, tools: tuple[DeclaredTool, ...]) -> Offer:
    """What the conversation goes on with: as the request says, and where it says nothing, as before."""
    before = thread.offer
    said = wish.request.tool_choice
    return Offer(
        tools=tools,
        tool_choice=(before.tool_choice if said is None else said) if tools else None,
        extras=before.extras if tools == before.tools else {},
    )

"""The negotiation as a service: conversations over HTTP, and the two stateless functions for hosts that keep their own.

Each endpoint is stated once; what it does is the host's or the pipeline's.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from groundwire import ConfigError
from groundwire.apps.supplier.contracts import (
    Goal,
    HistoryEntry,
    IncomingResult,
    JsonObject,
    Media,
    SourcingRequest,
    Status,
    SummaryResult,
    TraceEntry,
    as_json,
)
from groundwire.apps.supplier.host import Conversation, SupplierHost
from groundwire.apps.supplier.host.conversations import MAX_ENTRIES
from groundwire.apps.supplier.pipeline import Pipeline, handle_conversation_end, handle_incoming_message
from groundwire.serving import Asked, Before, Endpoint, Limit, cursor_of, page, page_of, wanted_id

LONGEST_WAIT = 120.0
MAX_CHARS = 20_000
MAX_HISTORY_CHARS = 200_000
"""Of all messages that are handed over at once: they are read while others wait."""
_TAG = "supplier"
_ROOT = "/api/supplier"
_ONE = f"{_ROOT}/conversations/{{sessionId}}"
_CONVERSATION: JsonObject = msgspec.json.schema(Conversation)

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]


class Begin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sr: SourcingRequest
    goals: tuple[Goal, ...] = ()


class Incoming(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A supplier's message. `messageId` is the chat's own: the same one again changes nothing."""

    message_id: Name
    content: Text
    timestamp: str = ""
    media: tuple[Media, ...] = ()


class Wait(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = 0.0
    """Seconds to wait for the reply; without it the answer comes at once, and the reply later."""


class Listing(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    status: Annotated[Status, Meta(description="Only those that stand so.")] | None = None


class Said(HistoryEntry, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message of a history that somebody else keeps, as long at most as one that is kept here."""

    content: Annotated[str, Meta(max_length=MAX_CHARS)]


class HandleIncoming(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    sr: SourcingRequest
    history: Annotated[tuple[Said, ...], Meta(min_length=1, max_length=MAX_ENTRIES)]
    goals: tuple[Goal, ...] = ()
    bot_tool_trace: tuple[TraceEntry, ...] = ()


class HandleEnd(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    sr: SourcingRequest
    history: Annotated[tuple[Said, ...], Meta(max_length=MAX_ENTRIES)]
    goals: tuple[Goal, ...] = ()
    bot_tool_trace: tuple[TraceEntry, ...] = ()
    status: Status | None = None


def supplier_endpoints(host: SupplierHost, pipeline: Pipeline) -> Sequence[Endpoint]:
    service = _Service(host, pipeline)
    return (*_kept(service), *_spoken(service), *_stateless(service))


def _kept(service: "_Service") -> Sequence[Endpoint]:
    return (
        Endpoint(
            method="POST",
            path=f"{_ROOT}/conversations",
            name="beginConversation",
            summary="Begin to talk with a supplier.",
            tag=_TAG,
            scope="api",
            handler=service.begin,
            body=Begin,
            answers={200: _CONVERSATION},
            errors=(409,),
        ),
        Endpoint(
            method="GET",
            path=f"{_ROOT}/conversations",
            name="listConversations",
            summary="Conversations, newest first.",
            tag=_TAG,
            scope="view",
            handler=service.list,
            query=Listing,
            answers={200: page_of(_CONVERSATION)},
            errors=(404,),
        ),
        Endpoint(
            method="GET",
            path=_ONE,
            name="showConversation",
            summary="One conversation with its history, captures, summaries and receipts.",
            tag=_TAG,
            scope="view",
            handler=service.show,
            answers={200: _CONVERSATION},
            errors=(404,),
        ),
    )


def _spoken(service: "_Service") -> Sequence[Endpoint]:
    return (
        Endpoint(
            method="POST",
            path=f"{_ONE}/messages",
            name="receiveMessage",
            summary="A supplier has written.",
            tag=_TAG,
            scope="api",
            handler=service.receive,
            query=Wait,
            body=Incoming,
            answers={200: _CONVERSATION},
            errors=(404,),
        ),
        Endpoint(
            method="POST",
            path=f"{_ONE}/end",
            name="endConversation",
            summary="Call it over: what was found is summarised and told.",
            tag=_TAG,
            scope="api",
            handler=service.end,
            answers={200: _CONVERSATION},
            errors=(404,),
        ),
    )


def _stateless(service: "_Service") -> Sequence[Endpoint]:
    return (
        Endpoint(
            method="POST",
            path=f"{_ROOT}/handle-incoming-message",
            name="handleIncomingMessage",
            summary="A history in, a reply with captures and a status out; nothing is kept.",
            tag=_TAG,
            scope="api",
            handler=service.handle_incoming,
            body=HandleIncoming,
            answers={200: msgspec.json.schema(IncomingResult)},
        ),
        Endpoint(
            method="POST",
            path=f"{_ROOT}/handle-conversation-end",
            name="handleConversationEnd",
            summary="A finished history in, a summary with signals out; nothing is kept or delivered.",
            tag=_TAG,
            scope="api",
            handler=service.handle_end,
            body=HandleEnd,
            answers={200: msgspec.json.schema(SummaryResult)},
        ),
    )


class _Service:
    def __init__(self, host: SupplierHost, pipeline: Pipeline) -> None:
        self._host = host
        self._pipeline = pipeline

    async def begin(self, asked: Asked) -> object:
        wanted: Begin = asked.body
        return as_json(await self._host.begin(wanted.sr, wanted.goals, tenant=asked.tenant))

    async def list(self, asked: Asked) -> object:
        wanted: Listing = asked.query
        status = "" if wanted.status is None else wanted.status.value
        before = cursor_of(wanted.before)
        return await page(
            wanted.limit,
            lambda limit: self._host.list(tenant=asked.tenant, status=status, before=before, limit=limit),
            as_json,
            lambda conversation: conversation.session_id,
        )

    async def show(self, asked: Asked) -> object:
        return as_json(await self._host.find(wanted_id(asked.place("sessionId"), "conversation"), tenant=asked.tenant))

    async def receive(self, asked: Asked) -> object:
        came: Incoming = asked.body
        wait: Wait = asked.query
        entry = HistoryEntry(
            role="supplier",
            content=came.content,
            timestamp=came.timestamp,
            message_id=came.message_id,
            media=came.media,
        )
        session = wanted_id(asked.place("sessionId"), "conversation")
        await self._host.receive(session, entry, tenant=asked.tenant)
        if wait.wait:
            await self._host.wait_for(session, came.message_id, seconds=wait.wait, tenant=asked.tenant)
        return as_json(await self._host.find(session, tenant=asked.tenant))

    async def end(self, asked: Asked) -> object:
        return as_json(await self._host.end(wanted_id(asked.place("sessionId"), "conversation"), tenant=asked.tenant))

    async def handle_incoming(self, asked: Asked) -> object:
        given: HandleIncoming = asked.body
        _check_length(given.history)
        return as_json(
            await handle_incoming_message(
                sr=given.sr,
                goals=given.goals,
                history=given.history,
                bot_tool_trace=given.bot_tool_trace,
                pipeline=self._pipeline,
                tenant=asked.tenant,
            )
        )

    async def handle_end(self, asked: Asked) -> object:
        given: HandleEnd = asked.body
        _check_length(given.history)
        return as_json(
            await handle_conversation_end(
                sr=given.sr,
                goals=given.goals,
                history=given.history,
                bot_tool_trace=given.bot_tool_trace,
                status=given.status,
                pipeline=self._pipeline,
                tenant=asked.tenant,
            )
        )


def _check_length(history: Sequence[HistoryEntry]) -> None:
    length = sum(len(entry.content) for entry in history)
    if length > MAX_HISTORY_CHARS:
        raise ConfigError(f"The history has {length} characters, and {MAX_HISTORY_CHARS} are read at most.")

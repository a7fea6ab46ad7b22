"""The brain over HTTP: a webhook that takes signals, and what came, page by page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from groundwire import Clock, Runtime
from groundwire.apps.supplier.brain.brain import Brain, Received
from groundwire.apps.supplier.brain.tables import BrainTables
from groundwire.apps.supplier.contracts import (
    BrainReceipt,
    Goal,
    JsonObject,
    Signal,
    as_json,
)
from groundwire.apps.supplier.signals.endpoints import SIGNAL_SHAPE
from groundwire.apps.supplier.signals.events import EVENT_TYPE, decode_event, iso_time
from groundwire.serving import (
    About,
    Asked,
    Before,
    Endpoint,
    Limit,
    SessionFilter,
    WebhookKey,
    cursor_of,
    page,
    page_of,
    verify_webhook,
    wanted_id,
)

ABOUT = About(title="Brain", description="Takes signals of supplier negotiations, and lists them for operations.")
MAX_BODY = 65_536
"""More than any event of ours; others' may be longer."""
_MAX_GOALS = 100
_TAG = "brain"

_RECEIVED: JsonObject = {
    "type": "object",
    "properties": {
        "signalId": {"type": "string"},
        "webhookId": {"type": "string"},
        "sessionId": {"type": "string"},
        "receivedAt": {"type": "string", "format": "date-time"},
        "deliveries": {"type": "integer", "minimum": 1, "description": "How often it came; it is kept once."},
        "flags": {"type": "array", "items": {"type": "string"}},
        "signal": SIGNAL_SHAPE,
    },
    "required": ["signalId", "webhookId", "sessionId", "receivedAt", "deliveries", "flags", "signal"],
    "additionalProperties": False,
}
_GOAL_ID: JsonObject = {"type": "string", "minLength": 1, "maxLength": 256}


TypeFilter: TypeAlias = Literal[
    "asset_request", "manual_review", "schedule_follow_up", "human_escalation", "wechat_redirect", "all"
]


class ReceivedQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    session: SessionFilter | None = None
    type: TypeFilter = "all"
    severity: Literal["low", "medium", "high", "all"] = "all"


class SessionGoals(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    goals: Annotated[tuple[Goal, ...], Meta(max_length=_MAX_GOALS)]


class BrainDoor:
    """What comes by webhook belongs to `tenant`; who asks sees what belongs to their own."""

    def __init__(self, tables: BrainTables, keys: Sequence[WebhookKey], clock: Clock, tenant: str) -> None:
        self._tables = tables
        self._keys = keys
        self._clock = clock
        self._brain = self._of(tenant)

    def _of(self, tenant: str) -> Brain:
        return Brain(self._tables, tenant=tenant, now=self._clock.now)

    async def receive(self, asked: Asked) -> JsonObject:
        body = await asked.read(MAX_BODY)
        proved = verify_webhook(self._keys, asked.request.headers, body, now=self._clock.now())
        receipt: JsonObject = as_json(await self._brain.receive_event(proved.webhook_id, decode_event(body)))
        return receipt

    async def list_received(self, asked: Asked) -> JsonObject:
        query: ReceivedQuery = asked.query
        before = cursor_of(query.before)
        session = None if query.session is None else wanted_id(query.session, "session")
        return await page(
            query.limit,
            lambda limit: self._of(asked.tenant).list_newest(
                session_id=session,
                signal_type=_filter(query.type),
                severity=_filter(query.severity),
                before=before,
                limit=limit,
            ),
            _show,
            lambda received: received.row.signal_id,
        )

    async def show_received(self, asked: Asked) -> JsonObject:
        return _show(await self._of(asked.tenant).find(wanted_id(asked.place("signalId"), "signal")))

    async def set_goals(self, asked: Asked) -> JsonObject:
        session_id = wanted_id(asked.place("sessionId"), "session")
        named = [wanted_id(goal.goal_id, "goal") for goal in asked.body.goals]
        await self._of(asked.tenant).expect(session_id, named)
        return await self.show_goals(asked)

    async def show_goals(self, asked: Asked) -> JsonObject:
        session_id = wanted_id(asked.place("sessionId"), "session")
        return {"goals": [{"goalId": goal} for goal in await self._of(asked.tenant).goals(session_id)]}


@asynccontextmanager
async def open_brain(
    runtime: Runtime, keys: Sequence[WebhookKey], *, tenant: str = "default"
) -> AsyncIterator[list[Endpoint]]:
    """The brain's endpoints over its own tables in the runtime's store."""
    tables = BrainTables(runtime.database)
    await tables.open()
    yield brain_endpoints(BrainDoor(tables, keys, runtime.clock, tenant))


def brain_endpoints(door: BrainDoor) -> list[Endpoint]:
    return [_taking(door), *_listing(door), *_goals(door)]


def _taking(door: BrainDoor) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/signals",
        name="receiveSignal",
        summary="Take a signal, signed as Standard Webhooks has it. The same one may come again, and is kept once.",
        tag=_TAG,
        handler=door.receive,
        scope=None,
        body_schema=_event_schema(),
        headers={
            "webhook-id": "Names the event, in every attempt.",
            "webhook-timestamp": "Seconds since 1970, of this attempt.",
            "webhook-signature": "`v1,` and the signature; several with spaces between them.",
        },
        answers={200: _receipt_schema()},
        errors=(401, 413),
    )


def _listing(door: BrainDoor) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/api/signals",
            name="listReceived",
            summary="Signals that came, the newest first.",
            tag=_TAG,
            handler=door.list_received,
            scope="view",
            query=ReceivedQuery,
            answers={200: page_of(_RECEIVED)},
            errors=(404,),
        ),
        Endpoint(
            method="GET",
            path="/api/signals/{signalId}",
            name="showReceived",
            summary="A signal that came.",
            tag=_TAG,
            handler=door.show_received,
            scope="view",
            answers={200: _RECEIVED},
            errors=(404,),
        ),
    ]


def _goals(door: BrainDoor) -> list[Endpoint]:
    goals: JsonObject = {
        "type": "object",
        "properties": {"goals": {"type": "array", "items": {"type": "object", "properties": {"goalId": _GOAL_ID}}}},
        "required": ["goals"],
    }
    return [
        Endpoint(
            method="GET",
            path="/api/sessions/{sessionId}/goals",
            name="showGoals",
            summary="The goals that a session was said to have.",
            tag=_TAG,
            handler=door.show_goals,
            scope="view",
            answers={200: goals},
            errors=(404,),
        ),
        Endpoint(
            method="PUT",
            path="/api/sessions/{sessionId}/goals",
            name="setGoals",
            summary="Say which goals a session has; signals about others are flagged.",
            tag=_TAG,
            handler=door.set_goals,
            scope="api",
            body=SessionGoals,
            answers={200: goals},
            errors=(404,),
        ),
    ]


def _filter(value: str) -> str | None:
    return None if value == "all" else value


def _show(received: Received) -> JsonObject:
    row = received.row
    return {
        "signalId": row.signal_id,
        "webhookId": row.webhook_id,
        "sessionId": row.session_id,
        "receivedAt": iso_time(row.received / 1000),
        "deliveries": row.deliveries,
        "flags": list(received.flags),
        "signal": msgspec.Raw(row.signal.encode()),
    }


def _event_schema() -> JsonObject:
    _, definitions = msgspec.json.schema_components([Signal], ref_template="#/$defs/{name}")
    return {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"type": "string", "examples": [EVENT_TYPE]},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": {"$ref": "#/$defs/Signal"},
        },
        "$defs": definitions,
    }


def _receipt_schema() -> JsonObject:
    (_,), definitions = msgspec.json.schema_components([BrainReceipt], ref_template="#/$defs/{name}")
    own: dict[str, Any] = definitions.pop("BrainReceipt")
    return {**own, "$defs": definitions}

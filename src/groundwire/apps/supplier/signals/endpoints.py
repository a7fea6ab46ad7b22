"""/api/signals: the signals that were raised, and whether they have arrived."""

from typing import Literal

import msgspec
from msgspec import Struct

from groundwire import Database
from groundwire.apps.supplier.contracts import JsonObject
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.apps.supplier.signals.tables import SignalRow, SignalTables
from groundwire.serving import Asked, Before, Endpoint, Limit, SessionFilter, cursor_of, page, page_of, wanted_id

_TIME: JsonObject = {"type": ["string", "null"], "format": "date-time"}
SIGNAL_SHAPE: JsonObject = {
    "type": "object",
    "required": ["sessionId", "signalType", "severity", "reason", "source"],
}
_SHAPE: JsonObject = {
    "type": "object",
    "properties": {
        "signalId": {"type": "string"},
        "sessionId": {"type": "string"},
        "state": {"enum": ["queued", "delivered", "dead"]},
        "attempts": {"type": "integer"},
        "status": {"type": "integer", "description": "What the receiver answered last; 0 for nothing."},
        "error": {"type": "string"},
        "createdAt": _TIME,
        "deliveredAt": _TIME,
        "signal": SIGNAL_SHAPE,
    },
    "required": ["signalId", "sessionId", "state", "attempts", "status", "error", "createdAt", "deliveredAt", "signal"],
    "additionalProperties": False,
}


class SignalsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    session: SessionFilter | None = None
    state: Literal["queued", "delivered", "dead", "all"] = "all"


class Signals:
    def __init__(self, tables: SignalTables) -> None:
        self._tables = tables

    async def list_all(self, asked: Asked) -> JsonObject:
        query: SignalsQuery = asked.query
        before = cursor_of(query.before)
        session = None if query.session is None else wanted_id(query.session, "session")
        state = None if query.state == "all" else query.state
        return await page(
            query.limit,
            lambda limit: self._tables.list_newest(
                asked.tenant, session_id=session, state=state, before=before, limit=limit
            ),
            show_signal,
            lambda row: row.signal_id,
        )

    async def show_one(self, asked: Asked) -> JsonObject:
        return show_signal(await self._tables.find(asked.tenant, wanted_id(asked.place("signalId"), "signal")))


async def open_signal_endpoints(database: Database) -> list[Endpoint]:
    """With their tables made where they are not there yet."""
    tables = SignalTables(database)
    await tables.open()
    signals = Signals(tables)
    return [
        Endpoint(
            method="GET",
            path="/api/signals",
            name="listSignals",
            summary="Signals that were raised in negotiations, and whether they have arrived; the newest first.",
            tag="signals",
            handler=signals.list_all,
            scope="view",
            query=SignalsQuery,
            answers={200: page_of(_SHAPE)},
            errors=(404,),
        ),
        Endpoint(
            method="GET",
            path="/api/signals/{signalId}",
            name="showSignal",
            summary="A signal and its delivery.",
            tag="signals",
            handler=signals.show_one,
            scope="view",
            answers={200: _SHAPE},
            errors=(404,),
        ),
    ]


def show_signal(row: SignalRow) -> JsonObject:
    return {
        "signalId": row.signal_id,
        "sessionId": row.session_id,
        "state": row.state,
        "attempts": row.attempts,
        "status": row.status,
        "error": row.error,
        "createdAt": iso_time(row.created / 1000),
        "deliveredAt": iso_time(row.delivered / 1000) if row.delivered else None,
        "signal": msgspec.Raw(row.signal.encode()),
    }

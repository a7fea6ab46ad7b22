"""Sessions, calls and runs: lists and details; a session can be ended."""

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import AlreadyDecided, NotFound
from groundwire.contracts.records import CallRecord
from groundwire.contracts.texts import storable
from groundwire.gateway.api import schemas
from groundwire.gateway.api.resources import Resource
from groundwire.gateway.api.visibility import show_run
from groundwire.runtime.runs.traces import read_trace
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.showing import show_record
from groundwire.serving.endpoints import Asked, Endpoint
from groundwire.serving.paging import Before, Limit, PageQuery, SessionFilter, cursor_of, page, wanted_id


class RunsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    session: SessionFilter | None = None


class CallsQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""
    session: SessionFilter | None = None
    run: str | None = None


class CallQuery(Struct, frozen=True, kw_only=True):
    """Call ids are unique within a conversation; a call outside one has none."""

    session: str = ""


class Records:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._store = runtime.store

    async def list_sessions(self, asked: Asked) -> JsonObject:
        before = cursor_of(asked.query.before)
        return await page(
            asked.query.limit,
            lambda limit: self._store.list_sessions(asked.tenant, before=before, limit=limit),
            show_record,
            lambda session: session.session_id,
        )

    async def show_session(self, asked: Asked) -> JsonObject:
        session_id = wanted_id(asked.place("sessionId"), "session")
        found = await self._store.load_session(asked.tenant, session_id)
        if found is None:
            raise NotFound(f"there is no session {session_id!r}")
        return show_record(found)

    async def end_session(self, asked: Asked) -> JsonObject:
        await self.show_session(asked)
        session_id = asked.place("sessionId")
        if not await self._runtime.end_session(session_id, tenant=asked.tenant):
            raise AlreadyDecided(f"session {session_id!r} has ended before")
        return await self.show_session(asked)

    async def list_calls(self, asked: Asked) -> JsonObject:
        query: CallsQuery = asked.query
        before = cursor_of(query.before)
        return await page(
            query.limit,
            lambda limit: self._store.list_calls(
                asked.tenant,
                session_id=_filter(query.session),
                run_id=_filter(query.run),
                before=before,
                limit=limit,
            ),
            show_record,
            _call_cursor,
        )

    async def show_call(self, asked: Asked) -> JsonObject:
        call_id = wanted_id(asked.place("callId"), "call")
        found = await self._store.find_call(asked.tenant, storable(asked.query.session), call_id)
        if found is None:
            raise NotFound(f"there is no call {call_id!r} in session {asked.query.session[:40]!r}")
        return show_record(found)

    async def list_runs(self, asked: Asked) -> JsonObject:
        query: RunsQuery = asked.query
        before = cursor_of(query.before)
        return await page(
            query.limit,
            lambda limit: self._store.list_runs(
                asked.tenant, session_id=_filter(query.session), before=before, limit=limit
            ),
            show_record,
            lambda run: run.run_id,
        )

    async def show_run(self, asked: Asked) -> JsonObject:
        run_id = wanted_id(asked.place("runId"), "run")
        return show_run(await read_trace(self._store, asked.tenant, run_id), asked.caller)


def _filter(value: str | None) -> str | None:
    return None if value is None else storable(value)


def _call_cursor(call: CallRecord) -> str:
    return f"{call.session_id}/{call.call_id}"


_RUNS = Resource(tag="runs", key="runId", shape=schemas.RUN)
_CALLS = Resource(tag="calls", key="callId", shape=schemas.CALL)
_SESSIONS = Resource(tag="sessions", key="sessionId", shape=schemas.SESSION)


def record_endpoints(runtime: Runtime) -> list[Endpoint]:
    records = Records(runtime)
    calls = "Calls of tools that ended, refused ones too, the newest first."
    ending = "End a conversation: later calls in it are refused."
    return [
        _RUNS.list_all("listRuns", "Runs of agents, the newest first.", records.list_runs, RunsQuery),
        _RUNS.show_one("showRun", "A run with its entries and its calls.", records.show_run, shape=schemas.TRACE),
        _CALLS.list_all("listCalls", calls, records.list_calls, CallsQuery),
        _CALLS.show_one("showCall", "A call with its envelope.", records.show_call, query=CallQuery),
        _SESSIONS.list_all("listSessions", "Conversations, the newest first.", records.list_sessions, PageQuery),
        _SESSIONS.show_one("showSession", "A conversation and its state.", records.show_session),
        _SESSIONS.act_on("endSession", ending, records.end_session, action="end"),
    ]

"""Runs of agents: lists and details; a run can be resumed or cancelled."""

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.texts import storable
from groundwire.gateway.api import schemas
from groundwire.gateway.api.resources import Resource
from groundwire.gateway.api.schemas import Note
from groundwire.gateway.api.visibility import show_run_trace
from groundwire.runtime.runs.actions import RunActions
from groundwire.runtime.runs.traces import read_trace
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.showing import show_run
from groundwire.serving.endpoints import Asked, Endpoint
from groundwire.serving.paging import Before, Limit, SessionFilter, cursor_of, page, wanted_id


class RunsQuery(Struct, frozen=True, kw_only=True):
    """Which runs to list: all, or those of one session."""

    limit: Limit = 50
    before: Before = ""
    session: SessionFilter | None = None


class RunAction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a request to resume or cancel; it may be left out."""

    note: Note = ""


class Runs:
    """Handlers of the endpoints below `/api/runs`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._actions = RunActions(runtime)

    async def list_runs(self, asked: Asked) -> JsonObject:
        """Return one page of the tenant's runs, newest first."""
        query: RunsQuery = asked.query
        before = cursor_of(query.before)
        session_id = None if query.session is None else storable(query.session)
        return await page(
            query.limit,
            lambda limit: self._runtime.store.list_runs(
                asked.tenant, session_id=session_id, before=before, limit=limit
            ),
            lambda run: show_run(run, now=self._runtime.clock.now()),
            lambda run: run.run_id,
        )

    async def show(self, asked: Asked) -> JsonObject:
        """Return a run with its entries and calls."""
        trace = await read_trace(self._runtime.store, asked.tenant, _run_id(asked))
        return show_run_trace(trace, asked.caller, now=self._runtime.clock.now())

    async def resume(self, asked: Asked) -> JsonObject:
        """Make a run due, so that a worker resumes it."""
        note = "" if asked.body is None else storable(asked.body.note)
        run = await self._actions.request_resume(_run_id(asked), by=asked.caller.name, note=note, tenant=asked.tenant)
        return show_run(run, now=self._runtime.clock.now())

    async def cancel(self, asked: Asked) -> JsonObject:
        """Cancel a run, or ask the process that executes it to stop."""
        note = "" if asked.body is None else storable(asked.body.note)
        run = await self._actions.cancel(_run_id(asked), by=asked.caller.name, note=note, tenant=asked.tenant)
        return show_run(run, now=self._runtime.clock.now())


def _run_id(asked: Asked) -> str:
    return wanted_id(asked.place("runId"), "run")


_RUNS = Resource(tag="runs", key="runId", shape=schemas.RUN)


def run_endpoints(runtime: Runtime) -> list[Endpoint]:
    """The endpoints below `/api/runs`."""
    runs = Runs(runtime)
    resuming = (
        "Resume a run that was interrupted or cancelled, or whose provider failed. A worker takes it within seconds."
    )
    cancelling = "Cancel a run. One that is being executed stops within seconds; `cancelRequested` is true until then."
    return [
        _RUNS.list_all("listRuns", "Runs of agents, newest first.", runs.list_runs, RunsQuery),
        _RUNS.show_one("showRun", "A run with its entries and its calls.", runs.show, shape=schemas.TRACE),
        _RUNS.act_on("resumeRun", resuming, runs.resume, action="resume", body=RunAction),
        _RUNS.act_on("cancelRun", cancelling, runs.cancel, action="cancel", body=RunAction),
    ]

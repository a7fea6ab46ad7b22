"""Background tools: a call that was let through becomes a job, and the job is the second half of the call.

The first half is settled in the ledger with the job's handle, so that the same call again gives the same job. The second
half runs in whatever process works on jobs, under a key that is made from the job: an attempt that was cut off is found
there, and is as unknown, repeated or asked about as any other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ErrorType, NotFound
from groundwire.contracts.events import CallProgress, Event, JobEnded
from groundwire.contracts.jobs import Job, JobFailed, Jobs, JobStatus
from groundwire.contracts.messages import CallItem, Item, ResultItem
from groundwire.contracts.projections import JOB_MARK, model_view, result_item
from groundwire.contracts.results import Meta, ToolResult
from groundwire.runtime.attempt import Attempt, Caller
from groundwire.runtime.turns import Conversation, Turn, TurnOptions

if TYPE_CHECKING:
    from groundwire.contracts.ports import Ids, Store
    from groundwire.runtime.sessions import Sessions
    from groundwire.runtime.surface import Entry

log = logging.getLogger("groundwire")

TOOL_JOBS = "tool"
"""The kind of jobs that are calls of background tools."""

CarryOut: TypeAlias = "Callable[[Attempt, Entry], Awaitable[ToolResult]]"


class Deferred(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call that was let through: what its second half has to know of the first."""

    tool: str
    call_id: str
    raw: str
    arguments: JsonObject
    digest: str
    caller: Caller
    origin: str
    mode: str
    registry_version: str
    turn: int
    given_key: str | None = None
    profile: str = ""
    variant: str = ""
    session_id: str = ""
    run_id: str = ""
    request_id: str = ""
    actor: str = ""
    key_id: str = ""
    user: str = ""
    organisation: str = ""
    supplied: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)


class Late(Struct, frozen=True, kw_only=True):
    """Results that came after the turn in which they were asked for: as a model is told of them, and as others are."""

    items: tuple[Item, ...] = ()
    events: tuple[JobEnded, ...] = ()


NOTHING_LATE = Late()


class BackgroundTools:
    def __init__(self, jobs: Jobs, *, sessions: Sessions, store: Store, ids: Ids) -> None:
        self._jobs = jobs
        self._sessions = sessions
        self._store = store
        self._ids = ids

    async def defer(self, attempt: Attempt) -> Job:
        """Leave the rest of a call to a job. The same effect is always the same job."""
        payload: JsonObject = msgspec.to_builtins(_deferred(attempt))
        effect = attempt.effect
        key = effect.effect_id if effect is not None else ""
        return await self._jobs.submit(TOOL_JOBS, payload, tenant=attempt.turn.tenant, key=key)

    async def renewed(self, stored: ToolResult, tenant: str) -> ToolResult:
        """The handle of a call with how its job is now; or the job's own result, once it has one."""
        job_id = stored.meta.job
        if job_id is UNSET:
            return stored
        try:
            job = await self._jobs.find(job_id, tenant=tenant)
        except NotFound:  # it ended so long ago that nobody keeps it
            return stored
        if job.is_ended:
            return msgspec.structs.replace(result_of(job), meta=stored.meta)
        return msgspec.structs.replace(stored, data=handle_of(job))

    async def run(self, carry_out: CarryOut, job: Job) -> JsonValue:
        """The second half. A failure that may pass by itself is tried again on the job's schedule."""
        call = msgspec.convert(job.payload, Deferred)
        progress = _Progress(self._jobs, job.job_id)
        turn = await self._turn(call, job.tenant, progress)
        entry = turn.find(call.tool)
        if entry is None:
            raise JobFailed(f"the tool {call.tool} is gone", retry=False)
        attempt = Attempt(
            turn,
            ToolCall(call_id=self._ids.new("call"), name=call.tool, raw=call.raw, origin=call.origin),
            call.caller,
            given_id=False,
        )
        attempt.parent = Attempt(
            turn, ToolCall(call_id=call.call_id, name=call.tool, raw=call.raw), call.caller, given_id=True
        )
        attempt.arguments, attempt.digest, attempt.variant = call.arguments, call.digest, call.variant
        attempt.given_key, attempt.key, attempt.job_id = call.given_key, f"job:{job.job_id}", job.job_id
        try:
            result = await carry_out(attempt, entry)
        finally:
            await progress.end()
        if turn.intents:
            await self._sessions.apply_intents(turn)
        envelope: JsonValue = msgspec.to_builtins(result)
        if result.error is not None:
            raise JobFailed(
                f"{result.error.type}: {result.error.message}", retry=result.error.retryable, result=envelope
            )
        return envelope

    async def late(self, items: Sequence[Item], tenant: str) -> Late:
        """What has come of the background calls of a conversation since it was last told, for the model and for others.

        A model is told as if it had made the call again: that is a place for data in every dialect, and never one for
        instructions.
        """
        calls = {item.call.call_id: item.call for item in items if isinstance(item, CallItem)}
        waited_for = {
            str(item.private[JOB_MARK]["id"]): calls[item.call_id]
            for item in items
            if isinstance(item, ResultItem) and JOB_MARK in item.private and item.call_id in calls
        }
        told: list[Item] = []
        events: list[JobEnded] = []
        for job_id, call in waited_for.items():
            if job_id in calls:
                continue
            try:
                job = await self._jobs.find(job_id, tenant=tenant)
            except NotFound:
                continue
            if job.is_ended:
                result = result_of(job)
                again = msgspec.structs.replace(call, call_id=job_id)
                about: JsonObject = {"id": job_id, "status": str(job.status), "callId": call.call_id}
                view: JsonObject = {"job": about, **model_view(result)}
                told += [CallItem(call=again), result_item(again, result, view)]
                events.append(
                    JobEnded(job_id=job_id, status=job.status, call_id=call.call_id, name=call.name, result=result)
                )
        return Late(items=tuple(told), events=tuple(events))

    async def _turn(self, call: Deferred, tenant: str, on_event: Callable[[Event], None]) -> Turn:
        """The turn in which the call was made, as far as a call can see it. It neither begins nor ends again."""
        options: TurnOptions = {
            "tenant": tenant,
            "mode": call.mode,
            "profile": call.profile,
            "run_id": call.run_id,
            "request_id": call.request_id,
            "actor": call.actor,
            "key_id": call.key_id,
            "user": call.user,
            "organisation": call.organisation,
            "supplied": call.supplied,
            "on_event": on_event,
        }
        session = await self._store.load_session(tenant, call.session_id) if call.session_id else None
        surface = await self._sessions.surface_of(call.registry_version, options)
        return Turn(surface, session, number=call.turn, options=options, conversation=Conversation())


class _Progress:
    """Keeps a job's progress as it is told. Of what is told faster than it can be kept, the newest counts."""

    def __init__(self, jobs: Jobs, job_id: str) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._newest: JsonValue = None
        self._keeping: asyncio.Task[None] | None = None
        self._is_kept = True

    def __call__(self, event: Event) -> None:
        if isinstance(event, CallProgress):
            self._newest, self._is_kept = event.value, False
            if self._keeping is None or self._keeping.done():
                self._keeping = asyncio.get_running_loop().create_task(self._keep())

    async def end(self) -> None:
        if self._keeping is not None:
            await asyncio.wait((self._keeping,))

    async def _keep(self) -> None:
        while not self._is_kept:
            self._is_kept = True
            try:
                await self._jobs.report(self._job_id, self._newest)
            except Exception:  # how far it is must not decide how it ends
                log.exception("the progress of job %s could not be kept", self._job_id)


def handle_of(job: Job) -> JsonObject:
    return {"job": {"id": job.job_id, "status": str(job.status)}}


def result_of(job: Job) -> ToolResult:
    """The envelope of an ended job."""
    if isinstance(job.result, dict):
        return msgspec.convert(job.result, ToolResult)
    if job.status is JobStatus.CANCELLED:
        return ToolResult.failure(ErrorType.CANCELLED, "The job was cancelled.", meta=Meta(job=job.job_id))
    return ToolResult.failure(ErrorType.INTERNAL, "The job failed; it gave no result.", meta=Meta(job=job.job_id))


def _deferred(attempt: Attempt) -> Deferred:
    turn, surface = attempt.turn, attempt.turn.surface
    return Deferred(
        tool=attempt.tool_id,
        call_id=attempt.call_id,
        raw=attempt.raw,
        arguments=attempt.arguments,
        digest=attempt.digest,
        caller=attempt.caller,
        origin=attempt.call.origin,
        mode=surface.mode,
        registry_version=surface.registry.version,
        turn=turn.number,
        given_key=attempt.given_key,
        profile=surface.profile,
        variant=attempt.variant,
        session_id=turn.session_id,
        run_id=turn.run_id,
        request_id=turn.request_id,
        actor=turn.actor,
        key_id=turn.key_id,
        user=turn.user,
        organisation=turn.organisation,
        supplied=turn.supplied,
    )

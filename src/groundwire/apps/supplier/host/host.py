"""The host: whoever keeps conversations between messages, has them answered in order, and comes back when it is time.

Every step is a job, and what it does is written before the next one is asked for; a step that is carried out twice, because
its worker died, finds its own traces and goes on from there. The host decides nothing about what is said.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from groundwire import ConfigError, NameTaken, NotFound
from groundwire.apps.supplier.contracts import (
    BrainReceipt,
    Goal,
    HistoryEntry,
    JsonObject,
    SignalType,
    SourcingRequest,
    Status,
    SummaryResult,
    as_json,
    goals_of,
)
from groundwire.apps.supplier.host import conversations as changes
from groundwire.apps.supplier.host.conversations import MAX_ENTRIES, Conversation, FollowUp
from groundwire.apps.supplier.host.names import check_id, key_of, run_id_of
from groundwire.apps.supplier.host.tables import ConversationTables
from groundwire.apps.supplier.pipeline import (
    Pipeline,
    handle_conversation_end,
    handle_follow_up,
    handle_incoming_message,
    open_conversation,
)
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.apps.supplier.signals.outbox import Outbox
from groundwire.apps.supplier.signals.receivers import Receiver
from groundwire.jobs import Job, JobFailed, JobHandler, Jobs, JobStatus, RetrySchedule

MODEL_RETRIES = RetrySchedule(delays=(5.0, 30.0, 120.0, 600.0, 1800.0))
"""How long a turn waits for its model after each failure; then the conversation is marked as error."""
TURN, SILENCE, SUMMARY, FOLLOW_UP, DELIVER, SEND = (
    "supplier.turn",
    "supplier.silence",
    "supplier.summary",
    "supplier.follow_up",
    "supplier.deliver",
    "supplier.send",
)

Send = Callable[[str, str, str], Awaitable[None]]
"""Hands a reply to the chat: session, message id, text. The id is the same if it is handed over again. Without one, the
chat reads replies from the conversation itself."""


Receivers = Callable[[str], Receiver]
"""Who is told of a tenant's conversations."""


class SupplierHost:
    def __init__(
        self,
        pipeline: Pipeline,
        jobs: Jobs,
        receivers: Receivers | None = None,
        *,
        send: Send | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._jobs = jobs
        self._receivers = receivers
        self._send = send
        self._tables = ConversationTables(pipeline.agents.runtime.database)
        self._clock = pipeline.clock

    async def open(self) -> None:
        await self._pipeline.agents.runtime.open()
        await self._tables.open()

    def handlers(self) -> Mapping[str, JobHandler]:
        """What a worker has to be able to do."""
        return {
            TURN: self._on_turn,
            SILENCE: self._on_silence,
            SUMMARY: self._on_summary,
            FOLLOW_UP: self._on_follow_up,
            DELIVER: self._on_deliver,
            SEND: self._on_send,
        }

    async def begin(
        self, request: SourcingRequest, goals: Sequence[Goal] = (), *, tenant: str = "default"
    ) -> Conversation:
        """Open a conversation with the bot's first line. One that was begun before is given as it stands."""
        check_id("session", request.session_id)
        now = self._clock.now()
        line = HistoryEntry(
            role="bot",
            content=open_conversation(request),
            timestamp=iso_time(now),
            message_id=f"{request.session_id}.bot.1",
        )
        wanted = tuple(goals) or goals_of(request)
        begun = changes.watched(changes.opened(request, wanted, line, now), self._silence_ends)
        if not await self._tables.create(tenant, begun):
            begun = await self.find(request.session_id, tenant=tenant)
            if (begun.request, begun.goals) != (request, wanted):
                raise NameTaken(
                    f"There is another conversation {request.session_id!r}.", hint="choose another sessionId"
                )
        await self._go_on(tenant, begun)
        return begun

    async def receive(self, session_id: str, entry: HistoryEntry, *, tenant: str = "default") -> Conversation:
        """Take a supplier's message. One that came before, by its id, changes nothing."""
        if entry.role != "supplier" or not entry.message_id:
            raise ConfigError("A message that comes in has a messageId and the role supplier.")
        check_id("message", entry.message_id)
        known = await self.find(session_id, tenant=tenant)
        if not known.knows(entry.message_id):
            if len(known.history) + len(known.inbox) >= MAX_ENTRIES:
                raise ConfigError(f"The conversation has {MAX_ENTRIES} messages, and takes no more.")
            kept = await self._tables.keep_media(tenant, session_id, await self._pipeline.hear(entry))
            known = await self._change(
                tenant, session_id, lambda now: None if now.knows(entry.message_id) else changes.arrived(now, kept)
            )
        await self._go_on(tenant, known)
        return known

    async def end(self, session_id: str, *, tenant: str = "default") -> Conversation:
        """Somebody decides that it is over: what was found is summarised, and nobody waits any longer."""
        known = await self._change(
            tenant,
            session_id,
            lambda now: changes.ended(now, Status.COMPLETED) if now.status is Status.CONTINUE else None,
        )
        await self._go_on(tenant, known)
        return known

    async def find(self, session_id: str, *, tenant: str = "default") -> Conversation:
        kept = await self._tables.find(tenant, session_id)
        if kept is None:
            raise NotFound(f"there is no conversation {session_id!r}")
        return kept.conversation

    async def list(
        self, *, tenant: str = "default", status: str = "", before: str = "", limit: int = 50
    ) -> list[Conversation]:
        return await self._tables.list(tenant, status=status, before=before, limit=limit)

    async def receipt(self, session_id: str, *, tenant: str = "default") -> BrainReceipt | None:
        """What became of the signals so far: as the outbox knows it, where they are kept until they have arrived."""
        receiver = None if self._receivers is None else self._receivers(tenant)
        if isinstance(receiver, Outbox):
            return await receiver.receipt(session_id)
        known = await self.find(session_id, tenant=tenant)
        return known.summaries[-1].brain_receipt if known.summaries else None

    async def wait_for(self, session_id: str, message_id: str, *, seconds: float, tenant: str = "default") -> None:
        """Return when the message was handled, or when the time is up."""
        waited_for = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    known = await self.find(session_id, tenant=tenant)
                    if all(entry.message_id != message_id for entry in known.inbox):
                        return
                    job = await self._submit_turn(tenant, known)
                    ended = await self._jobs.wait(job.job_id, tenant=tenant)
                    if ended.status is not JobStatus.DONE or job.job_id == waited_for:
                        return
                    waited_for = job.job_id

    async def _go_on(self, tenant: str, known: Conversation) -> None:
        """Ask for everything that the conversation waits for. Jobs are named, so asking again changes nothing."""
        session = known.session_id
        for outgoing in known.outbox if self._send is not None else ():
            if not outgoing.is_sent:
                await self._submit(tenant, session, SEND, (outgoing.message_id,), {"messageId": outgoing.message_id})
        if known.inbox:
            await self._submit_turn(tenant, known)
        elif known.status is Status.CONTINUE:
            due = known.silence_due
            await self._submit(tenant, session, SILENCE, (repr(due),), {"due": due}, due_at=due)
        elif (summary := known.summary) is None:
            ref = known.history_ref
            await self._submit(tenant, session, SUMMARY, (ref,), {"historyRef": ref}, schedule=MODEL_RETRIES)
        else:
            if self._receivers is not None and summary.signals and summary.brain_receipt is None:
                ref = summary.history_ref
                await self._submit(tenant, session, DELIVER, (ref,), {"historyRef": ref})
            if (plan := known.follow_up) is not None:
                ref = plan.history_ref
                await self._submit(
                    tenant,
                    session,
                    FOLLOW_UP,
                    (ref,),
                    as_json(plan),
                    due_at=plan.due_at,
                    schedule=MODEL_RETRIES,
                )

    async def _on_turn(self, job: Job) -> JsonObject:
        tenant, session, known = await self._at(job)
        if _is_next(known, job.payload["place"], job.payload["messageId"]):
            first, place = known.inbox[0], len(known.history)
            entry = await self._tables.with_media(tenant, session, first)
            result = await handle_incoming_message(
                sr=known.request,
                goals=known.goals,
                history=(*await self._seen(tenant, known), entry),
                bot_tool_trace=known.bot_tool_trace,
                pipeline=self._pipeline,
                run_id=run_id_of("turn", session, str(place), first.message_id),
                tenant=tenant,
            )
            if result.status is Status.ERROR and job.attempt < job.max_attempts:
                raise JobFailed("the model could not be reached")
            stripped = replace(result, history=(*known.history, first, *result.history[place + 1 :]))

            def change(now: Conversation) -> Conversation | None:
                if not _is_next(now, place, first.message_id):
                    return None
                if result.status is Status.ERROR:
                    return changes.given_up(now, "the model could not be reached")
                return changes.answered(now, stripped, f"{session}.bot.{place + 2}", self._clock.now())

            known = await self._change(tenant, session, change)
        await self._go_on(tenant, known)
        return {"status": known.status.value}

    async def _on_silence(self, job: Job) -> JsonObject:
        tenant, session, _ = await self._at(job)

        def change(now: Conversation) -> Conversation | None:
            if now.silence_due != job.payload["due"]:
                return None
            return changes.looked_for_silence(now, self._status_of_silence(now))

        known = await self._change(tenant, session, change)
        await self._go_on(tenant, known)
        return {"status": known.status.value}

    def _status_of_silence(self, known: Conversation) -> Status | None:
        """How it ends for want of an answer; None where we have spoken since the appointment was made."""
        if known.silence_due is None or self._silence_ends(known.waiting_since) > known.silence_due:
            return None
        found = self._pipeline.status_of(
            known.request, known.goals, known.history, known.bot_tool_trace, waiting_since=known.waiting_since
        ).status
        return Status.NO_REPLY if found is Status.CONTINUE else found

    def _silence_ends(self, since: float) -> float:
        return self._pipeline.silence.ends_at(datetime.fromtimestamp(since, UTC)).timestamp()

    async def _on_summary(self, job: Job) -> JsonObject:
        tenant, session, known = await self._at(job)
        ref = known.history_ref
        if ref == job.payload["historyRef"] and known.status is not Status.CONTINUE and known.summary is None:
            result = await handle_conversation_end(
                sr=known.request,
                goals=known.goals,
                history=await self._seen(tenant, known),
                bot_tool_trace=known.bot_tool_trace,
                status=known.status,
                pipeline=self._pipeline,
                run_id=run_id_of("summary", session, ref),
                tenant=tenant,
            )
            if result.failure and job.attempt < job.max_attempts and known.status is not Status.ERROR:
                raise JobFailed(result.failure)
            due, now = _due(result), self._clock.now()
            known = await self._change(
                tenant,
                session,
                lambda there: (
                    changes.summarised(there, result, due, now)
                    if there.history_ref == ref and there.summary is None and there.status is not Status.CONTINUE
                    else None
                ),
            )
        await self._go_on(tenant, known)
        return {"signals": 0 if known.summary is None else len(known.summary.signals)}

    async def _on_follow_up(self, job: Job) -> JsonObject:
        tenant, _, known = await self._at(job)
        due, plan = msgspec.convert(job.payload, FollowUp), known.follow_up
        if plan is not None and plan.history_ref == due.history_ref:
            known = await self._follow_up(tenant, known, plan)
        await self._go_on(tenant, known)
        return {"fired": known.follow_ups >= due.attempt}

    async def _follow_up(self, tenant: str, known: Conversation, plan: FollowUp) -> Conversation:
        session, place = known.session_id, len(known.history)
        result = await handle_follow_up(
            sr=known.request,
            goals=known.goals,
            history=await self._seen(tenant, known),
            bot_tool_trace=known.bot_tool_trace,
            reason=plan.reason,
            pipeline=self._pipeline,
            run_id=run_id_of("follow_up", session, str(place)),
            tenant=tenant,
        )
        if result.status is Status.ERROR:
            raise JobFailed("the model could not be reached")

        def change(now: Conversation) -> Conversation | None:
            if now.follow_up != plan:
                return None
            spoken = replace(result, history=(*now.history, result.history[-1]))
            return changes.followed_up(now, spoken, f"{session}.bot.{place + 1}", self._clock.now())

        return await self._change(tenant, session, change)

    async def _on_deliver(self, job: Job) -> JsonObject:
        """Hand a summary's signals over. What takes them keeps each once, so a second time does no harm."""
        tenant, session, known = await self._at(job)
        ref = str(job.payload["historyRef"])
        summary = next(one for one in known.summaries if one.history_ref == ref)
        if self._receivers is None:
            raise JobFailed("nobody is set up to be told of signals")
        receipt = await self._receivers(tenant).receive_signals(summary.signals)
        await self._change(tenant, session, lambda now: changes.received(now, ref, receipt))
        return {"accepted": len(receipt.accepted), "rejected": len(receipt.rejected)}

    async def _on_send(self, job: Job) -> JsonObject:
        tenant, session, known = await self._at(job)
        message_id = str(job.payload["messageId"])
        waiting = next((one for one in known.outbox if one.message_id == message_id and not one.is_sent), None)
        if waiting is not None and self._send is not None:
            await self._send(session, message_id, waiting.text)
            await self._change(tenant, session, lambda now: changes.sent(now, message_id))
        return {"sent": waiting is not None}

    async def _at(self, job: Job) -> tuple[str, str, Conversation]:
        session = str(job.payload["sessionId"])
        return job.tenant, session, await self.find(session, tenant=job.tenant)

    async def _seen(self, tenant: str, known: Conversation) -> tuple[HistoryEntry, ...]:
        """The history with the bytes of what was sent, for models that can look."""
        return tuple([await self._tables.with_media(tenant, known.session_id, entry) for entry in known.history])

    async def _change(
        self, tenant: str, session_id: str, change: Callable[[Conversation], Conversation | None]
    ) -> Conversation:
        def watched(now: Conversation) -> Conversation | None:
            changed = change(now)
            return None if changed is None else changes.watched(changed, self._silence_ends)

        changed = await self._tables.change(tenant, session_id, watched)
        if changed is None:
            raise NotFound(f"there is no conversation {session_id!r}")
        return changed

    async def _submit_turn(self, tenant: str, known: Conversation) -> Job:
        place, message_id = len(known.history), known.inbox[0].message_id
        step, payload = (str(place), message_id), {"place": place, "messageId": message_id}
        return await self._submit(tenant, known.session_id, TURN, step, payload, schedule=MODEL_RETRIES)

    async def _submit(
        self,
        tenant: str,
        session: str,
        kind: str,
        step: tuple[str, ...],
        payload: JsonObject,
        *,
        due_at: float | None = None,
        schedule: RetrySchedule | None = None,
    ) -> Job:
        """One job for each step, as often as it is asked for."""
        return await self._jobs.submit(
            kind,
            {"sessionId": session, **payload},
            tenant=tenant,
            key=key_of(session, *step),
            due_at=due_at,
            schedule=schedule,
        )


def _is_next(known: Conversation, place: object, message_id: object) -> bool:
    """Whether this message is to be answered at this place. One that was written before it may have come meanwhile."""
    return len(known.history) == place and bool(known.inbox) and known.inbox[0].message_id == message_id


def _due(result: SummaryResult) -> float | None:
    """When the first signal that asks for it wants us back."""
    for signal in result.signals:
        timing = signal.follow_up_timing
        if signal.signal_type is SignalType.SCHEDULE_FOLLOW_UP and timing is not None and timing.due_at:
            return datetime.fromisoformat(timing.due_at).timestamp()
    return None

"""The loop: ask the model, judge the answer, carry out its calls, and again, until there is an outcome.

Whoever wants the end awaits it and is told of all events on the way; whoever follows along reads them as they come. What
happens is written down before anything follows from it that could not be repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeAlias

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.events import Event, RunEnded, RunStarted
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock, Provider, RunStore
from groundwire.contracts.replies import Reply, Usage
from groundwire.contracts.runs import (
    RESUMABLE,
    Added,
    Answered,
    Ended,
    Failed,
    Outcome,
    Paused,
    Resulted,
)
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.runtime.finishing import see_through
from groundwire.runtime.ledger import run_overtaken
from groundwire.runtime.runs.asking import TIME_UP, ask
from groundwire.runtime.runs.carrying import Batch, Execute, carry_out, shown_item
from groundwire.runtime.runs.hearing import mark_of
from groundwire.runtime.runs.judging import (
    CARRY,
    GO_ON,
    Carry,
    Finish,
    Judgement,
    Repair,
    judge,
    notice_for,
    refusal_text,
)
from groundwire.runtime.runs.outputs import ask_again, read_output, was_told_in_words
from groundwire.runtime.runs.planning import Planner, PlanStep
from groundwire.runtime.runs.plans import clients_among, to_request
from groundwire.runtime.runs.prompts import say_for_user
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.watching import RunWatch
from groundwire.runtime.turns import Turn

log = logging.getLogger("groundwire")

Heard: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when whoever listens has taken every event so far."""
Price: TypeAlias = Callable[[str, Usage], float | None]
"""What a reply of that model cost, if that is known."""

_NO_TOOLS_NOW = "Tools are not available any more. Answer now, in words for the user, with what you know."

CheckOutput: TypeAlias = Callable[[RunState, Reply], str]
"""What is wrong with the form of an answer; "" when nothing is."""


def check_output(state: RunState, reply: Reply, limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS) -> str:
    """What is wrong with a reply as the output that the run wants; empty if nothing is."""
    form = state.options.output
    if form is None or form.type == "text":
        return ""
    return read_output(reply.text, form, state.output_type, limits=limits)[1]


def no_price(_model: str, _usage: Usage) -> None:
    return None


class Runner:
    def __init__(
        self,
        provider: Provider,
        execute: Execute,
        runs: RunStore,
        clock: Clock,
        *,
        after_batch: Callable[[Turn], Awaitable[None] | None],
        price: Price = no_price,
        watch: RunWatch | None = None,
        plan_step: PlanStep | None = None,
        check_output: CheckOutput = check_output,
        has_one_store: bool = False,
    ) -> None:
        """`has_one_store`: what `execute` reserves is in the same store as the runs, and can be written with them."""
        self._provider = provider
        self._execute = execute
        self._runs = runs
        self._clock = clock
        self._after_batch = after_batch
        self._price = price
        self._watch = watch
        self._plan_step = plan_step or Planner().plan_step
        self._check_output = check_output
        self._has_one_store = has_one_store

    async def run(self, state: RunState, turn: Turn) -> None:
        """From wherever the state is to its end. The turn's follower is told of everything up to `run.ended`."""
        await self._work(state, turn)

    async def stream(self, state: RunState, turn: Turn) -> AsyncGenerator[Event]:
        """The same in events as they come, with the words in pieces."""
        follower = turn.on_event
        try:
            queue: asyncio.Queue[Event | None] = asyncio.Queue()
            turn.on_event = queue.put_nowait
            async with aclosing(_as_they_come(queue, self._work(state, turn, queue.join))) as coming:
                async for event in coming:
                    yield event
        finally:
            turn.on_event = follower

    def _work(self, state: RunState, turn: Turn, heard: Heard | None = None) -> Coroutine[Any, Any, None]:
        work = self._loop(state, turn, heard)
        return work if self._watch is None else self._watch.run(state, work)

    async def _loop(self, state: RunState, turn: Turn, heard: Heard | None) -> None:
        """With a listener, who hears words in pieces, nothing new is begun before it has heard of everything so far.

        Whoever leaves when there is nothing more to begin has not stopped anything: the answer is there.
        """
        turn.emit(RunStarted(run_id=state.run.run_id, session_id=turn.session_id))
        for event in state.news:
            turn.emit(event)
        turn.pauses = state.options.approvals == "pause"
        turn.awaited = state.waiting
        turn.history = state.said
        state.mark = "" if turn.session is None else mark_of(state.run.run_id)
        state.task = asyncio.current_task()
        turn.loop = asyncio.get_running_loop()
        if self._has_one_store:
            turn.take_entries = state.take_unwritten
        judgement: Judgement = CARRY if state.open_calls else GO_ON
        try:
            while True:
                if heard is not None and judgement is CARRY:
                    await heard()
                if judgement is CARRY:
                    outcome = await self._carry(state, turn)
                else:
                    outcome = self._follow(state, judgement)
                outcome = outcome or self._exceeded(state)
                if outcome is not None:
                    break
                if heard is not None:
                    await heard()
                judgement = await self._ask(state, turn, live=heard is not None)
            await self._end(state, turn, outcome)
        except (asyncio.CancelledError, ConfigError) as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            is_left = is_cancelled and state.is_job and not state.is_cancelled
            if state.outcome is None and not is_left:
                outcome = Outcome.CANCELLED if is_cancelled else Outcome.PROVIDER_ERROR
                await see_through(self._end(state, turn, outcome))
            raise

    def _follow(self, state: RunState, judgement: Judgement) -> Outcome | None:
        """Do what was decided, where that is no call; the outcome if that was the end of it."""
        match judgement:
            case Repair():
                return self._repair(state, judgement)
            case Finish():
                return judgement.outcome
            case _:
                return None

    async def _ask(self, state: RunState, turn: Turn, *, live: bool) -> Judgement:
        """One request to the model; what came back is written down, and what follows from it is decided."""
        plan = self._plan_step(state, turn)
        fingerprint, began = state.fingerprints.take(state.plan_digest), self._clock.monotonic()
        limit = state.options.limits.max_seconds
        left = None if limit is None else max(limit - state.seconds, 0.001)
        request = to_request(plan, state.items, stream=live)
        asking = ask(self._provider, request, state, turn, clock=self._clock, seconds=left)
        said = await (asking if self._watch is None else self._watch.request(request, turn.conversation_id, asking))
        if not isinstance(said, Reply):
            return self._after_failure(state, said)
        judgement = self._refined(state, turn, said, judge(said))
        answered = Answered(
            step=state.steps + 1,
            fingerprint=fingerprint,
            reply=said,
            kept=judgement.keep,
            fault=judgement.fault if isinstance(judgement, Repair) else "",
            duration_ms=round((self._clock.monotonic() - began) * 1_000_000) / 1000,  # to the microsecond
            cost=self._cost(state, said),
        )
        try:
            state.record(answered)
        except (UnicodeEncodeError, TypeError):  # a provider of somebody's own, whose answer is none
            unstorable = "The provider's answer holds what no text can hold."
            return self._after_failure(state, Failure(kind=FailureKind.BAD_RESPONSE, message=unstorable, status=0))
        if said.usage is not None:
            turn.note_context(said.usage.input)
        return judgement

    def _cost(self, state: RunState, reply: Reply) -> float | None:
        """By the name of the model that answered, or else of the one that was asked: only one of them may have a price."""
        if reply.usage is None:
            return None
        try:
            cost = self._price(reply.model, reply.usage) if reply.model else None
            return self._price(state.options.model, reply.usage) if cost is None else cost
        except BaseException as error:  # the application's code: the reply is there without a price
            if is_from_signal(error):
                raise
            log.exception("Could not compute the price of a reply of %s.", reply.model or state.options.model)
            return None

    def _after_failure(self, state: RunState, failure: Failure) -> Judgement:
        settings = state.options.settings
        state.record(Failed(step=state.steps + 1, failure=failure))
        if failure.kind is FailureKind.MALFORMED_CALL:
            return Repair(outcome=Outcome.MALFORMED_CALL)
        if failure.kind is FailureKind.CONTENT_FILTER:
            return Finish(outcome=Outcome.REFUSED, keep=False)
        if failure.code == TIME_UP:
            return Finish(outcome=Outcome.TIME_LIMIT, keep=False)
        has_tools = state.plan is not None and bool(state.plan.tools)
        if settings.tool_use_mode == "relaxed" and has_tools and state.failures <= settings.fallback_retry_count:
            state.record(Added(items=(), reason=Outcome.PROVIDER_ERROR, without_tools=True))
            return GO_ON
        return Finish(outcome=Outcome.PROVIDER_ERROR, keep=False)

    def _refined(self, state: RunState, turn: Turn, reply: Reply, judgement: Judgement) -> Judgement:
        """What the settings make of an answer that is one."""
        if isinstance(judgement, Carry) and (turn.must_answer or state.without_tools):
            outcome = Outcome.LOOP_DETECTED if turn.must_answer else Outcome.UNEXPECTED_ANSWER
            return Repair(outcome=outcome, words=_NO_TOOLS_NOW)
        if not isinstance(judgement, Finish) or judgement.outcome is not Outcome.COMPLETED:
            return judgement
        options = state.options
        if options.settings.tool_use_mode == "enforced":
            if not state.calls:
                return Finish(outcome=Outcome.NO_TOOL_CALL)
            is_fatal = options.settings.tool_failure_policy == "fatal"
            if not (all(state.last_ok.values()) if is_fatal else state.any_ok):
                return Finish(outcome=Outcome.TOOL_FAILED)
        fault = self._check_output(state, reply)
        if fault:
            return Repair(outcome=Outcome.INVALID_OUTPUT, words=ask_again(fault), fault=fault, keep=True)
        return judgement

    def _repair(self, state: RunState, wanted: Repair) -> Outcome | None:
        """Ask for it again if that is allowed once more, else the outcome."""
        settings, words, without_tools = state.options.settings, wanted.words, state.without_tools
        if state.repairs >= state.options.limits.max_repairs:
            return wanted.outcome
        if wanted.outcome in (Outcome.EMPTY_ANSWER, Outcome.THINKING_ONLY):
            if not settings.fix_empty_final:
                return wanted.outcome
            words = settings.fix_empty_final_user_text
            without_tools = without_tools or (settings.fix_empty_final_disable_tools and state.calls > 0)
        if wanted.outcome is Outcome.INVALID_OUTPUT and state.reply is not None and was_told_in_words(state.reply):
            without_tools = True
        items = (say_for_user(words),) if words else ()
        state.record(Added(items=items, reason=wanted.outcome, without_tools=without_tools, is_repair=True))
        return None

    async def _carry(self, state: RunState, turn: Turn) -> Outcome | None:
        """Carry out the open calls; the outcome if one of them has to wait, or is one of the caller's own tools."""
        calls, settings = state.open_calls, state.options.settings
        if state.options.client_tools:
            taken = {tool.spec.wire_name for tool in turn.offered()}
            clients = {tool.name for tool in clients_among(state.options, taken)}
            calls = tuple(item for item in calls if item.call.name not in clients)
        batch = Batch(turn, calls)
        # What was said is written before anything happens that cannot be repeated: with its reservation, or first.
        if not (self._has_one_store and batch.is_unguarded):
            await self._write(state)
        await carry_out(self._execute, turn, batch, settings)
        if (applying := self._after_batch(turn)) is not None:
            await applying
        if batch.waiting:
            ids = [item.call.call_id for item in calls]  # whichever of them was told first
            state.record(
                Paused(waiting={call_id: batch.waiting[call_id] for call_id in ids if call_id in batch.waiting})
            )
            return Outcome.AWAITING_APPROVAL
        items: list[Item] = []
        for item, result in zip(calls, batch.results, strict=True):
            if result is not None:
                items.append(shown_item(item.call, result, settings))
        has_clients = len(calls) < len(state.open_calls)
        state.record(Resulted(items=tuple(items)))
        turn.awaited = {}
        return Outcome.CLIENT_CALLS if has_clients else None

    def _exceeded(self, state: RunState) -> Outcome | None:
        limits = state.options.limits
        if state.steps >= limits.max_steps:
            return Outcome.STEP_LIMIT
        if limits.max_seconds is not None and state.seconds >= limits.max_seconds:
            return Outcome.TIME_LIMIT
        if limits.max_tokens is not None and (state.is_uncounted or state.usage.total >= limits.max_tokens):
            return Outcome.TOKEN_LIMIT
        if state.context_tokens >= limits.max_context_tokens:
            return Outcome.TOKEN_LIMIT
        if limits.max_cost is not None and (state.is_unpriced or (state.cost or 0.0) >= limits.max_cost):
            return Outcome.COST_LIMIT
        return None

    async def _end(self, state: RunState, turn: Turn, outcome: Outcome) -> None:
        text = _final_text(state, outcome)
        if not text and state.options.notices and outcome is not Outcome.CLIENT_CALLS:
            text = notice_for(outcome)
        state.record(
            Ended(
                outcome=outcome,
                text=text,
                steps=state.steps,
                calls=state.calls,
                usage=state.usage,
                cost=state.cost,
                failure=state.failure,
                seconds=round(state.seconds, 3),
            )
        )
        turn.is_paused = outcome in RESUMABLE
        await self._write(state)
        turn.emit(ended_event(state, outcome))

    async def _write(self, state: RunState) -> None:
        due = state.take_unwritten()
        if due is not None and not await self._runs.append_run(due.run, due.entries, waiting=due.waiting):
            raise run_overtaken(due.run.run_id)


def ended_event(state: RunState, outcome: Outcome) -> RunEnded:
    """The last event of a run that has paused or ended with this outcome."""
    return RunEnded(
        run_id=state.run.run_id,
        outcome=outcome.value,
        text=state.text,
        failure=state.failure,
        usage=state.usage,
        cost=state.cost,
        approvals=tuple(state.waiting.values()),
    )


def _final_text(state: RunState, outcome: Outcome) -> str:
    reply = state.reply
    if reply is None:
        return ""
    if outcome is Outcome.REFUSED:
        return refusal_text(reply)
    is_answer = outcome in (Outcome.COMPLETED, Outcome.CUT_OFF, Outcome.TOOL_FAILED, Outcome.NO_TOOL_CALL)
    return reply.text if is_answer and not reply.calls else ""


async def _as_they_come(queue: asyncio.Queue[Event | None], work: Coroutine[Any, Any, None]) -> AsyncGenerator[Event]:
    """The events while the work goes on. Whoever stops listening stops the work."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
            queue.task_done()  # the listener has come back for the next one
        await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))

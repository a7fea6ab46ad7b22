"""The dispatcher: carries one call through one pipeline to its one result.

Decisions come from the checks and the gatekeeper; acting happens here; both are recorded. It never raises because of
what a model sent or a handler did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.decisions import Answer, Deny
from groundwire.contracts.errors import ConfigError, ErrorDetail, ErrorType, GroundwireError, RegistryError
from groundwire.contracts.events import CallStarted
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.ports import Clock, Ids, Store, Telemetry
from groundwire.contracts.records import CallRecord
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.contracts.texts import NAME_CHARS, storable
from groundwire.registry import Handler
from groundwire.runtime.attempt import Attempt, CallWaits
from groundwire.runtime.background import BackgroundTools, handle_of
from groundwire.runtime.checks import CHECKS, examine, read_arguments
from groundwire.runtime.context import Context
from groundwire.runtime.finishing import see_through
from groundwire.runtime.gatekeeper import GATES, Gatekeeper, Reconciled, Verdict
from groundwire.runtime.invocation import Outcome, crashed, invoke
from groundwire.runtime.ledger import Ledger
from groundwire.runtime.output import guard_output
from groundwire.runtime.recorder import Recorder
from groundwire.runtime.recording import input_hash
from groundwire.runtime.surface import Entry
from groundwire.runtime.threads import DaemonThreads
from groundwire.runtime.variants import choose_variant
from groundwire.runtime.watching import watch_call

StepHook = Callable[[str, Attempt], None]
"""Told before each step. Crash tests kill the process there, the benchmark reads the time."""

_LAST = ("invoke", "output", "settle", "intents", "done")
PIPELINE = ("replay", *CHECKS, *GATES, *_LAST)
"""In this order. Settling writes the effect, the call, its audit record and its counts in one transaction."""
STEPS = ("replay", "check", *GATES, *_LAST)
"""What a hook is told of: nothing can come between two checks, so they are one step."""


class Dispatcher:
    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        gatekeeper: Gatekeeper,
        recorder: Recorder,
        clock: Clock,
        ids: Ids,
        threads: DaemonThreads,
        resources: Mapping[str, Any],
        background: BackgroundTools | None = None,
        on_step: StepHook | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._recorder = recorder
        self._clock = clock
        self._ids = ids
        self._threads = threads
        self._background = background
        self._on_step = on_step
        self._telemetry = telemetry
        self._gates = {name: getattr(gatekeeper, name) for name in GATES}
        self.resources = resources

    def start(self, attempt: Attempt) -> Coroutine[Any, Any, ToolResult]:
        """Dispatch, watched if anybody watches."""
        work = self.dispatch(attempt)
        return work if self._telemetry is None else watch_call(self._telemetry, attempt, work)

    async def dispatch(self, attempt: Attempt) -> ToolResult:
        """One call, one result, in the order of the pipeline."""
        attempt.started, attempt.started_at = self._clock.monotonic(), self._clock.now()
        turn, call_id, hook = attempt.turn, attempt.call_id, self._on_step
        if turn.on_event is not None:
            turn.emit(CallStarted(call=attempt.call))
        while attempt.given_id and (running := turn.open.get(call_id)) is not None:
            await running.wait()
        turn.open[call_id] = attempt
        try:
            if attempt.given_id:
                if hook is not None:
                    hook("replay", attempt)
                if turn.may_have_closed(call_id):
                    attempt.step = "replay"
                    if (earlier := await self._replay(attempt)) is not None:
                        return earlier
            if hook is not None:
                hook("check", attempt)
            try:
                entry = examine(attempt)
                if isinstance(entry, Deny):
                    return await self._recorder.refuse(attempt, entry)
                handler = entry.tool.handler()
            except RegistryError as error:
                return await self._recorder.refuse(attempt, _no_handler(attempt.name, error))
            return await self._carry(attempt, entry, handler)
        except asyncio.CancelledError:
            result = await self._recorder.close_cancelled(attempt)
            if result is None or not attempt.cancel_requested or attempt.task is None:
                raise
            attempt.task.uncancel()
            return result
        finally:
            turn.open.pop(call_id, None)
            if attempt.effect is not None:
                self._ledger.let_go(attempt)
            if attempt.ended is not None:
                attempt.finish()

    async def _carry(self, attempt: Attempt, entry: Entry, handler: Handler) -> ToolResult:
        """A call that may be made: may it be made now? Then make it."""
        hook = self._on_step
        if entry.spec.policy.variants:
            handler = _choose_variant(attempt, entry, handler)
        context = Context(attempt, self) if handler.wants_context or handler.reconcile is not None else None
        if attempt.key or entry.is_guarded:
            for name in entry.guards if hook is None else GATES:
                if hook is not None:
                    hook(name, attempt)
                    if name not in entry.guards:
                        continue
                attempt.step = name
                if (verdict := await self._gates[name](attempt, entry, handler, context)) is not None:
                    if attempt.is_waiting and attempt.confirmation is not None and isinstance(verdict, Deny):
                        open_result = self._recorder.leave_open(attempt, verdict)
                        raise CallWaits(open_result, attempt.confirmation.confirmation_id)
                    return await self._end_early(attempt, entry, verdict)
        if entry.is_background and self._background is not None:
            return await see_through(self._defer(attempt, self._background))
        return await self._run(attempt, entry, handler, context)

    def carry_on(self, attempt: Attempt, entry: Entry) -> Coroutine[Any, Any, ToolResult]:
        """The second half of a background tool's call, watched if anybody watches."""
        work = self._carry_on(attempt, entry)
        return work if self._telemetry is None else watch_call(self._telemetry, attempt, work)

    async def _carry_on(self, attempt: Attempt, entry: Entry) -> ToolResult:
        """It was let through before, and has a reservation of its own."""
        attempt.started, attempt.started_at = self._clock.monotonic(), self._clock.now()
        attempt.resolve(entry)
        try:
            handler = entry.tool.handler()
            handler = handler.variants[attempt.variant] if attempt.variant else handler
            context = Context(attempt, self)
            attempt.step = "reserve"
            if (verdict := await self._gates["reserve"](attempt, entry, handler, context)) is not None:
                return await self._end_early(attempt, entry, verdict)
            return await self._run(attempt, entry, handler, context)
        except RegistryError as error:
            return await self._recorder.refuse(attempt, _no_handler(attempt.name, error))
        except asyncio.CancelledError:
            await self._recorder.close_cancelled(attempt)
            raise
        finally:
            if attempt.effect is not None:
                self._ledger.let_go(attempt)

    async def _defer(self, attempt: Attempt, background: BackgroundTools) -> ToolResult:
        """From here on there is a job, so whoever is cancelled meanwhile must not hear that there is none."""
        if attempt.effect is not None and not self._ledger.holds_lease(attempt):
            return await self._recorder.refuse(attempt, _lease_lost(attempt.name))
        hook = self._on_step
        try:
            job = await background.defer(attempt)
        except ConfigError as error:
            return await self._recorder.refuse(attempt, _too_large_for_a_job(attempt.name, error))
        attempt.job_id = job.job_id
        if hook is not None:
            hook("settle", attempt)
        result = await self._recorder.defer(attempt, handle_of(job))
        if hook is not None:
            hook("done", attempt)
        return result

    async def _run(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> ToolResult:
        attempt.step = "invoke"
        if self._on_step is not None:
            self._on_step("invoke", attempt)
        if attempt.effect is not None and not self._ledger.holds_lease(attempt):
            return await self._recorder.refuse(attempt, _lease_lost(attempt.name))
        outcome = invoke(attempt, entry, handler, context, self._threads)
        if not isinstance(outcome, Outcome):
            outcome = await outcome
        try:
            return await self._settle(attempt, entry, outcome)
        except GroundwireError:
            raise
        except Exception:
            if attempt.is_closed:
                raise
            return await self._settle(attempt, entry, crashed(attempt))

    async def call_from(self, parent: Attempt, name: str, raw: str) -> ToolResult:
        """A tool's own call of another tool."""
        call = ToolCall(call_id=self._ids.new("call"), name=storable(name)[:NAME_CHARS], raw=raw, origin="tool")
        attempt = Attempt(parent.turn, call, "tool", given_id=False)
        attempt.parent = parent
        return await self.start(attempt)

    def holds_lease(self, attempt: Attempt) -> bool:
        return self._ledger.holds_lease(attempt)

    async def _settle(
        self, attempt: Attempt, entry: Entry, outcome: Outcome, *, reconciled: bool = False
    ) -> ToolResult:
        hook = self._on_step
        if hook is not None:
            hook("output", attempt)
        try:
            output = guard_output(entry, outcome)
        except BaseException as error:  # encoding runs code of the returned value
            if is_from_signal(error):
                raise
            output = crashed(attempt)
        attempt.step = "settle"
        if hook is not None:
            hook("settle", attempt)
        result = await self._recorder.settle(attempt, entry, output, reconciled=reconciled)
        if hook is not None:
            hook("intents", attempt)
        if result.intents:
            self._wish(attempt, result)
        if hook is not None:
            hook("done", attempt)
        return result

    async def _end_early(self, attempt: Attempt, entry: Entry, verdict: Verdict) -> ToolResult:
        match verdict:
            case Deny():
                return await self._recorder.refuse(attempt, verdict)
            case Answer(data=data):
                return await self._recorder.answer(attempt, data)
            case Reconciled(value=value):
                return await self._settle_reconciled(attempt, entry, value)
            case ToolResult():
                if entry.is_background and self._background is not None and not attempt.job_id:
                    verdict = await self._background.renewed(verdict, attempt.turn.tenant)
                return await self._recorder.replay(attempt, verdict)
            case None:
                raise AssertionError("a verdict of nothing does not end a call")

    async def _settle_reconciled(self, attempt: Attempt, entry: Entry, value: Any) -> ToolResult:
        attempt.operator = "the tool's reconcile hook reported that the earlier attempt had taken effect"
        return await self._settle(attempt, entry, Outcome(value), reconciled=True)

    def _wish(self, attempt: Attempt, result: ToolResult) -> None:
        attempt.turn.intents.extend((attempt.call_id, attempt.tool_id, intent) for intent in result.intents)

    async def _replay(self, attempt: Attempt) -> ToolResult | None:
        """A call id that was closed before gives the same result again, or a conflict if it asks for something else."""
        turn = attempt.turn
        if attempt.call_id in turn.closed:
            await self._recorder.flush()  # its record may still be waiting
        entry = turn.find(attempt.name)
        if entry is None or attempt.caller not in entry.callers:
            return None  # the pipeline refuses it, and nothing shows whether there was such a call or such a tool
        record = await self._store.find_call(turn.tenant, turn.conversation_id, attempt.call_id)
        if record is None:
            return None
        is_same, attempt.step = _asks_the_same(attempt, record), "replay"
        if is_same:
            return await self._recorder.replay(attempt, decode_result(record.result), is_same_call=True)
        return await self._recorder.refuse(attempt, _duplicate_id(attempt.call_id), is_same_call=True)


def _asks_the_same(attempt: Attempt, record: CallRecord) -> bool:
    """Whether a call is the one recorded under its id, whatever policy would say of it today."""
    entry = attempt.turn.find(attempt.name)
    if record.tool not in (attempt.name, entry.spec.tool_id if entry is not None else ""):
        return False
    if attempt.raw == record.raw:
        return True
    attempt.resolve(entry)
    if entry is not None and read_arguments(attempt, entry) is None:
        attempt.warnings = ()
    return input_hash(attempt) == record.input_digest


def _choose_variant(attempt: Attempt, entry: Entry, handler: Handler) -> Handler:
    turn = attempt.turn
    attempt.variant = choose_variant(
        entry.spec, user=turn.user, organisation=turn.organisation, fallback=turn.session_id or attempt.call_id
    )
    return handler.variants[attempt.variant] if attempt.variant else handler


def _no_handler(name: str, error: RegistryError) -> Deny:
    """A session keeps its registry version; code that is gone or changed since then is not run in its place."""
    return Deny(
        type=ErrorType.NOT_FOUND,
        detail=error.reason.upper(),
        message=f"{name} is not available in this conversation any more. Go on without it.",
        operator=error.message,
    )


def _too_large_for_a_job(name: str, error: ConfigError) -> Deny:
    return Deny(
        type=ErrorType.ARGUMENTS_TOO_LARGE,
        message=f"The arguments of {name} are too large for a call in the background. Send less.",
        operator=error.message,
    )


def _lease_lost(name: str) -> Deny:
    return Deny(
        type=ErrorType.CONFLICT,
        detail=ErrorDetail.LEASE_LOST,
        retryable=True,
        message=f"{name} could not be started in time. Nothing was done; try again.",
    )


def _duplicate_id(call_id: str) -> Deny:
    return Deny(
        type=ErrorType.CONFLICT,
        detail=ErrorDetail.DUPLICATE_CALL_ID,
        message=f"The call id {call_id!r} was used before for another call. Use a new id for a new call.",
    )

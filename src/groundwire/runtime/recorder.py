"""The recorder: ends a call. It settles the effect, writes the row and the audit entry, and keeps the turn's counts.

A call without a reservation is written with the next one that has one, or at the end of the turn; until then it only
waits here in its order.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable

import msgspec

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.decisions import Deny
from groundwire.contracts.errors import ErrorType, StoreError
from groundwire.contracts.events import CallDenied, CallFinished
from groundwire.contracts.ports import Clock, Ids, Store, TokenEstimator
from groundwire.contracts.records import AuditHead, Charge, EffectStatus
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, ToolResult, encode_result
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.clock import to_iso
from groundwire.runtime.invocation import Outcome
from groundwire.runtime.ledger import Ledger
from groundwire.runtime.output import encode_value
from groundwire.runtime.policies.budgets import stored_scope
from groundwire.runtime.policies.loops import empty_reminder, is_empty, repeat_reminder
from groundwire.runtime.recording import DEFERRED, Ending, closing_of, meta_of, refusal, replayed
from groundwire.runtime.spill import READ_TOOL, reading_tool, spilled_notice
from groundwire.runtime.surface import Entry
from groundwire.runtime.turns import Turn

log = logging.getLogger("groundwire")

MAX_WAITING = 256
TALLY = "tally"
"""The counter of calls by tool and outcome."""


class Recorder:
    def __init__(self, *, store: Store, ledger: Ledger, clock: Clock, ids: Ids, estimator: TokenEstimator) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._estimator = estimator
        self._waiting: deque[Ending] = deque()
        self._tallies: dict[tuple[str, str, ErrorType | None], int] = {}
        self._late: set[asyncio.Task[None]] = set()

    async def refuse(self, attempt: Attempt, deny: Deny, *, is_same_call: bool = False) -> ToolResult:
        """End a call that was not run. It costs no budget and counts in no loop."""
        result = self._refusal(attempt, deny)
        if attempt.caller == "model":
            attempt.turn.refusals += 1
        status = EffectStatus.UNKNOWN if deny.type is ErrorType.OUTCOME_UNKNOWN else None
        transition = self._ledger.transition(attempt, status, note=attempt.operator)
        ending = Ending(attempt, result, "refused", transition=transition, is_same_call=is_same_call)
        await self._write(ending)
        if result.error is not None and attempt.turn.on_event is not None:
            denied = CallDenied(call_id=attempt.call_id, name=attempt.name, step=attempt.step, error=result.error)
            attempt.turn.emit(denied)
        return self._finish(ending)

    def leave_open(self, attempt: Attempt, deny: Deny) -> ToolResult:
        """What a call that waits for a person would be told now. It has not ended, so nothing is recorded or counted."""
        return self._refusal(attempt, deny)

    async def replay(self, attempt: Attempt, stored: ToolResult, *, is_same_call: bool = False) -> ToolResult:
        """Give a stored result again. It costs no budget, but a model that repeats itself is counted."""
        attempt.refund(keep_repeat=True)
        if stored.meta.spilled:
            self.offer_reading(attempt.turn)
        result = replayed(attempt, stored, self._elapsed(attempt))
        if not is_same_call:
            attempt.turn.refusals = 0
            if attempt.counted and attempt.turn.calls_of(attempt.tool_id, attempt.digest) > 1:
                result = msgspec.structs.replace(result, warnings=(*result.warnings, repeat_reminder(attempt.name)))
        body, encoded = encode_value(result.data), encode_result(result)
        ending = Ending(attempt, result, "replayed", body, encoded, is_same_call=is_same_call)
        await self._write(ending)
        return self._finish(ending)

    async def answer(self, attempt: Attempt, data: JsonValue) -> ToolResult:
        """A gate's own answer in place of the tool's."""
        attempt.refund(keep_repeat=True)
        attempt.turn.refusals = 0
        result = ToolResult(ok=True, data=data, meta=meta_of(attempt, self._elapsed(attempt)))
        transition = self._ledger.transition(attempt, None)
        ending = Ending(attempt, result, "answered", encode_value(data), transition=transition)
        await self._write(ending)
        return self._finish(ending)

    async def settle(self, attempt: Attempt, entry: Entry, output: Outcome, *, reconciled: bool = False) -> ToolResult:
        """End a call that was run."""
        duration = self._elapsed(attempt)
        if output.operator:
            attempt.operator = output.operator
        if output.spills:
            await self._spill(attempt, output)
        result = ToolResult(
            ok=not output.errors,
            data=output.data,
            errors=output.errors,
            warnings=attempt.warnings + output.warnings + self._remarks(attempt, entry, output, duration),
            intents=output.intents,
            meta=meta_of(attempt, duration, replayed=reconciled, details=output.details),
        )
        attempt.turn.refusals = 0
        ending = Ending(attempt, result, "reconciled" if reconciled else "executed", output.body)
        if attempt.effect is not None or output.intents or output.details:
            ending.encoded = encode_result(result)  # nobody has it yet who could change it
        if attempt.effect is not None:
            status = _status(entry, output)
            stored = ending.encoded if status is EffectStatus.SETTLED else None
            ending.transition = self._ledger.transition(attempt, status, note=attempt.operator, result=stored)
        if entry.limits.budgets:
            ending.charges = self._late_charges(attempt, entry, output, duration)
        if not self._may_wait(ending) and not await self._written(ending):
            _log_decided(attempt)
        return self._finish(ending)

    async def defer(self, attempt: Attempt, handle: JsonValue) -> ToolResult:
        """End the first half of a call; what it costs besides a call is counted in the second."""
        attempt.turn.refusals = 0
        result = ToolResult(
            ok=True, data=handle, warnings=attempt.warnings, meta=meta_of(attempt, self._elapsed(attempt))
        )
        ending = Ending(attempt, result, DEFERRED, encode_value(handle))
        if attempt.effect is not None:
            ending.encoded = encode_result(result)
            ending.transition = self._ledger.transition(attempt, EffectStatus.SETTLED, result=ending.encoded)
        await self._write(ending)
        return self._finish(ending)

    async def close_cancelled(self, attempt: Attempt) -> ToolResult | None:
        """The task was cancelled: the call is settled all the same, even if it is cancelled again meanwhile."""
        if attempt.is_closed:
            return None
        ending = self._cancelled(attempt)
        task = asyncio.get_running_loop().create_task(self._write(ending))
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        result = self._finish(ending)
        await asyncio.wait((task,))
        return result

    async def flush(self) -> AuditHead:
        """Return when every call that has ended is durable."""
        if self._late:
            await asyncio.wait(self._late)
        self.hand_over()
        tallies, self._tallies = self._tallies, {}
        by_tenant: dict[str, list[Charge]] = {}
        for (tenant, tool_id, failure), count in tallies.items():
            scope = f"{tool_id} {'ok' if failure is None else failure.value}"
            by_tenant.setdefault(tenant, []).append(Charge(name=TALLY, scope=scope, amount=count))
        try:
            for tenant, charges in by_tenant.items():
                await self._store.add(tenant, charges)
        except StoreError:
            for tally, count in tallies.items():
                self._tallies[tally] = self._tallies.get(tally, 0) + count
            raise
        return await self._store.flush()

    def _refusal(self, attempt: Attempt, deny: Deny) -> ToolResult:
        attempt.refund()
        if deny.operator:
            attempt.operator = deny.operator
        notice = None
        if deny.type is ErrorType.CONFIRMATION_REQUIRED and attempt.confirmation is not None:
            confirmation = attempt.confirmation
            notice = ConfirmationNotice(id=confirmation.confirmation_id, expires_at=to_iso(confirmation.expires_at))
        return refusal(attempt, deny, self._elapsed(attempt), notice)

    def _cancelled(self, attempt: Attempt) -> Ending:
        unknown = attempt.withdraw_commit()
        advice = " Whether it took effect is not known." if unknown else ""
        error = ErrorInfo(
            type=ErrorType.CANCELLED,
            message=f"{attempt.name} was cancelled.{advice}",
            partial_side_effects=unknown,
            retryable=not unknown,
        )
        result = ToolResult(ok=False, error=error, meta=meta_of(attempt, self._elapsed(attempt)))
        if not attempt.began:
            attempt.refund()
        status = EffectStatus.UNKNOWN if unknown or attempt.is_unresolved else None
        transition = self._ledger.transition(attempt, status, note="cancelled")
        return Ending(attempt, result, "executed" if attempt.began else "refused", transition=transition)

    async def _write(self, ending: Ending) -> None:
        if not self._may_wait(ending) and not await self._written(ending):
            _log_decided(ending.attempt)

    def _may_wait(self, ending: Ending) -> bool:
        """Count the call as closed, and keep its end for later, if it has no reservation and nobody must see it now."""
        attempt, error = ending.attempt, ending.result.error
        attempt.is_closed = True
        if attempt.effect is not None:
            ending.effect_id = attempt.effect.effect_id
        if attempt.entry is not None and ending.decision != DEFERRED:
            tally = (attempt.turn.tenant, attempt.tool_id, None if error is None else error.type)
            self._tallies[tally] = self._tallies.get(tally, 0) + 1
        if ending.transition is not None:
            return False
        self._waiting.append(ending)
        if not ending.charges and len(self._waiting) >= MAX_WAITING:
            self.hand_over()
        return not ending.charges

    def _written(self, ending: Ending) -> Awaitable[object]:
        """What is False in the end if its effect was decided elsewhere."""
        if self._waiting:
            self.hand_over()
        if ending.transition is None:  # it was handed over; the next call's budget must see what it has spent
            return self._store.flush()
        return self._store.close(closing_of(ending, self._ids, self._estimator))

    def hand_over(self) -> None:
        """Give the store what waits, in the order in which the calls ended."""
        while self._waiting:  # one by one: others may add at the same time, and one bad record must not cost the rest
            ending = self._waiting.popleft()
            try:
                self._store.enqueue(closing_of(ending, self._ids, self._estimator))
            except Exception:
                log.exception("the record of call %s could not be made", ending.attempt.call_id)

    async def _spill(self, attempt: Attempt, output: Outcome) -> None:
        turn = attempt.turn
        ref = f"spill_{secrets.token_hex(16)}"  # not guessable from any other id
        text = output.body.decode()
        await self._store.save_blob(turn.tenant, turn.conversation_id, ref, output.body, now=self._clock.now())
        output.data = spilled_notice(ref, text)
        output.body = encode_value(output.data)
        attempt.spilled = ref
        self.offer_reading(turn)

    def offer_reading(self, turn: Turn) -> None:
        turn.offer_extra(READ_TOOL, lambda: reading_tool(self._store))

    def _remarks(self, attempt: Attempt, entry: Entry, output: Outcome, duration: float) -> tuple[str, ...]:
        """Soft limit, repetition and emptiness: what the model or the operator should hear about."""
        remarks: tuple[str, ...] = ()
        limits = entry.limits
        if limits.soft_ms is not None and duration > limits.soft_ms:
            name, mode = entry.spec.wire_name, attempt.turn.mode
            remarks = (f"{name} took {duration:.0f} ms; its soft limit is {limits.soft_ms} ms.",)
            log.warning("tool %s took %.0f ms in %s mode, soft limit %d ms", name, duration, mode, limits.soft_ms)
        if attempt.caller != "model" or output.errors:
            return remarks
        turn, spec = attempt.turn, entry.spec
        identity = (spec.tool_id, attempt.digest)
        this_time = hash(output.body)
        if turn.last_outputs.get(identity) == this_time:
            remarks += (repeat_reminder(spec.wire_name),)
        turn.last_outputs[identity] = this_time
        if not entry.is_action and is_empty(output.data, spec.policy.empty_field):
            count = turn.empty_results[spec.tool_id] = turn.empty_results.get(spec.tool_id, 0) + 1
            if count >= entry.limits.empty_limit:
                remarks += (empty_reminder(spec.wire_name, count),)
        return remarks

    def _late_charges(self, attempt: Attempt, entry: Entry, output: Outcome, duration: float) -> tuple[Charge, ...]:
        """What can only be counted afterwards: tokens, time, and what the handler said it spent."""
        turn = attempt.turn
        said: dict[str, float] = {}
        for charge in attempt.late_charges:
            said[charge.name] = said.get(charge.name, 0.0) + charge.amount
        amounts = {"ms": duration, "tokens": float(self._estimator.estimate(output.body.decode()))}
        stored: list[Charge] = []
        for budget in entry.limits.budgets:
            amount = said.get(budget.name, 0.0) + amounts.get(budget.unit, 0.0)
            if not amount:
                continue
            if budget.by == "turn":
                turn.used[budget.name] = turn.used.get(budget.name, 0.0) + amount
                continue
            request_id = str(attempt.supplied("request_id"))
            scope = stored_scope(
                budget, session_id=turn.conversation_id, request_id=request_id, arguments=attempt.arguments
            )
            stored.append(Charge(name=budget.name, scope=scope, amount=amount))
        return tuple(stored)

    def _finish(self, ending: Ending) -> ToolResult:
        attempt, result = ending.attempt, ending.result
        turn = attempt.turn
        turn.calls += 1
        if attempt.given_id:
            turn.closed.add(attempt.call_id)
        if turn.on_event is not None:
            turn.emit(CallFinished(call_id=attempt.call_id, name=attempt.name, result=result))
        return result

    def _elapsed(self, attempt: Attempt) -> float:
        return round((self._clock.monotonic() - attempt.started) * 1_000_000) / 1000  # to the microsecond


def _log_decided(attempt: Attempt) -> None:
    log.warning("effect of call %s was decided elsewhere before it ended here", attempt.call_id)


def _status(entry: Entry, output: Outcome) -> EffectStatus | None:
    """Settled when it happened, unknown when nobody can tell, and free again (None) when it did not."""
    if output.happened:
        return EffectStatus.SETTLED
    if output.happened is None and entry.is_action:
        return EffectStatus.UNKNOWN
    return None

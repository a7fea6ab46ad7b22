"""The recorder: ends a call. It settles the effect, writes the row and the audit entry, and keeps the turn's counts."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.decisions import Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.events import CallDenied, CallFinished
from groundwire.contracts.ports import Clock, Ids, Store, TokenEstimator
from groundwire.contracts.records import Charge, EffectStatus
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, ToolResult
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.clock import to_iso
from groundwire.runtime.ledger import Ledger
from groundwire.runtime.output import Output, encode_value
from groundwire.runtime.policies.budgets import stored_scope
from groundwire.runtime.policies.loops import empty_reminder, is_empty, repeat_reminder
from groundwire.runtime.recording import Ending, close, input_hash, meta_of, refusal, replayed
from groundwire.runtime.spill import READ_TOOL, reading_tool, spilled_notice
from groundwire.runtime.surface import Entry

log = logging.getLogger("groundwire")


class Recorder:
    def __init__(self, *, store: Store, ledger: Ledger, clock: Clock, ids: Ids, estimator: TokenEstimator) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._estimator = estimator
        self._late: set[asyncio.Task[ToolResult]] = set()

    async def refuse(self, attempt: Attempt, deny: Deny, *, is_same_call: bool = False) -> ToolResult:
        """End a call that was not run. It costs no budget and counts in no loop."""
        attempt.refund()
        if deny.operator:
            attempt.operator = deny.operator
        notice = None
        if deny.type is ErrorType.CONFIRMATION_REQUIRED and attempt.confirmation is not None:
            confirmation = attempt.confirmation
            notice = ConfirmationNotice(id=confirmation.confirmation_id, expires_at=to_iso(confirmation.expires_at))
        result = refusal(attempt, deny, self._elapsed(attempt), notice)
        status = EffectStatus.UNKNOWN if deny.type is ErrorType.OUTCOME_UNKNOWN else None
        transition = self._ledger.transition(attempt, status, note=attempt.operator)
        if attempt.caller == "model":
            attempt.turn.refusals += 1
        await self._write(attempt, Ending(result, decision="refused", transition=transition), is_same_call=is_same_call)
        if result.error is not None and attempt.turn.on_event is not None:
            denied = CallDenied(call_id=attempt.call_id, name=attempt.name, step=attempt.step, error=result.error)
            attempt.turn.emit(denied)
        self._finish(attempt, result)
        return result

    async def replay(self, attempt: Attempt, stored: ToolResult, *, is_same_call: bool = False) -> ToolResult:
        """Give a stored result again. It costs no budget, but a model that repeats itself is counted."""
        attempt.refund(keep_repeat=True)
        result = replayed(attempt, stored, self._elapsed(attempt))
        attempt.turn.refusals = 0
        await self._write(attempt, Ending(result, decision="replayed"), is_same_call=is_same_call)
        self._finish(attempt, result)
        return result

    async def answer(self, attempt: Attempt, entry: Entry, data: JsonValue) -> ToolResult:
        """A gate's own answer in place of the tool's."""
        attempt.refund(keep_repeat=True)
        result = ToolResult(ok=True, data=data, meta=meta_of(attempt, self._elapsed(attempt)))
        transition = self._ledger.transition(attempt, None)
        ending = Ending(result, decision="answered", body=encode_value(data), transition=transition)
        await self._write(attempt, ending)
        self._finish(attempt, result)
        return result

    async def settle(self, attempt: Attempt, entry: Entry, output: Output, *, replayed: bool = False) -> ToolResult:
        """End a call that was run."""
        duration = self._elapsed(attempt)
        if output.operator:
            attempt.operator = output.operator
        if output.spills:
            await self._spill(attempt, entry, output)
        warnings = [*attempt.warnings, *output.warnings, *self._remarks(attempt, entry, output, duration)]
        more = {"details": output.details} if output.details else {}
        result = ToolResult(
            ok=output.ok,
            data=output.data,
            errors=output.errors,
            warnings=tuple(warnings),
            intents=output.intents,
            meta=meta_of(attempt, duration, replayed=replayed, **more),
        )
        transition = self._ledger.transition(attempt, _status(entry, output), note=attempt.operator)
        decision = "reconciled" if replayed else "executed"
        ending = Ending(result, decision=decision, body=output.body, transition=transition)
        attempt.turn.refusals = 0
        await self._write(attempt, ending, charges=self._late_charges(attempt, entry, output, duration))
        self._finish(attempt, result)
        return result

    async def close_cancelled(self, attempt: Attempt) -> None:
        """The whole task was cancelled: the call is settled all the same, even if it is cancelled again meanwhile."""
        if attempt.is_closed:
            return
        task = asyncio.get_running_loop().create_task(self._settle_cancelled(attempt))
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        await asyncio.wait((task,))

    async def _settle_cancelled(self, attempt: Attempt) -> ToolResult:
        entry = attempt.entry
        began = attempt.began and entry is not None
        unknown = (
            began
            and entry is not None
            and entry.is_action
            and not (entry.spec.policy.commits and not attempt.committed)
        )
        advice = " Whether it took effect is not known." if unknown else ""
        error = ErrorInfo(
            type=ErrorType.CANCELLED,
            message=f"{attempt.name} was cancelled.{advice}",
            partial_side_effects=unknown,
            retryable=not unknown,
        )
        result = ToolResult(ok=False, error=error, meta=meta_of(attempt, self._elapsed(attempt)))
        if not began:
            attempt.refund()
        transition = self._ledger.transition(attempt, EffectStatus.UNKNOWN if unknown else None, note="cancelled")
        await self._write(attempt, Ending(result, decision="executed" if began else "refused", transition=transition))
        self._finish(attempt, result)
        return result

    async def _write(
        self, attempt: Attempt, ending: Ending, *, charges: tuple[Charge, ...] = (), is_same_call: bool = False
    ) -> None:
        entry = attempt.entry
        error = ending.result.error
        outcome = "ok" if error is None else error.type.value
        if entry is not None:
            charges = (*charges, entry.tally(outcome))
        closing = close(attempt, ending, ids=self._ids, estimator=self._estimator, charges=charges)
        attempt.is_closed = True
        if is_same_call:
            closing = msgspec.structs.replace(closing, call=None)
        if closing.transition is None:
            self._store.enqueue(closing)
        elif not await self._store.close(closing):
            log.warning("effect of call %s was decided elsewhere before it ended here", attempt.call_id)

    async def _spill(self, attempt: Attempt, entry: Entry, output: Output) -> None:
        turn = attempt.turn
        ref = self._ids.new("spill")
        text = output.body.decode()
        await self._store.save_blob(turn.tenant, turn.session_id, ref, output.body, now=self._clock.now())
        output.data = spilled_notice(ref, text)
        output.body = encode_value(output.data)
        output.details = {**(output.details or {}), "spilled": ref}
        turn.offer_extra(READ_TOOL, lambda: reading_tool(self._store))

    def _remarks(self, attempt: Attempt, entry: Entry, output: Output, duration: float) -> list[str]:
        """Soft limit, repetition and emptiness: what the model or the operator should hear about."""
        remarks: list[str] = []
        name, limits, turn = entry.spec.wire_name, entry.limits, attempt.turn
        if limits.soft_ms is not None and duration > limits.soft_ms:
            remarks.append(f"{name} took {duration:.0f} ms; its soft limit is {limits.soft_ms} ms.")
            log.warning("tool %s took %.0f ms in %s mode, soft limit %d ms", name, duration, turn.mode, limits.soft_ms)
        if attempt.caller != "model" or not output.ok:
            return remarks
        identity = (entry.spec.tool_id, attempt.digest)
        previous, turn.last_outputs[identity] = turn.last_outputs.get(identity), hash(output.body)
        if previous == turn.last_outputs[identity]:
            remarks.append(repeat_reminder(name))
        if is_empty(output.data, entry.spec.policy.empty_field) and not entry.is_action:
            count = turn.empty_results[entry.spec.tool_id] = turn.empty_results.get(entry.spec.tool_id, 0) + 1
            if count >= limits.empty_limit:
                remarks.append(empty_reminder(name, count))
        return remarks

    def _late_charges(self, attempt: Attempt, entry: Entry, output: Output, duration: float) -> tuple[Charge, ...]:
        """What can only be counted afterwards: tokens, time, and what the handler said it spent."""
        if not entry.limits.budgets:
            return ()
        turn = attempt.turn
        said: dict[str, float] = {}
        for charge in attempt.late_charges:
            said[charge.name] = said.get(charge.name, 0.0) + charge.amount
        amounts = {"ms": duration, "tokens": float(self._estimator.estimate(output.body.decode())), "calls": 0.0}
        stored: list[Charge] = []
        for budget in entry.limits.budgets:
            amount = said.get(budget.name, 0.0) + amounts.get(budget.unit, 0.0)
            if not amount:
                continue
            if budget.by == "turn":
                turn.used[budget.name] = turn.used.get(budget.name, 0.0) + amount
                continue
            request_id = str(turn.supplied_value("request_id", attempt))
            scope = stored_scope(budget, session_id=turn.session_id, request_id=request_id, arguments=attempt.arguments)
            stored.append(Charge(name=budget.name, scope=scope, amount=amount))
        return tuple(stored)

    def _finish(self, attempt: Attempt, result: ToolResult) -> None:
        turn = attempt.turn
        turn.calls += 1
        if attempt.given_id:
            turn.closed.setdefault(attempt.call_id, (attempt.tool_id, input_hash(attempt), result))
        if turn.on_event is not None:
            turn.emit(CallFinished(call_id=attempt.call_id, name=attempt.name, result=result))

    def _elapsed(self, attempt: Attempt) -> float:
        return round((self._clock.monotonic() - attempt.started) * 1000, 3)


def _status(entry: Entry, output: Output) -> EffectStatus | None:
    """Settled when it happened, unknown when nobody can tell, and free again (None) when it did not."""
    if output.happened:
        return EffectStatus.SETTLED
    if output.happened is None and entry.is_action:
        return EffectStatus.UNKNOWN
    return None

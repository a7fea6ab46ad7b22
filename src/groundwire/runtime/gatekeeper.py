"""The second half of the way in: from the ledger's look-up to the reservation.

These steps need the store, the clock or the flags. Each gives a verdict that ends the call, or nothing.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from functools import partial
from typing import Any, TypeAlias

import msgspec

from groundwire.contracts.decisions import Answer, Confirm, Deny
from groundwire.contracts.events import ApprovalRequested
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.ports import Clock, Flags, Ids, Store
from groundwire.contracts.records import Charge, Confirmation, ConfirmationStatus, NotApproved
from groundwire.contracts.results import ToolResult
from groundwire.contracts.tools import ToolSpec
from groundwire.registry import Handler
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.clock import to_iso
from groundwire.runtime.context import Context
from groundwire.runtime.grounding import find_evidence, refusal_for
from groundwire.runtime.invocation import describe_failure
from groundwire.runtime.ledger import Ledger, Unresolved, outcome_unknown
from groundwire.runtime.limited import run_limited
from groundwire.runtime.policies.budgets import stored_scope, within_budget
from groundwire.runtime.policies.confirmation import describe_call, expired, is_agreed, unasked, waiting
from groundwire.runtime.policies.gates import through_gates
from groundwire.runtime.surface import Entry
from groundwire.runtime.threads import DaemonThreads

GATES = ("look_up", "budget", "gates", "ground", "confirm", "reserve")
"""The gatekeeper's methods in their order. `Entry.guards` says which of them a tool needs."""


class Reconciled:
    """A tool's reconcile hook knows that its earlier attempt happened, and with what result."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


Verdict: TypeAlias = Deny | Answer | ToolResult | Reconciled | None


class Gatekeeper:
    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        clock: Clock,
        ids: Ids,
        flags: Flags,
        threads: DaemonThreads,
        confirmation_seconds: float,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._flags = flags
        self._confirmation_seconds = confirmation_seconds
        self._threads = threads

    async def look_up(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> Verdict:
        """A settled key answers at once: no budget, no second confirmation."""
        if not attempt.key or attempt.is_fresh:
            return None
        verdict = await self._ledger.look_up(attempt, can_reconcile=handler.reconcile is not None)
        return await self._reconcile(attempt, handler, context, verdict)

    async def budget(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> Verdict:
        """Turn budgets are taken here and given back if a later step refuses; stored ones are taken at reserve."""
        turn = attempt.turn
        for budget in entry.turn_budgets:
            denied = within_budget(budget, turn.used.get(budget.name, 0.0), entry.spec.wire_name)
            if isinstance(denied, Deny):
                return denied
        # Taken before anything is awaited, so that calls made at the same time cannot pass on the same count.
        attempt.charged = tuple(budget.name for budget in entry.turn_budgets if budget.unit == "calls")
        for name in attempt.charged:
            turn.used[name] = turn.used.get(name, 0.0) + 1
        charges = [
            Charge(
                name=budget.name,
                scope=stored_scope(
                    budget,
                    session_id=turn.conversation_id,
                    request_id=str(attempt.supplied("request_id")),
                    arguments=attempt.arguments,
                ),
                amount=1.0 if budget.unit == "calls" else 0.0,
                max=budget.max if budget.unit == "calls" else None,
            )
            for budget in entry.stored_budgets
        ]
        if charges:
            used = await self._store.read_counters(turn.tenant, [(charge.name, charge.scope) for charge in charges])
            for budget, amount in zip(entry.stored_budgets, used, strict=True):
                denied = within_budget(budget, amount, entry.spec.wire_name)
                if isinstance(denied, Deny):
                    return denied
            attempt.charges = tuple(charge for charge in charges if charge.amount)
        return None

    async def gates(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> Verdict:
        decision = through_gates(entry.spec.wire_name, entry.limits.gates, self._flags)
        return decision if isinstance(decision, (Deny, Answer)) else None

    async def ground(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> Verdict:
        rules, supplied = entry.spec.policy.ground, entry.supplied
        said = {name: value for name, value in attempt.arguments.items() if name in rules or name not in supplied}
        attempt.evidence = find_evidence(said, rules, attempt.turn.history)
        refusal = refusal_for(entry.spec.wire_name, attempt.evidence)
        if refusal is None or entry.limits.grounding == "strict":
            return refusal
        attempt.warn(f"Not grounded: {refusal.operator}.")
        return None

    async def confirm(self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None) -> Verdict:
        turn, now = attempt.turn, self._clock.now()
        spec = entry.spec
        if not entry.must_confirm(attempt.caller):
            return None
        why = entry.trusted.why if entry.trusted is not None and not entry.limits.confirm else ""
        if why:
            attempt.operator = f"a person is asked: {why}"
        if not turn.asks_people:
            return unasked(spec.wire_name)
        answer = await self._awaited(attempt, spec)
        if answer is not None and answer.expires_at <= now and answer.status is not ConfirmationStatus.DENIED:
            return expired(spec.wire_name)
        if answer is None:
            answer = await self._store.find_confirmation(
                turn.tenant, turn.approval_binding, spec.tool_id, attempt.digest, now=now
            )
        if answer is not None and answer.input_digest != attempt.digest:
            answer = None  # whatever the store says, that is an answer to another question
        decision = is_agreed(spec, attempt.compared, answer)
        if isinstance(decision, Confirm):
            if answer is None:
                question = f"{decision.question} You are asked because {why}." if why else decision.question
                answer = await self._store.create_confirmation(self._question(attempt, spec, question, now))
            attempt.confirmation = answer
            attempt.is_waiting = turn.pauses and attempt.caller == "model"
            turn.emit(
                ApprovalRequested(
                    call_id=attempt.call_id,
                    name=attempt.name,
                    confirmation_id=answer.confirmation_id,
                    question=answer.question,
                    expires_at=to_iso(answer.expires_at),
                )
            )
            return waiting(spec.wire_name, describe_call(spec, attempt.compared) if why else answer.question)
        if isinstance(decision, Deny):
            return decision
        attempt.confirmation = answer
        return None

    async def _awaited(self, attempt: Attempt, spec: ToolSpec) -> Confirmation | None:
        """The question that this very call has been waiting for; a spent one agrees to nothing any more."""
        waited_for = attempt.turn.awaited.get(attempt.call_id)
        if waited_for is None:
            return None
        answer = await self._store.get_confirmation(attempt.turn.tenant, waited_for)
        if answer is None or answer.status is ConfirmationStatus.SPENT or answer.tool != spec.tool_id:
            return None
        return answer if answer.input_digest == attempt.digest else None

    def reserve(
        self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None
    ) -> Awaitable[Verdict | Unresolved | NotApproved]:
        if handler.reconcile is None and attempt.confirmation is None:
            return self._ledger.reserve(attempt, can_reconcile=False)
        return self._reserve_in_turns(attempt, entry, handler, context)

    async def _reserve_in_turns(
        self, attempt: Attempt, entry: Entry, handler: Handler, context: Context | None
    ) -> Verdict:
        while True:
            verdict = await self._ledger.reserve(attempt, can_reconcile=handler.reconcile is not None)
            if isinstance(verdict, NotApproved):
                # An equal call was faster. This one requests an approval of its own, instead of naming a spent one.
                attempt.confirmation, attempt.step = None, "confirm"
                refused = await self.confirm(attempt, entry, handler, context)
                if refused is not None:
                    return refused
                attempt.step = "reserve"
                continue
            ended = await self._reconcile(attempt, handler, context, verdict)
            if ended is not None or not isinstance(verdict, Unresolved):
                return ended
            # It did not happen: the key is held; approval and stored budgets are still to be taken.

    def _question(self, attempt: Attempt, spec: ToolSpec, question: str, now: float) -> Confirmation:
        turn = attempt.turn
        return Confirmation(
            confirmation_id=self._ids.new("cnf"),
            tenant=turn.tenant,
            binding=turn.approval_binding,
            session_id=turn.session_id,
            run_id=turn.run_id,
            key_id=turn.key_id,
            tool=attempt.tool_id,
            category=spec.category.value,
            input_digest=attempt.digest,
            question=question,
            arguments=attempt.compared,
            argument_schema=spec.parameters,
            evidence=attempt.evidence,
            call_id=attempt.call_id,
            created_at=now,
            expires_at=now + self._confirmation_seconds,
            edited=attempt.is_edited,
            supplied=tuple(spec.policy.supplied),
        )

    async def _reconcile(
        self,
        attempt: Attempt,
        handler: Handler,
        context: Context | None,
        verdict: ToolResult | Deny | Unresolved | None,
    ) -> Verdict:
        """Ask the tool what became of an attempt that was cut off. It says: this result, nothing, or it raises."""
        if not isinstance(verdict, Unresolved):
            return verdict
        entry = attempt.entry
        if handler.reconcile is None or entry is None:
            return None
        hook = self._call_hook(handler, attempt.arguments, context)
        attempt.is_unresolved = True
        try:
            value = await run_limited(hook, entry.limits.hard_ms / 1000, attempt)
        except GeneratorExit:  # the call is being closed
            raise
        except BaseException as error:  # the boundary to code that is not ours: a hook that fails knows nothing
            if is_from_signal(error) or (isinstance(error, asyncio.CancelledError) and attempt.is_being_cancelled()):
                raise
            unknown = outcome_unknown(attempt.name, attempt.effect.effect_id if attempt.effect is not None else "")
            return msgspec.structs.replace(
                unknown, operator=f"{unknown.operator}; its hook failed: {describe_failure()}"
            )
        attempt.is_unresolved = False
        return None if value is None else Reconciled(value)

    async def _call_hook(self, handler: Handler, arguments: dict[str, Any], context: Context | None) -> Any:
        """Hooks follow the handler convention: the same arguments by keyword, and `context` if they name it."""
        hook: Any = handler.reconcile
        converted = handler.convert(arguments) if handler.convert is not None else arguments
        parameters = inspect.signature(hook).parameters
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        passed = {name: value for name, value in converted.items() if takes_all or name in parameters}
        if "context" in parameters:
            passed["context"] = context
        if inspect.iscoroutinefunction(hook):
            return await hook(**passed)
        value = await self._threads.run(partial(hook, **passed))
        return await value if inspect.isawaitable(value) else value

"""The effect ledger: an effect is reserved before it happens and settled after, so that it happens at most once.

Holds for threads, processes and machines that share the store, and for those that die in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from groundwire.contracts.decisions import Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType, RunOvertaken, StoreError
from groundwire.contracts.ports import Clock, Ids, Store
from groundwire.contracts.records import (
    Effect,
    EffectStatus,
    NotApproved,
    OverBudget,
    Overtaken,
    Reservation,
    Reserved,
    Taken,
    Transition,
)
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.runtime.policies.budgets import over_budget

if TYPE_CHECKING:
    from groundwire.runtime.attempt import Attempt

log = logging.getLogger("groundwire")

FIRST_POLL = 0.005
LAST_POLL = 0.25
KEEP_SETTLED_SECONDS = 7 * 86_400.0
"""How long a settled effect replays at least."""


Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=365 * 86_400)]


class LedgerTimes(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How long a reservation lives without being renewed, a call waits for another's, and a question waits for a person."""

    lease_seconds: Seconds = 20.0
    wait_seconds: Annotated[float, Meta(ge=0, le=365 * 86_400)] = 30.0
    confirmation_seconds: Seconds = 300.0


class Unresolved(Struct, frozen=True, kw_only=True):
    """The key is ours again, but what became of the earlier attempt is unknown: ask the tool's reconcile hook."""

    effect: Effect


Verdict: TypeAlias = ToolResult | Deny | Unresolved | None


class Ledger:
    def __init__(self, store: Store, clock: Clock, ids: Ids, times: LedgerTimes) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._lease_seconds = times.lease_seconds
        self._wait_seconds = times.wait_seconds
        self._owner = ids.new("own")
        self._held: dict[str, Attempt] = {}
        """The attempts that have a reservation, by its name. Of two at one key, the later one has it."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def look_up(self, attempt: Attempt, *, can_reconcile: bool) -> Verdict:
        """What is known about the call's key: its result, a reason to refuse, or nothing that stands in the way."""
        effect = await self._store.find_effect(attempt.turn.tenant, attempt.tool_id, attempt.key, now=self._clock.now())
        return None if effect is None else await self._resolve(attempt, effect, can_reconcile=can_reconcile)

    async def reserve(self, attempt: Attempt, *, can_reconcile: bool) -> Verdict | NotApproved:
        """Take the key, the approval and the stored budgets together, where there are any.

        NotApproved if another call has spent the approval meanwhile, or it has expired; nothing is taken then.
        """
        if not attempt.key and not attempt.charges:
            return None
        turn, confirmation = attempt.turn, attempt.confirmation
        while True:
            now = self._clock.now()
            effect = self._new_effect(attempt, now) if attempt.key and attempt.effect is None else None
            outcome = await self._store.reserve(
                Reservation(
                    tenant=turn.tenant,
                    effect=effect,
                    confirmation_id="" if confirmation is None else confirmation.confirmation_id,
                    charges=attempt.charges,
                    appending=turn.take_entries(),
                    now=now,
                )
            )
            match outcome:
                case Reserved():
                    if effect is not None:
                        self._hold(attempt, effect)
                    return None
                case Taken(effect=taken):
                    verdict = await self._resolve(attempt, taken, can_reconcile=can_reconcile)
                    if verdict is not None:
                        return verdict
                case OverBudget(name=name):
                    return _no_budget(attempt, name)
                case NotApproved():
                    return outcome
                case Overtaken():
                    raise run_overtaken(turn.run_id)

    def holds_lease(self, attempt: Attempt) -> bool:
        return attempt.effect is None or self._clock.now() < attempt.lease_until

    def transition(
        self, attempt: Attempt, status: EffectStatus | None, *, note: str = "", result: bytes | None = None
    ) -> Transition | None:
        """What the store must do with this attempt's reservation; None when it has none."""
        effect = attempt.effect
        if effect is None:
            return None
        return Transition(
            tenant=effect.tenant,
            tool=effect.tool,
            key=effect.key,
            attempt=effect.attempt,
            status=status,
            result=result,
            note=note,
            now=self._clock.now(),
        )

    def let_go(self, attempt: Attempt) -> None:
        """The attempt ended; whoever waits in this process may look again."""
        effect, attempt.effect = attempt.effect, None
        if effect is not None:
            self._held.pop(effect.attempt, None)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _new_effect(self, attempt: Attempt, now: float) -> Effect:
        turn, effect_id = attempt.turn, self._ids.new("eff")
        return Effect(
            effect_id=effect_id,
            tenant=turn.tenant,
            tool=attempt.tool_id,
            key=attempt.key,
            input_digest=attempt.digest,
            owner=self._owner,
            attempt=effect_id,
            lease_until=now + self._lease_seconds,
            session_id=turn.session_id,
            call_id=attempt.call_id,
            raw=attempt.raw,
            created_at=now,
            updated_at=now,
        )

    def _hold(self, attempt: Attempt, effect: Effect) -> None:
        # Asking for the running loop is a system call in CPython 3.11; the task knows it.
        loop = asyncio.get_running_loop() if attempt.task is None else attempt.task.get_loop()
        attempt.effect, attempt.lease_until, attempt.loop = effect, effect.lease_until, loop
        self._held[effect.attempt] = attempt
        if self._timer is None or self._timer_loop is not loop:
            self._timer_loop = loop
            self._timer = loop.call_later(self._lease_seconds / 3, self._renew_held)

    def _renew_held(self) -> None:
        """Keep every reservation of this process alive, as long as it has any."""
        self._timer = None
        if self._held:
            loop = asyncio.get_running_loop()
            self._renewal = loop.create_task(self._renew(list(self._held.values())))
            self._timer = loop.call_later(self._lease_seconds / 3, self._renew_held)

    async def _renew(self, attempts: Sequence[Attempt]) -> None:
        now = self._clock.now()
        until = now + self._lease_seconds
        held = {key_of(effect): (attempt, effect) for attempt in attempts if (effect := attempt.effect) is not None}
        try:
            renewed = await self._store.renew_leases(self._owner, list(held), now=now, lease_until=until)
        except StoreError as error:
            log.warning("leases could not be renewed: %s", error)
            return
        for key, (attempt, effect) in held.items():
            # Fewer than asked for: some have ended in the meantime, or were lost. Which ones, only the store knows.
            if renewed >= len(held) or await self._is_renewed(key, effect, now, until):
                attempt.lease_until = until

    async def _is_renewed(self, key: tuple[str, str, str], effect: Effect, now: float, until: float) -> bool:
        if effect.attempt not in self._held:
            return False
        found = await self._store.find_effect(*key, now=now)
        return found is not None and found.attempt == effect.attempt and found.lease_until >= until

    async def _resolve(self, attempt: Attempt, effect: Effect, *, can_reconcile: bool) -> Verdict:
        if effect.input_digest != attempt.digest:
            return _key_reused(attempt.name)
        if effect.status is EffectStatus.RESERVED:
            return await self._await_settlement(attempt, effect, can_reconcile=can_reconcile)
        if effect.status is EffectStatus.SETTLED and effect.result is not None:
            return decode_result(effect.result)
        if not can_reconcile and not _is_repeatable(attempt):
            return outcome_unknown(attempt.name, effect.effect_id)
        return await self._take_over(attempt, effect, can_reconcile=can_reconcile)

    async def _take_over(self, attempt: Attempt, effect: Effect, *, can_reconcile: bool) -> Verdict:
        now = self._clock.now()
        # Another attempt at the same effect: people who have noted its id will still find it.
        mine = msgspec.structs.replace(self._new_effect(attempt, now), effect_id=effect.effect_id)
        reservation = Reservation(tenant=effect.tenant, effect=mine, takeover=True, now=now)
        outcome = await self._store.reserve(reservation)
        if isinstance(outcome, Taken):  # somebody else was faster; see what they make of it
            return await self._resolve(attempt, outcome.effect, can_reconcile=can_reconcile)
        self._hold(attempt, mine)
        return Unresolved(effect=effect) if can_reconcile else None

    async def _await_settlement(self, attempt: Attempt, effect: Effect, *, can_reconcile: bool) -> Verdict:
        """Another call has this key in flight: wait for its end, then judge again."""
        deadline = self._clock.monotonic() + self._wait_seconds
        pause = FIRST_POLL
        while (left := deadline - self._clock.monotonic()) > 0:
            held_here = self._held.get(effect.attempt)
            if held_here is not None and held_here.loop is asyncio.get_running_loop():
                await held_here.wait(left)
            else:
                await self._clock.sleep(min(pause, left))
                pause = min(pause * 2, LAST_POLL)
            found = await self._store.find_effect(*key_of(effect), now=self._clock.now())
            if found is None:
                return None
            if found.status is not EffectStatus.RESERVED:
                return await self._resolve(attempt, found, can_reconcile=can_reconcile)
            effect = found
        return _in_flight(attempt.name)


def key_of(effect: Effect) -> tuple[str, str, str]:
    """What a store knows an effect by."""
    return effect.tenant, effect.tool, effect.key


def _is_repeatable(attempt: Attempt) -> bool:
    """Whether it may be done again without being asked about. To hand an effect over to its job again changes nothing."""
    entry = attempt.entry
    if entry is None or not entry.is_action or entry.spec.policy.repeatable:
        return True
    return entry.is_background and not attempt.job_id


def run_overtaken(run_id: str) -> RunOvertaken:
    return RunOvertaken(f"run {run_id!r} was continued by another caller or process")


def outcome_unknown(name: str, effect_id: str) -> Deny:
    return Deny(
        type=ErrorType.OUTCOME_UNKNOWN,
        message=(
            f"An earlier attempt of {name} with these arguments was cut off, and whether it took effect is not known. "
            "It was not run again. Tell the user that a person has to check it."
        ),
        operator=f"decide effect {effect_id}: groundwire effects reconcile {effect_id}",
    )


def _key_reused(name: str) -> Deny:
    return Deny(
        type=ErrorType.CONFLICT,
        detail=ErrorDetail.KEY_REUSED,
        message=f"{name} was already called under this key with other arguments. Use a new key for a new call.",
    )


def _in_flight(name: str) -> Deny:
    return Deny(
        type=ErrorType.CONFLICT,
        detail=ErrorDetail.IN_FLIGHT,
        retryable=True,
        message=f"The same call of {name} is still running elsewhere. Try again later.",
    )


def _no_budget(attempt: Attempt, name: str) -> Deny:
    """Calls at the same time were faster. One call has one stored budget of a name for each thing it goes by."""
    assert attempt.entry is not None  # noqa: S101 - for the type checker; the pipeline resolved it
    spent = next(budget for budget in attempt.entry.stored_budgets if budget.name == name)
    return over_budget(spent, attempt.entry.spec.wire_name)

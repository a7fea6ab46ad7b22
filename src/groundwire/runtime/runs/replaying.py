"""Replays: the loop again on the record of a run, either just as it was or with another model, prompt or registry.

No tool runs. Results come from the record; what it cannot answer is a difference, and is carried out only where the
caller hands in something that does. What a replay writes down goes to the store of the runtime that it is given.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec import Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock, Provider, RunStore
from groundwire.contracts.records import CallRecord
from groundwire.contracts.replies import Usage
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.contracts.runs import Outcome, Run
from groundwire.runtime.arguments import kept_id
from groundwire.runtime.attempt import CallWaits
from groundwire.runtime.runs.comparing import Difference, call_key, compare_exactly, compare_steps, read_raw
from groundwire.runtime.runs.history import begin_run, load_run
from groundwire.runtime.runs.options import RunOptions, WhoAnswers
from groundwire.runtime.runs.runner import Price, Runner, check_output, no_price
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.tapes import Tape, not_recorded, read_shown
from groundwire.runtime.runs.traces import Asked, Trace, trace_of
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.spill import READ_TOOL, reading_tool
from groundwire.runtime.turns import Turn, TurnOptions


class ReplayReport(Struct, frozen=True, kw_only=True):
    """What came out, and how it differs. The other fields are the replay's own.

    `same`, of an exact replay: every entry is the recorded one. Of a changed one: the same calls, words and outcome;
    changes of the plan were asked for and are only told.
    """

    run_id: str
    exact: bool
    same: bool
    differences: tuple[Difference, ...]
    outcome: Outcome | None
    text: str
    items: tuple[Item, ...]
    steps: int
    usage: Usage
    cost: float | None


async def replay_exactly(trace: Trace, runtime: Runtime) -> ReplayReport:
    """The same loop on the recorded answers, results and plans. `runtime` has the rules for the turn, and the store."""
    tape, options, run = Tape(trace), trace.options, trace.run
    runner = Runner(
        tape,
        tape.execute,
        runtime.store,
        tape,
        after_batch=tape.after_batch,
        price=tape.price,
        plan_step=tape.plan_step,
        check_output=tape.check_output,
    )
    state = await _begin(trace, options, runtime.store, tape, run.run_id)
    while True:
        async with runtime.run_turn(_outside(options, run.run_id), run.turn, resumed=False) as turn:
            tape.begin_part(turn)
            try:
                await runner.run(state, turn)
            except asyncio.CancelledError:
                if not tape.is_stopped:
                    raise
        if not tape.end_part():
            break
        state = await load_run(runtime.store, tape, run.tenant, run.run_id, earlier=trace.earlier)
    replayed = await _read(runtime.store, state.run)
    if trace.ended is None:  # its process died, or goes on: it is the same as far as it goes
        replayed = msgspec.structs.replace(replayed, entries=replayed.entries[:-1])
    differences = compare_exactly(trace, replayed)
    return _report(trace, state, differences, exact=True, same=not differences)


async def replay_changed(
    trace: Trace,
    options: RunOptions,
    runtime: Runtime,
    runs: RunStore,
    provider: Provider,
    *,
    execute: bool = False,
    price: Price = no_price,
    who: WhoAnswers | None = None,
) -> ReplayReport:
    """The loop with these options and the tools of `runtime`, asking a model, on the recorded results.

    With `execute`, calls that the record lacks are carried out by `runtime`, outside the session of the run. Nobody would
    come back to a replay with an agreement, so calls that need one are refused, and leave no question behind.
    """
    results = RecordedResults(trace, runtime, execute=execute)
    clock = runtime.clock
    limited = partial(check_output, limits=runtime.parts.schema_limits)
    runner = Runner(
        provider, results.execute, runs, clock, after_batch=runtime.after_batch, price=price, check_output=limited
    )
    state = await _begin(trace, options, runs, clock, runtime.ids.new("replay"))
    outside = _outside(options, state.run.run_id, who)
    async with runtime.run_turn(outside, state.run.turn, resumed=False) as turn:
        turn.asks_people = False
        await runner.run(state, turn)
    replayed = await _read(runs, state.run)
    missing = _unrecorded(results.missing, replayed)
    found = tuple(sorted((*compare_steps(trace, replayed), *missing), key=lambda one: one.step))
    same = all(one.kind == "plan" for one in found)
    return _report(trace, state, found, exact=False, same=same)


class Recorded(Struct, kw_only=True):
    """A call that the record has a result for, or an approval that it waits for; each is given once."""

    result: ToolResult | None
    approval: str
    record: CallRecord | None
    is_given: bool = False


class RecordedResults:
    """Results by tool and arguments, those of the same call in their order."""

    def __init__(self, trace: Trace, runtime: Runtime, *, execute: bool) -> None:
        self._runtime = runtime
        self._execute = execute
        self._recorded: dict[tuple[str, bytes], deque[Recorded]] = {}
        self.missing: list[ToolCall] = []
        """What was asked for and is not in the record."""
        records = {record.call_id: record for record in trace.calls}
        for step in trace.steps():
            for asked in step.asked:
                self._add(asked, records.pop(kept_id(asked.call.call_id), None))

    async def execute(self, turn: Turn, call: ToolCall) -> ToolResult:
        found = self._take(call)
        if found is None:
            self.missing.append(call)
            if self._execute:
                return await self._runtime.carry(turn, call)
            turn.refusals += 1
            return not_recorded(call)
        if found.result is None:
            raise CallWaits(not_recorded(call), found.approval)
        if found.record is not None:
            turn.rebuild([found.record], decode_result)
        if found.result.meta.spilled:
            turn.offer_extra(READ_TOOL, lambda: reading_tool(self._runtime.store))
        return found.result

    def _add(self, asked: Asked, record: CallRecord | None) -> None:
        """Under the arguments of the model, and under those that were carried out: corrected, or changed by a person."""
        result = decode_result(record.result) if record is not None else None
        if result is None and asked.shown is not None:
            result = read_shown(asked.shown)
        if result is None and not asked.approval:
            return
        one = Recorded(result=result, approval=asked.approval, record=record)
        raws = {asked.call.raw} if record is None else {asked.call.raw, record.raw}
        for key in {call_key(asked.call.name, read_raw(raw)) for raw in raws}:
            self._recorded.setdefault(key, deque()).append(one)

    def _take(self, call: ToolCall) -> Recorded | None:
        candidates = self._recorded.get(call_key(call.name, read_raw(call.raw)))
        while candidates:
            found = candidates.popleft()
            if not found.is_given:
                found.is_given = True
                return found
        return None


async def _begin(trace: Trace, options: RunOptions, runs: RunStore, clock: Clock, run_id: str) -> RunState:
    started = msgspec.structs.replace(trace.started, options=options.as_json())
    now = clock.now()
    run = Run(
        tenant=options.tenant,
        run_id=run_id,
        session_id=options.session or "",
        turn=trace.run.turn,
        model=options.model,
        created_at=now,
        updated_at=now,
    )
    return await begin_run(runs, clock, run, options, started, trace.earlier)


async def _read(runs: RunStore, run: Run) -> Trace:
    return trace_of(run, await runs.run_entries(run.tenant, run.run_id))


def _unrecorded(calls: list[ToolCall], replayed: Trace) -> Iterator[Difference]:
    steps = {asked.call.call_id: step.number for step in replayed.steps() for asked in step.asked}
    for call in calls:
        step = steps.get(call.call_id, 0)
        yield Difference(step=step, kind="call_unrecorded", name=call.name, replayed=read_raw(call.raw))


def _outside(options: RunOptions, run_id: str, who: WhoAnswers | None = None) -> TurnOptions:
    """A turn under the run's rules that leaves its session alone."""
    alone = options.for_turn(run_id, who)
    alone["session"] = None
    return alone


def _report(
    trace: Trace, state: RunState, differences: tuple[Difference, ...], *, exact: bool, same: bool
) -> ReplayReport:
    return ReplayReport(
        run_id=trace.run.run_id,
        exact=exact,
        same=same,
        differences=differences,
        outcome=state.outcome,
        text=state.text,
        items=state.new_items,
        steps=state.steps,
        usage=state.usage,
        cost=state.cost,
    )

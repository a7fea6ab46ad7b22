"""The result of a run for its caller: how it ended, what it added to the conversation, and its calls."""

from typing import Any

import msgspec

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.events import CallFinished, CallStarted, Event
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import Item
from groundwire.contracts.replies import Usage, WireWarning
from groundwire.contracts.results import ToolResult
from groundwire.contracts.runs import Outcome
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.runtime.runs.outputs import read_output
from groundwire.runtime.runs.state import RunState


class CallOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a run and its result."""

    call: ToolCall
    result: ToolResult


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `items` are what it added to the conversation; `approvals` are what it waits for.

    `warnings` are what could not be sent to the model, or read from it, as it was meant; each once.
    """

    run_id: str
    session_id: str
    outcome: Outcome
    text: str
    items: tuple[Item, ...]
    history: tuple[Item, ...]
    events: tuple[Event, ...]
    approvals: tuple[str, ...]
    warnings: tuple[WireWarning, ...]
    steps: int
    usage: Usage
    cost: float | None
    failure: Failure | None
    output: Any = None

    @property
    def ok(self) -> bool:
        """Whether the run was completed."""
        return self.outcome is Outcome.COMPLETED

    @property
    def calls(self) -> tuple[CallOutcome, ...]:
        """The calls that ended, in the order in which they did."""
        started: dict[str, ToolCall] = {}
        calls: list[CallOutcome] = []
        for event in self.events:
            if type(event) is CallStarted:
                started[event.call.call_id] = event.call
            elif type(event) is CallFinished and event.call_id in started:
                calls.append(CallOutcome(call=started[event.call_id], result=event.result))
        return tuple(calls)


def result_of(state: RunState, events: list[Event], limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS) -> RunResult:
    """The result of a run that has ended or paused. `limits` hold for the schema of its output."""
    outcome = state.outcome or Outcome.CANCELLED
    return RunResult(
        run_id=state.run.run_id,
        session_id=state.run.session_id,
        outcome=outcome,
        text=state.text,
        items=state.new_items,
        history=tuple(state.items),
        events=tuple(events),
        approvals=tuple(state.waiting.values()),
        warnings=tuple(state.warnings),
        steps=state.steps,
        usage=state.usage,
        cost=state.cost,
        failure=state.failure,
        output=_output_of(state, limits) if outcome is Outcome.COMPLETED else None,
    )


def _output_of(state: RunState, limits: SchemaLimits) -> Any:
    form = state.options.output
    if form is None or form.type == "text":
        return None
    return read_output(state.text, form, state.output_type, limits=limits)[0]

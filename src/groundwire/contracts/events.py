"""Events: what happens, in order, as one stream. Streaming, voice, evaluations, console and tests all read it."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure
from groundwire.contracts.intents import Intent
from groundwire.contracts.replies import Usage
from groundwire.contracts.results import ErrorInfo, ToolResult


class RunStarted(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="run.started"):
    event: ClassVar[Literal["run.started"]] = "run.started"
    run_id: str
    session_id: str


class TextDelta(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="text.delta"):
    """More of the model's words. What it says in a step that calls tools, or has to be repeated, is not yet the answer."""

    event: ClassVar[Literal["text.delta"]] = "text.delta"
    text: str
    step: int = 0


class CallStarted(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="call.started"):
    event: ClassVar[Literal["call.started"]] = "call.started"
    call: ToolCall


class CallProgress(Struct, frozen=True, kw_only=True, tag_field="event", tag="call.progress"):
    event: ClassVar[Literal["call.progress"]] = "call.progress"
    call_id: str
    name: str
    value: JsonValue


class CallDenied(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="call.denied"):
    event: ClassVar[Literal["call.denied"]] = "call.denied"
    call_id: str
    name: str
    step: str
    error: ErrorInfo


class CallFinished(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="call.finished"):
    event: ClassVar[Literal["call.finished"]] = "call.finished"
    call_id: str
    name: str
    result: ToolResult


class IntentApplied(Struct, frozen=True, kw_only=True, tag_field="event", tag="intent.applied"):
    event: ClassVar[Literal["intent.applied"]] = "intent.applied"
    call_id: str
    intent: Intent


class ApprovalRequested(Struct, frozen=True, kw_only=True, tag_field="event", tag="approval.requested"):
    event: ClassVar[Literal["approval.requested"]] = "approval.requested"
    call_id: str
    name: str
    confirmation_id: str
    question: str
    expires_at: str


class TurnEnded(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="turn.ended"):
    event: ClassVar[Literal["turn.ended"]] = "turn.ended"
    session_id: str
    turn: int
    calls: int


class RunEnded(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="run.ended"):
    """`text` is for the user: the model's answer, or a sentence of ours where it gave none.

    `failure` is what the provider said last, if it failed; `usage` and `cost` are of the whole run; `approvals` are the
    questions that it waits for.
    """

    event: ClassVar[Literal["run.ended"]] = "run.ended"
    run_id: str
    outcome: str
    text: str = ""
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    approvals: tuple[str, ...] = ()


class JobEnded(Struct, frozen=True, kw_only=True, gc=False, tag_field="event", tag="job.ended"):
    """A background call of an earlier turn has come to its end since; `call_id` is that call's."""

    event: ClassVar[Literal["job.ended"]] = "job.ended"
    job_id: str
    status: str
    call_id: str
    name: str
    result: ToolResult


class AppEvent(Struct, frozen=True, kw_only=True, tag_field="event", tag="app"):
    """An application's own event, such as `directive` or `state.delta`."""

    event: ClassVar[Literal["app"]] = "app"
    name: str
    payload: JsonObject = field(default_factory=dict)


Event: TypeAlias = (
    RunStarted
    | TextDelta
    | CallStarted
    | CallProgress
    | CallDenied
    | CallFinished
    | IntentApplied
    | ApprovalRequested
    | TurnEnded
    | RunEnded
    | JobEnded
    | AppEvent
)

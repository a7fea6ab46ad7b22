"""A run: what was asked for, what it did entry by entry, and how it ended.

The entries are append-only. Together with the stored calls they are enough to go on after a crash or a pause, on any
process, and to run the whole again without a model.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import StoreError
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import Item
from groundwire.contracts.replies import Reply, Usage, WireWarning
from groundwire.contracts.requests import DeclaredTool, OutputFormat, ReasoningOptions, Sampling, ToolChoice

T = TypeVar("T")


class Outcome(StrEnum):
    """How a run ended. Only the first is a success; every other one says what the text, if any, is worth."""

    COMPLETED = "completed"
    AWAITING_APPROVAL = "awaiting_approval"
    CLIENT_CALLS = "client_calls"
    NO_TOOL_CALL = "no_tool_call"
    TOOL_FAILED = "tool_failed"
    EMPTY_ANSWER = "empty_answer"
    THINKING_ONLY = "thinking_only"
    MALFORMED_CALL = "malformed_call"
    REFUSED = "refused"
    CUT_OFF = "cut_off"
    UNEXPECTED_ANSWER = "unexpected_answer"
    INVALID_OUTPUT = "invalid_output"
    LOOP_DETECTED = "loop_detected"
    STEP_LIMIT = "step_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - tokens of a model
    COST_LIMIT = "cost_limit"
    PROVIDER_ERROR = "provider_error"
    CANCELLED = "cancelled"


RESUMABLE = frozenset({Outcome.AWAITING_APPROVAL, Outcome.PROVIDER_ERROR, Outcome.CANCELLED})
"""After these a run can be taken up where it was."""


class Plan(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Everything of a request to a model but the conversation: what a prompt cache and an auditor care about."""

    model: str
    instructions: str = ""
    tools: tuple[DeclaredTool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None
    sampling: Sampling = Sampling()
    max_output_tokens: int | None = None
    output: OutputFormat | None = None
    reasoning: ReasoningOptions | None = None
    overrides: JsonObject = field(default_factory=dict)
    message_transforms: tuple[str, ...] = ()
    tool_transforms: tuple[str, ...] = ()
    response_transforms: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()


class EarlierRun(Struct, frozen=True, kw_only=True, gc=False):
    """A run of the same session, as far as it had come; with no entries, it was not in the store any more."""

    run_id: str
    entries: int


class Started(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="started"):
    """What the run was given: `items`, of which the first `inherited` are an earlier conversation that came with them.

    `after` is the run of the session whose conversation it goes on, with all that that one went on from; what was said
    there is not stored again. `changed` are runs of which that one knew less, or nothing, or more than is there still.
    `options` are the caller's, by name and in plain JSON, so that another process can go on under the same rules.
    `warnings` are what was not done as it was asked for, from the start. `context_tokens` is how much the session held when
    its model last counted.
    """

    kind: ClassVar[Literal["started"]] = "started"
    items: tuple[Item, ...] = ()
    inherited: int = 0
    after: EarlierRun | None = None
    changed: tuple[EarlierRun, ...] = ()
    options: JsonObject = field(default_factory=dict)
    registry_version: str = ""
    warnings: tuple[WireWarning, ...] = ()
    context_tokens: int = 0


class Planned(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="planned"):
    """The plan of the steps that follow, until another one."""

    kind: ClassVar[Literal["planned"]] = "planned"
    plan: Plan
    digest: str


class Answered(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="answered"):
    """One step: what the model was asked (`fingerprint` of plan and conversation) and what it said.

    `kept` is false for a reply that did not enter the conversation, because it was cut off or could not be read.
    `fault` is what was wrong with an answer that had to have a form; a caller's own type may have had a say in that.
    """

    kind: ClassVar[Literal["answered"]] = "answered"
    step: int
    fingerprint: str
    reply: Reply
    kept: bool = True
    fault: str = ""
    duration_ms: float = 0.0
    cost: float | None = None


class Added(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="added"):
    """Items that neither the user nor the model gave: a request to repair an answer, or to finish."""

    kind: ClassVar[Literal["added"]] = "added"
    items: tuple[Item, ...]
    reason: str
    without_tools: bool = False
    is_repair: bool = False


class Resulted(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="resulted"):
    """The results of a step's calls as the model is shown them, in the order of the calls."""

    kind: ClassVar[Literal["resulted"]] = "resulted"
    items: tuple[Item, ...]


class Failed(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="failed"):
    """A step in which the provider did not answer."""

    kind: ClassVar[Literal["failed"]] = "failed"
    step: int
    failure: Failure


class Paused(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="paused"):
    """Calls of the last reply that wait for a person: call id → approval id."""

    kind: ClassVar[Literal["paused"]] = "paused"
    waiting: dict[str, str]


class Ended(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="kind", tag="ended"):
    kind: ClassVar[Literal["ended"]] = "ended"
    outcome: Outcome
    text: str = ""
    steps: int = 0
    calls: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    failure: Failure | None = None
    seconds: float = 0.0


RunBody: TypeAlias = Started | Planned | Answered | Added | Resulted | Failed | Paused | Ended


class RunEntry(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that happened, in its place. `body` is the JSON of a RunBody."""

    seq: int
    body: bytes
    created_at: float


class RunStatus(StrEnum):
    """Where a run stands. An interrupted run lost its process; any process that has its tools may resume it."""

    RUNNING = "running"
    WAITING = "waiting"
    INTERRUPTED = "interrupted"
    ENDED = "ended"


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """The head of a run: enough to list it. `outcome` is empty until it pauses or ends.

    `owner` names the execution that holds the run; it is empty while none does. From `due_at` on, any process may take
    the run: while it is held, that is the end of the owner's lease; while it waits, the moment at which an approval is
    decided or expires. 0 means never. `resumes` counts the jobs that were made to resume it since its last entry.
    """

    tenant: str
    run_id: str
    session_id: str = ""
    turn: int = 1
    model: str = ""
    outcome: str = ""
    text: str = ""
    entries: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0
    owner: str = ""
    due_at: float = 0.0
    resumes: int = 0
    cancel_requested: bool = False

    @property
    def is_ended(self) -> bool:
        """Whether it has ended for good, so that it cannot be resumed."""
        return bool(self.outcome) and self.outcome not in RESUMABLE

    def is_held(self, now: float) -> bool:
        """Whether an execution holds it whose lease has not expired."""
        return bool(self.owner) and self.due_at > now

    def status(self, now: float) -> RunStatus:
        """Where the run stands, which follows from its lease, its outcome and the time."""
        if self.is_held(now):
            return RunStatus.RUNNING
        if self.outcome == Outcome.AWAITING_APPROVAL:
            return RunStatus.WAITING
        return RunStatus.ENDED if self.outcome else RunStatus.INTERRUPTED


class Appending(Struct, frozen=True, kw_only=True, gc=False):
    """New entries of a run, and its new head.

    Applies only while the stored run has `run.entries` entries and belongs to `run.owner`. A head with an outcome clears
    the owner. `waiting` are the approvals that the run waits for.
    """

    run: Run
    entries: tuple[RunEntry, ...]
    waiting: tuple[str, ...] = ()


class PassedOver(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="planned"):
    """A plan, for those who want to know what was said: it may be long, and says nothing."""


SaidBody: TypeAlias = Started | PassedOver | Answered | Added | Resulted | Failed | Paused | Ended

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunBody)
_said_decoder = msgspec.json.Decoder(SaidBody)


encode_entry: Callable[[RunBody], bytes] = _encoder.encode


def decode_entry(body: bytes) -> RunBody:
    """Read an entry that we stored ourselves; a StoreError if it is not as we wrote it."""
    read: RunBody = _decode(_decoder, body)
    return read


def decode_said(body: bytes) -> SaidBody:
    """The same, without looking at plans."""
    read: SaidBody = _decode(_said_decoder, body)
    return read


def _decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise StoreError(f"an entry of a run cannot be read: {error}") from None

"""The nouns of a negotiation: what is asked for, what was said, what was captured, and what operations are told.

In JSON the names are camelCase. Plain data: it knows no model, no store and no clock.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

JsonObject: TypeAlias = dict[str, Any]


class Status(StrEnum):
    """Where a conversation stands: it goes on, it came to one of four ends, or the model could not be reached."""

    CONTINUE = "continue"
    COMPLETED = "completed"
    NO_REPLY = "no_reply"
    REJECTED = "rejected"
    WECHAT_REDIRECT = "wechat_redirect"
    ERROR = "error"


class SignalType(StrEnum):
    ASSET_REQUEST = "asset_request"
    MANUAL_REVIEW = "manual_review"
    SCHEDULE_FOLLOW_UP = "schedule_follow_up"
    HUMAN_ESCALATION = "human_escalation"
    WECHAT_REDIRECT = "wechat_redirect"


class BlockerType(StrEnum):
    MOQ_MISMATCH = "moq_mismatch"
    SPEC_REFUSAL = "spec_refusal"
    AUTHORITY_BOUNDARY = "authority_boundary"
    PRICE_DEAD_END = "price_dead_end"
    QUANTITY_TOO_LOW = "quantity_too_low"


class GroundingMode(StrEnum):
    """`strict` removes what no supplier message bears out; `report` keeps everything and says so."""

    STRICT = "strict"
    REPORT = "report"


Severity: TypeAlias = Literal["low", "medium", "high"]
Confidence: TypeAlias = Literal["high", "medium", "low"]
Speaker: TypeAlias = Literal["bot", "supplier"]
NearMiss: TypeAlias = Literal[
    "punctuation_width", "whitespace", "merged_messages", "paraphrase", "bot_text", "empty", "trivial", "canned"
]
"""Why words are not evidence: `trivial` ones are fewer than two letters or digits; `canned` ones were sent, but by a
machine, and a fact needs a person's."""

TAXONOMY = ("availability", "moq", "unit_price", "lead_time", "sample", "customization", "packaging", "payment")
"""The goals that a capture may be about; a request may add its own."""
USUAL_GOALS = ("moq", "unit_price", "lead_time")


Words: TypeAlias = Annotated[str, Meta(max_length=500)]


class SourcingRequest(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the buyer wants from this supplier. `session_id` names the conversation everywhere."""

    session_id: Annotated[str, Meta(min_length=1, max_length=256)]
    item: Annotated[str, Meta(min_length=1, max_length=500)]
    qty: Annotated[int, Meta(ge=1, le=1_000_000_000)]
    want: Words = ""
    """A customization, in the buyer's words; empty for none."""
    target_price: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    supplier_id: Words = ""
    supplier_name: Words = ""
    notes: Annotated[str, Meta(max_length=4000)] = ""


class Goal(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    goal_id: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,63}$")]
    description: Words = ""


class Media(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A picture, a file or a recording that came with a message: its bytes in base64, where the chat gave them."""

    media_type: str
    data: str = ""
    name: str = ""
    media_id: str = ""
    """Where a host keeps the bytes elsewhere, their name there."""


class HistoryEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One message. `timestamp` is ISO 8601 with a zone, where anybody knows it."""

    role: Speaker
    content: str
    timestamp: str = ""
    message_id: str = ""
    media: tuple[Media, ...] = ()


class Grounding(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a supplier said it. `grounded` is None where nothing was quoted and nothing had to be.

    `matched_turn` is the turn that answered the message; `message` is its place in the history, and `start` and `end`
    count code points of it.
    """

    grounded: bool | None
    matched_turn: int | None = None
    near_miss: NearMiss | None = None
    message: int | None = None
    start: int | None = None
    end: int | None = None


class TraceEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A capture by the bot or a signal call by the summary agent, as it was asked for.

    One that breaks its tool's schema has `valid` false and says why: it is kept, with null for what is missing, and
    never delivered.
    """

    turn: int
    name: str
    args: JsonObject
    call_id: str = ""
    valid: bool = True
    error: str = ""
    grounding: Grounding | None = None


class FollowUpTiming(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """When to come back. `delay_hours` is what the supplier said; `due_at` is when we act, and `clamped_to` says why
    that is another moment."""

    delay_hours: float
    raw_phrase: str
    confidence: Confidence
    due_at: str = ""
    clamped_to: str = ""


class Signal(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What operations are told. Signals about silence carry no quote, and say so in `evidence`."""

    session_id: str
    signal_type: SignalType
    severity: Severity
    reason: str
    signal_id: str = ""
    supplier_id: str = ""
    supplier_name: str = ""
    source: Literal["summary-agent-llm", "status-rule"]
    timestamp: str = ""
    goal_id: str | None = None
    blocker_type: BlockerType | None = None
    supplier_quote: str | None = None
    suggested_unlock: str = ""
    follow_up_timing: FollowUpTiming | None = None
    evidence: JsonObject | None = None
    grounding: Grounding | None = None
    flags: tuple[str, ...] = ()


class Rejection(Struct, frozen=True, kw_only=True):
    id: str
    reason: str


class BrainReceipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of signals that were handed over."""

    accepted: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    attempts: int = 1
    delivered_at: str = ""


class IncomingResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a supplier's message led to. `history` ends with the reply, unless there is none."""

    reply: str
    tool_calls: tuple[TraceEntry, ...]
    status: Status
    history: tuple[HistoryEntry, ...]


class SummaryResult(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`failure` says why the model could not be asked; the signals are then only those that the end itself demands."""

    summary_text: str
    signals: tuple[Signal, ...]
    tool_calls: tuple[TraceEntry, ...]
    failure: str = ""


def as_json(value: Any) -> Any:
    """As it travels: camelCase names and plain values."""
    return msgspec.to_builtins(value)


def goals_of(request: SourcingRequest) -> tuple[Goal, ...]:
    """What is to be found out unless somebody says otherwise."""
    named = (*USUAL_GOALS, "customization") if request.want else USUAL_GOALS
    return tuple(Goal(goal_id=name) for name in named)

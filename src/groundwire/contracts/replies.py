"""A model's answer, whole or in pieces, in no provider's dialect.

The pieces (`ReplyPart`) are what stream decoders give and stream encoders take. Every stream ends with exactly one
`ReplyEnded` or one `ReplyFailed`; a call may be executed only from the `ReplyEnded`, and only if it is complete.
"""

from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import CallItem, Item, Private


class FinishReason(StrEnum):
    """Why the model stopped."""

    END = "end"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTEXT_FULL = "context_full"
    CONTENT_FILTER = "content_filter"
    PROMPT_BLOCKED = "prompt_blocked"
    PAUSED = "paused"
    MALFORMED_CALL = "malformed_call"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INCOMPLETE = "incomplete"

    __hash__ = str.__hash__  # Enum's is that of the name, so that equal texts would differ; and it is slow


class Finish(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The reason in our words and in the provider's (`raw`), with what else it said (`detail`)."""

    reason: FinishReason
    raw: str | None = None
    detail: str | None = None
    private: Private = field(default_factory=dict)


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Tokens. `input` counts cached ones too, `output` counts reasoning too; None where the provider did not say."""

    input: int = 0
    output: int = 0
    total: int = 0
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    private: Private = field(default_factory=dict)


class WireWarning(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that translation could not carry over. `path` names the member of the request or reply."""

    code: str
    path: str
    message: str


class Alternative(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A second or third answer to the same request (`n`, `candidateCount`)."""

    items: tuple[Item, ...]
    finish: Finish


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One answer. `extras` holds, by dialect, the members of the response that have no place of their own here."""

    reply_id: str = ""
    model: str = ""
    created: int | None = None
    items: tuple[Item, ...] = ()
    finish: Finish
    usage: Usage | None = None
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[WireWarning, ...] = ()
    extras: Private = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The words of the model, and of nobody else that its provider may have repeated."""
        return "".join(item.text for item in self.items if item.kind == "message" and item.role == "assistant")

    @property
    def is_empty(self) -> bool:
        """Nothing was said, thought or asked for."""
        return all(item.kind == "message" and not item.parts for item in self.items)

    @property
    def calls(self) -> tuple[CallItem, ...]:
        return tuple([item for item in self.items if type(item) is CallItem])


class ReplyStarted(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="reply.started"
):
    """May come again: the upstream began anew, and everything so far is void.

    `warnings` are those that are known by then: of the request. The reply at the end has them all.
    """

    kind: ClassVar[Literal["reply.started"]] = "reply.started"
    reply_id: str = ""
    model: str = ""
    created: int | None = None
    usage: Usage | None = None
    warnings: tuple[WireWarning, ...] = ()


class ReplyTextDelta(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="text.delta"
):
    """More text for the message at `index` (its place among the items of the reply).

    `private`, on the first piece of an item: what its dialect says of it before it is whole, such as its id.
    """

    kind: ClassVar[Literal["text.delta"]] = "text.delta"
    index: int
    text: str
    private: Private = field(default_factory=dict)


class RefusalDelta(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="refusal.delta"
):
    kind: ClassVar[Literal["refusal.delta"]] = "refusal.delta"
    index: int
    text: str
    private: Private = field(default_factory=dict)


class ReasoningDelta(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="reasoning.delta"
):
    kind: ClassVar[Literal["reasoning.delta"]] = "reasoning.delta"
    index: int
    text: str
    private: Private = field(default_factory=dict)


class ReplyCallStarted(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="call.started"
):
    kind: ClassVar[Literal["call.started"]] = "call.started"
    index: int
    call_id: str
    name: str
    private: Private = field(default_factory=dict)


class CallDelta(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="call.delta"):
    """More argument text for the call at `index`."""

    kind: ClassVar[Literal["call.delta"]] = "call.delta"
    index: int
    text: str


class ItemEnded(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="item.ended"):
    """The item at `index` is whole, private data included. Items without deltas (media, native) come only so."""

    kind: ClassVar[Literal["item.ended"]] = "item.ended"
    index: int
    item: Item


class ReplyEnded(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="reply.ended"):
    """The end, with the whole reply as it would have come without streaming."""

    kind: ClassVar[Literal["reply.ended"]] = "reply.ended"
    reply: Reply


class ReplyFailed(
    Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="reply.failed"
):
    """The stream broke with an error; what came so far is no answer and none of its calls may run."""

    kind: ClassVar[Literal["reply.failed"]] = "reply.failed"
    failure: Failure


ReplyPart: TypeAlias = (
    ReplyStarted
    | ReplyTextDelta
    | RefusalDelta
    | ReasoningDelta
    | ReplyCallStarted
    | CallDelta
    | ItemEnded
    | ReplyEnded
    | ReplyFailed
)

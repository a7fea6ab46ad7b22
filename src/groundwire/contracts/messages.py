"""Items: the entries of a conversation, in no provider's dialect.

Provider-private data (signatures, encrypted reasoning, cache markers, fields nobody knows) travels in `private`, keyed
by the dialect it came from: it goes back untouched to that dialect and is left out for any other.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject

Private: TypeAlias = dict[str, JsonObject]
"""By dialect: what only that dialect understands about the thing it hangs on."""


class Citation(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A source that a text names. `start` and `end` count characters of the text part."""

    url: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    private: Private = field(default_factory=dict)


class TextPart(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="text"):
    kind: ClassVar[Literal["text"]] = "text"
    text: str
    citations: tuple[Citation, ...] = ()
    private: Private = field(default_factory=dict)


class MediaPart(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="media"):
    """An image, a sound or a file: by its bytes, its address, or a provider's file id.

    `media_type` is as precise as the sender was: `image/png`, or `image/*` for an address of which no more was said.
    `detail` is how closely an image is to be looked at, in OpenAI's words (`low`, `high`, `auto`).
    """

    kind: ClassVar[Literal["media"]] = "media"
    media_type: str
    data: bytes | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    detail: str | None = None
    private: Private = field(default_factory=dict)


class RefusalPart(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="refusal"):
    """What the model said instead of an answer."""

    kind: ClassVar[Literal["refusal"]] = "refusal"
    text: str


class NativePart(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="native_part"):
    """A piece of a message that only its own dialect can say."""

    kind: ClassVar[Literal["native_part"]] = "native_part"
    origin: str
    value: JsonObject


Part: TypeAlias = TextPart | MediaPart | RefusalPart | NativePart


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="message"):
    """What a speaker said. `turn` counts from 1 and is what evidence refers to.

    `split`, on every item: it began a message of its own although the item before it had the same speaker. Without it,
    neighbours of one speaker may share a message in dialects that think in messages.
    """

    kind: ClassVar[Literal["message"]] = "message"
    role: str
    parts: tuple[Part, ...]
    turn: int = 0
    split: bool = False
    private: Private = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class CallItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="call"):
    """The model asks for a tool. `complete` is false for a call that was cut off: it must never be executed."""

    kind: ClassVar[Literal["call"]] = "call"
    call: ToolCall
    complete: bool = True
    split: bool = False
    private: Private = field(default_factory=dict)


class ResultItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="result"):
    """What a tool gave back, as the model is to read it. `name` is empty where the dialect does not say it."""

    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    name: str = ""
    parts: tuple[Part, ...] = ()
    failed: bool = False
    split: bool = False
    private: Private = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class ReasoningItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="reasoning"):
    """What the model thought, as far as it is told; the proof of it (signature, ciphertext) is private."""

    kind: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str = ""
    split: bool = False
    private: Private = field(default_factory=dict)


class NativeItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="kind", tag="native"):
    """An entry of the model's turn that only its own dialect can say, such as a search that the provider ran."""

    kind: ClassVar[Literal["native"]] = "native"
    origin: str
    value: JsonObject
    split: bool = False


Item: TypeAlias = Message | CallItem | ResultItem | ReasoningItem | NativeItem


def say(role: str, text: str, *, turn: int = 0) -> Message:
    """A plain text message."""
    return Message(role=role, parts=(TextPart(text=text),), turn=turn)

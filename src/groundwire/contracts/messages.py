"""Items: the entries of a conversation, in no provider's dialect.

Provider-private data (signatures, encrypted reasoning, fields nobody knows) travels in `private`, tagged with its
origin: it goes back untouched to that origin and is left out for any other.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.results import ToolResult


class TextPart(Struct, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    kind: ClassVar[Literal["text"]] = "text"
    text: str
    private: dict[str, JsonObject] = field(default_factory=dict)


class MediaPart(Struct, frozen=True, kw_only=True, tag_field="kind", tag="media"):
    """An image, a sound or a file: by its bytes, its address, or a provider's file id."""

    kind: ClassVar[Literal["media"]] = "media"
    media_type: str
    data: bytes | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    private: dict[str, JsonObject] = field(default_factory=dict)


Part: TypeAlias = TextPart | MediaPart


class Message(Struct, frozen=True, kw_only=True, tag_field="kind", tag="message"):
    """What a speaker said. `turn` counts from 1 and is what evidence refers to."""

    kind: ClassVar[Literal["message"]] = "message"
    role: str
    parts: tuple[Part, ...]
    turn: int = 0
    private: dict[str, JsonObject] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class CallItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    kind: ClassVar[Literal["call"]] = "call"
    call: ToolCall
    private: dict[str, JsonObject] = field(default_factory=dict)


class ResultItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="result"):
    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    name: str
    result: ToolResult
    private: dict[str, JsonObject] = field(default_factory=dict)


class ReasoningItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    kind: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str = ""
    private: dict[str, JsonObject] = field(default_factory=dict)


Item: TypeAlias = Message | CallItem | ResultItem | ReasoningItem


def say(role: str, text: str, *, turn: int = 0) -> Message:
    """A plain text message."""
    return Message(role=role, parts=(TextPart(text=text),), turn=turn)

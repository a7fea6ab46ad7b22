"""Content blocks as canonical parts and items: of requests strictly, of responses the way real servers write them.

A block that is not known here stays whole, as a native part or item, so that it can go back as it came.
"""

from typing import Any

from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.wire.ids import ANTHROPIC_IDS, derived_id
from groundwire.codecs.wire.media import decode_base64
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import keep, unknown_members
from groundwire.codecs.wire.reading import as_list, as_object, expected, optional_bool, optional_text, required_text
from groundwire.codecs.wire.results import read_arguments, unwrap_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    NativePart,
    Part,
    ReasoningItem,
    ResultItem,
    TextPart,
)

_TEXT = frozenset({"type", "text", "citations"})
_MEDIA = frozenset({"type", "source", "title"})
_THINKING = frozenset({"type", "thinking"})
_REDACTED = frozenset({"type"})
CALL_MEMBERS = frozenset({"type", "id", "name", "input"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_SOURCE = frozenset({"type", "media_type", "data", "url", "file_id"})


def read_text(block: JsonObject, path: str) -> TextPart:
    text = block.get("text")
    if type(text) is not str:
        raise expected(f"{path}.text", "a string", text)
    if len(block) == 2:
        return TextPart(text=text)
    private = unknown_members(block, _TEXT)
    citations: tuple[Citation, ...] = ()
    if block.get("citations") is not None:
        listed = as_list(block["citations"], f"{path}.citations")
        citations = tuple(read_citation(as_object(each, f"{path}.citations")) for each in listed)
        if not listed:
            private["citations"] = listed
    return TextPart(text=text, citations=citations, private=keep(DIALECT, private))


def read_citation(source: JsonObject) -> Citation:
    """Where in a document the quote stands is private: our `start` and `end` count in the answer, not in the source."""
    title = source.get("title", source.get("document_title"))
    url, quote = source.get("url"), source.get("cited_text")
    return Citation(
        url=url if isinstance(url, str) else None,
        title=title if isinstance(title, str) else None,
        quote=quote if isinstance(quote, str) else None,
        private={DIALECT: source},
    )


def read_media(block: JsonObject, path: str) -> MediaPart | NativePart:
    """An image or a document. Documents made of further blocks have no canonical form and stay native."""
    source = as_object(block.get("source"), f"{path}.source")
    form = required_text(source, "type", f"{path}.source")
    is_image = block["type"] == "image"
    private = unknown_members(block, _MEDIA)
    if rest := unknown_members(source, _SOURCE):
        private["_source"] = rest
    data: bytes | None = None
    url = file_id = None
    media_type = "image/*" if is_image else "application/pdf"
    if form == "base64":
        media_type = optional_text(source, "media_type", f"{path}.source") or media_type
        data = decode_base64(required_text(source, "data", f"{path}.source"), f"{path}.source.data")
        if not is_image and media_type.startswith("text/"):
            private["_base64"] = True
    elif form == "text" and not is_image:
        media_type = optional_text(source, "media_type", f"{path}.source") or "text/plain"
        data = required_text(source, "data", f"{path}.source").encode("utf-8", "replace")
    elif form == "url":
        url = required_text(source, "url", f"{path}.source")
    elif form == "file":
        media_type = media_type if is_image else "application/*"
        file_id = required_text(source, "file_id", f"{path}.source")
        if not file_id.startswith("file_"):
            private["_file"] = True
    else:
        return NativePart(origin=DIALECT, value=block)
    return MediaPart(
        media_type=media_type,
        data=data,
        url=url,
        file_id=file_id,
        name=optional_text(block, "title", path),
        private=keep(DIALECT, private),
    )


def read_part(value: Any, path: str) -> Part:
    """A block inside a user message or a tool result."""
    block = as_object(value, path)
    kind = required_text(block, "type", path)
    if kind == "text":
        return read_text(block, path)
    if kind in ("image", "document"):
        return read_media(block, path)
    return NativePart(origin=DIALECT, value=block)


def read_thinking(block: JsonObject, path: str) -> ReasoningItem:
    text = optional_text(block, "thinking", path) or ""
    return ReasoningItem(text=text, private=keep(DIALECT, unknown_members(block, _THINKING)))


def read_redacted(block: JsonObject) -> ReasoningItem:
    return ReasoningItem(private={DIALECT: {"_redacted": True, **unknown_members(block, _REDACTED)}})


def read_call(block: JsonObject, path: str) -> CallItem:
    """A call in a request's history, whose shape the API itself would insist on."""
    source, call_id, name = block.get("input"), block.get("id"), block.get("name")
    arguments = {} if source is None else as_object(source, f"{path}.input")
    raw = unwrap_arguments(arguments) if arguments else "{}"
    call = ToolCall(
        call_id=call_id if type(call_id) is str else required_text(block, "id", path),
        name=name if type(name) is str else required_text(block, "name", path),
        raw=raw,
        arguments=None if raw is arguments.get("_raw_arguments") else arguments,
        origin=DIALECT,
    )
    if len(block) == 4:
        return CallItem(call=call)
    return CallItem(call=call, private=keep(DIALECT, unknown_members(block, CALL_MEMBERS)))


def read_answered_call(block: JsonObject, *, seed: str, names: dict[str, str]) -> CallItem:
    """A call in a response: an odd `input` or a missing id is read as well as it can be."""
    name, call_id = block.get("name"), block.get("id")
    if not isinstance(name, str):
        raise WireError("a tool_use block has no name", path="content")
    private = unknown_members(block, CALL_MEMBERS)
    if not isinstance(call_id, str) or not call_id:
        call_id = derived_id(seed, ANTHROPIC_IDS)
        private["_synthetic"] = True
    source = block.get("input")
    arguments = {} if source is None else source
    call = ToolCall(
        call_id=call_id,
        name=original_name(name, names),
        raw=unwrap_arguments(arguments) if isinstance(arguments, dict) else read_arguments(arguments),
        arguments=arguments if isinstance(arguments, dict) and "_raw_arguments" not in arguments else None,
        origin=DIALECT,
    )
    return CallItem(call=call, private=keep(DIALECT, private))


def read_result(block: JsonObject, path: str) -> ResultItem:
    """Notes keep what the canonical result does not tell: an `is_error` that says no, and text inside a list."""
    content, call_id = block.get("content"), block.get("tool_use_id")
    if len(block) == 3 and type(content) is str and type(call_id) is str:
        return ResultItem(call_id=call_id, parts=(TextPart(text=content),))
    private = unknown_members(block, _RESULT)
    failed = optional_bool(block, "is_error", path) if "is_error" in block else None
    if failed is False:
        private["_is_error"] = True
    parts: tuple[Part, ...] = ()
    if type(content) is str:
        parts = (TextPart(text=content),)
    elif content is not None:
        listed = as_list(content, f"{path}.content")
        parts = tuple([read_part(each, f"{path}.content[{place}]") for place, each in enumerate(listed)])
        private["_blocks"] = True
    return ResultItem(
        call_id=required_text(block, "tool_use_id", path),
        parts=parts,
        failed=failed is True,
        private=keep(DIALECT, private),
    )

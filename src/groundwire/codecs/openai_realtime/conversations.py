"""The items of a Realtime conversation, as items of ours and back."""

from typing import Any

from groundwire.codecs.openai_realtime.naming import DIALECT
from groundwire.codecs.wire.json import dump_text
from groundwire.codecs.wire.live import note_left_out, read_bytes, split_rate
from groundwire.codecs.wire.media import encode_base64, media_kind, media_note, read_data_url, write_data_url
from groundwire.codecs.wire.private import keep, own_members, unknown_members, visible
from groundwire.codecs.wire.reading import as_object, optional_list, optional_text, required_text
from groundwire.codecs.wire.results import read_arguments
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Item,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    Part,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)

_MESSAGE = frozenset({"type", "role", "content"})
_CALL = frozenset({"type", "call_id", "name", "arguments"})
_RESULT = frozenset({"type", "call_id", "output"})
_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})


def read_item(item: JsonObject, path: str) -> Item | None:
    """A message, a call or a result; None for whatever else a conversation may hold."""
    match item.get("type"):
        case "message":
            role = required_text(item, "role", path)
            content = optional_list(item, "content", path)
            parts = tuple(_read_part(part, role, f"{path}.content[{place}]") for place, part in enumerate(content))
            return Message(role=role, parts=parts, private=keep(DIALECT, unknown_members(item, _MESSAGE)))
        case "function_call":
            return read_call(item, path)
        case "function_call_output":
            output = item.get("output")
            text = output if isinstance(output, str) else dump_text(output)
            return ResultItem(
                call_id=required_text(item, "call_id", path),
                parts=(TextPart(text=text),),
                private=keep(DIALECT, unknown_members(item, _RESULT)),
            )
    return None


def read_call(item: JsonObject, path: str) -> CallItem:
    private = unknown_members(item, _CALL)
    call_id = optional_text(item, "call_id", path)
    if not call_id:
        private["_synthetic"] = True
        call_id = optional_text(item, "id", path) or "call_0"
    call = ToolCall(
        call_id=call_id,
        name=required_text(item, "name", path),
        raw=read_arguments(item.get("arguments")),
        origin=DIALECT,
    )
    return CallItem(call=call, private=keep(DIALECT, private))


def _read_part(value: Any, role: str, path: str) -> Part:
    part = as_object(value, path)
    kind, text = part.get("type"), part.get("text")
    if isinstance(kind, str) and kind in _TEXT_TYPES and isinstance(text, str):
        rest = unknown_members(part, frozenset({"type", "text"}))
        if kind != _text_type(role):
            rest["type"] = kind
        return TextPart(text=text, private=keep(DIALECT, rest))
    transcript = part.get("transcript")
    if kind in ("output_audio", "audio") and isinstance(transcript, str):
        return TextPart(
            text=transcript, private={DIALECT: {**unknown_members(part, frozenset({"transcript"})), "_spoken": True}}
        )
    if kind == "input_audio":
        data = read_bytes(part.get("audio"))
        if data is not None:
            rest = unknown_members(part, frozenset({"type", "audio"}))
            return MediaPart(media_type="audio/pcm;rate=24000", data=data, private=keep(DIALECT, rest))
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return _read_image(part, path)
    return NativePart(origin=DIALECT, value=part)


def _read_image(part: JsonObject, path: str) -> Part:
    url = optional_text(part, "image_url", path) or ""
    private = keep(DIALECT, unknown_members(part, frozenset({"type", "image_url"})))
    try:
        found = read_data_url(url, path)
    except WireError:
        return NativePart(origin=DIALECT, value=part)
    if found is None:
        return MediaPart(media_type="image/*", url=url, private=private)
    return MediaPart(media_type=found[0], data=found[1], private=private)


def _text_type(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def write_item(item: Item, losses: Losses, path: str) -> JsonObject | None:
    """One conversation item, or None if nothing of it can be said here."""
    match item:
        case Message():
            return _write_message(item, losses, path)
        case CallItem():
            note_left_out(item.private, DIALECT, path, losses)
            return write_call(item)
        case ResultItem():
            return write_result(item, losses, path)
        case ReasoningItem():
            losses.add("reasoning_dropped", path, "A Realtime conversation has no place for reasoning.")
        case NativeItem():
            if item.origin == DIALECT:
                return item.value
            losses.add("native_dropped", path, f"An entry of {item.origin} was left out.")
    return None


def write_call(item: CallItem) -> JsonObject:
    own = own_members(item.private, DIALECT)
    written = visible(own_members(item.private, DIALECT))
    written["type"] = "function_call"
    if "_synthetic" not in own:
        written["call_id"] = item.call.call_id
    return {**written, "name": item.call.name, "arguments": item.call.raw}


def write_result(item: ResultItem, losses: Losses, path: str) -> JsonObject:
    """The output is one text; there is no flag for failures, so the text alone tells them."""
    note_left_out(item.private, DIALECT, path, losses)
    texts: list[str] = []
    for part in item.parts:
        if isinstance(part, (TextPart, RefusalPart)):
            texts.append(part.text)
        elif isinstance(part, MediaPart):
            losses.add("media_dropped", path, "Tool results of a Realtime session are text only.")
            texts.append(media_note(part))
        else:
            losses.add("native_dropped", path, f"A part of {part.origin} was left out.")
    written = visible(own_members(item.private, DIALECT))
    return {**written, "type": "function_call_output", "call_id": item.call_id, "output": "".join(texts)}


def _write_message(item: Message, losses: Losses, path: str) -> JsonObject | None:
    note_left_out(item.private, DIALECT, path, losses)
    role = "system" if item.role == "developer" else item.role
    if role != item.role:
        losses.add("role_changed", path, "A Realtime conversation has no developer: sent as system.")
    content: list[JsonValue] = []
    for place, part in enumerate(item.parts):
        written = _write_part(part, role, losses, f"{path}.parts[{place}]")
        if written is not None:
            content.append(written)
    if item.parts and not content:
        return None
    return {**visible(own_members(item.private, DIALECT)), "type": "message", "role": role, "content": content}


def _write_part(part: Part, role: str, losses: Losses, path: str) -> JsonObject | None:
    match part:
        case TextPart():
            note_left_out(part.private, DIALECT, path, losses)
            own = own_members(part.private, DIALECT)
            name = "transcript" if "_spoken" in own else "text"
            return {"type": _text_type(role), **visible(own_members(part.private, DIALECT)), name: part.text}
        case RefusalPart():
            return {"type": _text_type(role), "text": part.text}
        case MediaPart():
            note_left_out(part.private, DIALECT, path, losses)
            return _write_media(part, role, losses, path)
        case NativePart():
            if part.origin == DIALECT:
                return part.value
            losses.add("native_dropped", path, f"A part of {part.origin} was left out.")
            return None


def _write_media(part: MediaPart, role: str, losses: Losses, path: str) -> JsonObject:
    own = visible(own_members(part.private, DIALECT))
    if role == "user" and media_kind(part.media_type) == "image" and (part.data is not None or part.url):
        url = write_data_url(part.media_type, part.data) if part.data is not None else part.url
        return {"type": "input_image", **own, "image_url": url}
    if (
        role == "user"
        and part.data is not None
        and split_rate(part.media_type) in (("audio/pcm", 24000), ("audio/pcm", None))
    ):
        return {"type": "input_audio", **own, "audio": encode_base64(part.data)}
    losses.add("media_dropped", path, f"A Realtime conversation does not take {part.media_type} of {role}.")
    return {"type": _text_type(role), "text": media_note(part)}

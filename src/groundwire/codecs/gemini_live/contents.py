"""Gemini's contents (a role and its parts) as items, and items as contents; calls and results among them.

Knows no message around them: the same contents stand in clientContent, in modelTurn and in the history of a session.
"""

from typing import Any

import msgspec

from groundwire.codecs.gemini_live.naming import DIALECT, camel_members
from groundwire.codecs.wire.live import note_left_out, read_bytes
from groundwire.codecs.wire.media import encode_base64, media_note
from groundwire.codecs.wire.private import keep, own_members, unknown_members, visible
from groundwire.codecs.wire.reading import join, optional_list, optional_object, optional_text, required_text
from groundwire.codecs.wire.results import (
    object_arguments,
    object_result,
    read_arguments,
    text_result,
    unwrap_arguments,
    wrap_arguments,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
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

_CONTENT = frozenset({"role", "parts"})
_CALL = frozenset({"id", "name", "args"})
_RESULT = frozenset({"id", "name", "response"})


def read_contents(turns: list[Any], path: str) -> tuple[Item, ...]:
    """All items of the turns; the first of a turn is split from the turn before it if both are of one speaker."""
    items: list[Item] = []
    before = ""
    for place, turn in enumerate(turns):
        here = f"{path}[{place}]"
        content = camel_members(turn, here)
        role = optional_text(content, "role", here)
        side = "assistant" if role == "model" else "user"
        read = _read_content(content, side, here, first_call=len(items))
        shape: JsonObject = {}
        if role not in ("user", "model"):
            shape["role"] = role
        if rest := unknown_members(content, _CONTENT):
            shape["rest"] = rest
        items.extend(_shaped(read[0], split=side == before, shape=shape))
        items.extend(read[1:])
        before = side
    return tuple(items)


def _shaped(item: Item, *, split: bool, shape: JsonObject) -> tuple[Item]:
    if not split and not shape:
        return (item,)
    if shape and not isinstance(item, NativeItem):
        private = {**item.private, DIALECT: {**own_members(item.private, DIALECT), "_content": shape}}
        item = msgspec.structs.replace(item, private=private)
    return (msgspec.structs.replace(item, split=split),)


def _read_content(content: JsonObject, side: str, path: str, *, first_call: int) -> list[Item]:
    items: list[Item] = []
    parts: list[Part] = []
    for place, value in enumerate(optional_list(content, "parts", path)):
        here = f"{path}.parts[{place}]"
        part = camel_members(value, here)
        item = _read_item(part, here, f"call_{first_call + len(items)}")
        if item is None:
            parts.append(read_part(part, here))
            continue
        if parts:
            items.append(Message(role=side, parts=tuple(parts)))
            parts = []
        items.append(item)
    if parts or not items:
        items.append(Message(role=side, parts=tuple(parts)))
    return items


def _read_item(part: JsonObject, path: str, call_id: str) -> Item | None:
    if "functionCall" in part:
        item = read_call(part["functionCall"], join(path, "functionCall"), call_id=call_id)
        rest = unknown_members(part, frozenset({"functionCall"}))
        return msgspec.structs.replace(item, private=_with_hint(item.private, "_part", rest)) if rest else item
    if "functionResponse" in part:
        result = read_result(part["functionResponse"], join(path, "functionResponse"))
        rest = unknown_members(part, frozenset({"functionResponse"}))
        return msgspec.structs.replace(result, private=_with_hint(result.private, "_part", rest)) if rest else result
    if part.get("thought") is True and isinstance(part.get("text"), str):
        rest = unknown_members(part, frozenset({"text", "thought"}))
        return ReasoningItem(text=required_text(part, "text", path), private=keep(DIALECT, rest))
    return None


def _with_hint(private: dict[str, JsonObject], name: str, value: JsonValue) -> dict[str, JsonObject]:
    return {**private, DIALECT: {**own_members(private, DIALECT), name: value}}


def read_part(part: JsonObject, path: str) -> Part:
    """A part of a message. Data that is no base64, and whatever else, stays as it is."""
    if "text" in part:
        text = required_text(part, "text", path)
        return TextPart(text=text, private=keep(DIALECT, unknown_members(part, frozenset({"text"}))))
    if isinstance(part.get("inlineData"), dict):
        blob = camel_members(part["inlineData"], path)
        data, media_type = read_bytes(blob.get("data")), blob.get("mimeType")
        if data is not None and isinstance(media_type, str) and len(blob) == 2:
            return MediaPart(media_type=media_type, data=data, private=keep(DIALECT, unknown_members(part, _INLINE)))
    if isinstance(part.get("fileData"), dict):
        blob = camel_members(part["fileData"], path)
        url, media_type = blob.get("fileUri"), blob.get("mimeType")
        if isinstance(url, str) and isinstance(media_type, str) and len(blob) == 2:
            rest = unknown_members(part, _FILE)
            return MediaPart(media_type=media_type, url=url, private=keep(DIALECT, rest))
    return NativePart(origin=DIALECT, value=part)


_INLINE = frozenset({"inlineData"})
_FILE = frozenset({"fileData"})


def read_call(value: Any, path: str, *, call_id: str) -> CallItem:
    """One function call; without an id it gets `call_id`, which is not sent again."""
    source = camel_members(value, path)
    private = unknown_members(source, _CALL)
    given = optional_text(source, "id", path)
    if not given:
        private["_synthetic"] = True
        private |= {"_id": given} if given is not None else {}
    if source.get("name") is None:
        private["_no_name"] = True
    arguments = optional_object(source, "args", path)
    if arguments is None:
        private["_no_args"] = True
    raw = "{}" if arguments is None else unwrap_arguments(arguments)
    name = optional_text(source, "name", path) or ""
    call = ToolCall(call_id=given or call_id, name=name, raw=raw, arguments=arguments, origin=DIALECT)
    return CallItem(call=call, private=keep(DIALECT, private))


def write_call(item: CallItem, losses: Losses, path: str) -> JsonObject:
    written: JsonObject = {}
    if not own_members(item.private, DIALECT).get("_synthetic"):
        written["id"] = item.call.call_id
    elif own_members(item.private, DIALECT).get("_id") == "":
        written["id"] = ""
    if item.call.name or not own_members(item.private, DIALECT).get("_no_name"):
        written["name"] = item.call.name
    odd = own_members(item.private, DIALECT).get("_args")
    if odd is not None and read_arguments(odd) == item.call.raw:
        return {**visible(own_members(item.private, DIALECT)), **written, "args": odd}
    arguments = item.call.arguments
    if arguments is None:
        arguments = object_arguments(item.call.raw)
    if arguments is None:
        losses.add("arguments_not_object", path, "The argument text is sent under one name.")
        arguments = wrap_arguments(item.call.raw)
    if arguments or not own_members(item.private, DIALECT).get("_no_args"):
        written["args"] = arguments
    return {**visible(own_members(item.private, DIALECT)), **written}


def read_result(value: Any, path: str) -> ResultItem:
    """One function response. An id that was not given is empty and not sent again."""
    source = camel_members(value, path)
    private = unknown_members(source, _RESULT)
    response = optional_object(source, "response", path)
    text, failed = ("", False) if response is None else text_result(response)
    private |= {f"_{name}": "" for name in ("id", "name") if source.get(name) == ""}
    if response is None or object_result(text, failed=failed) != response:
        private["_response"] = response
    return ResultItem(
        call_id=optional_text(source, "id", path) or "",
        name=optional_text(source, "name", path) or "",
        parts=(TextPart(text=text),) if response is not None else (),
        failed=failed,
        private=keep(DIALECT, private),
    )


def write_result(item: ResultItem, losses: Losses, path: str) -> JsonObject:
    written = visible(own_members(item.private, DIALECT))
    if item.call_id or own_members(item.private, DIALECT).get("_id") == "":
        written["id"] = item.call_id
    if item.name or own_members(item.private, DIALECT).get("_name") == "":
        written["name"] = item.name
    response = _response_of(item, losses, path)
    if response is not None:
        written["response"] = response
    note_left_out(item.private, DIALECT, path, losses)
    return written


def _response_of(item: ResultItem, losses: Losses, path: str) -> JsonObject | None:
    notes: list[str] = []
    for part in item.parts:
        if isinstance(part, (TextPart, RefusalPart)):
            notes.append(part.text)
        elif isinstance(part, MediaPart):
            losses.add("media_dropped", path, "Tool results of live sessions take no media.")
            notes.append(media_note(part))
        else:
            losses.add("native_dropped", path, f"A part of {part.origin} was left out.")
    text = "".join(notes)
    hints = own_members(item.private, DIALECT)
    if "_response" in hints:
        original = hints["_response"]
        if original is None:
            return None if not text else object_result(text, failed=item.failed)
        if isinstance(original, dict) and text_result(original) == (text, item.failed):
            return original
    return object_result(text, failed=item.failed)


def write_contents(items: tuple[Item, ...], losses: Losses, path: str) -> list[JsonObject]:
    """Items of one speaker share a content, unless they were split."""
    contents: list[JsonObject] = []
    speaker = ""
    for place, item in enumerate(items):
        here = f"{path}[{place}]"
        side = _side(item)
        parts = _item_parts(item, losses, here)
        if parts is None:
            continue
        if side != speaker or item.split:
            speaker = side
            contents.append(_new_content(item, side))
        present = contents[-1]["parts"]
        if isinstance(present, list):
            present.extend(parts)
    return contents


def _new_content(item: Item, side: str) -> JsonObject:
    content: JsonObject = {"role": "model" if side == "assistant" else "user", "parts": []}
    shape = None if isinstance(item, NativeItem) else own_members(item.private, DIALECT).get("_content")
    if isinstance(shape, dict):
        if "role" in shape:
            content["role"] = shape["role"]
            if shape["role"] is None:
                del content["role"]
        rest = shape.get("rest")
        content.update(rest if isinstance(rest, dict) else {})
    return content


def _side(item: Item) -> str:
    if isinstance(item, Message):
        return "assistant" if item.role == "assistant" else "user"
    return "user" if isinstance(item, ResultItem) else "assistant"


def _item_parts(item: Item, losses: Losses, path: str) -> list[JsonValue] | None:
    match item:
        case Message():
            return _message_parts(item, losses, path)
        case CallItem():
            note_left_out(item.private, DIALECT, path, losses)
            return [{"functionCall": write_call(item, losses, path), **_beside(item)}]
        case ResultItem():
            return [{"functionResponse": write_result(item, losses, path), **_beside(item)}]
        case ReasoningItem():
            if DIALECT not in item.private and item.private:
                losses.add("reasoning_dropped", path, "Reasoning of another provider was left out.")
                return None
            return [{"text": item.text, "thought": True, **visible(own_members(item.private, DIALECT))}]
        case NativeItem():
            if item.origin == DIALECT:
                return [item.value]
            losses.add("native_dropped", path, f"An entry of {item.origin} was left out.")
            return None


def _beside(item: CallItem | ResultItem) -> JsonObject:
    beside = own_members(item.private, DIALECT).get("_part")
    return beside if isinstance(beside, dict) else {}


def _message_parts(item: Message, losses: Losses, path: str) -> list[JsonValue] | None:
    note_left_out(item.private, DIALECT, path, losses)
    written: list[JsonValue] = []
    for place, part in enumerate(item.parts):
        found = write_part(part, losses, f"{path}.parts[{place}]")
        if found is not None:
            written.append(found)
    if item.role in ("system", "developer"):
        losses.add("role_changed", path, "A live session takes system messages only in its setup.")
        return [{"text": f"<system>{item.text}</system>"}]
    return written if written or not item.parts else None


def write_part(part: Part, losses: Losses, path: str) -> JsonObject | None:
    match part:
        case TextPart():
            note_left_out(part.private, DIALECT, path, losses)
            return {"text": part.text, **visible(own_members(part.private, DIALECT))}
        case RefusalPart():
            return {"text": part.text}
        case MediaPart(data=bytes(data)):
            note_left_out(part.private, DIALECT, path, losses)
            blob: JsonObject = {"mimeType": part.media_type, "data": encode_base64(data)}
            return {"inlineData": blob, **visible(own_members(part.private, DIALECT))}
        case MediaPart(url=str(url)) if DIALECT in part.private or url.startswith("gs://") or not part.private:
            return {
                "fileData": {"mimeType": part.media_type, "fileUri": url},
                **visible(own_members(part.private, DIALECT)),
            }
        case MediaPart():
            losses.add("media_dropped", path, "A file id of another provider cannot be sent.")
            return {"text": media_note(part)}
        case NativePart():
            if part.origin == DIALECT:
                return part.value
            losses.add("native_dropped", path, f"A part of {part.origin} was left out.")
            return None


def read_instructions(value: JsonObject, path: str) -> tuple[TextPart, ...] | None:
    """The text parts of a system instruction; None if it has any other."""
    parts = [camel_members(part, f"{path}.parts") for part in optional_list(value, "parts", path)]
    if not all(isinstance(part.get("text"), str) for part in parts):
        return None
    return tuple(part for part in (read_part(part, path) for part in parts) if isinstance(part, TextPart))

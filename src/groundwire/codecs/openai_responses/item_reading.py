"""Items of an input or an output, from the wire. Knows no requests and no responses around them."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.openai_responses.namespaces import told_name
from groundwire.codecs.openai_responses.parts import read_parts
from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.ids import OPENAI_RESPONSES_IDS, derived_id
from groundwire.codecs.wire.json import dump_text
from groundwire.codecs.wire.private import keep, own_members, unknown_members
from groundwire.codecs.wire.reading import as_object, expected, optional_text, required_text
from groundwire.codecs.wire.results import read_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    Part,
    ReasoningItem,
    ResultItem,
    TextPart,
)

ROLES = frozenset({"user", "assistant", "system", "developer"})
PARAGRAPH = "\n\n"
"""Between the parts of a summary: what a reader sees as one text."""

_MESSAGE_MEMBERS = frozenset({"type", "role", "content"})
_CALL_MEMBERS = frozenset({"type", "call_id", "name", "arguments"})
_CUSTOM_MEMBERS = frozenset({"type", "call_id", "name", "input"})
_OUTPUT_MEMBERS = frozenset({"type", "call_id", "output"})
_UNFINISHED = ("incomplete", "in_progress")


def read_input_items(items: list[Any]) -> tuple[Item, ...]:
    """The items of a request: what is wrong with one is said, with its place."""
    return tuple([_read_usual(item) or _read_input_item(item, f"input[{place}]") for place, item in enumerate(items)])


def _read_usual(item: Any) -> Item | None:
    """The shapes of which histories are full, without a second look; None for any other."""
    if type(item) is not dict:
        return None
    size, kind = len(item), item.get("type")
    if kind is None:
        role, content = item.get("role"), item.get("content")
        if size == 2 and type(content) is str and type(role) is str and role in ROLES:
            return Message(role=role, parts=(TextPart(text=content),))
    elif kind == "function_call":
        call_id, name, raw, item_id = item.get("call_id"), item.get("name"), item.get("arguments"), item.get("id")
        if type(call_id) is str and type(name) is str and type(raw) is str and raw[:1] == "{":
            call = ToolCall(call_id=call_id, name=name, raw=raw, origin=DIALECT)
            if size == 4 and item_id is None:
                return CallItem(call=call)
            if size == 5 and item_id is not None:
                return CallItem(call=call, private={DIALECT: {"id": item_id}})
    elif kind == "function_call_output" and size == 3:
        call_id, output = item.get("call_id"), item.get("output")
        if type(call_id) is str and type(output) is str and output:
            return ResultItem(call_id=call_id, parts=(TextPart(text=output),))
    return None


def _read_input_item(item: Any, path: str) -> Item:
    item = as_object(item, path)
    kind = item.get("type")
    if kind is None or kind == "message":
        return _read_input_message(item, path)
    if kind == "function_call":
        return _read_call(item, required_text(item, "call_id", path), required_text(item, "name", path))
    if kind == "function_call_output":
        return _read_output(item, path)
    if kind == "reasoning":
        return read_reasoning(item)
    if kind == "custom_tool_call":
        return _read_custom_call(item, required_text(item, "call_id", path), required_text(item, "name", path))
    if kind == "custom_tool_call_output":
        return _read_output(item, path)
    if not isinstance(kind, str):
        raise expected(f"{path}.type", "a string", kind)
    return NativeItem(origin=DIALECT, value=item)


def _read_input_message(item: JsonObject, path: str) -> Message:
    if "role" not in item and "type" not in item:
        raise WireError("has neither a type nor a role", path=path)
    role = required_text(item, "role", path)
    content = item.get("content")
    members = unknown_members(item, _MESSAGE_MEMBERS)
    is_output = has_output_shape(members)
    if ("type" in item) is not is_output:
        members = {**members, "_typed": not is_output}
    if role not in ROLES:
        members = {**members, "_role": True}
    if isinstance(content, str):
        parts: tuple[Part, ...] = (TextPart(text=content),)
    else:
        parts = read_parts(content, f"{path}.content", "output_text" if role == "assistant" else "input_text")
    if isinstance(content, list) is not is_list_by_default(parts, is_output=is_output):
        members = {**members, "_list": isinstance(content, list)}
    return Message(role=role, parts=parts, private=keep(DIALECT, members))


def has_output_shape(members: JsonObject) -> bool:
    """A message with an id or a status came out of a response, and is replayed in that form."""
    return "id" in members or "status" in members


def is_list_by_default(parts: tuple[Part, ...], *, is_output: bool) -> bool:
    if is_output or len(parts) != 1:
        return True
    part = parts[0]
    return not isinstance(part, TextPart) or bool(part.private) or bool(part.citations)


def _read_call(item: JsonObject, call_id: str, name: str) -> CallItem:
    arguments = item.get("arguments")
    raw = read_arguments(arguments)
    members = unknown_members(item, _CALL_MEMBERS)
    if isinstance(arguments, str) and raw != arguments:
        members = {**members, "_arguments": arguments}
    return CallItem(
        call=ToolCall(call_id=call_id, name=name, raw=raw, origin=DIALECT),
        complete=item.get("status") not in _UNFINISHED,
        private=keep(DIALECT, members),
    )


def _read_custom_call(item: JsonObject, call_id: str, name: str) -> CallItem:
    text = item.get("input")
    members = {**unknown_members(item, _CUSTOM_MEMBERS), "_custom": True}
    return CallItem(
        call=ToolCall(
            call_id=call_id, name=name, raw=dump_text({"input": text if isinstance(text, str) else ""}), origin=DIALECT
        ),
        complete=item.get("status") not in _UNFINISHED,
        private=keep(DIALECT, members),
    )


def _read_output(item: JsonObject, path: str) -> Item:
    if item.get("call_id") is None and "name" in item:
        return NativeItem(origin=DIALECT, value=item)  # a result that belongs to no call
    call_id = required_text(item, "call_id", path)
    output = item.get("output")
    members = unknown_members(item, _OUTPUT_MEMBERS)
    if item["type"] == "custom_tool_call_output":
        members = {**members, "_custom": True}
    parts: tuple[Part, ...]
    if isinstance(output, str):
        parts = (TextPart(text=output),) if output else ()
    elif isinstance(output, list):
        parts = read_parts(output, f"{path}.output", "input_text")
        if not parts or not is_list_by_default(parts, is_output=False):
            members = {**members, "_list": True}
    else:
        raise expected(f"{path}.output", "a string or an array", output)
    return ResultItem(
        call_id=call_id, name=optional_text(item, "name", path) or "", parts=parts, private=keep(DIALECT, members)
    )


def read_reasoning(item: JsonObject) -> ReasoningItem:
    """The thoughts as text: the full ones if they are told, else their summary."""
    members = {key: value for key, value in item.items() if key != "type" and key[0:1] != "_"}
    return ReasoningItem(text=_texts(item.get("content")) or _texts(item.get("summary")), private={DIALECT: members})


def _texts(parts: Any) -> str:
    if not isinstance(parts, list):
        return ""
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return PARAGRAPH.join(text for text in texts if isinstance(text, str))


def read_output_item(item: Any, path: str, seed: str, names: Mapping[str, str] | None) -> Item:
    """An item of a response. `seed` makes the id of a call that has none."""
    item = as_object(item, path)
    kind = item.get("type")
    if kind == "message" or (kind is None and "content" in item):
        return _read_output_message(item, path)
    if kind == "reasoning":
        return read_reasoning(item)
    if kind not in ("function_call", "custom_tool_call"):
        return NativeItem(origin=DIALECT, value=item)
    call_id, name = item.get("call_id"), item.get("name")
    has_id = isinstance(call_id, str) and bool(call_id)
    read = _read_call if kind == "function_call" else _read_custom_call
    name = told_name(item, str(name or ""), names)
    call = read(item, str(call_id) if has_id else derived_id(seed, OPENAI_RESPONSES_IDS), name)
    return call if has_id else _synthetic(call)


def _synthetic(item: CallItem) -> CallItem:
    members = {**own_members(item.private, DIALECT), "_synthetic": True}
    return CallItem(call=item.call, complete=item.complete, private={DIALECT: members})


def _read_output_message(item: JsonObject, path: str) -> Message:
    content = item.get("content")
    if isinstance(content, str):
        parts: tuple[Part, ...] = (TextPart(text=content),)
    elif content is None:
        parts = ()
    else:
        parts = read_parts(content, f"{path}.content", "output_text", answer=True)
    role = item.get("role")
    return Message(
        role=role if isinstance(role, str) and role else "assistant",
        parts=parts,
        private=keep(DIALECT, unknown_members(item, _MESSAGE_MEMBERS)),
    )

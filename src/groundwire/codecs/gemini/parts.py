"""The parts of a model's content as canonical values and back.

A thought signature stays on exactly the part that it came with, under `private`. What no other dialect has (code that
Google ran, its searches) becomes a native item as a whole.
"""

from collections.abc import Mapping

from groundwire.codecs.gemini.casing import camel_keys, dict_of
from groundwire.codecs.gemini.media_parts import is_media, read_media, write_media
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.names import NameTable, original_name
from groundwire.codecs.wire.private import take_own, unknown_values, visible
from groundwire.codecs.wire.reading import as_object, expected, optional_text, required_text
from groundwire.codecs.wire.results import object_arguments, unwrap_arguments, wrap_arguments
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    MediaPart,
    NativeItem,
    NativePart,
    Part,
    ReasoningItem,
    RefusalPart,
    TextPart,
)

_TEXT = frozenset({"text"})
_THOUGHT = frozenset({"text", "thought"})
_CALL_PART = frozenset({"functionCall"})
_CALL = frozenset({"id", "name", "args"})

ModelPart = TextPart | MediaPart | ReasoningItem | CallItem | NativeItem


def read_model_part(part: JsonObject, path: str, made_id: str, names: Mapping[str, str]) -> ModelPart:
    """One part of a model's content (member names in camelCase). `made_id` is for a call that came without an id."""
    text = part.get("text")
    if type(text) is str and len(part) == 1:
        return TextPart(text=text) if text else TextPart(text=text, private={DIALECT: {}})
    if part.get("functionCall") is not None:
        return read_call(part, path, made_id, names)
    if text is not None:
        if not isinstance(text, str):
            raise expected(f"{path}.text", "a string", text)
        if part.get("thought") is True:
            return ReasoningItem(text=text, private={DIALECT: unknown_values(part, _THOUGHT)})
        members = unknown_values(part, _TEXT)
        return TextPart(text=text, private={DIALECT: members} if members or not text else {})
    if is_media(part) and part.get("thought") is not True:
        return read_media(part, path)
    return NativeItem(origin=DIALECT, value=part)


def read_model_part_leniently(part: JsonObject, made_id: str, names: Mapping[str, str]) -> ModelPart:
    """For responses: what cannot be read as it should is kept whole, and a call that is no call is never complete."""
    try:
        return read_model_part(part, "", made_id, names)
    except WireError:
        if part.get("functionCall") is None:
            return NativeItem(origin=DIALECT, value=part)
    wire = dict_of(part["functionCall"])
    name, args, call_id = wire.get("name"), wire.get("args"), wire.get("id")
    is_named = isinstance(name, str) and name != ""
    is_text = isinstance(args, str) and is_named
    call = ToolCall(
        call_id=call_id if isinstance(call_id, str) and call_id else made_id,
        name=original_name(name, names) if isinstance(name, str) else "",
        raw=(args if args.strip() else "{}") if isinstance(args, str) else "{}",
        origin=DIALECT,
    )
    members: JsonObject = {**unknown_values(part, _CALL_PART), "_functionCall": part["functionCall"]}
    return CallItem(call=call, complete=is_text, private={DIALECT: members})


def read_call(part: JsonObject, path: str, made_id: str, names: Mapping[str, str]) -> CallItem:
    wire = camel_keys(as_object(part["functionCall"], f"{path}.functionCall"))
    members = unknown_values(part, _CALL_PART) if len(part) > 1 else {}
    if further := unknown_values(wire, _CALL):
        members["functionCall"] = further
    call_id = optional_text(wire, "id", f"{path}.functionCall")
    if not call_id:
        members["_synthetic"] = True
        call_id = made_id
    arguments: JsonObject = {}
    if wire.get("args") is None:
        members["_bare"] = True
    else:
        arguments = as_object(wire["args"], f"{path}.functionCall.args")
    return call_item(required_text(wire, "name", f"{path}.functionCall"), call_id, arguments, members, names)


def call_item(
    name: str, call_id: str, arguments: JsonObject, members: JsonObject, names: Mapping[str, str]
) -> CallItem:
    """The call, with the members that have no place of their own."""
    is_wrapped = "_raw_arguments" in arguments
    call = ToolCall(
        call_id=call_id,
        name=names[name] if name in names else original_name(name, names),
        raw=unwrap_arguments(arguments) if is_wrapped else dump(arguments).decode(),
        arguments=None if is_wrapped else arguments,
        origin=DIALECT,
    )
    return CallItem(call=call, private={DIALECT: members}) if members else CallItem(call=call)


def write_call(item: CallItem, wire_id: str | None, name: str, losses: Losses, path: str) -> JsonObject:
    """A part for the call. `wire_id` None: it is sent without an id, as it came."""
    call = item.call
    members = take_own(item.private, DIALECT, path, losses) if item.private else {}
    if "_functionCall" in members:
        return {"functionCall": members["_functionCall"], **visible(members)}
    wire: JsonObject = {"name": name}
    if wire_id is not None:
        wire["id"] = wire_id
    arguments = call.arguments if call.arguments is not None else object_arguments(call.raw)
    if arguments is None:
        losses.add("arguments_not_object", path, f"The arguments of {call.name!r} are no JSON object.")
        arguments = wrap_arguments(call.raw)
    if arguments or "_bare" not in members:
        wire["args"] = arguments
    if not members:
        return {"functionCall": wire}
    further = members.get("functionCall")
    if isinstance(further, dict):
        wire.update(visible(further))
    return {"functionCall": wire, **{key: value for key, value in visible(members).items() if key != "functionCall"}}


def is_unnamed(item: CallItem) -> bool:
    """Whether the call came without an id, so that it goes back without one."""
    return bool(item.private) and "_synthetic" in item.private.get(DIALECT, ())


def write_part(part: Part, losses: Losses, path: str) -> JsonObject | None:
    """A text, media or native part of anybody's message; None for what only another dialect can say."""
    if isinstance(part, TextPart):
        if part.citations:
            losses.add("citation_dropped", path, "Gemini has no place for citations in a message.")
        if part.private:
            return {"text": part.text, **visible(take_own(part.private, DIALECT, path, losses))}
        return {"text": part.text}
    if isinstance(part, MediaPart):
        return write_media(part, losses, path)
    if isinstance(part, RefusalPart):
        return {"text": part.text}
    return write_native(part, losses, path)


def write_native(part: NativePart | NativeItem, losses: Losses, path: str) -> JsonObject | None:
    if part.origin == DIALECT:
        return part.value
    losses.add("native_dropped", path, f"Only {part.origin} understands this entry.")
    return None


def write_reasoning(item: ReasoningItem, losses: Losses, path: str) -> JsonObject | None:
    """Gemini takes back its own thoughts only."""
    if DIALECT not in item.private:
        losses.add("reasoning_dropped", path, "Thoughts of another provider mean nothing to Gemini.")
        return None
    return {"text": item.text, "thought": True, **visible(take_own(item.private, DIALECT, path, losses))}


def is_signed(part: TextPart | ReasoningItem) -> bool:
    return bool(part.private) and "thoughtSignature" in part.private.get(DIALECT, ())


def wire_name(name: str, names: NameTable | None) -> str:
    return name if names is None else names.wire(name)

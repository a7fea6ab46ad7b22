"""`tool_choice`, both ways. Flat and nested (Chat) forms are read, flat ones written."""

from typing import Any

from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import give_back, keep, note_foreign, own_members, unknown_members
from groundwire.codecs.wire.reading import as_list, as_object, expected, optional_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import ToolChoice

_CALLABLE = ("function", "custom")
_NAMED_MEMBERS = frozenset({"type", "name", "function", "custom"})


def read_choice(choice: Any) -> ToolChoice | None:
    if choice is None:
        return None
    if choice in ("auto", "none", "required"):
        return ToolChoice(mode=choice)
    if isinstance(choice, str):
        raise WireError(f"{choice!r} is not auto, none or required", path="tool_choice")
    choice = as_object(choice, "tool_choice")
    kind = choice.get("type")
    if kind in _CALLABLE:
        members = unknown_members(choice, _NAMED_MEMBERS)
        members = members if kind == "function" else {**members, "_type": kind}
        return ToolChoice(mode="required", names=(_name_of(choice, "tool_choice"),), private=keep(DIALECT, members))
    if kind == "allowed_tools":
        return _read_allowed(choice)
    if not isinstance(kind, str):
        raise expected("tool_choice.type", "a string", kind)
    return ToolChoice(mode="required", private=keep(DIALECT, {"_whole": choice}))


def _name_of(entry: JsonObject, path: str) -> str:
    nested = entry.get(str(entry.get("type")))
    source, path = (nested, f"{path}.{entry['type']}") if isinstance(nested, dict) else (entry, path)
    name = optional_text(source, "name", path)
    if not name:
        raise WireError("is missing", path=f"{path}.name")
    return name


def _read_allowed(choice: JsonObject) -> ToolChoice:
    nested, path = choice.get("allowed_tools"), "tool_choice"
    if isinstance(nested, dict):
        choice, path = nested, "tool_choice.allowed_tools"
    mode = choice.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise WireError("is not auto or required", path=f"{path}.mode")
    entries = [
        as_object(entry, f"{path}.tools[{place}]")
        for place, entry in enumerate(as_list(choice.get("tools"), f"{path}.tools"))
    ]
    names: list[str] = []
    others: list[JsonValue] = []
    for place, entry in enumerate(entries):
        if entry.get("type") in _CALLABLE:
            names.append(_name_of(entry, f"{path}.tools[{place}]"))
        if entry.get("type") != "function":
            others.append(entry)
    is_like_another = not names or (len(names) == 1 and mode == "required")
    notes: JsonObject = {"_allowed": True} if is_like_another else {}
    if others:
        notes = {"_allowed": True, "_tools": [*entries]}
    return ToolChoice(
        mode="required" if mode == "required" else "auto", names=tuple(names), private=keep(DIALECT, notes)
    )


def write_choice(choice: ToolChoice, names: NameTable, freeform: frozenset[str], losses: Losses) -> JsonValue:
    members = own_members(choice.private, DIALECT)
    note_foreign(choice.private, DIALECT, "tool_choice", losses)
    if "_whole" in members:
        return members["_whole"]
    if choice.mode == "none" or not (choice.names or members.get("_allowed")):
        return choice.mode
    if choice.mode == "required" and len(choice.names) == 1 and not members.get("_allowed"):
        return give_back(_entry(choice.names[0], names, freeform, members.get("_type")), members)
    tools = members.get("_tools")
    entries: list[JsonValue] = [_entry(name, names, freeform) for name in choice.names]
    if isinstance(tools, list):
        entries = tools
    return {"type": "allowed_tools", "mode": choice.mode, "tools": entries}


def _entry(name: str, names: NameTable, freeform: frozenset[str], kind: JsonValue = None) -> JsonObject:
    return {"type": kind or ("custom" if name in freeform else "function"), "name": names.wire(name, "tool_choice")}

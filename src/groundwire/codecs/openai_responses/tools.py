"""Tools on offer and the choice among them, both ways. Flat and nested (Chat) forms are read, flat ones written."""

from typing import Any

from msgspec.structs import replace

from groundwire.codecs.openai_responses.namespaces import NOTE, bare_names, full_name, with_names_of_their_own
from groundwire.codecs.openai_responses.profile import DIALECT, Profile
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.names import NameTable, fit_description
from groundwire.codecs.wire.openai_strict import write_strict
from groundwire.codecs.wire.private import give_back, keep, note_foreign, own_members, unknown_members
from groundwire.codecs.wire.reading import (
    as_list,
    as_object,
    expected,
    join,
    optional_bool,
    optional_object,
    optional_text,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool

_FUNCTION_MEMBERS = frozenset({"type", "name", "description", "parameters", "strict", "function"})
_CUSTOM_MEMBERS = frozenset({"type", "name", "description", "format", "custom"})
_NAMESPACE_MEMBERS = frozenset({"type", "tools"})
_NOT_AT_ROOT = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "enum", "const", "not", "nullable"})
_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
PLAIN_TEXT: JsonObject = {"type": "text"}


def read_tools(tools: Any) -> tuple[DeclaredTool, ...]:
    found: list[DeclaredTool] = []
    for place, entry in enumerate(as_list(tools, "tools")):
        path = f"tools[{place}]"
        tool = as_object(entry, path)
        if tool.get("type") == "namespace":
            found.extend(_read_namespace(tool, path))
        else:
            found.append(_read_tool(tool, path))
    return with_names_of_their_own(found)


def _read_tool(tool: JsonObject, path: str) -> DeclaredTool:
    kind = tool.get("type")
    if kind == "function" or (kind is None and ("name" in tool or "function" in tool)):
        return _read_function(tool, path)
    if kind == "custom":
        return _read_custom(tool, path)
    if not isinstance(kind, str):
        raise expected(f"{path}.type", "a string", kind)
    return NativeTool(origin=DIALECT, value=tool)


def _read_namespace(tool: JsonObject, path: str) -> list[DeclaredTool]:
    """The functions of a namespace, each noting where it stood; a namespace of anything else stays as it is."""
    inner = as_list(tool.get("tools"), f"{path}.tools")
    members = [
        _read_tool(as_object(entry, f"{path}.tools[{i}]"), f"{path}.tools[{i}]") for i, entry in enumerate(inner)
    ]
    functions = [member for member in members if isinstance(member, FunctionTool)]
    if not functions or len(functions) != len(members):
        return [NativeTool(origin=DIALECT, value=tool)]
    frame = unknown_members(tool, _NAMESPACE_MEMBERS)
    return [
        replace(function, private={DIALECT: {**own_members(function.private, DIALECT), NOTE: frame}})
        for function in functions
    ]


def _read_function(tool: JsonObject, path: str) -> FunctionTool:
    members = unknown_members(tool, _FUNCTION_MEMBERS)
    if isinstance(tool.get("function"), dict):
        path = f"{path}.function"
        tool = as_object(tool["function"], path)
        members = {**members, **unknown_members(tool, _FUNCTION_MEMBERS)}
    strict = optional_bool(tool, "strict", path)
    parameters = optional_object(tool, "parameters", path)
    if strict is not False:
        members = {**members, "_no_strict" if strict is None else "_strict": True}
    if not _has_plain_root(parameters):
        members = {**members, "_verbatim": True}
    return FunctionTool(
        name=_name_in(tool, path),
        description=optional_text(tool, "description", path),
        parameters=parameters,
        strict=strict,
        private=keep(DIALECT, members),
    )


def _has_plain_root(parameters: JsonObject | None) -> bool:
    return (
        parameters is not None
        and parameters.get("type") == "object"
        and isinstance(parameters.get("properties"), dict)
        and _NOT_AT_ROOT.isdisjoint(parameters)
    )


def _read_custom(tool: JsonObject, path: str) -> FunctionTool:
    members = unknown_members(tool, _CUSTOM_MEMBERS)
    if isinstance(tool.get("custom"), dict):
        path = f"{path}.custom"
        tool = as_object(tool["custom"], path)
        members = {**members, **unknown_members(tool, _CUSTOM_MEMBERS)}
    freeform = optional_object(tool, "format", path)
    if freeform is None:
        members = {**members, "_no_format": True}
    return FunctionTool(
        name=_name_in(tool, path),
        description=optional_text(tool, "description", path),
        freeform=PLAIN_TEXT if freeform is None else _flat_format(freeform),
        private=keep(DIALECT, members),
    )


def _flat_format(freeform: JsonObject) -> JsonObject:
    """Chat nests a grammar under its own name."""
    grammar = freeform.get("grammar")
    if not isinstance(grammar, dict):
        return freeform
    return {**{key: value for key, value in freeform.items() if key != "grammar"}, **grammar}


def _name_in(tool: JsonObject, path: str) -> str:
    name = optional_text(tool, "name", path)
    if not name:
        raise WireError("is missing", path=join(path, "name"))
    return name


def write_tools(tools: tuple[DeclaredTool, ...], names: NameTable, losses: Losses, profile: Profile) -> list[JsonValue]:
    written: list[JsonValue] = []
    frame: JsonValue = None
    bare = bare_names(tools)
    for place, tool in enumerate(tools):
        path = f"tools[{place}]"
        if isinstance(tool, NativeTool):
            frame = None
            if tool.origin == DIALECT:
                written.append(tool.value)
            else:
                losses.add_tool(path, tool)
            continue
        entry = _write_function(tool, path, names, losses, profile)
        namespace = own_members(tool.private, DIALECT).get(NOTE)
        if tool.name in bare and bare[tool.name][1] != tool.name:
            entry["name"] = bare[tool.name][1]
            names.names[full_name(*bare[tool.name])] = tool.name
        if not isinstance(namespace, dict):
            frame = None
            written.append(entry)
        elif frame == namespace:
            written[-1]["tools"].append(entry)  # type: ignore[index,call-overload,union-attr]
        else:
            frame = namespace
            written.append({"type": "namespace", **namespace, "tools": [entry]})
    return written


def _write_function(tool: FunctionTool, path: str, names: NameTable, losses: Losses, profile: Profile) -> JsonObject:
    members = own_members(tool.private, DIALECT)
    if tool.private:
        note_foreign(tool.private, DIALECT, path, losses)
    written: JsonObject = {
        "type": "function" if tool.freeform is None else "custom",
        "name": names.declare(tool.name, path),
    }
    if tool.description is not None:
        written["description"] = fit_description(tool.description, profile.max_description, path, losses)
    if tool.freeform is not None:
        if not members.get("_no_format"):
            written["format"] = _flat_format(tool.freeform)
        return give_back(written, members)
    parameters = tool.schema
    if members.get("_verbatim"):
        written["parameters"] = parameters
    elif parameters is None:
        written["parameters"] = _NO_PARAMETERS
    else:
        converted = to_openai(parameters)
        losses.add_schema(f"{path}.parameters", converted.warnings)
        written["parameters"] = converted.schema
    if tool.strict and "_strict" not in members and isinstance(written["parameters"], dict):
        # Whoever sent it in this dialect knows what the endpoint takes.
        written["parameters"], written["strict"] = write_strict(written["parameters"], path, losses)
    elif tool.strict is not None:
        written["strict"] = tool.strict
    elif not members.get("_no_strict") and profile.explicit_strict:
        written["strict"] = False
    return give_back(written, members)

"""Tools on offer and the choice among them, in the nested form, the legacy form, and as free-text tools."""

from collections.abc import Iterable
from typing import Any

from msgspec import Raw

from groundwire.codecs.openai_chat.profile import DIALECT, Profile
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.freeform import FREEFORM_PARAMETERS
from groundwire.codecs.wire.names import NameTable, fit_description
from groundwire.codecs.wire.openai_strict import write_strict
from groundwire.codecs.wire.private import NOTHING, keep, note_foreign, own_members, unknown_values, visible
from groundwire.codecs.wire.reading import (
    as_list,
    as_object,
    as_text,
    optional_bool,
    optional_object,
    optional_text,
    required_text,
)
from groundwire.codecs.wire.recognition import refuse_foreign_tool
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool, ToolChoice

_TOOL = frozenset({"type", "function"})
_FUNCTION = frozenset({"name", "description", "parameters", "strict"})
_CUSTOM = frozenset({"name", "description", "format"})
_GRAMMAR = frozenset({"type", "grammar"})
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const", "nullable", "$ref", "$dynamicRef"})
_MODES = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
_AUTO = ToolChoice(mode="auto")


def read_tools(body: JsonObject) -> tuple[DeclaredTool, ...]:
    tools: list[DeclaredTool] = []
    for place, value in enumerate(as_list(body["tools"], "tools") if body.get("tools") is not None else ()):
        tools.append(_read_tool(as_object(value, f"tools[{place}]"), f"tools[{place}]"))
    if body.get("functions") is not None:
        for place, value in enumerate(as_list(body["functions"], "functions")):
            path = f"functions[{place}]"
            tools.append(_read_function(as_object(value, path), path, {"_legacy": True}))
    return tuple(tools)


def _read_tool(tool: JsonObject, path: str) -> DeclaredTool:
    kind = tool.get("type")
    if kind == "function" and len(tool) == 2 and type(tool.get("function")) is dict:
        return _read_function(tool["function"], path, {})  # type: ignore[arg-type]
    if "function" in tool and kind in ("function", None):
        hints: JsonObject = {} if kind else {"_untyped": True}
        if members := unknown_values(tool, _TOOL):
            hints["_outer"] = members
        return _read_function(as_object(tool["function"], f"{path}.function"), path, hints)
    refuse_foreign_tool(tool, path, DIALECT)
    if kind in ("function", None) and "name" in tool:
        return _read_function({name: tool[name] for name in tool if name != "type"}, path, {})
    if kind == "custom":
        return _read_custom(tool, path)
    if kind == "function" or not isinstance(kind, str):
        raise WireError("is missing", path=f"{path}.function")
    return NativeTool(origin=DIALECT, value=tool)


def _read_function(function: JsonObject, path: str, hints: JsonObject) -> FunctionTool:
    if not function.keys() <= _FUNCTION:
        hints = {**hints, **unknown_values(function, _FUNCTION)}
    name, description = function.get("name"), function.get("description")
    parameters, strict = function.get("parameters"), function.get("strict")
    if (
        type(name) is not str
        or (description is not None and type(description) is not str)
        or (parameters is not None and type(parameters) is not dict)
        or (strict is not None and type(strict) is not bool)
    ):
        where = path if path.startswith("functions") else f"{path}.function"
        name, description = required_text(function, "name", where), optional_text(function, "description", where)
        parameters, strict = optional_object(function, "parameters", where), optional_bool(function, "strict", where)
    return function_tool(name, description, parameters, hints, strict=strict)


def function_tool(
    name: str, description: str | None, parameters: JsonObject | Raw | None, hints: JsonObject, *, strict: bool | None
) -> FunctionTool:
    """The tool, with a note on a schema that would be changed for another sender."""
    if isinstance(parameters, dict) and not _is_plain(parameters):
        hints = {**hints, "_as_is": True}
    if strict:
        hints = {**hints, "_strict": True}
    return FunctionTool(
        name=name,
        description=description,
        parameters=parameters,
        strict=strict,
        private=keep(DIALECT, hints),
    )


def _is_plain(schema: JsonObject) -> bool:
    """The root is an object and nothing else, so the schema can be sent as it is."""
    return (
        schema.get("type") == "object"
        and type(schema.get("properties")) is dict
        and schema.keys().isdisjoint(_NOT_AT_ROOT)
    )


def _read_custom(tool: JsonObject, path: str) -> FunctionTool:
    custom = optional_object(tool, "custom", path)
    where = path if custom is None else f"{path}.custom"
    custom = {name: tool[name] for name in tool if name != "type"} if custom is None else custom
    form = optional_object(custom, "format", where)
    hints: JsonObject = dict(unknown_values(custom, _CUSTOM))
    if form is None:
        hints["_no_format"] = True
    elif isinstance(form.get("grammar"), dict) and form.keys() == _GRAMMAR:
        form = {"type": form["type"], **form["grammar"]}  # type: ignore[dict-item]
    if "custom" in tool and (members := unknown_values(tool, frozenset({"type", "custom"}))):
        hints["_outer"] = members
    return FunctionTool(
        name=required_text(custom, "name", where),
        description=optional_text(custom, "description", where),
        freeform={"type": "text"} if form is None else form,
        private=keep(DIALECT, hints),
    )


def write_tools(
    tools: tuple[DeclaredTool, ...], names: NameTable, profile: Profile, losses: Losses
) -> tuple[list[JsonValue], list[JsonValue]]:
    """The tools, and apart from them those that are declared in the legacy form."""
    written: list[JsonValue] = []
    legacy: list[JsonValue] = []
    for place, tool in enumerate(tools):
        path = f"tools[{place}]"
        if isinstance(tool, NativeTool):
            if tool.origin == DIALECT:
                written.append(tool.value)
            else:
                losses.add_tool(path, tool)
        elif tool.private and "_legacy" in own_members(tool.private, DIALECT):
            legacy.append(_write_function(tool, names.declare(tool.name, path), path, profile, losses))
        elif tool.freeform is not None and profile.custom_tools:
            written.append(_write_custom(tool, names.declare(tool.name, path), path, profile, losses))
        else:
            written.append(_nested(tool, _write_function(tool, names.declare(tool.name, path), path, profile, losses)))
    return written, legacy


def _nested(tool: FunctionTool, function: JsonObject) -> JsonObject:
    if not tool.private:
        return {"type": "function", "function": function}
    hints = own_members(tool.private, DIALECT)
    entry: JsonObject = {"function": function} if "_untyped" in hints else {"type": "function", "function": function}
    outer = hints.get("_outer")
    return {**entry, **outer} if isinstance(outer, dict) else entry


def _write_function(tool: FunctionTool, name: str, path: str, profile: Profile, losses: Losses) -> JsonObject:
    function: JsonObject = {"name": name}
    schema = tool.schema
    if tool.description is not None:
        function["description"] = fit_description(tool.description, profile.max_description, path, losses)
    if tool.freeform is not None:
        function["parameters"] = FREEFORM_PARAMETERS
        if tool.freeform.get("type") != "text":
            losses.add("format_approximated", path, "The grammar of a free-text tool was left out.")
    elif schema is not None and (_is_plain(schema) or "_as_is" in own_members(tool.private, DIALECT)):
        function["parameters"] = schema
    elif schema is not None:
        converted = to_openai(schema)
        losses.add_schema(f"{path}.parameters", converted.warnings)
        function["parameters"] = converted.schema
    parameters = function.get("parameters")
    if tool.strict and isinstance(parameters, dict) and "_strict" not in own_members(tool.private, DIALECT):
        # Whoever sent it in this dialect knows what the server takes.
        function["parameters"], function["strict"] = write_strict(parameters, path, losses)
    elif tool.strict is not None:
        function["strict"] = tool.strict
    if tool.private:
        note_foreign(tool.private, DIALECT, path, losses)
        function.update(visible(own_members(tool.private, DIALECT)))
    return function


def _write_custom(tool: FunctionTool, name: str, path: str, profile: Profile, losses: Losses) -> JsonObject:
    note_foreign(tool.private, DIALECT, path, losses)
    hints = own_members(tool.private, DIALECT)
    custom: JsonObject = {"name": name}
    if tool.description is not None:
        custom["description"] = fit_description(tool.description, profile.max_description, path, losses)
    form = tool.freeform or NOTHING
    if form.get("type") == "grammar" and "grammar" not in form:
        form = {"type": "grammar", "grammar": {key: value for key, value in form.items() if key != "type"}}
    if "_no_format" not in hints:
        custom["format"] = form
    outer = hints.get("_outer")
    custom.update(visible(hints))
    entry: JsonObject = {"type": "custom", "custom": custom}
    return {**entry, **outer} if isinstance(outer, dict) else entry


def keep_choice(
    value: Any, name: str, extras: JsonObject, *, has_tools: bool, is_legacy: bool = False
) -> ToolChoice | None:
    """The choice; one that only this dialect knows is kept as it is."""
    if value == "auto" and has_tools and not is_legacy:
        return _AUTO
    choice = _read_choice(value, name, is_alone=not has_tools, is_legacy=is_legacy)
    if choice is None:
        extras[name] = value
    return choice


def _read_choice(value: Any, path: str, *, is_alone: bool, is_legacy: bool) -> ToolChoice | None:
    hints: JsonObject = {"_alone": True} if is_alone else {}
    if is_legacy:
        hints["_legacy"] = True
        if isinstance(value, dict):
            return ToolChoice(
                mode="required", names=(required_text(value, "name", path),), private=keep(DIALECT, hints)
            )
    if isinstance(value, str):
        if value not in _MODES:
            raise WireError(f"{value!r} is no tool choice", path=path)
        if value == "any":
            hints["_word"] = value
        return ToolChoice(mode=_MODES[value], private=keep(DIALECT, hints))  # type: ignore[arg-type]
    choice = as_object(value, path)
    kind = choice.get("type")
    if kind == "allowed_tools":
        return _read_allowed(choice, path, hints)
    if kind in ("function", "custom", None):
        inner = choice.get(kind or "function", choice)
        name = required_text(as_object(inner, f"{path}.{kind}"), "name", f"{path}.{kind or 'function'}")
        if kind == "custom":
            hints["_custom"] = True
        return ToolChoice(mode="required", names=(name,), private=keep(DIALECT, hints))
    return None


def _read_allowed(choice: JsonObject, path: str, hints: JsonObject) -> ToolChoice | None:
    allowed = as_object(choice.get("allowed_tools", choice), f"{path}.allowed_tools")
    mode = as_text(allowed.get("mode", "auto"), f"{path}.allowed_tools.mode")
    where = f"{path}.allowed_tools.tools"
    names: list[str] = []
    for place, value in enumerate(as_list(allowed.get("tools"), where)):
        entry = as_object(value, f"{where}[{place}]")
        inner = entry.get(str(entry.get("type")), entry)
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            return None
        names.append(str(inner["name"]))
    if mode not in ("auto", "required"):
        raise WireError(f"{mode!r} is no mode", path=f"{path}.allowed_tools.mode")
    return ToolChoice(mode=mode, names=tuple(names), private=keep(DIALECT, {**hints, "_allowed": True}))  # type: ignore[arg-type]


def write_choice(
    choice: ToolChoice, names: NameTable, profile: Profile, freeform: frozenset[str], losses: Losses
) -> JsonValue:
    note_foreign(choice.private, DIALECT, "tool_choice", losses)
    hints = own_members(choice.private, DIALECT)
    mode = choice.mode
    if mode == "required" and profile.refuses_required and (len(choice.names) != 1 or "_allowed" in hints):
        losses.add("choice_approximated", "tool_choice", "The server cannot be made to call; it was left free.")
        mode = "auto"
    if "_legacy" in hints:
        return {"name": names.wire(choice.names[0], "tool_choice")} if choice.names else mode
    wire_names = [names.wire(name, "tool_choice") for name in choice.names] if mode != "none" else []
    kinds = ["custom" if profile.custom_tools and name in freeform else "function" for name in choice.names]
    entries: list[JsonValue] = [
        {"type": kind, kind: {"name": name}} for kind, name in zip(kinds, wire_names, strict=False)
    ]
    if len(entries) == 1 and mode == "required" and "_allowed" not in hints:
        return entries[0]
    if (entries or "_allowed" in hints) and mode != "none" and profile.allowed_tools:
        return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": entries}}
    return (hints.get("_word") or profile.required_word) if mode == "required" else mode


def is_legacy(tools: Iterable[DeclaredTool]) -> bool:
    """The client declared `functions`, so it waits for `function_call`."""
    return any(isinstance(tool, FunctionTool) and "_legacy" in own_members(tool.private, DIALECT) for tool in tools)

"""Tools on offer: the declaration of one, the names that are allowed, and the `tools` member of a request both ways.

Does not know which tools a request may use; the choice is made where options are written.
"""

from groundwire.codecs.anthropic_messages.profile import DIALECT, Profile
from groundwire.codecs.anthropic_messages.strict_schema import to_strict
from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs.schemas.forms import to_anthropic
from groundwire.codecs.wire.freeform import FREEFORM_PARAMETERS
from groundwire.codecs.wire.names import NameRule, NameTable, lint_tool_name
from groundwire.codecs.wire.private import give_back, keep, take_own, unknown_members
from groundwire.codecs.wire.reading import as_object, optional_bool, optional_object, optional_text, required_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool

NAME_RULE = NameRule(first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]", max_length=128)

_KNOWN = frozenset({"name", "description", "input_schema", "strict", "type"})
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "$ref", "$dynamicRef", "enum", "const", "not"})
_FREEFORM: JsonObject = {**FREEFORM_PARAMETERS, "additionalProperties": False}


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, NAME_RULE)


def encode_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    converted = to_anthropic(parameters)
    value: Schema = {"name": name, "description": description, "input_schema": converted.schema}
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings))


def read_tool(value: JsonValue, path: str) -> DeclaredTool:
    """A tool without type, or of type `custom`, is the caller's; every other type names one that Anthropic defined."""
    source = as_object(value, path)
    kind = optional_text(source, "type", path)
    if kind is not None and kind != "custom":
        return NativeTool(origin=DIALECT, value=source)
    private = unknown_members(source, _KNOWN)
    strict = optional_bool(source, "strict", path)
    if strict:
        private["_strict"] = True
    if kind is not None:
        private["_custom"] = True
    return FunctionTool(
        name=required_text(source, "name", path),
        description=optional_text(source, "description", path),
        parameters=optional_object(source, "input_schema", path),
        strict=strict,
        private=keep(DIALECT, private),
    )


def write_tool(tool: DeclaredTool, path: str, names: NameTable, profile: Profile, losses: Losses) -> JsonObject | None:
    if isinstance(tool, NativeTool):
        if tool.origin != DIALECT:
            losses.add_tool(path, tool)
            return None
        name = tool.value.get("name")
        if isinstance(name, str):
            names.names[name] = name
        return tool.value
    written: JsonObject = {"name": names.declare(tool.name, path)}
    own = take_own(tool.private, DIALECT, path, losses)
    if own.get("_custom"):
        written["type"] = "custom"
    if tool.description is not None:
        written["description"] = tool.description
    schema = _schema(tool, path, losses)
    if tool.strict is not None and profile.strict_tools:
        written["strict"] = tool.strict
        if tool.strict and "_strict" not in own:
            converted = to_strict(schema)
            losses.add_schema(f"{path}.parameters", converted.warnings)
            schema = converted.schema
    elif tool.strict:
        losses.add("option_dropped", f"{path}.strict", "This model has no strict tools.")
    written["input_schema"] = schema
    return give_back(written, own) if own else written


def _schema(tool: FunctionTool, path: str, losses: Losses) -> JsonObject:
    if tool.freeform is not None:
        losses.add(
            "option_dropped", f"{path}.freeform", "A tool that takes plain text is offered with `input` instead."
        )
        return _FREEFORM
    parameters = tool.schema
    if parameters is None:
        return {"type": "object", "properties": {}}
    if parameters.get("type") == "object" and _NOT_AT_ROOT.isdisjoint(parameters):
        return parameters
    converted = to_anthropic(parameters)
    losses.add_schema(f"{path}.parameters", converted.warnings)
    return converted.schema

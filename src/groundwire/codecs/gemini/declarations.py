"""Tool declarations of Gemini, in both forms that it takes, and OpenAI's tools rewritten as such.

A declaration says nothing about how the tool is run, and these functions do not look at the rest of a request.
"""

from typing import Any

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs.schemas.forms import to_json_schema_subset, to_openapi_subset
from groundwire.codecs.wire.names import NameRule, lint_tool_name
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError

NAME_RULE = NameRule(first="[A-Za-z_]", further="[A-Za-z0-9_.:-]", max_length=128)

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_SCHEMA_MAPS = frozenset({"properties", "$defs", "defs", "definitions", "patternProperties", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"anyOf", "any_of", "oneOf", "one_of", "allOf", "all_of", "prefixItems", "prefix_items"})
_SCHEMAS = frozenset({"items", "additionalProperties", "additional_properties", "not", "contains", "propertyNames"})


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, NAME_RULE)


def encode_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    """One function declaration with plain JSON Schema, for text models from 2.5 on."""
    converted = to_json_schema_subset(parameters)
    value: Schema = {"name": name, "description": description, "parametersJsonSchema": converted.schema}
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings))


def encode_native_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    """One function declaration with upper-case types, for Live and for older models.

    A tool without parameters has no `parameters` at all: older models refuse an object without properties.
    """
    converted = to_openapi_subset(parameters)
    value: Schema = {"name": name, "description": description}
    was_told = converted.schema.get("description") != parameters.get("description")
    if converted.schema.get("properties") or was_told:
        value["parameters"] = converted.schema
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings))


def openai_tools_to_gemini(tools: list[JsonObject]) -> list[JsonObject]:
    """OpenAI's function tools, nested or flat, as one Gemini tool; their schemas keep all but the case of types.

    Tools that OpenAI runs itself have no counterpart and are left out.
    """
    declarations: list[JsonValue] = []
    for place, tool in enumerate(tools):
        function = _function_of(tool, f"tools[{place}]")
        if function is None:
            continue
        declaration: JsonObject = {"name": function["name"]}
        if isinstance(function.get("description"), str):
            declaration["description"] = function["description"]
        if isinstance(function.get("parameters"), dict):
            declaration["parameters"] = uppercase_types(function["parameters"])
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}] if declarations else []


def _function_of(tool: Any, path: str) -> dict[str, Any] | None:
    if not isinstance(tool, dict):
        raise WireError("expected an object", path=path)
    if tool.get("type", "function") != "function":
        return None
    function = tool.get("function", tool)
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise WireError("is missing", path=f"{path}.function.name")
    return function


def openai_tool_choice_to_gemini(choice: Any) -> JsonObject:
    """A `tool_choice` as a `toolConfig`: a word, a named function (nested or flat), or a set of allowed tools."""
    if choice is None:
        return {"functionCallingConfig": {"mode": "AUTO"}}
    if isinstance(choice, str) and choice in _MODES:
        return {"functionCallingConfig": {"mode": _MODES[choice]}}
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)
        tools = allowed.get("tools") if isinstance(allowed, dict) else None
        if isinstance(tools, list):
            mode = "ANY" if allowed.get("mode") == "required" else "VALIDATED"
            found = [_function_of(tool, f"tool_choice.tools[{place}]") for place, tool in enumerate(tools)]
            names = [function["name"] for function in found if function is not None]
            return {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": names}}
    if isinstance(choice, dict) and choice.get("type") == "function":
        function = _function_of(choice, "tool_choice")
        if function is not None:
            return {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [function["name"]]}}
    raise WireError("is no tool choice that OpenAI knows", path="tool_choice")


def uppercase_types(schema: Any) -> Any:
    """The same schema with type names in upper case wherever a schema stands; names and values are left alone."""
    if not isinstance(schema, dict):
        return schema
    raised: JsonObject = {}
    for keyword, value in schema.items():
        if keyword == "type":
            raised[keyword] = _raised_type(value)
        elif keyword in _SCHEMA_MAPS and isinstance(value, dict):
            raised[keyword] = {name: uppercase_types(entry) for name, entry in value.items()}
        elif keyword in _SCHEMA_LISTS and isinstance(value, list):
            raised[keyword] = [uppercase_types(entry) for entry in value]
        elif keyword in _SCHEMAS:
            raised[keyword] = (
                [uppercase_types(entry) for entry in value] if isinstance(value, list) else uppercase_types(value)
            )
        else:
            raised[keyword] = value
    return raised


def _raised_type(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.upper()
    return [_raised_type(entry) for entry in value] if isinstance(value, list) else value

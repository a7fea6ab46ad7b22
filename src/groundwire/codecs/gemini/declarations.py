"""Tool declarations of Gemini, in both forms that it takes.

A declaration says nothing about how the tool is run, and these functions do not look at the rest of a request.
"""

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs.schemas.forms import to_json_schema_subset, to_openapi_subset
from groundwire.codecs.wire.names import NameRule, lint_tool_name

NAME_RULE = NameRule(first="[A-Za-z_]", further="[A-Za-z0-9_.:-]", max_length=128)


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

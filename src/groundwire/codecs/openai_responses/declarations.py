"""Tool declarations for OpenAI Responses, from the registry's tools. Knows nothing of requests."""

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.names import NameRule, lint_description, lint_tool_name

NAME_RULE = NameRule(first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]", max_length=64)
_MAX_DESCRIPTION = 1024


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, NAME_RULE)


def encode_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    """The flat function tool. `strict` is said aloud, because this API tries strict mode when nothing is said."""
    converted = to_openai(parameters)
    value: Schema = {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": converted.schema,
        "strict": False,
    }
    warnings = (*lint_name(name), *lint_description(description, _MAX_DESCRIPTION), *converted.warnings)
    return Declaration(value=value, warnings=warnings)

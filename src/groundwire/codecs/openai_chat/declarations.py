"""Declaring one tool: the nested form of Chat Completions, and the rule for its name. Knows no requests."""

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.names import NameRule, lint_description, lint_tool_name

NAME_RULE = NameRule(first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]", max_length=64)
_MAX_DESCRIPTION = 1024


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, NAME_RULE)


def encode_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    """The nested function tool, without strict mode: optional parameters stay optional."""
    converted = to_openai(parameters)
    function: Schema = {"name": name, "description": description, "parameters": converted.schema}
    warnings = (*lint_name(name), *lint_description(description, _MAX_DESCRIPTION), *converted.warnings)
    return Declaration(value={"type": "function", "function": function}, warnings=warnings)

"""Anthropic Messages. So far: tool declarations."""

from groundwire.codecs._conversions import Declaration, Schema, SchemaWarning
from groundwire.codecs._names import NameRule, lint_tool_name
from groundwire.codecs._schema import to_anthropic

_NAME = NameRule(first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]", max_length=128)


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, _NAME)


def encode_declaration(*, name: str, description: str, parameters: Schema) -> Declaration:
    converted = to_anthropic(parameters)
    value: Schema = {"name": name, "description": description, "input_schema": converted.schema}
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings))

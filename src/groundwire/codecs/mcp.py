"""Model Context Protocol messages. So far: tool declarations, as `tools/list` shows them."""

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning, WarningLog
from groundwire.codecs.schemas.forms import to_mcp
from groundwire.codecs.schemas.keywords import types_of
from groundwire.codecs.wire.names import NameRule, lint_tool_name
from groundwire.contracts.tools import Category

_NAME = NameRule(first="[A-Za-z0-9_.-]", further="[A-Za-z0-9_.-]", max_length=128)


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, _NAME)


def encode_declaration(
    *,
    name: str,
    description: str,
    parameters: Schema,
    result: Schema | None = None,
    category: Category | None = None,
) -> Declaration:
    """One tool. Only actions change anything, so every other category is announced as read-only."""
    converted = to_mcp(parameters)
    log = WarningLog()
    value: Schema = {"name": name, "description": description, "inputSchema": converted.schema}
    if result is not None and types_of(result) == ["object"]:
        value["outputSchema"] = result
    elif result is not None:
        # Clients of the protocol up to 2025-11-25 refuse the whole list over any other output schema.
        log.add("result_not_object", "/outputSchema", "Only object schemas are declared; this one was left out.")
    if category is not None:
        acts = category == Category.ACTION
        value["annotations"] = {"readOnlyHint": not acts, "destructiveHint": acts}
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings, *log.taken()))

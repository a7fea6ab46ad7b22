"""Transforms of one parsed call before it is executed.

Each takes the call and its tool's schema (None where the tool is not known) and returns the call, or a changed copy.
All but the first guess what a model meant, so they are off unless named; what they do not understand completely they
leave for validation to report.
"""

import json
from collections.abc import Callable
from typing import NoReturn

from msgspec import structs

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import (
    MAX_DEPTH,
    JsonObject,
    JsonValue,
    canonical_json,
    dump_json,
    is_deeper_than,
    parse_json,
)
from groundwire.contracts.errors import InvalidJson
from groundwire.runtime.transforms.coercion import coerce_losslessly, parse_nested_json
from groundwire.runtime.transforms.tolerant_json import parse_tolerantly

_WRAPPERS = ("arguments", "parameters", "input")
_UNTOLD = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties")
"""Keywords beside which `properties` does not name every argument."""


def assistant_tool_calls_arguments_blank_to_empty_object(call: ToolCall, _schema: JsonObject | None) -> ToolCall:
    return call if call.raw.strip() or call.arguments else _with_arguments(call, {})


def assistant_tool_calls_arguments_double_encoded_to_object(call: ToolCall, _schema: JsonObject | None) -> ToolCall:
    """A JSON text whose value is the JSON text of an object: read once more, and once only."""
    text = _read(call)
    if not isinstance(text, str):
        return call
    try:
        value = parse_json(text)
    except InvalidJson:
        return call
    return _with_arguments(call, value) if isinstance(value, dict) else call


def assistant_tool_calls_arguments_repair_json(call: ToolCall, _schema: JsonObject | None) -> ToolCall:
    """Other spellings of JSON: single quotes, True, None, line breaks in strings, comments, a last comma."""
    if call.arguments is not None:
        return call
    try:
        parse_json(call.raw)
    except InvalidJson as error:
        if error.too_deep:
            return call
    else:
        return call
    try:
        value = parse_tolerantly(call.raw)
    except InvalidJson:
        return call
    return _with_arguments(call, value) if isinstance(value, dict) else call


def assistant_tool_calls_arguments_drop_repeated_object(call: ToolCall, _schema: JsonObject | None) -> ToolCall:
    """`{"a":1}{"a":1}` is said twice; anything else after the object is left for validation to report."""
    if call.arguments is not None or not call.raw.lstrip().startswith("{"):
        return call
    try:
        values = _values_of(call.raw)
        first = canonical_json(values[0])
        repeated = len(values) > 1 and all(canonical_json(value) == first for value in values[1:])
    except (InvalidJson, ValueError, RecursionError):
        return call
    return _with_arguments(call, values[0]) if repeated else call


def assistant_tool_calls_arguments_coerce_by_schema(call: ToolCall, schema: JsonObject | None) -> ToolCall:
    """ "5" as 5, 5.0 as 5, "true" as true, nulls of optional fields left out: where the schema wants it, losslessly."""
    return _converted(call, schema, coerce_losslessly)


def assistant_tool_calls_arguments_nested_json_by_schema(call: ToolCall, schema: JsonObject | None) -> ToolCall:
    """Objects and arrays that came as their JSON text, as from dialects that tag each argument."""
    return _converted(call, schema, parse_nested_json)


def assistant_tool_calls_arguments_unwrap(call: ToolCall, schema: JsonObject | None) -> ToolCall:
    """`{"arguments": {…}}`, unless the tool has an argument of that name or the wrapping is twofold."""
    arguments = _read(call)
    properties = None if schema is None else schema.get("properties")
    if schema is None or not isinstance(properties, dict) or any(keyword in schema for keyword in _UNTOLD):
        return call
    inner = _unwrapped(arguments, properties)
    if inner is None or _unwrapped(inner, properties) is not None:
        return call
    return _with_arguments(call, inner)


def _converted(
    call: ToolCall, schema: JsonObject | None, convert: Callable[[JsonValue, JsonObject], JsonValue]
) -> ToolCall:
    arguments = _read(call)
    if schema is None or not isinstance(arguments, dict) or is_deeper_than(arguments, MAX_DEPTH):
        return call
    try:
        converted = convert(arguments, schema)
    except RecursionError:  # texts within texts can hold more levels than any one of them
        return call
    return call if converted is arguments else _with_arguments(call, converted)


def _unwrapped(value: JsonValue, properties: JsonObject) -> JsonObject | None:
    if not isinstance(value, dict) or len(value) != 1:
        return None
    name, inner = next(iter(value.items()))
    return inner if name in _WRAPPERS and name not in properties and isinstance(inner, dict) else None


def _read(call: ToolCall) -> JsonValue:
    """The arguments as far as they can be read; None otherwise."""
    if call.arguments is not None:
        return call.arguments
    try:
        return parse_json(call.raw)
    except InvalidJson:
        return None


def _with_arguments(call: ToolCall, value: JsonValue) -> ToolCall:
    try:
        raw = dump_json(value).decode()
    except InvalidJson:
        return call
    return structs.replace(call, raw=raw, arguments=value)


def _values_of(text: str) -> list[JsonValue]:
    values: list[JsonValue] = []
    rest = text.strip()
    position = 0
    while position < len(rest):
        value, position = _decoder.raw_decode(rest, position)
        values.append(value)
        while rest[position : position + 1].isspace():
            position += 1
    return values


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse)

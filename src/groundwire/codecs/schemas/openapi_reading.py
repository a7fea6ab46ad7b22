"""From Gemini's `Schema` back to plain JSON Schema, for tools that a client declares in that form.

Reads camelCase and snake_case names, upper-case and lower-case types, and numbers that came as strings, as the API
does. A schema that is plain already comes back unchanged.
"""

import re

from groundwire.codecs.schemas.conversions import JsonValue, Schema
from groundwire.codecs.schemas.keywords import MAX_DEPTH, TYPES, as_list, as_map, as_strings, is_among, without

_CAMEL = {
    "any_of": "anyOf", "one_of": "oneOf", "all_of": "allOf", "prefix_items": "prefixItems",
    "min_items": "minItems", "max_items": "maxItems", "min_length": "minLength", "max_length": "maxLength",
    "min_properties": "minProperties", "max_properties": "maxProperties",
    "additional_properties": "additionalProperties", "property_ordering": "propertyOrdering",
    "defs": "$defs", "ref": "$ref",
}  # fmt: skip
_MAPS = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not"})
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_WHOLE = re.compile(r"-?\d{1,19}")


def read_openapi(schema: Schema) -> Schema:
    return _read(schema, MAX_DEPTH)


def _read(schema: JsonValue, levels: int) -> Schema:
    if not isinstance(schema, dict) or levels == 0:
        return {}
    node: Schema = {}
    for written, value in schema.items():
        keyword = _CAMEL.get(written, written)
        if keyword in _MAPS:
            node[keyword] = {name: _read_entry(entry, levels) for name, entry in as_map(value).items()}
        elif keyword in _LISTS:
            node[keyword] = [_read_entry(entry, levels) for entry in as_list(value)]
        elif keyword in _SCHEMAS:
            node[keyword] = _read_entry(value, levels)
        elif keyword in _COUNTS and isinstance(value, str) and _WHOLE.fullmatch(value):
            node[keyword] = int(value)
        else:
            node[keyword] = value
    return _with_null(_with_plain_values(_with_plain_type(node)))


def _read_entry(entry: JsonValue, levels: int) -> JsonValue:
    return entry if isinstance(entry, bool) else _read(entry, levels - 1)


def _with_plain_type(node: Schema) -> Schema:
    declared = node.get("type")
    if isinstance(declared, str):
        name = declared.lower()
        node = {**node, "type": name} if name in TYPES else without(node, "type")
    elif isinstance(declared, list):
        node = {**node, "type": [name.lower() for name in as_strings(declared) if name.lower() in TYPES]}
    return node


def _with_plain_values(node: Schema) -> Schema:
    """Undo what the format does for want of keywords: enums as text, an example, an order of properties."""
    if node.get("format") == "enum":
        node = without(node, "format")
    if node.get("type") in ("integer", "number"):
        node = _with_numeric_enum(node)
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/defs/"):
        node = {**node, "$ref": "#/$defs/" + reference.removeprefix("#/defs/")}
    if "example" in node and "examples" not in node:
        node = {**without(node, "example"), "examples": [node["example"]]}
    if isinstance(node.get("properties"), dict) and "propertyOrdering" in node:
        properties = as_map(node["properties"])
        first = [name for name in as_strings(node["propertyOrdering"]) if name in properties]
        node = {**node, "properties": {name: properties[name] for name in dict.fromkeys([*first, *properties])}}
    return without(node, "propertyOrdering")


def _with_numeric_enum(node: Schema) -> Schema:
    values = as_list(node.get("enum"))
    if not any(isinstance(value, str) for value in values):
        return node
    numbers: list[JsonValue] = []
    for value in values:
        if not isinstance(value, str):
            numbers.append(value)
            continue
        try:
            numbers.append(int(value) if _WHOLE.fullmatch(value) else float(value))
        except ValueError:
            return without(node, "enum")
    return {**node, "enum": numbers}


def _with_null(node: Schema) -> Schema:
    nullable = node.get("nullable")
    node = without(node, "nullable")
    if nullable is not True:
        return node
    if "enum" in node and not is_among(None, as_list(node["enum"])):
        node["enum"] = [*as_list(node["enum"]), None]
    if "anyOf" in node:
        node["anyOf"] = [*as_list(node["anyOf"]), {"type": "null"}]
    declared = node.get("type")
    if isinstance(declared, str) and declared != "null":
        node["type"] = [declared, "null"]
    return node

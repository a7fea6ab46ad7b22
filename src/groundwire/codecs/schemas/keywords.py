"""JSON Schema 2020-12 as a table: which keywords hold schemas, and small questions about one schema node.

Schemas are walked by this table only, so a property that is called `title` or `$ref` is never taken for a keyword.
"""

from collections.abc import Hashable, Iterable

from groundwire.codecs.schemas.conversions import JsonValue, Schema

MAX_DEPTH = 32
"""Levels of nesting that are looked at; no provider takes more."""

_MAX_COMPARED = 128

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "prefixItems"})
SCHEMA_VALUES = frozenset({
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
})  # fmt: skip
ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")

KEYWORDS_OF_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
        "unevaluatedItems",
    }),
    "object": frozenset({
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
    }),
}  # fmt: skip
KEYWORDS_OF_TYPE["integer"] = KEYWORDS_OF_TYPE["number"]

NEVER: Schema = {"not": {}}
"""The schema `false`, written as an object."""


def as_schema(value: JsonValue) -> Schema:
    """Boolean schemas as objects; anything that is no schema counts as `true`."""
    if value is False:
        return dict(NEVER)
    return value if isinstance(value, dict) else {}


def as_map(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def as_strings(value: JsonValue) -> list[str]:
    return [entry for entry in as_list(value) if isinstance(entry, str)]


def is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def types_of(node: Schema) -> list[str] | None:
    """The declared types, or None when any type is allowed."""
    declared = node.get("type")
    if isinstance(declared, str):
        return [declared] if declared in TYPES else None
    if isinstance(declared, list):
        return [name for name in as_strings(declared) if name in TYPES]
    return None


def type_of_value(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def matches_type(value: JsonValue, name: str) -> bool:
    found = type_of_value(value)
    return found == name or (found == "integer" and name == "number")


def is_impossible(node: Schema) -> bool:
    """True for schemas that visibly match nothing."""
    return node.get("not") == {} or node.get("enum") == [] or types_of(node) == []


def is_same_value(left: JsonValue, right: JsonValue, levels: int = _MAX_COMPARED) -> bool:
    """JSON equality: 1 equals 1.0, but true does not equal 1. Values nested too deep to compare count as equal."""
    if type_of_value(left) != type_of_value(right):
        return False
    if levels == 0:
        return True
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            is_same_value(mine, yours, levels - 1) for mine, yours in zip(left, right, strict=True)
        )
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same_value(left[key], right[key], levels - 1) for key in left)
    return left == right


def value_key(value: JsonValue, levels: int = _MAX_COMPARED) -> Hashable:
    """Equal for values that are the same, so that long lists are compared in one pass."""
    kind = type_of_value(value)
    if levels == 0:
        return kind
    if isinstance(value, list):
        return kind, tuple(value_key(entry, levels - 1) for entry in value)
    if isinstance(value, dict):
        return kind, frozenset((name, value_key(entry, levels - 1)) for name, entry in value.items())
    return kind, value


def is_among(value: JsonValue, values: Iterable[JsonValue]) -> bool:
    return any(is_same_value(value, other) for other in values)


def distinct_values(values: Iterable[JsonValue]) -> list[JsonValue]:
    found: list[JsonValue] = []
    scalars: set[tuple[bool, JsonValue]] = set()
    nested: set[Hashable] = set()
    for value in values:
        if isinstance(value, dict | list):
            key = value_key(value)
            if key not in nested:
                nested.add(key)
                found.append(value)
        elif (isinstance(value, bool), value) not in scalars:
            scalars.add((isinstance(value, bool), value))
            found.append(value)
    return found


def without(node: Schema, *keywords: str) -> Schema:
    return {keyword: value for keyword, value in node.items() if keyword not in keywords}


def pointer(path: str, *steps: str | int) -> str:
    """Extend a JSON pointer by steps that still need escaping."""
    return path + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)

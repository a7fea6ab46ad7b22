"""Which schemas the two OpenAI APIs refuse for a function or an output: by root and arrays always, by much more if strict."""

from collections.abc import Iterator
from typing import Any

_ROOT_REFUSED = ("oneOf", "anyOf", "allOf", "enum", "not")
_NOT_STRICT = (
    "default", "oneOf", "allOf", "not", "patternProperties", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "minProperties", "maxProperties", "contains", "uniqueItems", "minLength", "maxLength",
)  # fmt: skip
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_MAX_DEPTH = 10


def complaints(schema: Any, *, strict: bool) -> Iterator[str]:
    """What is wrong with the schema, in the words that follow `Invalid schema for function 'f': `."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, dict) else schema
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        return
    refused = [name for name in _ROOT_REFUSED if name in schema]
    if refused:
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    yield from _walk(schema, (), strict=strict, depth=1)


def _walk(schema: Any, path: tuple[str, ...], *, strict: bool, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    context = f"In context=({', '.join(repr(step) for step in path)}{',' if len(path) == 1 else ''})"
    types = schema.get("type")
    types = types if isinstance(types, list) else [types]
    if "array" in types and "items" not in schema and "prefixItems" not in schema:
        yield f"{context}, array schema missing items."
    if strict:
        yield from _strictly(schema, types, context, depth)
    for name, value in _children(schema):
        yield from _walk(value, (*path, *name), strict=strict, depth=depth + ("properties" in name))


def _strictly(schema: dict[str, Any], types: list[Any], context: str, depth: int) -> Iterator[str]:
    for keyword in _NOT_STRICT:
        if keyword in schema:
            yield f"{context}, '{keyword}' is not permitted."
    if "$ref" in schema and len(schema) > 1:
        others = sorted(set(schema) - {"$ref"})
        yield f"{context}, $ref cannot have keywords {others}."
    if isinstance(schema.get("format"), str) and schema["format"] not in _FORMATS:
        yield f"{context}, '{schema['format']}' is not a valid format."
    if "object" not in types:
        return
    if depth > _MAX_DEPTH:
        yield f"{context}, nesting is limited to {_MAX_DEPTH} levels."
    if schema.get("additionalProperties") is not False:
        yield f"{context}, 'additionalProperties' is required to be supplied and to be false."
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    required = schema.get("required")
    missing = [name for name in names if not isinstance(required, list) or name not in required]
    if missing:
        yield (
            f"{context}, 'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing '{missing[0]}'."
        )


def _children(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for keyword in ("properties", "$defs", "definitions"):
        members = schema.get(keyword)
        if isinstance(members, dict):
            for name, value in members.items():
                yield (keyword, name), value
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        members = schema.get(keyword)
        if isinstance(members, list):
            for place, value in enumerate(members):
                yield (keyword, str(place)), value
    for keyword in ("items", "additionalProperties"):
        yield (keyword,), schema.get(keyword)

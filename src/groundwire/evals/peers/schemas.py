"""From the schemas of function suites, which name types as Python, Java and JavaScript do, to JSON Schema. Pure."""

from typing import Any

from groundwire.contracts.canonical import JsonObject

_TYPES = {
    "string": "string",
    "String": "string",
    "char": "string",
    "integer": "integer",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "Bigint": "integer",
    "float": "number",
    "double": "number",
    "number": "number",
    "boolean": "boolean",
    "Boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "tuple": "array",
    "Array": "array",
    "ArrayList": "array",
    "dict": "object",
    "object": "object",
    "HashMap": "object",
    "null": "null",
}
_ANY = frozenset({"any", "Any"})
_SINGLE = ("items", "additionalProperties")
_DEEPEST = 50


class SchemaFault(Exception):
    """What cannot be said as JSON Schema."""


def to_json_schema(schema: JsonObject) -> JsonObject:
    """The same schema, as everybody reads it. An argument of any type gets no type."""
    found = _schema(schema, 0)
    if found.setdefault("type", "object") != "object":
        raise SchemaFault("its arguments are no object.")
    return found


def _schema(schema: Any, depth: int) -> JsonObject:
    if not isinstance(schema, dict):
        raise SchemaFault(f"{schema!r:.80} is no schema.")
    if depth > _DEEPEST:
        raise SchemaFault("its schema is nested too deeply.")
    found = {name: value for name, value in schema.items() if name not in ("type", "optional")}
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        found = {"type": _TYPES[kind], **found}
    elif kind is not None and kind not in (_ANY if isinstance(kind, str) else ()):
        raise SchemaFault(f"{kind!r:.80} is no type.")
    properties = schema.get("properties")
    if properties is not None:
        if not isinstance(properties, dict):
            raise SchemaFault("its properties are no object.")
        found["properties"] = {name: _schema(inner, depth + 1) for name, inner in properties.items()}
    for name in _SINGLE:
        if name in schema and not isinstance(schema[name], bool):
            found[name] = _schema(schema[name], depth + 1)
    return found

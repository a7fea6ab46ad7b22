"""Which schemas Gemini refuses as `parameters`: the OpenAPI subset, where every member that it does not know is an error."""

from collections.abc import Iterator
from typing import Any

TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
KEYWORDS = frozenset(
    [
        "anyOf", "default", "description", "enum", "example", "format", "items", "maxItems", "maxLength", "maxProperties",
        "maximum", "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties",
        "propertyOrdering", "required", "title", "type",
    ]
)  # fmt: skip
_STRINGS = ("enum", "required", "propertyOrdering")


def schema_complaints(schema: Any, path: str, name: str, *, root: bool = False) -> Iterator[str]:
    """`path` is for what the JSON reader says, `name` for what the API says about the schema's meaning."""
    if not isinstance(schema, dict):
        yield f"Invalid value at '{path}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema)"
        return
    for keyword in schema:
        if camel(keyword) not in KEYWORDS:
            yield unknown(keyword, path)
    schema = {camel(keyword): value for keyword, value in schema.items()}
    kind = schema.get("type")
    if isinstance(kind, list):
        yield f"Invalid JSON payload received. Unknown name \"type\" at '{path}': Proto field is not repeating, cannot start list."
        return
    kind = kind.upper() if isinstance(kind, str) else kind
    if kind is not None and kind not in TYPES:
        yield f"Invalid value at '{path}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"{kind}\""
    if root and kind != "OBJECT":
        yield f"* {name}: parameters schema should be of type OBJECT"
    for keyword in _STRINGS:
        for place, value in enumerate(schema[keyword] if isinstance(schema.get(keyword), list) else ()):
            if not isinstance(value, str):
                yield f"Invalid value at '{path}.{keyword}[{place}]' (TYPE_STRING), {value}"
    if schema.get("enum") and kind not in ("STRING", None):
        yield f"* {name}.enum: only allowed for STRING type"
    yield from _shape(schema, kind, name)
    yield from _below(schema, path, name)


def _shape(schema: dict[str, Any], kind: Any, name: str) -> Iterator[str]:
    properties = schema.get("properties")
    if kind == "OBJECT" and not properties:
        yield f"* {name}.properties: should be non-empty for OBJECT type"
    if kind == "ARRAY" and "items" not in schema:
        yield f"* {name}.items: missing field."
    known = properties if isinstance(properties, dict) else {}
    for place, required in enumerate(schema["required"] if isinstance(schema.get("required"), list) else ()):
        if required not in known:
            yield f"* {name}.required[{place}]: property is not defined"


def _below(schema: dict[str, Any], path: str, name: str) -> Iterator[str]:
    properties = schema.get("properties")
    for key, value in properties.items() if isinstance(properties, dict) else ():
        yield from schema_complaints(value, f"{path}.properties[{key}].value", f"{name}.properties[{key}]")
    if "items" in schema:
        yield from schema_complaints(schema["items"], f"{path}.items", f"{name}.items")
    for place, value in enumerate(schema["anyOf"] if isinstance(schema.get("anyOf"), list) else ()):
        yield from schema_complaints(value, f"{path}.any_of[{place}]", f"{name}.any_of[{place}]")


def unknown(member: str, path: str) -> str:
    where = f" at '{path}'" if path else ""
    return f'Invalid JSON payload received. Unknown name "{member}"{where}: Cannot find field.'


def camel(name: str) -> str:
    """proto JSON takes both spellings."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest) if head else name

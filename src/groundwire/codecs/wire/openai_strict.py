"""Which schemas OpenAI holds a model to (`strict`): it refuses the request for any other.

Objects are closed on the way, which strict mode means anyway. Nothing else is changed, above all no optional property
made required: a schema that would need that is not for strict mode.
"""

from groundwire.codecs.schemas.conversions import JsonValue, Schema
from groundwire.codecs.schemas.keywords import MAX_DEPTH, as_map, pointer
from groundwire.codecs.wire.warnings import Losses

_TAKEN = frozenset({
    "type", "description", "title", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "properties", "required",
    "additionalProperties", "items", "minItems", "maxItems", "pattern", "format", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
})  # fmt: skip
_TELLS_TYPE = frozenset({"type", "anyOf", "$ref", "enum", "const"})
_MAPS = ("properties", "$defs", "definitions")


class _Objection(Exception):
    """Never leaves this module."""


def write_strict(schema: Schema, path: str, losses: Losses) -> tuple[Schema, bool]:
    """The schema with its objects closed, and whether it can be sent as strict; if not, it is unchanged and told."""
    try:
        return _closed_root(schema), True
    except _Objection as objection:
        losses.add("option_adjusted", f"{path}.strict", f"Sent as not strict: {objection}.")
        return schema, False


def _closed_root(schema: Schema) -> Schema:
    if schema.get("type") != "object" or "anyOf" in schema:
        raise _Objection("the root is no plain object")
    return _closed(schema, "", 0)


def _closed(node: JsonValue, path: str, depth: int) -> Schema:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        raise _Objection(f"{path or 'the root'} is no schema of a depth that is taken")
    if refused := node.keys() - _TAKEN:
        raise _Objection(f"{path or 'the root'} has {min(refused)}")
    if _TELLS_TYPE.isdisjoint(node):
        raise _Objection(f"{path or 'the root'} has no type")
    written = dict(node)
    for name in _MAPS:
        if name in node:
            inner = as_map(node[name])
            written[name] = {key: _closed(each, pointer(path, name, key), depth + 1) for key, each in inner.items()}
    branches = node.get("anyOf")
    if isinstance(branches, list):
        written["anyOf"] = [_closed(each, pointer(path, "anyOf", str(i)), depth + 1) for i, each in enumerate(branches)]
    if _may_be("array", node):
        if "items" not in node:
            raise _Objection(f"{path or 'the root'} does not say what its items are")
        written["items"] = _closed(node["items"], pointer(path, "items"), depth + 1)
    if _may_be("object", node) or "properties" in node:
        _close_object(node, written, path)
    return written


def _close_object(node: Schema, written: Schema, path: str) -> None:
    if node.get("additionalProperties", False) is not False:
        raise _Objection(f"{path or 'the root'} allows further properties")
    required = node.get("required")
    optional = as_map(node.get("properties")).keys() - set(map(str, required if isinstance(required, list) else ()))
    if optional:
        raise _Objection(f"{path or 'the root'} has the optional property {min(optional)!r}")
    written.setdefault("properties", {})
    written["additionalProperties"] = False


def _may_be(name: str, node: Schema) -> bool:
    declared = node.get("type")
    return declared == name or (isinstance(declared, list) and name in declared)

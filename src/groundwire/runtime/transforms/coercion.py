"""Arguments moved to the types that a schema wants, where nothing can be lost on the way.

Reads the parts of JSON Schema that say which types a place takes: type, enum, const, properties, items, prefixItems,
additionalProperties, references within the schema, and alternatives. A place that it cannot read it leaves alone.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from groundwire.contracts.canonical import JsonObject, JsonValue, parse_json
from groundwire.contracts.errors import InvalidJson

MAX_BRANCHES = 64
"""Alternatives of one place past which its schema is taken as unreadable."""
_SAFE_INTEGER = 2**53 - 1
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DIRECT = ("type", "properties", "items", "enum", "const")

Leaf: TypeAlias = Callable[[JsonValue, frozenset[str]], JsonValue]


def coerce_losslessly(value: JsonValue, schema: JsonObject) -> JsonValue:
    """Numbers and booleans out of their texts, whole floats as integers, nulls of optional fields left out."""
    return _Walk(schema, _coerced_scalar, drops_nulls=True).at(value, schema)


def parse_nested_json(value: JsonValue, schema: JsonObject) -> JsonValue:
    """Texts that are the JSON of an object or array, where the schema wants that and takes no text."""
    return _Walk(schema, _parsed_container, drops_nulls=False).at(value, schema)


def _coerced_scalar(value: JsonValue, types: frozenset[str]) -> JsonValue:
    if isinstance(value, float) and types.isdisjoint({"number", "string"}) and "integer" in types:
        return int(value) if abs(value) <= _SAFE_INTEGER and repr(value) == f"{int(value)}.0" else value
    if not isinstance(value, str) or "string" in types:
        return value
    if "boolean" in types and value in ("true", "false"):
        return value == "true"
    if types & {"integer", "number"} and _INTEGER.fullmatch(value):
        return _parsed(value)  # not int(): it stops at some thousand digits
    if "number" in types:
        number = _parsed(value)
        return number if isinstance(number, float) and repr(number) == value else value
    return value


def _parsed_container(value: JsonValue, types: frozenset[str]) -> JsonValue:
    if not isinstance(value, str) or "string" in types:
        return value
    parsed = _parsed(value)
    wanted = (isinstance(parsed, dict) and "object" in types) or (isinstance(parsed, list) and "array" in types)
    return parsed if wanted else value


def _parsed(text: str) -> JsonValue:
    try:
        return parse_json(text)
    except InvalidJson:
        return text


class _Walk:
    """One pass over a value and its schema. Gives the very same value where nothing changes."""

    def __init__(self, root: JsonObject, leaf: Leaf, *, drops_nulls: bool) -> None:
        self._root = root
        self._leaf = leaf
        self._drops_nulls = drops_nulls

    def at(self, value: JsonValue, schema: JsonValue) -> JsonValue:
        branches = self._branches(schema)
        types = _types_of(branches)
        if types is not None:
            value = self._leaf(value, types)
        if isinstance(value, dict):
            branch = _only(branches, "object", "properties", "additionalProperties")
            return value if branch is None else self._object(value, branch)
        if isinstance(value, list):
            branch = _only(branches, "array", "items", "prefixItems")
            return value if branch is None else self._array(value, branch)
        return value

    def _object(self, value: JsonObject, schema: JsonObject) -> JsonObject:
        declared, required = schema.get("properties"), schema.get("required")
        properties = declared if isinstance(declared, dict) else {}
        needed = required if isinstance(required, list) else []
        changed: JsonObject = {}
        for name, item in value.items():
            place = properties.get(name, None if "patternProperties" in schema else schema.get("additionalProperties"))
            if item is None and self._drops_nulls and name in properties and name not in needed:
                types = _types_of(self._branches(place))
                if types is not None and "null" not in types:
                    continue
            changed[name] = self.at(item, place)
        same = len(changed) == len(value) and all(changed[name] is item for name, item in value.items())
        return value if same else changed

    def _array(self, value: list[JsonValue], schema: JsonObject) -> list[JsonValue]:
        given, rest = schema.get("prefixItems"), schema.get("items")
        first = given if isinstance(given, list) else []
        changed = [self.at(item, first[index] if index < len(first) else rest) for index, item in enumerate(value)]
        return value if all(new is old for new, old in zip(changed, value, strict=True)) else changed

    def _branches(self, schema: JsonValue) -> list[JsonObject]:
        """The alternatives of a place, each readable by itself; none if there is one that is not."""
        branches: list[JsonObject] = []
        waiting, steps = [schema], 0
        while waiting:
            one, steps = waiting.pop(), steps + 1
            if not isinstance(one, dict) or steps > MAX_BRANCHES:
                return []
            inner = None if any(keyword in one for keyword in _DIRECT) else self._inner(one)
            if inner is None:
                branches.append(one)
            else:
                waiting.extend(inner)
        return branches

    def _inner(self, schema: JsonObject) -> list[JsonValue] | None:
        if "$ref" in schema:
            return [self._referred(schema["$ref"])]
        for keyword in ("anyOf", "oneOf", "allOf"):
            inner = schema.get(keyword)
            if isinstance(inner, list) and inner and (keyword != "allOf" or len(inner) == 1):
                return inner
        return None

    def _referred(self, reference: JsonValue) -> JsonValue:
        """What a pointer into this schema points at; None for any other reference."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: JsonValue = self._root
        for step in reference[1:].split("/")[1:]:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found


def _only(branches: list[JsonObject], kind: str, *keywords: str) -> JsonObject | None:
    """The one alternative that takes a container of this kind; None if there are several or none."""
    fitting = [branch for branch in branches if _takes(branch, kind, keywords)]
    return fitting[0] if len(fitting) == 1 else None


def _takes(branch: JsonObject, kind: str, keywords: tuple[str, ...]) -> bool:
    types = _types_of([branch])
    return any(keyword in branch for keyword in keywords) if types is None else kind in types


def _types_of(branches: list[JsonObject]) -> frozenset[str] | None:
    """The types that a place takes; None if that cannot be told."""
    types: set[str] = set()
    for branch in branches:
        named, options = branch.get("type"), branch.get("enum")
        if isinstance(named, str):
            types.add(named)
        elif isinstance(named, list):
            types.update(name for name in named if isinstance(name, str))
        elif isinstance(options, list):
            types.update(map(_type_name, options))
        elif "const" in branch:
            types.add(_type_name(branch["const"]))
        else:
            return None
    return frozenset(types) or None


def _type_name(value: JsonValue) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else names.get(type(value), "")

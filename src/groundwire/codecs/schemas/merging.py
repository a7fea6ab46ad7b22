"""Joining schemas that must all hold into one.

The join loses nothing on purpose: where two keywords cannot become one, the second stays behind in a remaining `allOf`.
It may widen, never narrow: a closed object joined with one that has further properties accepts those properties.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import zip_longest

from groundwire.codecs.schemas.conversions import JsonValue, Schema
from groundwire.codecs.schemas.keywords import (
    ANNOTATIONS,
    NEVER,
    SCHEMA_MAPS,
    as_list,
    as_map,
    as_schema,
    as_strings,
    is_impossible,
    is_number,
    is_same_value,
    types_of,
    value_key,
)

_BELONG_TOGETHER = (frozenset({"if", "then", "else"}), frozenset({"contains", "minContains", "maxContains"}))
_LARGEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_SCHEMAS = frozenset({"items", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"})
_ONLY_IF_SAME = frozenset(
    {"anyOf", "oneOf", "not", "const", "pattern", "format", "contentEncoding", "contentMediaType"}
)


_FEW = 32
"""So many schemas are joined from left to right; more than that by halves, so that none is copied over and over."""


def merge_all(schemas: Sequence[Schema]) -> Schema:
    """One schema for what matches all."""
    if len(schemas) > _FEW:
        middle = len(schemas) // 2
        return merge(merge_all(schemas[:middle]), merge_all(schemas[middle:]))
    return reduce(merge, schemas, {})


def merge(left: Schema, right: Schema) -> Schema:
    """One schema for what matches both."""
    if not left or not right or left is right:
        return left or right
    if any(keyword in node for node in (left, right) for keyword in ("$ref", "$dynamicRef")):
        return {"allOf": [left, right]}
    if is_impossible(left) or is_impossible(right) or _shared_types(left, right) == []:
        return dict(NEVER)
    apart = {
        keyword
        for group in _BELONG_TOGETHER
        if group & left.keys() and group & right.keys()
        for keyword in group & right.keys()
    }
    joined = dict(left)
    remaining: Schema = {}
    for keyword, value in right.items():
        if keyword in apart:
            remaining[keyword] = value
        elif keyword not in left:
            joined[keyword] = value
        elif keyword == "type":
            joined["type"] = _as_type(_shared_types(left, right))
        elif keyword in ANNOTATIONS:
            joined[keyword] = _join_annotation(keyword, left[keyword], value)
        else:
            both = _join(keyword, left[keyword], value)
            if both is None:
                remaining[keyword] = value
            else:
                joined[keyword] = both
    if remaining:
        joined["allOf"] = [*as_list(joined.get("allOf")), remaining]
    return joined


def _join(keyword: str, mine: JsonValue, yours: JsonValue) -> JsonValue:
    """The one value for both, or None where both have to stand."""
    if keyword in _LARGEST | _SMALLEST:
        return _join_bounds(keyword, mine, yours)
    if keyword in SCHEMA_MAPS:
        return _join_maps(as_map(mine), as_map(yours))
    if keyword in _SCHEMAS:
        return merge(as_schema(mine), as_schema(yours))
    if keyword in _ONLY_IF_SAME:
        return mine if is_same_value(mine, yours) else None
    match keyword:
        case "enum":
            allowed = {value_key(value) for value in as_list(yours)}
            return [value for value in as_list(mine) if value_key(value) in allowed]
        case "required":
            return list(dict.fromkeys([*as_strings(mine), *as_strings(yours)]))
        case "dependentRequired":
            return _join_dependencies(as_map(mine), as_map(yours))
        case "allOf":
            return [*as_list(mine), *as_list(yours)]
        case "prefixItems":
            pairs = zip_longest(as_list(mine), as_list(yours), fillvalue=True)
            return [merge(as_schema(first), as_schema(second)) for first, second in pairs]
        case "multipleOf":
            return _join_multiples(mine, yours)
        case "uniqueItems":
            return mine is True or yours is True
    return mine


def _shared_types(left: Schema, right: Schema) -> list[str] | None:
    mine, yours = types_of(left), types_of(right)
    if mine is None or yours is None:
        return yours if mine is None else mine
    shared = [name for name in mine if name in yours or (name == "integer" and "number" in yours)]
    if "integer" in yours and "number" in mine and "integer" not in shared:
        shared.append("integer")
    return shared


def _as_type(names: list[str] | None) -> JsonValue:
    if names is None:
        return None
    return names[0] if len(names) == 1 else list(names)


def _join_annotation(keyword: str, mine: JsonValue, yours: JsonValue) -> JsonValue:
    if keyword == "description" and isinstance(mine, str) and isinstance(yours, str) and yours not in mine:
        return f"{mine} {yours}".strip()
    return mine


def _join_bounds(keyword: str, mine: JsonValue, yours: JsonValue) -> JsonValue:
    if not isinstance(mine, int | float) or not isinstance(yours, int | float):
        return mine
    return max(mine, yours) if keyword in _LARGEST else min(mine, yours)


def _join_maps(mine: dict[str, JsonValue], yours: dict[str, JsonValue]) -> JsonValue:
    joined = dict(mine)
    for name, schema in yours.items():
        joined[name] = merge(as_schema(joined[name]), as_schema(schema)) if name in joined else schema
    return joined


def _join_dependencies(mine: dict[str, JsonValue], yours: dict[str, JsonValue]) -> JsonValue:
    joined = dict(mine)
    for name, required in yours.items():
        joined[name] = [*dict.fromkeys([*as_strings(joined.get(name)), *as_strings(required)])]
    return joined


def _join_multiples(mine: JsonValue, yours: JsonValue) -> JsonValue:
    if not (isinstance(mine, int) and isinstance(yours, int) and is_number(mine) and is_number(yours)):
        return mine if is_same_value(mine, yours) else None
    if mine > 0 and yours > 0 and (mine % yours == 0 or yours % mine == 0):
        return max(mine, yours)
    return None

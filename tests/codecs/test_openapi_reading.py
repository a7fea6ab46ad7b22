import copy

import pytest

from groundwire.codecs.schemas.forms import from_openapi_subset

READ = {
    "types": ({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}, {"type": "object", "properties": {"a": {"type": "string"}}}),
    "lower-case types": ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
    "no type": ({"type": "TYPE_UNSPECIFIED", "description": "d"}, {"description": "d"}),
    "nullable": ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    "not nullable": ({"type": "STRING", "nullable": False}, {"type": "string"}),
    "a nullable enum": (
        {"type": "STRING", "format": "enum", "enum": ["a"], "nullable": True},
        {"type": ["string", "null"], "enum": ["a", None]},
    ),
    "nullable alternatives": (
        {"any_of": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
        {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
    ),
    "numbers as text": (
        {"type": "INTEGER", "format": "enum", "enum": ["1", "2"], "nullable": True},
        {"type": ["integer", "null"], "enum": [1, 2, None]},
    ),
    "an enum of no numbers": ({"type": "NUMBER", "enum": ["one"]}, {"type": "number"}),
    "counts as text": ({"type": "ARRAY", "minItems": "1", "max_items": 3}, {"type": "array", "minItems": 1, "maxItems": 3}),
    "an order of properties": (
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}}, "propertyOrdering": ["b"]},
        {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}},
    ),
    "an example": ({"type": "STRING", "example": "x"}, {"type": "string", "examples": ["x"]}),
    "definitions": (
        {"defs": {"A": {"type": "STRING"}}, "properties": {"a": {"ref": "#/defs/A"}}},
        {"$defs": {"A": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/A"}}},
    ),
    "open and closed objects": (
        {"type": "OBJECT", "additionalProperties": False, "properties": {"m": {"additional_properties": {"type": "STRING"}}}},
        {"type": "object", "additionalProperties": False, "properties": {"m": {"additionalProperties": {"type": "string"}}}},
    ),
    "properties named like keywords": (
        {"type": "OBJECT", "properties": {"type": {"type": "STRING"}, "nullable": {"type": "BOOLEAN"}, "any_of": {"type": "STRING"}}},
        {"type": "object", "properties": {"type": {"type": "string"}, "nullable": {"type": "boolean"}, "any_of": {"type": "string"}}},
    ),
}  # fmt: skip


@pytest.mark.requirement("B-049", "B-051")
@pytest.mark.parametrize(("native", "plain"), READ.values(), ids=READ.keys())
def test_reading_the_native_form(native, plain):
    before = copy.deepcopy(native)
    read = from_openapi_subset(native)
    assert read == plain
    assert list(read.get("properties", {})) == list(plain.get("properties", {}))
    assert native == before


def test_reading_the_native_form_without_end_is_cut():
    node = {"type": "STRING"}
    for _ in range(400):
        node = {"type": "ARRAY", "items": node}
    assert from_openapi_subset(node)["type"] == "array"

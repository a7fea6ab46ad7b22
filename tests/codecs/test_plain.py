import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from groundwire.codecs.schemas import forms
from groundwire.codecs.schemas.conversions import WarningLog
from groundwire.codecs.schemas.flattening import flatten_keeping_definitions
from groundwire.codecs.schemas.json_subset import write_json_subset
from groundwire.codecs.schemas.plain import DEPTH, is_plain, is_plain_text
from groundwire.codecs.schemas.root import plain_object_root

TEXT = {"type": "string", "description": "words"}


def converted(schema):
    """The same conversion without the look at a glance."""
    log = WarningLog()
    plain = flatten_keeping_definitions(plain_object_root(schema, log), root=schema, log=log)
    return write_json_subset(plain, log), log.taken()


LEAVES = st.sampled_from([
    {"type": "string"}, TEXT, {"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": []},
    {"type": "string", "enum": ["a", "a"]}, {"type": "string", "enum": [1]}, {"type": "string", "minLength": 1},
    {"type": "integer", "minimum": 0, "maximum": 9}, {"type": "number", "minimum": 0.5}, {"type": "number", "minimum": True},
    {"type": "boolean"}, {"type": ["string", "null"]}, {"type": "null"}, {}, True, {"const": 1}, {"type": "string", "description": ""},
    {"type": "string", "description": None}, {"type": "string", "title": "t"}, {"$ref": "#/$defs/a"},
])  # fmt: skip
NODES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items, "minItems": 1}, inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.just({"type": "array"}),
        st.builds(
            lambda properties, required, closed: {
                "type": "object",
                "properties": properties,
                **({"required": required} if required is not None else {}),
                **({"additionalProperties": False} if closed else {}),
            },
            st.dictionaries(st.sampled_from(["a", "b", "type"]), inner, max_size=3),
            st.none() | st.lists(st.sampled_from(["a", "b", "type"]), max_size=3),
            st.booleans(),
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "type"]), NODES, min_size=1, max_size=3))
def test_what_looks_plain_comes_out_of_the_whole_conversion_as_it_is(properties):
    schema = {"type": "object", "properties": properties}
    if is_plain(schema):
        assert converted(schema) == (schema, ())
    assert is_plain_text(Raw(json.dumps(schema).encode())) is is_plain(schema)


def nested(depth):
    schema = TEXT
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_ordinary_tools_are_plain_and_deep_ones_are_looked_at():
    assert is_plain({"type": "object", "properties": {}})
    assert is_plain({"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False})
    assert is_plain(nested(DEPTH))
    assert not is_plain(nested(DEPTH + 1))
    assert converted(nested(DEPTH)) == (nested(DEPTH), ())


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"properties": {}},
        {"type": "object", "properties": {"a": {"properties": {}}}},
        {"type": "string"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": TEXT}, "required": ["b"]},
        {"type": "object", "properties": {"a": TEXT}, "required": []},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": TEXT, "minItems": -1}}},
        {"type": "object", "properties": {"a": {"type": ["string"]}}},
    ],
)
def test_anything_else_is_not_plain(schema):
    assert not is_plain(schema)
    assert not is_plain_text(Raw(json.dumps(schema).encode()))


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"type": "object", "properties": {"a": {"type": "\xff"}}}', b"[" * 100_000]
)
def test_text_that_is_no_schema_is_not_plain(text):
    assert not is_plain_text(Raw(text))


def test_a_plain_schema_is_handed_on_untouched():
    schema = {"type": "object", "properties": {"a": TEXT}}
    assert forms.to_json_schema_subset(schema).schema is schema

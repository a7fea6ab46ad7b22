"""What the built-in model makes up is what the schema asks for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from groundwire.contracts.messages import ResultItem, TextPart, say
from groundwire.contracts.requests import FunctionTool, ModelRequest, OutputFormat
from groundwire.providers.scripted import ScriptedModel
from groundwire.providers.values import Words, value_for

TREE = {
    "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}
SCHEMAS = {
    "an object": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]},
    "a closed object": {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
    "a reference": {"$defs": {"x": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/x"}},
    "a tree": TREE,
    "a choice of schemas": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
    "all of some": {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"const": 3}}}]},
    "at least": {"type": "integer", "minimum": 7},
    "more than": {"type": "integer", "exclusiveMinimum": 7},
    "less than": {"type": "number", "exclusiveMaximum": 0.25, "exclusiveMinimum": 0},
    "at most": {"type": "number", "maximum": -3},
    "a multiple": {"type": "integer", "multipleOf": 5, "minimum": 11},
    "a long text": {"type": "string", "minLength": 40},
    "a short text": {"type": "string", "maxLength": 2},
    "an empty text": {"type": "string", "maxLength": 0},
    "three of them": {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3},
    "none of them": {"type": "array", "items": {"type": "boolean"}, "maxItems": 0},
    "a pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2},
    "a date": {"type": "string", "format": "date"},
    "an enumeration": {"enum": ["x", "y"]},
    "a default": {"type": "integer", "default": 4},
    "no type at all": {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_value_satisfies_its_schema(name):
    value = value_for(SCHEMAS[name], Words("Tell me about Oslo in 4.5 days"))
    Draft202012Validator(SCHEMAS[name], validate_formats=True).validate(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 10**12},
        {"type": "string", "minLength": -1e19},
        {"type": "integer", "minimum": 10**400},
        {"type": "number", "multipleOf": 5e-324},
        {"type": "array", "items": {"type": "null"}, "minItems": 10**12},
        {"properties": {str(n): {"$ref": "#"} for n in range(10)}},
        {"required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    ],
)
def test_a_schema_that_asks_for_too_much_gets_a_value_that_stays_small(schema):
    assert len(json.dumps(value_for(schema, Words("x")))) < 200_000


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
KEYWORDS = st.sampled_from(
    [
        "type",
        "enum",
        "anyOf",
        "allOf",
        "items",
        "prefixItems",
        "properties",
        "required",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "$ref",
        "format",
    ]
) | st.text(max_size=3)
JSON = st.recursive(
    LEAVES | st.sampled_from(["object", "array", "integer", "number", "string", "#", "#/properties"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(schema=JSON)
def test_anything_in_the_place_of_a_schema_gives_some_json(schema):
    json.dumps(value_for(schema, Words("Oslo 7")))


def ask(*items, **options):
    return ModelRequest(model="sim", items=items, **options)


def test_the_built_in_model_answers_in_the_form_that_is_asked_for():
    output = OutputFormat(type="schema", schema=SCHEMAS["an object"])
    question = say("user", "Oslo for 4 days")
    found = ResultItem(call_id="c", parts=(TextPart(text="12 degrees"),))
    assert ScriptedModel().reply(ask(question, output=output)).text == '{"b":4}'
    assert ScriptedModel().reply(ask(question, found, output=output)).text == '{"b":12}'
    assert ScriptedModel().reply(ask(say("user", "hi"), output=OutputFormat(type="json"))).text == (
        '{"answer":"You said: hi"}'
    )


def test_a_tool_is_still_called_where_the_words_ask_for_one():
    weather = FunctionTool(
        name="get_weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}}
    )
    output = OutputFormat(type="schema", schema=SCHEMAS["an object"])
    reply = ScriptedModel().reply(ask(say("user", "The weather in Oslo?"), tools=(weather,), output=output))
    assert [item.call.raw for item in reply.calls] == ['{"city":"Oslo"}']

"""Arguments that are moved to what their schema wants, and those that are not."""

import copy
import json

import pytest

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import dump_json
from groundwire.runtime.transforms import TOOL_CALL_TRANSFORMS

UNWRAP = "assistant_tool_calls_arguments_unwrap"
NESTED = "assistant_tool_calls_arguments_nested_json_by_schema"
COERCE = "assistant_tool_calls_arguments_coerce_by_schema"


def call_of(raw, arguments=None):
    return ToolCall(call_id="c", name="f", raw=raw, arguments=arguments, origin="openai-chat")


def becomes(name, raw, expected, schema=None):
    """The call with these arguments, in both of its forms; a second time changes nothing."""
    before = copy.deepcopy(schema)
    result = TOOL_CALL_TRANSFORMS[name](call_of(raw), schema)
    assert result == call_of(dump_json(expected).decode(), expected)
    assert repr(result.arguments) == repr(expected)  # 5 and 5.0 and True are not the same here
    assert TOOL_CALL_TRANSFORMS[name](result, schema) is result
    assert schema == before


def stays(name, raw, schema=None):
    call = call_of(raw)
    assert TOOL_CALL_TRANSFORMS[name](call, schema) is call


def place(schema, **root):
    return {"type": "object", "properties": {"x": schema}, **root}


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
OPTIONAL = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
DEFINED = {"$defs": {"n": {"allOf": [INTEGER]}, "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}


@pytest.mark.quirk(22)
@pytest.mark.quirk(25)
@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("5", INTEGER, 5),
        ("-5", INTEGER, -5),
        ("0", INTEGER, 0),
        ("9" * 400, INTEGER, 10**400 - 1),
        (5.0, INTEGER, 5),
        (float(2**53 - 1), INTEGER, 2**53 - 1),
        ("5", NUMBER, 5),
        ("1.5", NUMBER, 1.5),
        ("5.0", NUMBER, 5.0),
        ("true", BOOLEAN, True),
        ("false", BOOLEAN, False),
        ("5", {"type": ["integer", "null"]}, 5),
        ("5", OPTIONAL, 5),
        ("5", {"oneOf": [BOOLEAN, INTEGER]}, 5),
        ("5", {"$ref": "#/$defs/n"}, 5),
        ("2", {"enum": [1, 2]}, 2),
        ("7", {"const": 7}, 7),
        (["1", 2.0, "x"], {"type": "array", "items": INTEGER}, [1, 2, "x"]),
        (["1", "1", "true"], {"prefixItems": [INTEGER, {"type": "string"}], "items": BOOLEAN}, [1, "1", True]),
        ({"y": {"z": "1"}}, {"type": "object", "properties": {"y": place(INTEGER) | {"additionalProperties": INTEGER}}}, {"y": {"z": 1}}),
        ({"any": "1"}, {"type": "object", "additionalProperties": INTEGER}, {"any": 1}),
        ({"x": "1"}, {"anyOf": [place(INTEGER), {"type": "null"}]}, {"x": 1}),
        ({"x": None, "y": 1}, place(INTEGER), {"y": 1}),
        ({"x": None, "y": 1}, place({"enum": ["a"]}), {"y": 1}),
    ],
)  # fmt: skip
def test_values_move_to_the_type_that_the_schema_wants(value, schema, expected):
    becomes(COERCE, dump_json({"x": value}).decode(), {"x": expected}, place(schema, **DEFINED))


@pytest.mark.quirk(22)
def test_nulls_of_optional_fields_are_dropped_at_the_root_too():
    becomes(COERCE, '{"x":null,"y":null}', {"y": None}, place(INTEGER))


@pytest.mark.quirk(22)
@pytest.mark.quirk(25)
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("9" * 5_000, INTEGER),
        ("05", INTEGER),
        ("-0", INTEGER),
        ("+5", INTEGER),
        (" 5", INTEGER),
        ("5.0", INTEGER),
        ("5e0", INTEGER),
        ("٥", INTEGER),
        ("five", INTEGER),
        (5.5, INTEGER),
        (-0.0, INTEGER),
        (float(2**53), INTEGER),
        (1e300, INTEGER),
        (2**70, INTEGER),
        (True, INTEGER),
        (5, {"type": "string"}),
        (5.0, NUMBER),
        ("1.50", NUMBER),
        ("1e5", NUMBER),
        ("NaN", NUMBER),
        ("0.1000000000000000055", NUMBER),
        ("True", BOOLEAN),
        (1, BOOLEAN),
        ("", BOOLEAN),
        ("5", {"type": ["integer", "string"]}),
        ("5", {"anyOf": [INTEGER, {"type": "string"}]}),
        ("5", {"anyOf": [INTEGER, {}]}),
        ("5", {"anyOf": [INTEGER, True]}),
        ("5", {"allOf": [INTEGER, NUMBER]}),
        ("5", {"$ref": "#/$defs/missing"}),
        ("5", {"$ref": "https://example.org/schema"}),
        ("5", {"$ref": "#/properties/x"}),
        ("5", {"enum": ["5", 5]}),
        ("5", {"type": 5}),
        ("5", {}),
        ("5", True),
        (None, {"type": ["integer", "null"]}),
        (None, OPTIONAL),
        (None, {}),
        (None, {"enum": [None, 1]}),
        ({"x": "1"}, {"anyOf": [place(INTEGER), place(BOOLEAN)]}),
        ("[1]", {"type": "array"}),
    ],
)
def test_what_would_lose_or_guess_something_stays(value, schema):
    stays(COERCE, dump_json({"x": value}).decode(), place(schema, **DEFINED))


@pytest.mark.quirk(22)
def test_nulls_of_required_fields_stay_for_validation_to_report():
    stays(COERCE, '{"x":null}', place(INTEGER, required=["x"]))


@pytest.mark.quirk(22)
def test_alternatives_are_read_up_to_a_limit():
    def alternatives(count):
        return place({"anyOf": [INTEGER] * count})

    becomes(COERCE, '{"x":"5"}', {"x": 5}, alternatives(63))
    stays(COERCE, '{"x":"5"}', alternatives(64))
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    stays(COERCE, '{"x":"5"}', place({"$ref": "#/$defs/d0"}, **{"$defs": doubling}))


@pytest.mark.quirk(22)
@pytest.mark.parametrize("name", [COERCE, NESTED, UNWRAP])
@pytest.mark.parametrize("raw", ["", "[]", "5", '{"x":', "null"])
def test_without_an_object_or_a_schema_nothing_is_coerced(name, raw):
    stays(name, raw, place(INTEGER))
    stays(name, '{"x":"5"}', None)


@pytest.mark.quirk(22)
def test_arguments_that_came_as_an_object_are_not_changed_in_place():
    arguments = {"x": "5", "y": [1]}
    call = call_of(dump_json(arguments).decode(), arguments)
    result = TOOL_CALL_TRANSFORMS[COERCE](call, place(INTEGER))
    assert result.arguments == {"x": 5, "y": [1]}
    assert arguments == {"x": "5", "y": [1]}


@pytest.mark.quirk(28)
@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ('["[1]"]', {"type": "array", "items": {"type": "array"}}, [[1]]),
    ],
)
def test_json_text_is_read_where_the_schema_wants_a_container(value, schema, expected):
    becomes(NESTED, dump_json({"x": value}).decode(), {"x": expected}, place(schema))


@pytest.mark.quirk(28)
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("[1, 2]", {"type": ["array", "string"]}),
        ("[1, 2]", {"type": "object"}),
        ("[1, 2]", {}),
        ("[1, 2", {"type": "array"}),
        ("5", INTEGER),
        (None, INTEGER),
    ],
)
def test_text_that_may_be_meant_as_text_stays(value, schema):
    stays(NESTED, dump_json({"x": value}).decode(), place(schema))


def test_texts_within_texts_are_no_way_to_break_the_reader():
    value = "[" * 90 + "]" * 90
    for _ in range(9):
        value = "[" * 90 + json.dumps(value) + "]" * 90
    stays(NESTED, json.dumps({"x": value}), place({"$ref": "#/$defs/tree"}, **DEFINED))

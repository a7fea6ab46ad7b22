import copy
import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import dump_json
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.projections import model_view
from groundwire.contracts.results import ErrorInfo, Meta, ToolResult, encode_result
from groundwire.runtime.transforms import (
    TOOL_CALL_TRANSFORMS,
    TOOL_RESULT_TRANSFORMS,
    apply_to_call,
    apply_to_envelope,
)

BLANK = "assistant_tool_calls_arguments_blank_to_empty_object"
DOUBLE = "assistant_tool_calls_arguments_double_encoded_to_object"
REPAIR = "assistant_tool_calls_arguments_repair_json"
REPEATED = "assistant_tool_calls_arguments_drop_repeated_object"
UNWRAP = "assistant_tool_calls_arguments_unwrap"
NESTED = "assistant_tool_calls_arguments_nested_json_by_schema"
COERCE = "assistant_tool_calls_arguments_coerce_by_schema"
COMPACT = "tool_result_compact_envelope"


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


@pytest.mark.requirement("C-185")
@pytest.mark.quirk(6)
@pytest.mark.parametrize("raw", ["", " ", "\n\t "])
def test_blank_arguments_become_an_empty_object(raw):
    becomes(BLANK, raw, {})


@pytest.mark.requirement("C-185")
@pytest.mark.parametrize("raw", ["{}", " {} ", "null", "0", "x", '""'])
def test_arguments_that_say_something_are_not_blank(raw):
    stays(BLANK, raw)


@pytest.mark.requirement("C-185")
def test_arguments_that_were_read_already_are_kept():
    call = call_of("", {"a": 1})
    assert TOOL_CALL_TRANSFORMS[BLANK](call, None) is call


@pytest.mark.quirk(7)
def test_json_in_a_json_string_is_read_once_more():
    becomes(DOUBLE, json.dumps('{"a": 1}'), {"a": 1})


@pytest.mark.quirk(7)
@pytest.mark.parametrize(
    "raw",
    ['{"a":1}', json.dumps(json.dumps('{"a":1}')), '"text"', '"[1]"', '""', '"{"', "", "not json", '{"a":"{}"}'],
)
def test_only_the_json_of_an_object_is_read_once_more_and_once_only(raw):
    stays(DOUBLE, raw)


@pytest.mark.quirk(18)
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a":1,}', {"a": 1}),
        ('{"a":[1,2,],}', {"a": [1, 2]}),
        ("{'a': 'b'}", {"a": "b"}),
        ("""{'a': 'it\\'s "so"'}""", {"a": 'it\'s "so"'}),
        ('{"a": "it\\\'s"}', {"a": "it's"}),
        ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
        ('{"a": "True, None"  ,"b":None}', {"a": "True, None", "b": None}),
        ('{"a":"one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a":1} // why', {"a": 1}),
        ('{/* one */ "a": 1, # two\n "b": "// three"}', {"a": 1, "b": "// three"}),
        ('{"a": "\\u00e9\\n", }', {"a": "é\n"}),
        ("{'n': 123456789012345678901234567890, 'x': -1.5e3}", {"n": 123456789012345678901234567890, "x": -1500.0}),
        ("{'a': {}, 'b': [],}", {"a": {}, "b": []}),
    ],
)
def test_other_spellings_of_json_are_read(raw, expected):
    becomes(REPAIR, raw, expected)


@pytest.mark.quirk(18)
@pytest.mark.quirk(20)
@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1}',
        "[1]",
        "",
        '{"a":1',
        '{"a":"b',
        "{'a': [1, 2",
        '{"a":}',
        '{"a":1,,}',
        "{,}",
        '{"a":[,]}',
        '{"a":[1 2]}',
        '{"a":tr ue}',
        '{"a":1 "b":2}',
        "{a: 1}",
        '{"a": yes}',
        '{"a": undefined}',
        '{"a": NaN,}',
        "{'a': 'it's'}",
        '{"a":1 /* open }',
        '{"a":1 // }',
        '{"a":"\\x41",}',
        "['a']",
        "{'a': 1} done",
        "{'a': 1}{'a': 1}",
        '{"a": 01,}',
        "{'a':" * 101 + "1" + "}" * 101,
        "{'half': '\ud800'}",
    ],
)
def test_what_would_take_a_guess_is_left_for_validation(raw):
    stays(REPAIR, raw)


@pytest.mark.quirk(18)
def test_repaired_nesting_has_the_limit_of_all_json():
    stays(REPAIR, "{'a':" * 101 + "1" + "}" * 101)
    result = TOOL_CALL_TRANSFORMS[REPAIR](call_of("{'a':" * 100 + "1" + "}" * 100), None)
    assert result.raw == '{"a":' * 100 + "1" + "}" * 100


@pytest.mark.quirk(19)
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a":1}{"a":1}', {"a": 1}),
        ('{"a":1}\n {"a": 1}\n', {"a": 1}),
        ('{"a":1,"b":2}{"b":2,"a":1}', {"a": 1, "b": 2}),
        ("{}{}{}", {}),
    ],
)
def test_an_object_that_is_said_twice_counts_once(raw, expected):
    becomes(REPEATED, raw, expected)


@pytest.mark.quirk(19)
@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1}',
        '{"a":1}{"a":2}',
        '{"a":1}{"a":true}',
        '{"a":1}{"a":1}{"a":2}',
        '{"a":1} done',
        '{"a":1}{"a":1',
        '{"a":1},{"a":1}',
        '{"a":NaN}{"a":NaN}',
        "[1][1]",
        "1 1",
        "",
        '{"a":' * 100_000,
        '{"a":"\\ud800"}{"a":"\\ud800"}',
    ],
)
def test_anything_else_behind_the_object_is_left_for_validation(raw):
    stays(REPEATED, raw)


OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.quirk(24)
@pytest.mark.parametrize("name", ["arguments", "parameters", "input"])
def test_wrapped_arguments_are_unwrapped(name):
    becomes(UNWRAP, json.dumps({name: {"a": 1}}), {"a": 1}, OPEN)
    becomes(UNWRAP, json.dumps({name: {}}), {}, {"properties": {}})


@pytest.mark.quirk(24)
@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ({"input": {"a": 1}}, {"properties": {"input": {}}}),
        ({"input": {"a": 1}}, None),
        ({"input": {"a": 1}}, {"type": "object"}),
        ({"input": {"a": 1}}, {**OPEN, "anyOf": [{}]}),
        ({"input": {"a": 1}}, {**OPEN, "patternProperties": {"^i": {}}}),
        ({"input": {"a": 1}, "b": 2}, OPEN),
        ({"input": {"input": {"a": 1}}}, OPEN),
        ({"input": [1]}, OPEN),
        ({"input": '{"a":1}'}, OPEN),
        ({"args": {"a": 1}}, OPEN),
        ({}, OPEN),
        ([{"input": {}}], OPEN),
    ],
)
def test_what_may_be_meant_stays_wrapped(arguments, schema):
    stays(UNWRAP, json.dumps(arguments), schema)


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


@pytest.mark.requirement("C-184", "C-207")
def test_named_transforms_of_calls_run_in_order_and_others_do_not():
    call = call_of("""{"arguments": {'x': '5',}}""")
    assert apply_to_call(call, (), place(INTEGER)) is call
    assert apply_to_call(call, ("unheard_of", UNWRAP, COERCE), place(INTEGER)) is call
    assert apply_to_call(call, (REPAIR, UNWRAP, COERCE), place(INTEGER)) == call_of('{"x":5}', {"x": 5})


def envelope(result):
    return msgspec.to_builtins(result)


FAILED = ToolResult.failure(ErrorType.NOT_FOUND, "No such order.")
RETRYABLE = ErrorInfo(type=ErrorType.TRANSIENT, message="Later.", retryable=True, detail="LOCKED")


@pytest.mark.requirement("C-187")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (envelope(ToolResult.success({"a": []})), {"ok": True, "data": {"a": []}}),
        (envelope(ToolResult.success(None)), {"ok": True, "data": None}),
        (envelope(ToolResult.success([])), {"ok": True, "data": []}),
        (envelope(FAILED), {"ok": False, "error": {"type": "NOT_FOUND", "message": "No such order."}}),
        (model_view(FAILED), {"ok": False, "error": {"type": "NOT_FOUND", "message": "No such order."}}),
        (
            envelope(ToolResult(ok=False, data=0, errors=(RETRYABLE, RETRYABLE), warnings=("w",))),
            {
                "ok": False,
                "data": 0,
                "error": {"type": "TRANSIENT", "message": "Later.", "retryable": True, "detail": "LOCKED"},
                "errors": [{"type": "TRANSIENT", "message": "Later.", "retryable": True, "detail": "LOCKED"}] * 2,
                "warnings": ("w",),
            },
        ),
        (json.loads(encode_result(FAILED)), {"ok": False, "error": {"type": "NOT_FOUND", "message": "No such order."}}),
        (
            envelope(ToolResult.success(1, meta=Meta(call_id="c", duration_ms=1.5, replayed=True, variant="b"))),
            {"ok": True, "data": 1, "meta": {"callId": "c", "durationMs": 1.5, "replayed": True, "variant": "b"}},
        ),
        ({"ok": True, "data": 1, "app": None}, {"ok": True, "data": 1, "app": None}),
        ({"error": "odd", "errors": "odd", "meta": [1]}, {"error": "odd", "errors": "odd", "meta": [1]}),
        ({}, {}),
    ],
)
def test_a_compact_envelope_leaves_out_what_says_nothing(given, expected):
    before = copy.deepcopy(given)
    compact = TOOL_RESULT_TRANSFORMS[COMPACT](given)
    assert compact == expected
    assert given == before
    assert TOOL_RESULT_TRANSFORMS[COMPACT](compact) is compact


@pytest.mark.requirement("C-186")
def test_envelopes_change_only_when_a_transform_is_named():
    given = envelope(FAILED)
    assert apply_to_envelope(given, ("unheard_of",)) is given
    assert apply_to_envelope(given, (COMPACT,)) == TOOL_RESULT_TRANSFORMS[COMPACT](given)


KEYS = st.sampled_from(
    ["a", "x", "input", "arguments", "type", "properties", "items", "anyOf", "$ref", "enum", "required"]
)
WORDS = st.sampled_from(
    ["integer", "number", "string", "array", "object", "null", "#", "#/properties/x", "5", "[1]", "true"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(max_size=4)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)
ALMOST = st.lists(
    st.sampled_from([*"{}[],:'\"\\ \n#/*15", "True", "None", "//", '"a"', "{'a': 1}", '{"a":1}', "\ud800"]), max_size=12
).map("".join)


@settings(deadline=None, max_examples=200)
@given(raw=OBJECTS.map(json.dumps) | ALMOST | st.text(), schema=st.none() | OBJECTS)
def test_any_text_and_any_schema_give_a_call_and_a_second_time_the_same(raw, schema):
    before = repr(schema)
    for transform in TOOL_CALL_TRANSFORMS.values():
        call = call_of(raw)
        result = transform(call, schema)
        assert call == call_of(raw)
        assert repr(schema) == before
        assert transform(result, schema) is result


@settings(deadline=None)
@given(value=st.dictionaries(st.sampled_from(["ok", "data", "error", "errors", "warnings", "intents", "meta"]), JSON))
def test_any_json_goes_through_the_compact_envelope(value):
    before = repr(value)
    compact = TOOL_RESULT_TRANSFORMS[COMPACT](value)
    assert repr(value) == before
    assert TOOL_RESULT_TRANSFORMS[COMPACT](compact) is compact


@pytest.mark.parametrize("unit", ["{", "'", '"', "/*", "//", "#", "{}", "'\\", ",", '{"a":', "[", " ", "1", "*", "/"])
@pytest.mark.parametrize("head", ["", "{'a':'", '{"a":"', "/*", '"'])
def test_hostile_arguments_are_read_in_linear_time(head, unit):
    raw = head + unit * (250_000 // len(unit))
    for transform in TOOL_CALL_TRANSFORMS.values():
        started = time.process_time()
        transform(call_of(raw), place(INTEGER))
        assert time.process_time() - started < 5

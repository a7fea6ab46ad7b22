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


def place(schema):
    return {"type": "object", "properties": {"x": schema}}


INTEGER = {"type": "integer"}


@pytest.mark.requirement("C-207")
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

"""Over bodies and shapes; the extraction of calls from text has a file of its own."""

import base64
import copy
import hashlib

import pytest

from groundwire.contracts.requests import SendOptions
from groundwire.providers.transforms import (
    MESSAGE_TRANSFORMS,
    RESPONSE_TRANSFORMS,
    TOOL_TRANSFORMS,
    apply_to_request,
    apply_to_response,
    names_unknown,
    parse_names,
)

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": SKIP}}}
ALL = {**MESSAGE_TRANSFORMS, **TOOL_TRANSFORMS, **RESPONSE_TRANSFORMS}
EVERYTHING = SendOptions(
    message_transforms=tuple(MESSAGE_TRANSFORMS),
    tool_transforms=tuple(TOOL_TRANSFORMS),
    response_transforms=tuple(RESPONSE_TRANSFORMS),
)


def assistant(**members):
    return {"role": "assistant", **members}


def check(name, value, expected):
    """The transform gives what is expected, twice, and leaves its input alone."""
    before = copy.deepcopy(value)
    result = ALL[name](value)
    assert result == expected
    assert value == before
    assert ALL[name](result) is result
    if expected == value:
        assert result is value


@pytest.mark.requirement("C-174")
@pytest.mark.quirk(79)
@pytest.mark.parametrize(
    ("message", "content"),
    [
        (assistant(content="", tool_calls=[CALL]), None),
        (assistant(content=" \n", tool_calls=[CALL]), None),
        (assistant(content=None, tool_calls=[CALL]), None),
        (assistant(content="x", tool_calls=[CALL]), "x"),
        (assistant(content=[], tool_calls=[CALL]), []),
        (assistant(content="", tool_calls=[]), ""),
        (assistant(content="", tool_calls={"0": CALL}), ""),
        (assistant(content=""), ""),
        ({"role": "user", "content": "", "tool_calls": [CALL]}, ""),
    ],
)
def test_blank_content_beside_calls_becomes_null(message, content):
    check("assistant_tool_calls_content_null_if_blank", message, {**message, "content": content})


@pytest.mark.requirement("C-174")
def test_content_that_is_absent_stays_absent():
    message = assistant(tool_calls=[CALL])
    check("assistant_tool_calls_content_null_if_blank", message, message)


@pytest.mark.requirement("C-175", "C-208")
@pytest.mark.quirk(56)
@pytest.mark.parametrize(
    ("message", "added"),
    [
        (assistant(content=None, tool_calls=[CALL]), {"reasoning_content": ""}),
        (assistant(reasoning_content=None, tool_calls=[CALL]), {"reasoning_content": ""}),
        (assistant(reasoning_content="thought", tool_calls=[CALL]), {}),
        (assistant(reasoning_content="", tool_calls=[CALL]), {}),
        (assistant(content="x"), {}),
        (assistant(content="x", tool_calls=None), {}),
        ({"role": "tool", "content": "x"}, {}),
    ],
)
def test_missing_reasoning_beside_calls_becomes_empty(message, added):
    check("assistant_tool_calls_reasoning_content_empty_if_missing", message, {**message, **added})


@pytest.mark.requirement("C-176")
@pytest.mark.quirk(65)
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([CALL], [SIGNED]),
        ([CALL, CALL], [SIGNED, CALL]),
        ([{**CALL, "extra_content": None}], [SIGNED]),
        ([{**CALL, "extra_content": {"google": {"thought_signature": ""}}}], [SIGNED]),
        (
            [{**CALL, "extra_content": {"x": 1, "google": {"y": 2}}}],
            [{**CALL, "extra_content": {"x": 1, "google": {"y": 2, "thought_signature": SKIP}}}],
        ),
    ],
)
def test_the_first_call_without_a_signature_gets_the_documented_dummy(calls, expected):
    check(
        "assistant_tool_calls_signature_skip_validator_if_missing",
        assistant(tool_calls=calls),
        assistant(tool_calls=expected),
    )


@pytest.mark.requirement("C-176")
@pytest.mark.parametrize(
    "message",
    [
        assistant(tool_calls=[{**CALL, "extra_content": {"google": {"thought_signature": "real"}}}, CALL]),
        assistant(tool_calls=[{**CALL, "extra_content": "odd"}]),
        assistant(tool_calls=[{**CALL, "extra_content": {"google": 5}}]),
        assistant(tool_calls=["odd"]),
        assistant(tool_calls=[]),
        assistant(content="x"),
        {"role": "user", "tool_calls": [CALL]},
    ],
)
def test_real_signatures_and_unknown_shapes_stay(message):
    check("assistant_tool_calls_signature_skip_validator_if_missing", message, message)


@pytest.mark.requirement("C-178")
@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"type": "function", "function": {"name": "f", "description": "Long.", "parameters": {"description": "x"}}},
            {"type": "function", "function": {"name": "f", "parameters": {"description": "x"}}},
        ),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}),
        ({"type": "web_search", "description": "kept"}, {"type": "web_search", "description": "kept"}),
        ({"function": "odd"}, {"function": "odd"}),
    ],
)
def test_only_the_description_of_the_function_is_stripped(tool, expected):
    check("openai_tools_strip_function_descriptions", tool, expected)


@pytest.mark.requirement("C-180")
@pytest.mark.quirk(1)
def test_an_old_function_call_becomes_one_call_with_a_steady_id():
    message = assistant(content=None, function_call={"name": "f", "arguments": '{"a":1}'})
    call = {
        "id": "call_0_" + hashlib.sha256(b'f\n{"a":1}').hexdigest()[:16],
        "type": "function",
        "function": {"name": "f", "arguments": '{"a":1}'},
    }
    check("assistant_function_call_to_tool_calls", message, assistant(content=None, tool_calls=[call]))


@pytest.mark.requirement("C-180")
@pytest.mark.quirk(2)
@pytest.mark.parametrize(
    "message",
    [
        assistant(function_call={"name": "", "arguments": ""}, tool_calls=None),
        assistant(function_call={"name": " ", "arguments": "{}"}),
        assistant(function_call={"name": 5}),
        assistant(function_call=None),
        assistant(function_call={"name": "f"}, tool_calls=[CALL]),
    ],
)
def test_a_placeholder_is_no_call_and_a_real_call_comes_first(message):
    check("assistant_function_call_to_tool_calls", message, message)


@pytest.mark.requirement("C-181")
@pytest.mark.quirk(4)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (CALL, [CALL]),
        ({"name": "f", "arguments": {}}, [{"name": "f", "arguments": {}}]),
        ({"10": {"id": "c"}, "0": {"id": "a"}, "2": {"id": "b"}}, [{"id": "a"}, {"id": "b"}, {"id": "c"}]),
        ({"0" * 5_000: {"id": "a"}, "9" * 5_000: {"id": "b"}}, [{"id": "a"}, {"id": "b"}]),
        ({}, []),
        ({"first": CALL}, {"first": CALL}),
        ({"0": "odd"}, {"0": "odd"}),
        ({"²": CALL}, {"²": CALL}),
        ([CALL], [CALL]),
        (None, None),
        ("odd", "odd"),
    ],
)
def test_calls_given_as_an_object_become_an_array_in_order(given, expected):
    check("assistant_tool_calls_object_to_array", assistant(tool_calls=given), assistant(tool_calls=expected))


@pytest.mark.requirement("C-182")
@pytest.mark.quirk(5)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": [1, "ü"], "b": 2**70}, '{"a":[1,"ü"],"b":1180591620717411303424}'),
        ({}, "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ([1], [1]),
        (None, None),
        ({"half": "\ud800"}, {"half": "\ud800"}),
    ],
)
def test_arguments_given_as_an_object_become_text(arguments, expected):
    def message(value):
        return assistant(tool_calls=[CALL, {"id": "x", "function": {"name": "f", "arguments": value}}, "odd", {}])

    check("assistant_tool_calls_arguments_json_string_if_hash", message(arguments), message(expected))


@pytest.mark.quirk(32)
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Done.<|im_end|>", "Done."),
        ("Done. </s></s>\n", "Done."),
        ("Done.<|im_end|>\n<|im_start|>assistant\n", "Done."),
        ("Done.\nassistant\n", "Done."),
        ("Done.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", "Done."),
        ("Fertig.<｜end▁of▁sentence｜>", "Fertig."),
        ("</s>", ""),
        ("assistant\n", ""),
        ("I am your assistant\n", "I am your assistant\n"),
        ("I am your\nassistant", "I am your\nassistant"),
        ("The token </s> ends a text.", "The token </s> ends a text."),
        ("Spaces stay  \n", "Spaces stay  \n"),
        ("", ""),
        (None, None),
        ([{"type": "text", "text": "a</s>"}, {"type": "text", "text": "b</s>"}], None),
    ],
)
def test_leaked_tokens_are_trimmed_at_the_end_only(content, expected):
    if isinstance(content, list):
        expected = [content[0], {"type": "text", "text": "b"}]
    name = "assistant_content_special_tokens_trimmed_at_end"
    check(name, assistant(content=content), assistant(content=expected))
    check(name, {"role": "user", "content": content}, {"role": "user", "content": content})


def test_named_transforms_run_in_order_over_every_message_and_tool():
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": ""}, assistant(content="", tool_calls=[CALL]), "odd"],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d"}}, None],
    }
    before = copy.deepcopy(body)
    options = SendOptions(
        message_transforms=(
            "assistant_tool_calls_content_null_if_blank",
            "unheard_of",
            "assistant_tool_calls_reasoning_content_empty_if_missing",
        ),
        tool_transforms=("openai_tools_strip_function_descriptions",),
    )
    assert apply_to_request(body, options) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": ""},
            assistant(content=None, tool_calls=[CALL], reasoning_content=""),
            "odd",
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}, None],
    }
    assert body == before


@pytest.mark.requirement("C-207")
def test_nothing_happens_unless_it_is_asked_for():
    request = {"messages": [assistant(content="", tool_calls=[CALL])], "tools": [{"function": {"description": "d"}}]}
    response = {"choices": [{"message": assistant(function_call={"name": "f", "arguments": "{}"})}]}
    assert apply_to_request(request, SendOptions()) is request
    assert apply_to_response(response, SendOptions()) is response


TAGGED = '<tool_call>{"name":"f"}</tool_call>'


@pytest.mark.requirement("C-183")
@pytest.mark.quirk(37)
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "tool_calls"),
        ("", "tool_calls"),
        (None, "tool_calls"),
        ("function_call", "tool_calls"),
        ("tool_calls", "tool_calls"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        (["odd"], ["odd"]),
    ],
)
def test_extracted_calls_become_the_reason_unless_the_answer_was_cut(reason, expected):
    options = SendOptions(response_transforms=("assistant_content_tool_call_tags_to_tool_calls",))
    plain = {"index": 1, "finish_reason": reason, "message": assistant(content="Hello.")}
    body = {"id": "r", "choices": [{"finish_reason": reason, "message": assistant(content=TAGGED)}, plain, 7]}
    before = copy.deepcopy(body)
    first, second, third = apply_to_response(body, options)["choices"]
    assert first["finish_reason"] == expected
    assert first["message"]["content"] is None
    assert [call["function"] for call in first["message"]["tool_calls"]] == [{"name": "f", "arguments": "{}"}]
    assert second is plain
    assert third == 7
    assert body == before


def test_a_change_without_calls_leaves_the_reason_alone():
    options = SendOptions(response_transforms=("assistant_content_special_tokens_trimmed_at_end",))
    body = {"choices": [{"finish_reason": "stop", "message": assistant(content="Done.</s>")}]}
    assert apply_to_response(body, options) == {
        "choices": [{"finish_reason": "stop", "message": assistant(content="Done.")}]
    }


def test_unknown_names_are_told_once_and_per_kind():
    options = SendOptions(
        message_transforms=("nothing", "assistant_tool_calls_content_null_if_blank"),
        tool_transforms=("assistant_tool_calls_content_null_if_blank", "nothing"),
        response_transforms=("other",),
    )
    assert names_unknown(options) == ("nothing", "assistant_tool_calls_content_null_if_blank", "other")
    assert names_unknown(EVERYTHING) == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", ("a",)),
        (" a , b,,a ", ("a", "b")),
        ("", ()),
        (["a", " b ", ""], ("a", "b")),
        (("b", "a"), ("b", "a")),
        ([], ()),
    ],
)
def test_names_come_as_a_list_or_a_comma_string(value, expected):
    assert parse_names(value) == expected

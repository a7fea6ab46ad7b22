"""Requests in the usual shape are read by their type, and give what the full reading gives."""

import json

import pytest

from groundwire.codecs import openai_chat
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.openai_chat.usual import read_usual
from groundwire.contracts.errors import WireError

USER = {"role": "user", "content": "a"}
SAID = {"role": "assistant", "content": "b"}
FUNCTION = {"name": "f", "arguments": "{}"}
CALL = {"id": "c", "type": "function", "function": FUNCTION}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "r"}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}


def body(*messages, **more):
    return {"model": "m", "messages": list(messages or [USER]), **more}


USUAL = {
    "one message": body(),
    "no messages": {"model": "m", "messages": []},
    "all roles": body({"role": "system", "content": "s"}, {"role": "developer", "content": "s"}, USER, SAID, USER),
    "calls": body(USER, ASKED, RESULT, {**RESULT, "tool_call_id": "d", "content": ""}, SAID),
    "words before calls": body(USER, {**ASKED, "content": "w"}),
    "calls without content": body(USER, {"role": "assistant", "tool_calls": [CALL]}),
    "no calls after all": body(USER, {**SAID, "tool_calls": None}),
    "an empty user message": body({"role": "user", "content": ""}),
    "tools": body(tools=[TOOL, {"type": "function", "function": {"name": "g", "strict": True}}]),
    "a schema that is sent as it is": body(
        tools=[{"type": "function", "function": {"name": "g", "parameters": {"anyOf": []}}}]
    ),
    "options": body(
        tools=[TOOL],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0.5,
        top_p=1,
        max_tokens=5,
        max_completion_tokens=6,
        stream=True,
        stream_options={"include_usage": True},
    ),
    "options that are null": body(tool_choice=None, temperature=None, stream=None),
    "not streamed": body(stream=False, max_tokens=5),
}
OTHERS = {
    "no model": {"messages": [USER]},
    "another member": body(user="u"),
    "another option": body(seed=1, stop="x", response_format={"type": "json_object"}, reasoning_effort="low"),
    "a named user": body({**USER, "name": "n"}),
    "parts": body({"role": "user", "content": [{"type": "text", "text": "a"}]}),
    "two turns of the model": body(USER, SAID, SAID),
    "an empty turn of the model": body(USER, {"role": "assistant", "content": ""}),
    "a turn of the model without anything": body(USER, {"role": "assistant"}),
    "an empty text beside calls": body(USER, {**ASKED, "content": ""}),
    "an empty list of calls": body(USER, {**SAID, "tool_calls": []}),
    "blank arguments": body(USER, {**ASKED, "tool_calls": [{**CALL, "function": {**FUNCTION, "arguments": " "}}]}),
    "a custom call": body(
        USER, {**ASKED, "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "i"}}]}
    ),
    "a named result": body(USER, ASKED, {**RESULT, "name": "f"}),
    "no tools": body(tools=[]),
}
WRONG = {
    "a message that is none": body(5),
    "a role that is none": body({"role": 5, "content": "a"}),
    "a temperature that is none": body(temperature="x"),
    "tools that are none": body(tools={"a": 1}),
    "a tool that is none": body(tools=[5]),
    "a call without a name": body(USER, {**ASKED, "tool_calls": [{**CALL, "function": {"arguments": "{}"}}]}),
    "a choice that is none": body(tools=[TOOL], tool_choice="x"),
    "no messages": {"model": "m"},
}


@pytest.mark.parametrize("cache", [None, ToolCache()], ids=["without a cache", "with a cache"])
@pytest.mark.parametrize("wire", [*USUAL.values(), *OTHERS.values()], ids=[*USUAL, *OTHERS])
def test_the_quick_reading_of_bytes_gives_what_the_full_reading_gives(wire, cache):
    in_full = openai_chat.decode_request(wire, model="else")
    data = json.dumps(wire).encode()
    assert [openai_chat.decode_request(data, model="else", cache=cache) for _ in range(2)] == [in_full, in_full]


@pytest.mark.parametrize("cache", [None, ToolCache()], ids=["without a cache", "with a cache"])
@pytest.mark.parametrize("wire", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_alike_in_bytes_and_objects(wire, cache):
    with pytest.raises(WireError) as in_full:
        openai_chat.decode_request(wire)
    with pytest.raises(WireError) as quick:
        openai_chat.decode_request(json.dumps(wire).encode(), cache=cache)
    assert (quick.value.path, quick.value.message) == (in_full.value.path, in_full.value.message)


@pytest.mark.parametrize("cache", [None, ToolCache()], ids=["without a cache", "with a cache"])
def test_usual_requests_are_read_quickly_and_others_are_not(cache):
    def is_quick(wire):
        return read_usual(json.dumps(wire).encode(), cache) is not None

    assert [name for name, wire in USUAL.items() if not is_quick(wire)] == []
    assert [name for name, wire in OTHERS.items() if is_quick(wire)] == []

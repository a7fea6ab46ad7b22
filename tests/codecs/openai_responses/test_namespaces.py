"""Functions in namespaces, for models that know none: each has a name of its own there, and comes back to its place."""

import json

import pytest

from groundwire.codecs import anthropic_messages, gemini, openai_chat, openai_responses
from groundwire.codecs.wire.building import parts_of


def namespace(name, *functions):
    tools = [{"type": "function", "name": f, "parameters": {"type": "object", "properties": {}}} for f in functions]
    return {"type": "namespace", "name": name, "description": f"Tools of {name}.", "tools": tools}


TOOLS = [namespace("files", "search", "read"), namespace("mcp__web__", "search")]
HISTORY = [
    {"role": "user", "content": "Look."},
    {"type": "function_call", "call_id": "call_1", "namespace": "mcp__web__", "name": "search", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "nothing"},
]


def request(items=None):
    return openai_responses.decode_request({"model": "m", "input": items or "Look.", "tools": TOOLS})


def called(name, arguments="{}"):
    """A reply of another dialect's model that calls this function."""
    call = {"id": "call_2", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return openai_chat.decode_response({"id": "c", "model": "m", "choices": [choice]})


def test_functions_of_one_name_get_their_namespace_in_front_and_others_do_not():
    assert [tool.name for tool in request().tools] == ["files__search", "read", "mcp__web__search"]


def test_other_dialects_are_offered_and_told_names_of_their_own():
    asked = request(HISTORY)
    chat = openai_chat.encode_request(asked).body
    anthropic = anthropic_messages.encode_request(asked).body
    google = gemini.encode_request(asked).body
    names = ["files__search", "read", "mcp__web__search"]
    assert [tool["function"]["name"] for tool in chat["tools"]] == names
    assert [tool["name"] for tool in anthropic["tools"]] == names
    assert [tool["name"] for tool in google["tools"][0]["functionDeclarations"]] == names
    assert chat["messages"][1]["tool_calls"][0]["function"]["name"] == "mcp__web__search"


def test_the_same_dialect_gets_every_function_and_call_back_in_its_place():
    body = openai_responses.encode_request(request(HISTORY)).body
    assert body["tools"] == TOOLS
    assert body["input"] == HISTORY


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("read", ("files", "read")),
        ("files__search", ("files", "search")),
        ("mcp__web__search", ("mcp__web__", "search")),
    ],
)
def test_a_call_is_answered_with_the_namespace_of_its_function(name, place):
    body = openai_responses.encode_response(called(name), request=request()).body
    assert [(item["namespace"], item["name"]) for item in body["output"]] == [place]


def test_a_streamed_call_has_its_namespace_from_the_beginning():
    encoder = openai_responses.StreamEncoder(request=request())
    written = b"".join(encoder.feed(part) for part in parts_of(called("mcp__web__search")))
    events = [json.loads(line[6:]) for line in written.decode().splitlines() if line.startswith("data: ")]
    items = [event["item"] for event in events if event["type"].startswith("response.output_item")]
    assert [(item["namespace"], item["name"]) for item in items] == [("mcp__web__", "search")] * 2


def test_a_call_by_a_model_that_knows_namespaces_leads_to_the_right_function():
    asked = request()
    names = openai_responses.encode_request(asked).names
    answer = {**HISTORY[1], "id": "fc_1", "status": "completed"}
    reply = openai_responses.decode_response({"id": "r", "status": "completed", "output": [answer]}, names=names)
    assert [item.call.name for item in reply.calls] == ["mcp__web__search"]
    assert openai_responses.encode_response(reply, request=asked).body["output"] == [answer]


def test_a_call_of_a_freeform_tool_has_an_id_of_its_kind():
    asked = openai_responses.decode_request(
        {"model": "m", "input": "a", "tools": [{"type": "custom", "name": "patch"}]}
    )
    reply = called("patch", '{"input":"x"}')
    whole = openai_responses.encode_response(reply, request=asked).body["output"][0]
    encoder = openai_responses.StreamEncoder(request=asked)
    written = b"".join(encoder.feed(part) for part in parts_of(reply))
    events = [json.loads(line[6:]) for line in written.decode().splitlines() if line.startswith("data: ")]
    streamed = [event["item"]["id"] for event in events if "item" in event]
    assert (whole["type"], whole["id"][:4]) == ("custom_tool_call", "ctc_")
    assert streamed == [whole["id"]] * 2

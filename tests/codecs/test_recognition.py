"""Bodies that were sent to the address of another dialect."""

import itertools
import json

import pytest

from groundwire.codecs import openai_chat
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.dialects import codec_of, translate
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import DIALECTS

HI = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {}}


def messages(*values, **members):
    return {"model": "m", "messages": [HI, *values], **members}


def content(kind, role="user", **members):
    return messages({"role": role, "content": [{"type": kind, **members}]})


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OF_ANTHROPIC = {
    "system": messages(system="Be nice."),
    "tools[0].input_schema": messages(tools=[{"name": "f", "input_schema": SCHEMA}]),
    "messages[1].content[0].type": content("tool_use", role="assistant", id="a", name="f", input={}),
}
OF_CHAT = {
    "tools[0].function": messages(tools=[{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]),
    "messages[1].tool_calls": messages({"role": "assistant", "content": "", "tool_calls": [CALL]}),
    "messages[1].role": messages({"role": "tool", "tool_call_id": "a", "content": "42"}),
    "messages[1].content[0].type": content("image_url", image_url={"url": "https://x/a.png"}),
}


def refused(body, dialect):
    with pytest.raises(WireError) as raised:
        codec_of(dialect).decode_request(body, model="m")
    return raised.value.message


@pytest.mark.parametrize("path", OF_ANTHROPIC)
def test_a_body_of_anthropic_is_no_chat_request(path):
    assert refused(OF_ANTHROPIC[path], "openai-chat") == (
        f"{path}: this belongs to requests of anthropic, not of openai-chat"
    )
    codec_of("anthropic").decode_request(OF_ANTHROPIC[path])


@pytest.mark.parametrize("path", OF_CHAT)
def test_a_body_of_chat_is_no_request_of_anthropic(path):
    assert refused(OF_CHAT[path], "anthropic") == f"{path}: this belongs to requests of openai-chat, not of anthropic"
    codec_of("openai-chat").decode_request(OF_CHAT[path])


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_parts_of_responses_are_no_content_of_messages(dialect):
    assert refused(content("input_text", text="hi"), dialect) == (
        f"messages[1].content[0].type: this belongs to requests of openai-responses, not of {dialect}"
    )


REQUIRED = {"openai-chat": "messages", "anthropic": "messages", "gemini": "contents", "openai-responses": "input"}
BODIES = {
    "gemini": {"contents": [], "tools": [{"functionDeclarations": []}]},
    "openai-responses": {"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f"}]},
    "openai-chat": messages(),
    "anthropic": messages(system="s"),
}


@pytest.mark.parametrize(
    ("owner", "dialect", "member"),
    [
        (owner, dialect, member)
        for owner, body in BODIES.items()
        for dialect, member in REQUIRED.items()
        if member not in body
    ],
)
def test_a_body_without_what_the_dialect_requires_is_named_for_what_it_looks_like(owner, dialect, member):
    body = BODIES[owner]
    assert refused(body, dialect) == f"{member}: is missing; the body looks like a request of {owner}"


@pytest.mark.parametrize(("dialect", "member"), REQUIRED.items())
def test_a_body_that_looks_like_nothing_only_lacks_the_member(dialect, member):
    assert refused({"model": "m"}, dialect) == f"{member}: is missing"


def stream(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


PART = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP", "index": 0}]}
STREAMS = {
    "openai-chat": stream(
        {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hi"}}]}
    ),
    "openai-responses": stream({"type": "response.created", "response": {"id": "r"}}),
    "anthropic": stream({"type": "ping"}, {"type": "message_start", "message": {"id": "m", "content": []}}),
    "gemini": stream(PART),
}
ANSWERS = {
    "openai-chat": {"id": "c", "choices": [{"message": {"role": "assistant", "content": "hi"}}]},
    "openai-responses": {"id": "r", "object": "response", "status": "completed", "output": []},
    "anthropic": {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"},
    "gemini": PART,
}


@pytest.mark.parametrize(("owner", "dialect"), list(itertools.permutations(DIALECTS, 2)))
def test_an_answer_or_a_stream_of_another_dialect_is_named_for_what_it_looks_like(owner, dialect):
    for data, kind in ((json.dumps(ANSWERS[owner]).encode(), "response"), (STREAMS[owner], "stream")):
        with pytest.raises(WireError) as raised:
            translate(data, dialect, "canonical", kind=kind)
        assert raised.value.hint == f"this looks like a {kind} of {owner}"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("data", [b'data: {"a": 1}\n\n', b"data: [DONE]\n\n", b": ping\n\n", b"data: x\n\n"])
def test_a_stream_of_no_dialect_is_refused_without_a_guess(data, dialect):
    with pytest.raises(WireError) as raised:
        translate(data, dialect, "canonical", kind="stream")
    assert raised.value.hint == ""


def test_a_stream_of_gemini_as_an_array_is_known_too():
    with pytest.raises(WireError) as raised:
        translate(json.dumps([PART]).encode(), "anthropic", "canonical", kind="stream")
    assert raised.value.hint == "this looks like a stream of gemini"


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_what_nobody_knows_is_allowed(dialect):
    body = messages(
        {"role": "user", "content": [{"type": "hologram", "id": 1}]}, system=None, cache=True, tools=[], contents=1
    )
    assert len(codec_of(dialect).decode_request(body).items) == 2


def test_tools_of_anthropic_are_no_tools_of_chat_when_they_are_read_on_their_own():
    body = json.dumps({**OF_ANTHROPIC["tools[0].input_schema"], "max_tokens": 5}).encode()
    for cache in (None, ToolCache()):
        with pytest.raises(WireError) as raised:
            openai_chat.decode_request(body, cache=cache)
        assert raised.value.path == "tools[0].input_schema"


@pytest.mark.parametrize(
    ("dialect", "member"),
    [("anthropic", "max_tokens"), ("openai-chat", "max_tokens"), ("openai-responses", "max_output_tokens")],
)
def test_a_number_in_quotes_is_no_number_except_in_proto_json(dialect, member):
    assert refused({**BODIES[dialect], member: "5"}, dialect) == f"{member}: expected an integer, got a string"
    body = {"contents": [], "generationConfig": {"maxOutputTokens": "5"}}
    assert codec_of("gemini").decode_request(body).max_output_tokens == 5


def test_a_request_of_anthropic_may_be_without_a_limit():
    assert codec_of("anthropic").decode_request(messages()).max_output_tokens is None

import base64

import pytest

from groundwire.codecs import anthropic_messages
from groundwire.codecs.anthropic_messages import Profile
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    ReasoningItem,
    ResultItem,
    TextPart,
)
from groundwire.contracts.requests import FunctionTool, NativeTool, OutputFormat, ReasoningOptions, ToolChoice

OLD = Profile(version="2023-06-01")
PNG = base64.b64encode(b"\x89PNG").decode()
TOOL = {"name": "f", "input_schema": {"type": "object"}}


def body(*messages, **members):
    return {"model": "claude-x", "max_tokens": 10, "messages": list(messages), **members}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words, **members):
    return {"type": "text", "text": words, **members}


def call(call_id="toolu_1", **members):
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {"x": 1}, **members}


def result(call_id="toolu_1", **members):
    return {"type": "tool_result", "tool_use_id": call_id, **members}


QUESTION = user(text("hi"))

SAME_AGAIN = [
    body({"role": "user", "content": "hi"}),
    body(QUESTION, system="be brief"),
    body(QUESTION, system=[text("be brief")]),
    body(QUESTION, system=[text("a", cache_control={"type": "ephemeral"})]),
    body(QUESTION, system=[text("a"), text("b")]),
    body(QUESTION, system=""),
    body(QUESTION, system=[]),
    body(QUESTION, tools=[]),
    body(QUESTION, stop_sequences=[]),
    body(QUESTION, stop_sequences=["END", "\nUser:"]),
    body(QUESTION, stream=True),
    body(QUESTION, stream=False),
    body(QUESTION, temperature=0.5, top_p=0.9, top_k=40),
    body(QUESTION, metadata={"user_id": "u1"}, service_tier="auto", container="c1", future={"a": [1]}),
    body(QUESTION, cache_control={"type": "ephemeral", "ttl": "1h"}),
    body(user(text("hi", cache_control={"type": "ephemeral"}))),
    body(user(text("a"), text("b"))),
    body({"role": "user", "content": "a", "name": "extra"}),
    body(QUESTION, user(text("again"))),
    body(QUESTION, assistant(text("a")), assistant(text("b")), user(text("c"))),
    body(QUESTION, {"role": "assistant", "content": "a"}, {"role": "system", "content": "be kind"}, QUESTION),
    body(user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})),
    body(user({"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}})),
    body(user({"type": "image", "source": {"type": "file", "file_id": "file_1"}, "cache_control": {"type": "ephemeral"}})),
    body(user({"type": "image", "source": {"type": "file", "file_id": "odd-id"}})),
    body(user({"type": "image", "source": {"type": "url", "url": "https://e.org/a", "future": 1}})),
    body(user({
        "type": "document", "title": "T", "context": "c", "citations": {"enabled": True},
        "source": {"type": "base64", "media_type": "application/pdf", "data": PNG},
    })),
    body(user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "größe"}})),
    body(user({"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": PNG}})),
    body(user({"type": "document", "source": {"type": "url", "url": "https://e.org/a.pdf"}})),
    body(user({"type": "document", "source": {"type": "file", "file_id": "file_2"}})),
    body(user({"type": "document", "source": {"type": "content", "content": [text("chunk")]}})),
    body(user({"type": "search_result", "source": "s", "title": "t", "content": [text("x")]})),
    body(user({"type": "container_upload", "file_id": "file_3"})),
    body(QUESTION, assistant(call()), user(result())),
    body(QUESTION, assistant(call()), user(result(content="42"))),
    body(QUESTION, assistant(call()), user(result(content="42", is_error=True))),
    body(QUESTION, assistant(call()), user(result(content="42", is_error=False))),
    body(QUESTION, assistant(call()), user(result(content=[text("42")]))),
    body(QUESTION, assistant(call()), user(result(content=[]))),
    body(QUESTION, assistant(call()), user(result(content=""))),
    body(QUESTION, assistant(call(cache_control={"type": "ephemeral"})), user(result(cache_control={"type": "ephemeral"}))),
    body(QUESTION, assistant(call()), user(result(content=[
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "tool_reference", "tool_name": "g"},
    ]))),
    body(QUESTION, assistant(text("a"), call(), call("toolu_2")), user(result(), result("toolu_2"), text("go on"))),
    body(QUESTION, assistant({"type": "thinking", "thinking": "t", "signature": "S"}, text("a")), user(text("b"))),
    body(QUESTION, assistant({"type": "thinking", "thinking": "", "signature": "S"}, text("a")), user(text("b"))),
    body(QUESTION, assistant({"type": "redacted_thinking", "data": "D"}, text("a")), user(text("b"))),
    body(QUESTION, assistant(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    )),
    body(QUESTION, assistant(text("a", citations=[{"type": "char_location", "cited_text": "q", "document_index": 0,
        "document_title": "d", "start_char_index": 0, "end_char_index": 1}])), user(text("b"))),
    body(user(text("a", citations=[{"type": "char_location", "cited_text": "q"}]))),
    body(QUESTION, tools=[TOOL]),
    body(QUESTION, tools=[{**TOOL, "type": "custom", "description": "", "strict": True, "input_examples": [{}]}]),
    body(QUESTION, tools=[{**TOOL, "strict": False, "cache_control": {"type": "ephemeral"}, "eager_input_streaming": True}]),
    body(QUESTION, tools=[{"type": "bash_20250124", "name": "bash"}]),
    body(QUESTION, tools=[TOOL], tool_choice={"type": "auto"}),
    body(QUESTION, tools=[TOOL], tool_choice={"type": "auto", "disable_parallel_tool_use": False}),
    body(QUESTION, tools=[TOOL], tool_choice={"type": "any", "disable_parallel_tool_use": True}),
    body(QUESTION, tools=[TOOL], tool_choice={"type": "tool", "name": "f"}),
    body(QUESTION, tools=[TOOL], tool_choice={"type": "none"}),
    body(QUESTION, thinking={"type": "enabled", "budget_tokens": 2000, "display": "omitted"}),
    body(QUESTION, thinking={"type": "adaptive", "display": "summarized"}, output_config={"effort": "max"}),
    body(QUESTION, thinking={"type": "disabled"}),
    body(QUESTION, thinking={"type": "between_tools"}),
    body(QUESTION, output_config={"effort": "someday"}),
    body(QUESTION, output_config={}),
    body(QUESTION, output_config={"format": {"type": "json_schema", "schema": {"type": "object", "minProperties": 1}}}),
    body(QUESTION, output_config={"effort": "low", "future": 1}),
    body(QUESTION, output_format={"type": "json_schema", "schema": {"type": "object"}}),
]  # fmt: skip


@pytest.mark.parametrize("request_body", SAME_AGAIN)
def test_a_request_read_and_written_again_is_the_same(request_body):
    written = anthropic_messages.encode_request(anthropic_messages.decode_request(request_body), profile=OLD)

    assert written.body == request_body
    assert written.warnings == ()


def only_part(block):
    (item,) = anthropic_messages.decode_request(body(user(block))).items
    assert isinstance(item, Message)
    (part,) = item.parts
    return part


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (text("hi"), TextPart(text="hi")),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            MediaPart(media_type="image/png", data=b"\x89PNG"),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}},
            MediaPart(media_type="image/*", url="https://e.org/a.png"),
        ),
        (
            {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "ä"}},
            MediaPart(media_type="text/plain", data="ä".encode(), name="T"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            MediaPart(media_type="application/*", file_id="file_1"),
        ),
        (
            {"type": "tool_reference", "tool_name": "g"},
            NativePart(origin="anthropic", value={"type": "tool_reference", "tool_name": "g"}),
        ),
    ],
)
def test_blocks_of_the_user_are_parts(block, part):
    assert only_part(block) == part


def test_an_assistant_turn_is_a_sequence_of_items_in_its_order():
    request = anthropic_messages.decode_request(
        body(
            QUESTION,
            assistant(
                {"type": "thinking", "thinking": "t", "signature": "S"},
                {"type": "redacted_thinking", "data": "D"},
                text("a"),
                text("b"),
                call(),
                {"type": "mcp_tool_use", "id": "m"},
                text("c"),
            ),
        )
    )

    assert request.items[1:] == (
        ReasoningItem(text="t", private={"anthropic": {"signature": "S"}}),
        ReasoningItem(private={"anthropic": {"_redacted": True, "data": "D"}}),
        Message(role="assistant", parts=(TextPart(text="a"), TextPart(text="b"))),
        request.items[4],
        NativeItem(origin="anthropic", value={"type": "mcp_tool_use", "id": "m"}),
        Message(role="assistant", parts=(TextPart(text="c"),)),
    )
    assert isinstance(request.items[4], CallItem)
    assert request.items[4].call.raw == '{"x":1}'
    assert request.items[4].call.arguments == {"x": 1}


def test_a_speaker_who_goes_on_in_a_second_message_is_marked():
    request = anthropic_messages.decode_request(
        body(QUESTION, user(text("b")), assistant(text("c")), assistant(call()), user(result()), user(text("d")))
    )

    assert [item.split for item in request.items] == [False, True, False, True, False, True]


def test_a_failed_result_is_failed():
    request = anthropic_messages.decode_request(
        body(QUESTION, assistant(call()), user(result(content="no", is_error=True)))
    )

    assert request.items[2] == ResultItem(call_id="toolu_1", parts=(TextPart(text="no"),), failed=True)


@pytest.mark.parametrize(
    ("choice", "read", "parallel"),
    [
        ({"type": "auto"}, ToolChoice(mode="auto"), None),
        ({"type": "any"}, ToolChoice(mode="required"), None),
        ({"type": "none"}, ToolChoice(mode="none"), None),
        ({"type": "tool", "name": "f"}, ToolChoice(mode="required", names=("f",)), None),
        ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice(mode="auto"), False),
        ({"type": "any", "disable_parallel_tool_use": False}, ToolChoice(mode="required"), True),
    ],
)
def test_tool_choices_are_read(choice, read, parallel):
    request = anthropic_messages.decode_request(body(QUESTION, tools=[TOOL], tool_choice=choice))

    assert (request.tool_choice, request.parallel_calls) == (read, parallel)


@pytest.mark.parametrize(
    ("members", "effort", "budget", "summary"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, None, 2000, None),
        ({"thinking": {"type": "disabled"}}, None, 0, None),
        ({"thinking": {"type": "adaptive", "display": "summarized"}}, None, None, True),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, None, None, False),
        ({"output_config": {"effort": "high"}}, "high", None, None),
    ],
)
def test_thinking_is_read_as_reasoning_options(members, effort, budget, summary):
    read = anthropic_messages.decode_request(body(QUESTION, **members)).reasoning

    assert isinstance(read, ReasoningOptions)
    assert (read.effort, read.budget, read.summary) == (effort, budget, summary)


def test_an_output_schema_is_read_from_either_place():
    schema = {"type": "object", "properties": {}}
    now = anthropic_messages.decode_request(
        body(QUESTION, output_config={"format": {"type": "json_schema", "schema": schema}})
    )
    beta = anthropic_messages.decode_request(body(QUESTION, output_format={"type": "json_schema", "schema": schema}))

    assert isinstance(now.output, OutputFormat)
    assert isinstance(beta.output, OutputFormat)
    assert (now.output.type, now.output.schema) == (beta.output.type, beta.output.schema) == ("schema", schema)


def test_tools_without_a_versioned_type_are_the_callers():
    request = anthropic_messages.decode_request(
        body(QUESTION, tools=[{**TOOL, "type": None}, {"type": "web_search_20260318", "name": "web_search"}])
    )

    assert request.tools == (
        FunctionTool(name="f", parameters={"type": "object"}),
        NativeTool(origin="anthropic", value={"type": "web_search_20260318", "name": "web_search"}),
    )


def test_a_request_for_counting_tokens_is_read_without_a_limit():
    request = anthropic_messages.decode_request(b'{"model":"m","messages":[{"role":"user","content":"hi"}]}')

    assert request.max_output_tokens is None
    assert anthropic_messages.encode_count(12) == {"input_tokens": 12}


def test_a_request_names_its_model_itself():
    request = anthropic_messages.decode_request(b'{"messages":[]}', model="from-address", stream=True)

    assert (request.model, request.stream) == ("from-address", True)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (b"", ""),
        (b"[]", ""),
        ({"model": "m"}, "messages"),
        (body(messages=3), "messages"),
        (body(7), "messages[0]"),
        (body({"content": "x"}), "messages[0].role"),
        (body({"role": "user"}), "messages[0].content"),
        (body(user(7)), "messages[0].content[0]"),
        (body(user({"text": "x"})), "messages[0].content[0].type"),
        (body(QUESTION, user(text("a"), text(3))), "messages[1].content[1].text"),
        (body(user(text("a", citations=3))), "messages[0].content[0].citations"),
        (body(user({"type": "image"})), "messages[0].content[0].source"),
        (body(user({"type": "image", "source": {"type": "base64", "data": "*"}})), "messages[0].content[0].source.data"),
        (body(assistant(call(input="{}"))), "messages[0].content[0].input"),
        (body(assistant({"type": "tool_use", "name": "f"})), "messages[0].content[0].id"),
        (body(user(result(content=3))), "messages[0].content[0].content"),
        (body(user(result(content=[text(None)]))), "messages[0].content[0].content[0].text"),
        (body(user(result(is_error="no"))), "messages[0].content[0].is_error"),
        (body(user({"type": "tool_result"})), "messages[0].content[0].tool_use_id"),
        (body(QUESTION, system=3), "system"),
        (body(QUESTION, system=[{"type": "image"}]), "system[0].type"),
        (body(QUESTION, tools=[3]), "tools[0]"),
        (body(QUESTION, tools=[{"input_schema": {}}]), "tools[0].name"),
        (body(QUESTION, tools=[{"name": "f", "input_schema": []}]), "tools[0].input_schema"),
        (body(QUESTION, tool_choice={"type": "some"}), "tool_choice.type"),
        (body(QUESTION, tool_choice={"type": "tool"}), "tool_choice.name"),
        (body(QUESTION, temperature="hot"), "temperature"),
        (body(QUESTION, max_tokens="many"), "max_tokens"),
        (body(QUESTION, stop_sequences=[1]), "stop_sequences[0]"),
        (body(QUESTION, thinking={"budget_tokens": 1}), "thinking.type"),
        (body(QUESTION, output_config={"format": {"type": "grammar"}}), "output_config.format.type"),
        (body(QUESTION, stream="yes"), "stream"),
    ],
)  # fmt: skip
def test_a_wrong_member_is_named_by_its_path(source, path):
    with pytest.raises(WireError) as raised:
        anthropic_messages.decode_request(source)

    assert raised.value.path == path

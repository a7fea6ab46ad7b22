"""What is written is what OpenAI's own SDK takes: its types for requests and responses, its accumulator for streams."""

import json

import httpx2 as httpx
import pytest
from openai import APIError, APIStatusError, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from groundwire.codecs import openai_chat as chat
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
    say,
)
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyFailed, ReplyStarted, Usage
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)
from tests.codecs.openai_chat.support import STREAMS, decode_stream, encode_stream

PARAMS = TypeAdapter(CompletionCreateParamsNonStreaming)
CALL = CallItem(call=ToolCall(call_id="call_1", name="f", raw='{"a":1}'), private={"gemini": {"thoughtSignature": "s"}})
SECOND = CallItem(call=ToolCall(call_id="call_2", name="g", raw="{}"))
REPLY = Reply(
    reply_id="r",
    model="m",
    created=7,
    items=(
        ReasoningItem(text="thought"),
        Message(role="assistant", parts=(TextPart(text="so: ", citations=(Citation(url="u"),)),)),
        CALL,
        SECOND,
    ),
    finish=Finish(reason=FinishReason.TOOL_CALLS),
    usage=Usage(input=3, output=4, total=7, cached=1, cache_write=0, reasoning=2),
)


def full_request():
    tools = (
        FunctionTool(name="f", description="d", parameters={"type": "object", "properties": {}}, strict=False),
        FunctionTool(name="w", freeform={"type": "grammar", "syntax": "regex", "definition": "a"}),
    )
    media = (
        TextPart(text="see"),
        MediaPart(media_type="image/png", data=b"x"),
        MediaPart(media_type="audio/mpeg", data=b"x"),
        MediaPart(media_type="application/pdf", data=b"x", name="a.pdf"),
    )
    return ModelRequest(
        model="m",
        instructions=(TextPart(text="i"),),
        items=(
            Message(role="user", parts=media),
            ReasoningItem(text="t"),
            say("assistant", "a"),
            CALL,
            CallItem(call=ToolCall(call_id="call_3", name="w", raw='{"input":"x"}')),
            ResultItem(call_id="call_1", parts=(TextPart(text="r"), MediaPart(media_type="image/png", data=b"y"))),
            ResultItem(call_id="call_3", parts=()),
            Message(role="assistant", parts=(RefusalPart(text="no"),)),
            say("developer", "d"),
        ),
        tools=tools,
        tool_choice=ToolChoice(names=("f", "w")),
        parallel_calls=False,
        sampling=Sampling(temperature=1, stop=("x",), count=1, seed=3),
        max_output_tokens=5,
        output=OutputFormat(type="schema", schema={"type": "object", "properties": {}}, strict=True),
        reasoning=ReasoningOptions(effort="low"),
    )


def plain(value):
    """Lazy iterables of pydantic, read to their end: reading is what validates them."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return value if isinstance(value, (str, int, float, type(None))) else [plain(member) for member in value]


def test_a_full_request_fits_the_types_of_the_sdk():
    body = chat.encode_request(full_request()).body
    read = plain(PARAMS.validate_python(body))
    assert read["messages"] == json.loads(json.dumps(body["messages"]))
    assert [message["role"] for message in read["messages"]] == [
        "system", "user", "assistant", "tool", "tool", "user", "assistant", "developer",
    ]  # fmt: skip
    assert read["tools"] == body["tools"]
    assert read["tool_choice"]["allowed_tools"]["tools"] == [
        {"type": "function", "function": {"name": "f"}},
        {"type": "custom", "custom": {"name": "w"}},
    ]


def test_a_full_response_fits_the_types_of_the_sdk():
    body = chat.encode_response(REPLY).body
    read = ChatCompletion.model_validate(body, strict=False)
    message = read.choices[0].message
    assert [call.id for call in message.tool_calls] == ["call_1", "call_2"]
    assert message.annotations[0].url_citation.url == "u"
    assert read.usage.completion_tokens_details.reasoning_tokens == 2
    assert read.choices[0].finish_reason == "tool_calls"


def client(data, status=200, content_type="text/event-stream"):
    def answer(_):
        return httpx.Response(status, headers={"content-type": content_type}, content=data)

    return OpenAI(
        api_key="k",
        base_url="http://test/v1",
        max_retries=0,
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )


def accumulated(data):
    with client(data).chat.completions.stream(model="m", messages=[]) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


@pytest.mark.parametrize("piece", [None, 1, 4])
def test_the_sdk_accumulates_what_was_streamed(piece):
    written, _ = encode_stream(parts_of(REPLY, piece=piece))
    read = accumulated(written)
    message = read.choices[0].message
    assert message.content == "so: "
    assert [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls] == [
        ("call_1", "f", '{"a":1}'),
        ("call_2", "g", "{}"),
    ]
    assert message.tool_calls[0].extra_content == {"google": {"thought_signature": "s"}}
    assert message.reasoning_content == "thought"
    assert read.choices[0].finish_reason == "tool_calls"
    assert read.usage.total_tokens == 7


@pytest.mark.parametrize("name", [name for name in STREAMS if "failed-error-streaming-t0" not in name])
def test_the_sdk_reads_a_recorded_stream_that_was_written_again(name):
    parts = decode_stream(STREAMS[name]["response"].encode())
    written, _ = encode_stream(parts)
    read = accumulated(written)
    reply = parts[-1].reply
    assert (read.id, read.model, read.created) == (reply.reply_id, reply.model, reply.created)
    assert (read.choices[0].message.content or "") == reply.text
    assert read.choices[0].finish_reason == reply.finish.raw


def test_every_chunk_fits_the_types_of_the_sdk():
    written, _ = encode_stream(parts_of(REPLY, piece=2))
    for frame in written.decode().split("\n\n"):
        if frame and frame != "data: [DONE]":
            ChatCompletionChunk.model_validate_json(frame.removeprefix("data: "))


def test_the_sdk_raises_what_failed_in_the_stream():
    failure = Failure(kind=FailureKind.SERVER, message="broken")
    written, _ = encode_stream([ReplyStarted(reply_id="r"), ReplyFailed(failure=failure)])
    with pytest.raises(APIError, match="broken"):
        accumulated(written)


def test_the_sdk_raises_our_errors_with_their_code():
    status, body = chat.encode_error(Failure(kind=FailureKind.RATE_LIMIT, message="slow down", status=429))
    with pytest.raises(APIStatusError) as caught:
        client(json.dumps(body), status, "application/json").chat.completions.create(model="m", messages=[])
    assert (caught.value.status_code, caught.value.code) == (429, "rate_limit_exceeded")

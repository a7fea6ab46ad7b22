"""What the codec writes is what Google's own client reads."""

import json

import httpx2 as httpx
import pytest
from google import genai
from google.genai import types

from groundwire.codecs import gemini
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, MediaPart, Message, ResultItem, TextPart, say
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyFailed, Usage
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)
from tests.codecs.gemini.recordings import RECORDINGS, STREAMS, UNARY, decoded


def client_for(body, status=200):
    def answer(request):
        return httpx.Response(
            status,
            content=body,
            headers={"content-type": "text/event-stream" if body.startswith(b"data") else "application/json"},
        )

    return genai.Client(
        api_key="k",
        http_options=types.HttpOptions(httpx_client=httpx.Client(transport=httpx.MockTransport(answer))),
    )


REPLY = Reply(
    reply_id="r",
    model="m",
    items=(
        Message(role="assistant", parts=(TextPart(text="hello"), MediaPart(media_type="image/png", data=b"\x89PNG"))),
        CallItem(call=ToolCall(call_id="a", name="f", raw='{"x":1}')),
    ),
    finish=Finish(reason=FinishReason.TOOL_CALLS),
    usage=Usage(input=3, output=4, total=7, reasoning=1, cached=2),
)


def test_a_response_is_read_by_the_client():
    body = json.dumps(gemini.encode_response(REPLY).body).encode()

    with client_for(body) as client:
        response = client.models.generate_content(model="m", contents="hi")

    assert response.text == "hello"
    assert response.function_calls[0].args == {"x": 1}
    assert response.candidates[0].finish_reason is types.FinishReason.STOP
    assert response.usage_metadata.thoughts_token_count == 1


@pytest.mark.parametrize("finish", FinishReason)
def test_every_response_fits_the_clients_types(finish):
    items = () if finish is FinishReason.PROMPT_BLOCKED else REPLY.items
    body = gemini.encode_response(Reply(items=items, finish=Finish(reason=finish))).body

    types.GenerateContentResponse.model_validate(body)


@pytest.mark.parametrize("name", UNARY)
def test_recorded_responses_written_again_fit_the_clients_types(name):
    types.GenerateContentResponse.model_validate(
        gemini.encode_response(gemini.decode_response(UNARY[name]["response"])).body
    )


def test_a_stream_is_read_by_the_client():
    encoder = gemini.StreamEncoder()
    body = b"".join(encoder.feed(part) for part in parts_of(REPLY, piece=2)) + encoder.finish()

    with client_for(body) as client:
        chunks = list(client.models.generate_content_stream(model="m", contents="hi"))

    texts = [part.text for entry in chunks for part in entry.candidates[0].content.parts if part.text]
    assert "".join(texts) == "hello"
    assert [call.name for entry in chunks for call in entry.function_calls or []] == ["f"]
    assert chunks[-1].candidates[0].finish_reason is types.FinishReason.STOP
    assert chunks[-1].usage_metadata.total_token_count == 7


@pytest.mark.parametrize("name", STREAMS)
def test_recorded_streams_written_again_are_read_by_the_client(name):
    encoder = gemini.StreamEncoder()
    parts = decoded(STREAMS[name]["response"].encode())
    body = b"".join(encoder.feed(part) for part in parts) + encoder.finish()

    with client_for(body) as client:
        chunks = list(client.models.generate_content_stream(model="m", contents="hi"))

    assert chunks[-1].response_id == parts[-1].reply.reply_id


def test_an_error_is_read_by_the_client():
    failure = Failure(kind=FailureKind.INVALID_REQUEST, message="no", retry_after=2)
    status, body = gemini.encode_error(failure)

    with client_for(json.dumps(body).encode(), status) as client, pytest.raises(genai.errors.ClientError) as raised:
        client.models.generate_content(model="m", contents="hi")

    assert (raised.value.code, raised.value.status, raised.value.message) == (400, "INVALID_ARGUMENT", "no")


def test_an_error_in_a_stream_is_read_by_the_client():
    body = gemini.StreamEncoder().feed(ReplyFailed(failure=Failure(kind=FailureKind.OVERLOADED, message="busy")))

    with client_for(body) as client, pytest.raises(genai.errors.ServerError) as raised:
        list(client.models.generate_content_stream(model="m", contents="hi"))

    assert raised.value.code == 503


def fits(body):
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)
    if "toolConfig" in body:
        types.ToolConfig.model_validate(body["toolConfig"])
    if "generationConfig" in body:
        types.GenerationConfig.model_validate(body["generationConfig"])
    if "systemInstruction" in body:
        types.Content.model_validate(body["systemInstruction"])


@pytest.mark.requirement("A-081", "A-095")
@pytest.mark.parametrize("model", ["gemini-3.1-pro-preview", "gemini-2.5-flash", "gemini-2.0-flash"])
def test_a_request_of_another_dialect_fits_the_clients_types(model):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = ModelRequest(
        model=model,
        instructions=(TextPart(text="be brief"),),
        items=(
            Message(role="user", parts=(TextPart(text="hi"), MediaPart(media_type="image/png", data=b"\x89PNG"))),
            CallItem(call=ToolCall(call_id="a", name="f", raw='{"city":"Rome"}')),
            ResultItem(call_id="a", parts=(TextPart(text="21"), MediaPart(media_type="image/png", data=b"\x89PNG"))),
            say("assistant", "It is 21."),
        ),
        tools=(FunctionTool(name="f", description="d", parameters=schema),),
        tool_choice=ToolChoice(mode="required", names=("f",)),
        sampling=Sampling(temperature=1, top_p=0.5, top_k=3, seed=1, stop=("x",), count=1),
        max_output_tokens=5,
        output=OutputFormat(type="schema", schema=schema),
        reasoning=ReasoningOptions(effort="low", summary=True),
    )

    fits(gemini.encode_request(request, profile=gemini.profile_for(model)).body)


@pytest.mark.parametrize("name", RECORDINGS)
def test_recorded_requests_written_again_fit_the_clients_types(name):
    fits(gemini.encode_request(gemini.decode_request(RECORDINGS[name]["request"])).body)

import json
import random

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import CallItem, Message, ReasoningItem, TextPart
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyFailed, Usage
from tests.codecs.openai_chat.support import (
    RECORDINGS,
    STREAMS,
    UNARY,
    codes,
    decode_stream,
    encode_stream,
    without_nulls,
)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_request_is_written_as_it_was_read(name):
    body = RECORDINGS[name]["request"]
    encoded = chat.encode_request(chat.decode_request(json.dumps(body).encode()))
    assert without_nulls(encoded.body) == without_nulls(body)
    assert encoded.warnings == ()


@pytest.mark.parametrize("name", UNARY)
def test_a_recorded_response_is_written_as_it_was_read(name):
    body = UNARY[name]["response"]
    encoded = chat.encode_response(chat.decode_response(json.dumps(body).encode()))
    assert without_nulls(encoded.body) == without_nulls(body)
    assert encoded.warnings == ()


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_means_the_same_however_it_is_cut(name):
    data = STREAMS[name]["response"].encode()
    whole = decode_stream(data)
    for seed in range(12):
        cuts = sorted(random.Random(seed).sample(range(len(data)), 40))
        assert decode_stream(data, cuts=cuts) == whole
    assert decode_stream(data, cuts=range(1, len(data))) == whole


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_written_again_reads_the_same(name):
    parts = decode_stream(STREAMS[name]["response"].encode())
    written, warnings = encode_stream(parts)
    assert warnings == ()
    again = decode_stream(written)
    if isinstance(parts[-1], ReplyFailed):
        assert (again[-1].failure.kind, again[-1].failure.detail) == (parts[-1].failure.kind, parts[-1].failure.detail)
    else:
        # The name of the reasoning's member is ours on the way to a client.
        assert _without_field(again[-1].reply.items) == _without_field(parts[-1].reply.items)
        assert again[-1].reply.finish == parts[-1].reply.finish
        assert again[-1].reply.usage == parts[-1].reply.usage
        assert again[-1].reply.extras == parts[-1].reply.extras


def _without_field(items):
    return [ReasoningItem(text=item.text) if isinstance(item, ReasoningItem) else item for item in items]


@pytest.mark.requirement("A-093", "A-094")
def test_a_recorded_call_is_read_in_full():
    reply = chat.decode_response(UNARY["mcptoolset-in-temporal-workflow-t3"]["response"])
    (item,) = reply.items
    assert item.call.name == "ask_question"
    assert item.call.call_id == "call_E6buTJzN2iixh8hPq09Bbz8I"
    assert item.call.raw.startswith('{"repoName":"pydantic/pydantic-ai"')
    assert (item.call.origin, item.complete) == ("openai-chat", True)
    assert (reply.finish.reason, reply.finish.raw) == (FinishReason.TOOL_CALLS, "tool_calls")
    assert (reply.usage.input, reply.usage.output, reply.usage.total, reply.usage.cached) == (213, 41, 254, 0)
    assert reply.extras["openai-chat"]["system_fingerprint"] == "fp_2dd602437d"


@pytest.mark.quirk(30)
def test_recorded_reasoning_is_kept_under_the_name_that_the_provider_used():
    deepseek = chat.decode_response(UNARY["deepseek-deferred-capability-with-thinking-t0"]["response"])
    thought, text, call = deepseek.items
    assert thought.text.startswith("The user wants to play a dice game.")
    assert thought.private["openai-chat"] == {"_field": "reasoning_content"}
    assert text.text == "Let me load the dice rolling capability!"
    assert call.call.name == "load_capability"
    assert deepseek.usage.cached == 512
    crusoe = chat.decode_request(RECORDINGS["crusoe-tool-calling-t1"]["request"])
    assert [item.kind for item in crusoe.items] == ["message", "reasoning", "call", "result"]
    assert crusoe.items[1].private["openai-chat"] == {"_field": "reasoning"}


@pytest.mark.quirk(6)
def test_a_recorded_call_without_arguments_has_none():
    reply = chat.decode_response(UNARY["openrouter-tool-optional-parameters-t0"]["response"])
    assert reply.items[1].call.raw == "{}"


@pytest.mark.quirk(8)
def test_a_recorded_call_without_type_goes_back_with_one_and_without_its_index():
    reply = chat.decode_response(UNARY["model-sees-multiple-images-mistral-t0"]["response"])
    request = chat.decode_request({"model": "m", "messages": [{"role": "user", "content": "x"}]})
    result = chat.decode_request(
        {"model": "m", "messages": [{"role": "tool", "tool_call_id": "VB03LVVRm", "content": "ok"}]}
    )
    history = (*request.items, *reply.items, *result.items)
    body = chat.encode_request(type(request)(model="m", items=history)).body
    assert body["messages"][1]["tool_calls"] == [
        {"id": "VB03LVVRm", "type": "function", "function": {"name": "get_images", "arguments": "{}"}}
    ]


@pytest.mark.requirement("A-095", "C-002")
def test_a_recorded_conversation_is_read_item_by_item():
    request = chat.decode_request(RECORDINGS["prefect-agent-with-hitl-tool-sync-t1"]["request"])
    assert [item.kind for item in request.items] == ["message", "message", "call", "call", "result", "result"]
    assert request.items[0] == Message(
        role="system", parts=(TextPart(text="Just call tools without asking for confirmation."),)
    )
    assert isinstance(request.items[3], CallItem)
    assert request.items[3].call.raw == '{"path": "test.txt"}'
    assert request.items[5].text == "Success"
    assert [tool.name for tool in request.tools] == ["create_file", "delete_file"]
    assert request.tools[0].strict is True
    assert request.tool_choice.mode == "auto"


@pytest.mark.quirk(54)
def test_a_recorded_stream_of_a_call_ends_with_the_whole_call():
    parts = decode_stream(STREAMS["run-stream-sync-streams-real-model-t0"]["response"].encode())
    assert [part.kind for part in parts] == [
        "reply.started", "call.started", *["call.delta"] * 5, "item.ended", "reply.ended",
    ]  # fmt: skip
    end = parts[-1]
    assert isinstance(end, ReplyEnded)
    assert end.reply.calls[0].call.raw == '{"country":"UK"}'
    assert end.reply.extras == {"openai-chat": {"service_tier": "default", "system_fingerprint": "fp_d0469e1700"}}
    assert isinstance(end.reply.usage, Usage)
    assert (end.reply.usage.input, end.reply.usage.output) == (53, 15)


@pytest.mark.quirk(48)
def test_a_recorded_failed_generation_is_a_malformed_call():
    parts = decode_stream(STREAMS["tool-use-failed-error-streaming-t0"]["response"].encode())
    failure = parts[-1].failure
    assert failure.kind is FailureKind.MALFORMED_CALL
    assert json.loads(failure.detail) == {"name": "get_something_by_name", "arguments": {"invalid_param": "value"}}
    assert (failure.status, failure.code) == (400, "tool_use_failed")
    assert sum(isinstance(part, (ReplyEnded, ReplyFailed)) for part in parts) == 1


@pytest.mark.quirk(39)
def test_recorded_usage_may_stand_in_the_last_chunk():
    end = decode_stream(STREAMS["tool-use-failed-error-streaming-t2"]["response"].encode())[-1]
    assert (end.reply.usage.total, end.reply.usage.reasoning) == (397, 38)
    assert end.reply.text == "The tool returned the expected result for the valid call."


@pytest.mark.quirk(77)
def test_recorded_members_outside_the_types_are_kept():
    reply = chat.decode_response(UNARY["image-as-binary-content-tool-response-t0"]["response"])
    assert reply.extras["openai-chat"]["service_tier"] == "on_demand"
    assert reply.extras["openai-chat"]["x_groq"]["seed"] == 1608772041
    assert codes(chat.encode_response(reply).warnings) == []

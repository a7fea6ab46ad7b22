import copy
import json
import random

import pytest
from openai.types.responses import Response, ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter

from groundwire.codecs.openai_responses import (
    DIALECT,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    failure_in,
)
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, ResultItem, TextPart
from groundwire.contracts.replies import (
    CallDelta,
    FinishReason,
    ReplyCallStarted,
    ReplyEnded,
    ReplyStarted,
    ReplyTextDelta,
)
from groundwire.contracts.requests import NativeTool, ToolChoice
from tests.codecs.openai_responses.recordings import (
    MANTLE,
    NAMES,
    STREAMED,
    TOOL_SEARCH,
    UNARY,
    decode,
    encode,
    events_in,
    final_response_of,
    recording,
    with_all_counters,
    without_nulls,
)

_ITEMS = TypeAdapter(list[ResponseInputItemParam])
_TOOLS = TypeAdapter(list[ToolParam])


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_request_comes_back_as_it_was(name):
    wire = recording(name)["request"]
    encoded = encode_request(decode_request(json.dumps(wire).encode()))
    assert without_nulls(encoded.body) == without_nulls(wire)
    assert encoded.warnings == ()


@pytest.mark.parametrize("name", UNARY)
def test_a_recorded_response_comes_back_as_it_was(name):
    wire = recording(name)["response"]
    encoded = encode_response(decode_response(json.dumps(wire).encode()))
    assert without_nulls(encoded.body) == without_nulls(wire)
    assert encoded.warnings == ()
    assert failure_in(wire) is None


@pytest.mark.parametrize("name", NAMES)
def test_an_encoded_request_is_what_the_official_types_say(name):
    body = encode_request(decode_request(recording(name)["request"])).body
    _ITEMS.validate_python(body["input"])
    _TOOLS.validate_python(body.get("tools", []))


@pytest.mark.parametrize("name", UNARY)
def test_a_response_with_the_echo_of_its_request_is_what_the_official_types_say(name):
    request = decode_request(recording(name)["request"])
    reply = decode_response(copy.deepcopy(recording(name)["response"]))
    Response.model_validate(with_all_counters(encode_response(reply, request=request).body))


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_ends_with_the_reply_that_its_last_event_describes(name):
    data = recording(name)["response"].encode()
    final = events_in(data)[-1]["response"]
    assert decode(data)[-1] == ReplyEnded(reply=decode_response(final))


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_means_the_same_however_its_bytes_are_cut(name):
    data = recording(name)["response"].encode()
    whole = decode(data)
    draw = random.Random(name)
    for _ in range(30):
        assert decode(data, tuple(draw.randrange(len(data)) for _ in range(60))) == whole
    assert decode(data, tuple(range(0, len(data), 7))) == whole


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_that_is_written_again_says_the_same(name):
    parts = decode(recording(name)["response"].encode())
    assert decode(encode(parts)) == parts


@pytest.mark.parametrize("name", STREAMED)
def test_the_official_client_reads_a_stream_that_is_written_again(name):
    data = recording(name)["response"].encode()
    again = encode(decode(data), request=decode_request(recording(name)["request"]))
    final = final_response_of(again).to_dict()
    assert without_nulls(final["output"]) == without_nulls(final_response_of(data).to_dict()["output"])


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("piece", [None, 3])
def test_a_whole_response_can_be_streamed(name, piece):
    reply = decode_response(recording(name)["response"])
    data = encode(parts_of(reply, piece=piece))
    assert decode(data)[-1] == ReplyEnded(reply=reply)
    assert final_response_of(data).id == reply.reply_id


def test_reasoning_calls_and_outputs_are_items_in_their_order():
    request = decode_request(recording("thinking-with-tool-calls-from-other-model-t1")["request"])
    assert [item.kind for item in request.items] == ["message", "reasoning", "call", "result"]
    _, reasoning, call, result = request.items
    assert isinstance(reasoning, ReasoningItem)
    assert isinstance(call, CallItem)
    assert isinstance(result, ResultItem)
    assert reasoning.text == ""
    assert reasoning.private[DIALECT]["id"] == "rs_0c71d6d8526a7a4b006920e03fd67c819da5eead157faee94b"
    assert reasoning.private[DIALECT]["encrypted_content"].startswith("gAAAAABpIOBE")
    assert (call.call.call_id, call.call.name, call.call.raw) == ("call_1w9YRdMtRTRucwZShoZYlLJp", "get_country", "{}")
    assert call.call.origin == DIALECT
    assert call.private == {DIALECT: {"id": "fc_0c71d6d8526a7a4b006920e0447ea8819da94e572b1f077c44"}}
    assert (result.call_id, result.text, result.private) == ("call_1w9YRdMtRTRucwZShoZYlLJp", "Mexico", {})
    assert request.tool_choice == ToolChoice(mode="auto")
    assert request.extras[DIALECT]["include"] == ["reasoning.encrypted_content"]


def test_plain_messages_need_no_private_data():
    request = decode_request(recording("deepseek-responses-replay-interleaved-settled-function-calls-t0")["request"])
    assert request.items[0] == Message(role="assistant", parts=(TextPart(text="<think>\ninspect inputs\n</think>"),))
    assert request.items[-1] == Message(role="user", parts=(TextPart(text="Reply exactly: done"),))


def test_thoughts_in_full_come_before_their_summary():
    request = decode_request(recording("deepseek-responses-replay-own-reasoning-history-t1")["request"])
    assert request.items[0].text == "inspect inputs"
    reply = decode_response(recording("deepseek-responses-replay-own-reasoning-history-t1")["response"])
    assert reply.items[0].text.startswith("We need to respond exactly")
    assert reply.items[1].private[DIALECT]["phase"] == "final_answer"
    assert reply.usage.cached == 128
    assert reply.usage.reasoning == 100
    assert reply.finish.reason is FinishReason.END


def test_a_response_with_calls_asks_for_tools():
    reply = decode_response(recording("unsupported-model-calls-the-tool-the-announcement-revealed-t0")["response"])
    assert reply.finish.reason is FinishReason.TOOL_CALLS
    assert reply.finish.raw == "completed"
    assert [call.call.raw for call in reply.calls] == ['{"order_id":"order-123"}']
    assert reply.calls[0].complete
    assert (reply.usage.input, reply.usage.output, reply.usage.total) == (97, 369, 466)
    assert reply.created == 1785963542


def test_hosted_tools_and_their_traces_stay_native():
    request = decode_request(recording(TOOL_SEARCH)["request"])
    assert request.tools[0] == NativeTool(origin=DIALECT, value={"type": "tool_search"})
    assert request.tools[1].private == {DIALECT: {"defer_loading": True, "_strict": True}}
    parts = decode(recording(TOOL_SEARCH)["response"].encode())
    reply = parts[-1].reply
    assert [item.kind for item in reply.items] == ["native", "native", "call"]
    assert isinstance(reply.items[0], NativeItem)
    assert reply.items[0].value["arguments"] == {"paths": ["get_exchange_rate"]}
    assert reply.items[2].private[DIALECT]["namespace"] == "get_exchange_rate"


@pytest.mark.quirk(50)
@pytest.mark.quirk(54)
def test_argument_pieces_find_their_call_by_the_item_id_and_padding_is_ignored():
    parts = decode(recording(TOOL_SEARCH)["response"].encode())
    started = next(part for part in parts if isinstance(part, ReplyCallStarted))
    assert (started.index, started.call_id) == (2, "call_CeXueyTqEJ1rgm84BHSwNPz8")
    pieces = [part.text for part in parts if isinstance(part, CallDelta)]
    assert "".join(pieces) == '{"from_currency":"USD","to_currency":"EUR"}'
    assert len(pieces) == 11


@pytest.mark.quirk(42)
def test_data_may_come_before_the_name_of_its_event():
    data = recording(MANTLE)["response"].encode()
    assert data.startswith(b"data:")
    parts = decode(data)
    assert parts[0] == ReplyStarted(
        reply_id="resp_yqqp3b5eoaaatwfitarja6yi42umok5glfymrqxbh4wwznmisz2q",
        model="openai.gpt-5.6-luna",
        created=1784247617,
    )
    assert [call.call.call_id for call in parts[-1].reply.calls] == ["call_0"]


def test_the_phase_of_a_message_is_known_from_its_first_piece():
    parts = decode(recording("openai-responses-phase-streamed-on-part-start-t1")["response"].encode())
    first = next(part for part in parts if isinstance(part, ReplyTextDelta))
    assert first.private[DIALECT]["phase"] == "final_answer"
    assert '"phase":"final_answer"' in encode(parts).decode().split("response.content_part.added")[0]

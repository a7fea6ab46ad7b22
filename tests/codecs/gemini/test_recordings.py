import json
import random

import pytest

from groundwire.codecs import gemini
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.messages import CallItem, ResultItem, TextPart, say
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.requests import FunctionTool, NativeTool, ToolChoice
from tests.codecs.gemini.recordings import RECORDINGS, STREAMS, UNARY, decoded, reply_of, same


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_request_comes_back_as_it_was(name):
    recording = RECORDINGS[name]

    request = gemini.decode_request(json.dumps(recording["request"]).encode(), model=recording["model"])
    encoded = gemini.encode_request(request, profile=gemini.profile_for(recording["model"]))

    assert same(encoded.body) == same(recording["request"])
    assert encoded.warnings == ()
    assert request.model == recording["model"]


@pytest.mark.parametrize("name", UNARY)
def test_a_recorded_response_comes_back_as_it_was(name):
    response = UNARY[name]["response"]

    encoded = gemini.encode_response(gemini.decode_response(json.dumps(response).encode()))

    assert same(encoded.body) == same(response)
    assert encoded.warnings == ()


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_gives_the_same_reply_however_it_is_cut(name):
    body = STREAMS[name]["response"].encode()
    whole = decoded(body)
    chance = random.Random(7)

    for _ in range(200):
        places = sorted(chance.sample(range(len(body)), chance.randint(1, 30)))
        pieces = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
        assert decoded(*pieces) == whole
    assert decoded(*(body[place : place + 1] for place in range(len(body)))) == whole


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("array", [False, True])
def test_a_recorded_stream_written_again_gives_the_same_reply(name, array):
    parts = decoded(STREAMS[name]["response"].encode())

    encoder = gemini.StreamEncoder(array=array)
    written = b"".join(encoder.feed(part) for part in parts) + encoder.finish()

    assert decoded(written)[-1] == parts[-1]
    assert encoder.warnings == ()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("array", [False, True])
def test_a_recorded_response_streamed_gives_the_same_reply(name, array):
    reply = gemini.decode_response(UNARY[name]["response"])

    encoder = gemini.StreamEncoder(array=array)
    written = b"".join(encoder.feed(part) for part in parts_of(reply, piece=3)) + encoder.finish()

    assert reply_of(written) == reply


@pytest.mark.requirement("A-081", "A-085", "A-086", "E-030")
def test_a_recorded_history_is_read_as_messages_calls_and_results():
    recording = RECORDINGS["google-instructions-only-with-tool-calls-t4"]

    request = gemini.decode_request(recording["request"])

    assert request.instructions == (TextPart(text="Tell three jokes. Generate topics with the generate_topic tool."),)
    kinds = [item.kind for item in request.items]
    assert kinds == ["message", "call", "call", "call", "result", "result", "result"] + ["call", "result"] * 3
    first, second = request.items[1], request.items[2]
    assert isinstance(first, CallItem)
    assert first.call.call_id == "pyd_ai_df5891897e434a16add992cc09f10172"
    assert (first.call.raw, first.call.arguments, first.call.origin) == ("{}", {}, "gemini")
    assert first.private["gemini"]["thoughtSignature"].startswith("Es8FCswFAXLI2nx")
    assert isinstance(second, CallItem)
    assert second.private == {}
    assert request.items[4] == ResultItem(
        call_id="pyd_ai_df5891897e434a16add992cc09f10172",
        name="generate_topic",
        parts=(TextPart(text='{"return_value":"cars"}'),),
    )
    assert request.tool_choice == ToolChoice(mode="required", names=("generate_topic", "final_result"))
    assert request.extras["gemini"]["generationConfig"] == {"responseModalities": ["TEXT"]}


def test_recorded_tools_are_read_in_both_forms():
    built_in = gemini.decode_request(RECORDINGS["auto-mode-with-function-and-builtin-tools-t0"]["request"])
    upper_case = gemini.decode_request(RECORDINGS["google-tool-config-any-with-tool-without-args-t0"]["request"])

    assert built_in.tools[0] == NativeTool(origin="gemini", value={"googleSearch": {}})
    assert isinstance(built_in.tools[2], FunctionTool)
    assert built_in.tools[2].parameters == {
        "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
        "required": ["city", "country"],
        "type": "object",
    }
    assert built_in.extras["gemini"]["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert isinstance(upper_case.tools[1], FunctionTool)
    assert upper_case.tools[1].parameters == {
        "properties": {"bar": {"type": "string"}},
        "required": ["bar"],
        "type": "object",
    }


@pytest.mark.quirk(9)
@pytest.mark.requirement("A-091", "A-092")
def test_recorded_calls_without_ids_get_ids_made_of_the_response_and_their_place():
    reply = gemini.decode_response(RECORDINGS["google-instructions-only-with-tool-calls-t0"]["response"])

    assert [item.call.call_id for item in reply.calls] == [
        "call_wOd8abGuO5rgz7IP5tLEGA_0",
        "call_wOd8abGuO5rgz7IP5tLEGA_1",
        "call_wOd8abGuO5rgz7IP5tLEGA_2",
    ]
    assert reply.calls[1].private == {"gemini": {"_synthetic": True}}
    assert reply.finish.reason is FinishReason.TOOL_CALLS
    assert (reply.finish.raw, reply.finish.detail) == ("STOP", "Model generated function call(s).")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.total, reply.usage.reasoning) == (83, 220, 303, 190)
    assert (reply.reply_id, reply.model) == ("wOd8abGuO5rgz7IP5tLEGA", "gemini-3-flash-preview")


@pytest.mark.quirk(53)
def test_the_last_counters_of_a_recorded_stream_win():
    reply = reply_of(STREAMS["google-streaming-tool-call-thought-signature-t1"]["response"].encode())

    assert reply.items == (say("assistant", "The capital of Mexico is Mexico City."),)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.total) == (257, 8, 265)
    assert reply.finish.reason is FinishReason.END


def test_a_recorded_streamed_call_keeps_its_signature():
    parts = decoded(STREAMS["google-streaming-tool-call-thought-signature-t0"]["response"].encode())

    assert [part.kind for part in parts] == ["reply.started", "call.started", "call.delta", "item.ended", "reply.ended"]
    reply = parts[-1].reply
    assert reply.calls[0].complete
    assert reply.calls[0].call.call_id == "call_QUVVadTSNJ6_qtsPvN7J8Q0_0"
    assert reply.calls[0].private["gemini"]["thoughtSignature"].endswith("k15QuFyU=")
    assert len(reply.calls[0].private["gemini"]["thoughtSignature"]) == 1408
    assert reply.finish.reason is FinishReason.TOOL_CALLS

"""One live API behind the other: what each says becomes what the other would say, and losses are named."""

import pytest
from google.genai import types
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

from groundwire.codecs import gemini_live, openai_realtime
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.frames import LIVE_DIALECTS
from tests.codecs.live_recordings import frames_of, named, recordings

CALLS = {"functionCalls": [{"id": "1", "name": "f", "args": {"x": 1}}, {"id": "2", "name": "g", "args": {}}]}


def to_openai(*messages, encoder=None):
    decoder, encoder = gemini_live.ServerDecoder(), encoder or openai_realtime.ServerEncoder()
    return [event for message in messages for event in encoder.feed(*decoder.feed(message))]


def to_gemini(*events, encoder=None):
    decoder, encoder = openai_realtime.ServerDecoder(), encoder or gemini_live.ServerEncoder()
    return [message for event in events for message in encoder.feed(*decoder.feed(event))]


def kinds(events):
    return [event["type"] for event in events]


def test_a_list_of_calls_is_so_many_items_of_one_response():
    events = to_openai({"toolCall": CALLS})
    done = events[-1]["response"]
    assert done["status"] == "completed"
    assert [(item["call_id"], item["arguments"]) for item in done["output"]] == [("1", '{"x":1}'), ("2", "{}")]
    assert kinds(events).count("response.function_call_arguments.done") == 2
    frames = [found for event in events for found in openai_realtime.decode_server(event)]
    (calls,) = [found for found in frames if found.kind == "tool.calls"]
    assert gemini_live.encode_server(
        [calls.__class__(calls=calls.calls)],
    ) == [{"toolCall": CALLS}]
    assert to_gemini(*events) == [{"toolCall": CALLS}]


@pytest.mark.quirk(89)
def test_results_are_items_and_one_request_and_back_again_a_tool_response():
    answer = {"functionResponses": [
        {"id": "1", "name": "f", "response": {"output": "a"}}, {"id": "2", "name": "g", "response": {"output": "b"}},
    ]}  # fmt: skip
    events = openai_realtime.encode_client(gemini_live.decode_client({"toolResponse": answer}))
    assert kinds(events) == ["conversation.item.create", "conversation.item.create", "response.create"]
    back = gemini_live.ClientEncoder()
    back.heard(*gemini_live.decode_server({"toolCall": CALLS}))
    written = back.feed(*(frame for event in events for frame in openai_realtime.decode_client(event)))
    assert [message["toolResponse"]["functionResponses"] for message in written] == [
        [entry] for entry in answer["functionResponses"]
    ]
    silent = {"functionResponses": [{"id": "1", "name": "f", "response": {"output": "a"}, "scheduling": "SILENT"}]}
    assert kinds(openai_realtime.encode_client(gemini_live.decode_client({"toolResponse": silent}))) == [
        "conversation.item.create"
    ]


def test_an_interruption_is_a_cancelled_response_and_back():
    audio = {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "AAEC"}}]}}}
    events = to_openai(audio, {"serverContent": {"interrupted": True}}, {"serverContent": {"turnComplete": True}})
    assert kinds(events).count("response.done") == 1
    assert events[-1]["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert to_gemini(events[-1]) == [
        {"serverContent": {"interrupted": True}},
        {"serverContent": {"turnComplete": True}},
    ]


def test_the_end_of_a_turn_is_a_completed_response_and_back():
    usage = {"promptTokenCount": 1, "responseTokenCount": 2, "totalTokenCount": 3}
    events = to_openai(
        {"serverContent": {"generationComplete": True}},
        {"serverContent": {"turnComplete": True}, "usageMetadata": usage},
    )
    assert kinds(events) == ["response.created", "response.done"]
    assert (events[-1]["response"]["status"], events[-1]["response"]["usage"]["total_tokens"]) == ("completed", 3)
    generated, ended = to_gemini(*events)
    assert generated == {"serverContent": {"generationComplete": True}}
    assert ended["usageMetadata"] == {**usage, "cachedContentTokenCount": 0}


@pytest.mark.quirk(89)
def test_the_tool_turn_of_vertex_does_not_become_an_empty_answer():
    decoder, encoder = gemini_live.ServerDecoder(), openai_realtime.ServerEncoder()
    events = [
        event
        for frame in named("gemini-live", "text-tool-round-parity-gateway-google-parity")
        if frame["dir"] == "server"
        for event in encoder.feed(*decoder.feed(frame["message"]))
    ]
    outputs = [event["response"]["output"] for event in events if event["type"] == "response.done"]
    assert [[item["type"] for item in output] for output in outputs] == [["function_call"], ["message"]]
    assert outputs[1][0]["content"][0]["transcript"] == "It is foggy and 12 degrees in London."


@pytest.mark.quirk(90)
def test_a_withdrawn_call_is_warned_of_and_its_result_held_back():
    encoder = openai_realtime.ServerEncoder()
    cancelled = {"toolCallCancellation": {"ids": ["1"]}}
    to_openai({"toolCall": CALLS}, cancelled, {"goAway": {"timeLeft": "5s"}}, encoder=encoder)
    dropped = [warning.path for warning in encoder.warnings if warning.code == "frame_dropped"]
    assert dropped == ["tool.calls_cancelled", "going.away"]
    back = gemini_live.ClientEncoder()
    back.heard(*gemini_live.decode_server({"toolCall": CALLS}), *gemini_live.decode_server(cancelled))
    item = {"type": "function_call_output", "call_id": "1", "output": "late"}
    assert back.feed(*openai_realtime.decode_client({"type": "conversation.item.create", "item": item})) == []
    assert back.warnings[-1].code == "frame_dropped"


def test_a_bad_end_never_becomes_a_good_one():
    for raw, status in (("MALFORMED_FUNCTION_CALL", "failed"), ("GENERATED_AUDIO_SAFETY", "incomplete")):
        events = to_openai({"serverContent": {"turnComplete": True, "turnCompleteReason": raw}})
        assert events[-1]["response"]["status"] == status


@pytest.mark.parametrize("path", recordings("gemini-live"), ids=lambda path: path.stem)
def test_recorded_answers_of_gemini_are_events_that_openai_s_sdk_knows(path):
    decoder, encoder, adapter = (
        gemini_live.ServerDecoder(),
        openai_realtime.ServerEncoder(),
        TypeAdapter(RealtimeServerEvent),
    )
    for frame in frames_of(path):
        if frame["dir"] == "server":
            for event in encoder.feed(*decoder.feed(frame["message"])):
                adapter.validate_python(event)


@pytest.mark.parametrize("path", recordings("openai-realtime"), ids=lambda path: path.stem)
def test_recorded_answers_of_openai_are_messages_that_google_s_sdk_knows(path):
    decoder, encoder = openai_realtime.ServerDecoder(), gemini_live.ServerEncoder()
    written = []
    for frame in frames_of(path):
        if frame["dir"] == "server":
            written.extend(encoder.feed(*decoder.feed(frame["message"])))
    for message in written:
        types.LiveServerMessage.model_validate(message)
    assert "setupComplete" in written[0]
    assert written[-1]["serverContent"] == {"turnComplete": True}
    assert sum("turnComplete" in message.get("serverContent", {}) for message in written) == 1


@pytest.mark.parametrize("api", LIVE_DIALECTS)
def test_recorded_clients_are_understood_by_the_other_api(api):
    source, target = (gemini_live, openai_realtime) if api == "gemini-live" else (openai_realtime, gemini_live)
    for path in recordings(api):
        encoder = target.ClientEncoder()
        written = []
        for frame in frames_of(path):
            if frame["dir"] == "client":
                written.extend(encoder.feed(*source.decode_client(frame["message"])))
        for message in written:
            target.decode_client(message)
            if target is gemini_live and "setup" not in message:
                types.LiveClientMessage.model_validate(message)
        assert written


def test_options_that_only_one_api_knows_are_named():
    losses = Losses()
    setup = {"model": "m", "proactivity": {"proactiveAudio": True}, "sessionResumption": {}}
    openai_realtime.encode_client(gemini_live.decode_client({"setup": setup}), losses=losses)
    assert {(warning.code, warning.path) for warning in losses.taken()} == {
        ("extra_dropped", "setup"),
        ("option_dropped", "setup.resumption"),
    }

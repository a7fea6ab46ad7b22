"""Recorded sessions of Gemini Live: every message comes back as it was, and the tool round is read in detail."""

import json

import pytest
from google.genai import types

from groundwire.codecs.gemini_live import (
    ClientEncoder,
    ServerDecoder,
    ServerEncoder,
    decode_client,
    decode_server,
    encode_client,
    encode_server,
)
from groundwire.contracts.frames import (
    AudioOutput,
    GenerationCompleted,
    NativeFrame,
    SessionReady,
    SessionSetup,
    TextOutput,
    ToolCalls,
    ToolResponses,
    Transcript,
    TurnEnded,
    UserContent,
)
from groundwire.contracts.messages import Message, ResultItem, TextPart
from groundwire.contracts.replies import FinishReason
from tests.codecs.live_recordings import frames_of, named, recordings, without_nulls

API = "gemini-live"


def camel_top(message):
    renamed = {"client_content": "clientContent", "tool_response": "toolResponse", "realtime_input": "realtimeInput"}
    return {renamed.get(key, key): value for key, value in message.items()}


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_every_recorded_message_is_written_as_it_was_read(path):
    for frame in frames_of(path):
        message = frame["message"]
        decode, encode = (decode_client, encode_client) if frame["dir"] == "client" else (decode_server, encode_server)
        written = encode(decode(json.dumps(message).encode()))
        assert without_nulls(written) == [without_nulls(camel_top(message))]


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_a_whole_session_through_one_pair_of_coders_is_the_same_session(path):
    client, decoder, server = ClientEncoder(), ServerDecoder(), ServerEncoder()
    for frame in frames_of(path):
        if frame["dir"] == "client":
            written = client.feed(*decode_client(frame["message"]))
        else:
            read = decoder.feed(frame["message"])
            assert client.heard(*read) == []
            written = server.feed(*read)
        assert without_nulls(written) == [without_nulls(camel_top(frame["message"]))]
    assert client.warnings == ()
    assert server.warnings == ()


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_what_is_written_fits_the_types_of_the_sdk(path):
    for frame in frames_of(path):
        if frame["dir"] == "client":
            (message,) = encode_client(decode_client(frame["message"]))
            types.LiveClientMessage.model_validate(message)
        else:
            (message,) = encode_server(decode_server(frame["message"]))
            message.pop("usageMetadata", None)  # of Vertex, which even the SDK does not know
            types.LiveServerMessage.model_validate(message)


def test_the_tool_round_is_read_in_detail():
    messages = [frame["message"] for frame in named(API, "tool-call-round-google")]
    (setup,) = decode_client(messages[0])
    assert isinstance(setup, SessionSetup)
    assert setup.model == "models/gemini-2.5-flash-native-audio-preview-09-2025"
    assert setup.modalities == ("audio",)
    assert setup.instructions[0].text.startswith("Use record_reading")
    assert setup.tools[0].parameters == {
        "type": "object",
        "properties": {"zqx_measurement": {"type": "integer"}, "qbf_note": {"type": ["string", "null"]}},
        "required": ["zqx_measurement"],
    }
    assert setup.input_transcription is not None
    assert setup.turn_detection is None
    assert decode_server(messages[1]) == (SessionReady(private={API: {}}),)
    (content,) = decode_client(messages[2])
    assert content == UserContent(
        items=(Message(role="user", parts=(TextPart(text='Please record a reading of 5 with the note "steady".'),)),),
        turn_complete=True,
    )
    (calls,) = decode_server(messages[3])
    assert isinstance(calls, ToolCalls)
    call = calls.calls[0].call
    assert (call.call_id, call.name) == ("function-call-3225422447732038294", "record_reading")
    assert call.raw == '{"zqx_measurement":5,"qbf_note":"steady"}'
    assert call.arguments == {"zqx_measurement": 5, "qbf_note": "steady"}
    (answer,) = decode_client(messages[4])
    assert isinstance(answer, ToolResponses)
    assert answer.results == (
        ResultItem(call_id=call.call_id, name="record_reading", parts=(TextPart(text="Recorded 5 (steady)."),)),
    )
    assert answer.respond
    assert decode_server(messages[5]) == (Transcript(speaker="assistant", text="I have"),)
    (audio,) = decode_server(messages[8])
    assert isinstance(audio, AudioOutput)
    assert (audio.media_type, audio.rate, audio.data[:4]) == ("audio/pcm", 24000, b"\xe9\xff\xe8\xff")
    (ended,) = decode_server(messages[-1])
    assert isinstance(ended, TurnEnded)
    assert ended.finish.reason is FinishReason.END


def test_thoughts_are_text_that_says_so():
    messages = [frame["message"] for frame in named(API, "text-in-audio-out-turn-google")]
    (thought,) = decode_server(messages[3])
    assert isinstance(thought, TextOutput)
    assert thought.thought
    assert thought.text.startswith("**Crafting a Greeting**")
    (ended,) = decode_server(messages[-1])
    assert (ended.usage.input, ended.usage.output, ended.usage.reasoning, ended.usage.total) == (1131, 50, 24, 1157)


def test_usage_of_vertex_counts_candidates():
    messages = [frame["message"] for frame in named(API, "history-seeding-parity-gateway-google-parity")]
    frames = decode_server(messages[-1])
    assert [frame.kind for frame in frames] == ["native_frame", "turn.ended"]
    usage = frames[1].usage
    assert (usage.input, usage.output, usage.total, usage.reasoning) == (32, 87, 119, None)


@pytest.mark.quirk(89)
def test_a_tool_turn_of_vertex_ends_before_its_answer_is_spoken():
    decoder = ServerDecoder()
    kinds = [
        [frame.kind for frame in decoder.feed(frame["message"]) if not isinstance(frame, NativeFrame)]
        for frame in named(API, "text-tool-round-parity-gateway-google-parity")
        if frame["dir"] == "server"
    ]
    told = [kind for found in kinds for kind in found]
    assert told[:5] == ["session.ready", "tool.calls", "transcript", "generation.completed", "turn.ended"]
    assert told.count("turn.ended") == 2
    assert told[-2:] == ["generation.completed", "turn.ended"]
    assert told[5:8] == ["transcript"] * 3


def test_empty_pieces_are_no_news_and_not_lost():
    for message in ({"serverContent": {}}, {"serverContent": {"outputTranscription": {}}}, {}):
        frames = decode_server(message)
        assert frames == (NativeFrame(origin=API, value=message),)
        assert encode_server(frames) == [message]


def test_the_end_of_generation_is_told_before_the_end_of_the_turn():
    message = {"serverContent": {"turnComplete": True, "generationComplete": True}, "usageMetadata": {}}
    generated, ended = decode_server(message)
    assert isinstance(generated, GenerationCompleted)
    assert isinstance(ended, TurnEnded)
    assert encode_server((generated, ended)) == [message]

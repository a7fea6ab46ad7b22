"""Recorded sessions of OpenAI Realtime: every event comes back as it was, and the tool round is read in detail."""

import json

import pytest
from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import TypeAdapter

from groundwire.codecs.openai_realtime import (
    ClientDecoder,
    ClientEncoder,
    ServerDecoder,
    ServerEncoder,
    decode_client,
    decode_server,
    encode_client,
    encode_server,
)
from groundwire.contracts.frames import (
    AudioFormat,
    AudioOutput,
    NativeFrame,
    ResponseRequested,
    SessionReady,
    SessionSetup,
    TextOutput,
    ToolCalls,
    ToolResponses,
    Transcript,
    TurnDetection,
    TurnEnded,
    UserContent,
)
from groundwire.contracts.messages import Message, ResultItem, TextPart
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.requests import ToolChoice
from tests.codecs.live_recordings import frames_of, named, recordings, without_nulls

API = "openai-realtime"


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_every_recorded_event_is_written_as_it_was_read(path):
    for frame in frames_of(path):
        message = frame["message"]
        decode, encode = (decode_client, encode_client) if frame["dir"] == "client" else (decode_server, encode_server)
        written = encode(decode(json.dumps(message).encode()))
        assert without_nulls(written) == [without_nulls(message)]


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_a_whole_session_through_one_pair_of_coders_is_the_same_session(path):
    reader, client, decoder, server = ClientDecoder(), ClientEncoder(), ServerDecoder(), ServerEncoder()
    for frame in frames_of(path):
        if frame["dir"] == "client":
            written = client.feed(*reader.feed(frame["message"]))
        else:
            read = decoder.feed(frame["message"])
            assert client.heard(*read) == []
            written = server.feed(*read)
        assert without_nulls(written) == [without_nulls(frame["message"])]
    assert client.warnings == ()
    assert server.warnings == ()


@pytest.mark.parametrize("path", recordings(API), ids=lambda path: path.stem)
def test_what_is_written_fits_the_types_of_the_sdk(path):
    client, server = TypeAdapter(RealtimeClientEvent), TypeAdapter(RealtimeServerEvent)
    for frame in frames_of(path):
        if frame["dir"] == "client":
            client.validate_python(encode_client(decode_client(frame["message"]))[0])
        else:
            server.validate_python(encode_server(decode_server(frame["message"]))[0])


@pytest.mark.quirk(26)
def test_the_tool_round_is_read_in_detail():
    decoder = ServerDecoder()
    told, asked = [], []
    for frame in named(API, "tool-call-round-openai"):
        if frame["dir"] == "client":
            asked.extend(decode_client(frame["message"]))
        else:
            told.extend(found for found in decoder.feed(frame["message"]) if not isinstance(found, NativeFrame))
    setup, question, first, answer, second = asked
    assert isinstance(setup, SessionSetup)
    assert setup.tools[0].name == "get_weather"
    assert setup.turn_detection is None or isinstance(setup.turn_detection, TurnDetection)
    assert isinstance(question, UserContent)
    assert question.items == (Message(role="user", parts=(TextPart(text=question.items[0].text),)),)
    assert not question.turn_complete
    assert isinstance(first, ResponseRequested)
    assert isinstance(second, ResponseRequested)
    assert isinstance(answer, ToolResponses)
    assert not answer.respond

    assert [found.kind for found in told[:3]] == ["session.ready", "session.ready", "response.started"]
    assert [found.configured for found in told if isinstance(found, SessionReady)] == [False, True]
    (calls,) = [found for found in told if isinstance(found, ToolCalls)]
    (item,) = calls.calls
    assert item.complete
    assert item.call.name == "get_weather"
    assert item.call.raw == '{  \n  "city": "London" \n} \n'
    assert answer.results == (ResultItem(call_id=item.call.call_id, parts=(TextPart(text=answer.results[0].text),)),)
    ended = [found for found in told if isinstance(found, TurnEnded)]
    assert [found.finish.reason for found in ended] == [FinishReason.TOOL_CALLS, FinishReason.END]
    assert told.index(calls) < told.index(ended[0])
    text = "".join(found.text for found in told if isinstance(found, TextOutput))
    assert "London" in text
    assert ended[0].usage.input > 0


def test_the_spoken_answer_is_read_in_detail():
    events = [frame["message"] for frame in named(API, "gateway-openai-text-in-audio-out-gateway")]
    (setup,) = decode_client(events[1])
    assert setup.modalities == ("audio",)
    assert setup.input_format == AudioFormat(media_type="audio/pcm", rate=24000)
    assert setup.turn_detection == TurnDetection(interrupts=True, responds=True, private={API: {"type": "server_vad"}})
    assert setup.input_transcription.model == "gpt-realtime-whisper"
    assert setup.tool_choice is None or isinstance(setup.tool_choice, ToolChoice)
    decoder = ServerDecoder()
    told = [found for event in events if "event_id" in event for found in decoder.feed(event)]
    words = [found for found in told if isinstance(found, Transcript)]
    assert "".join(found.text for found in words) == "Hi there! Great to talk with you."
    assert [found.finished for found in words] == [False] * (len(words) - 1) + [True]
    audio = next(found for found in told if isinstance(found, AudioOutput))
    assert (audio.media_type, audio.rate, audio.data[:4]) == ("audio/pcm", 24000, b"\x07\x00\x04\x00")
    usage = told[-1].usage
    assert (usage.input, usage.output, usage.total, usage.cached) == (16, 63, 79, 0)

"""Events of both sides of OpenAI Realtime, both ways."""

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
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.frames import (
    ActivityEnded,
    AudioInput,
    AudioOutput,
    Interrupted,
    LiveFailed,
    NativeFrame,
    ResponseStarted,
    Resumption,
    SessionSetup,
    TextInput,
    TextOutput,
    ToolCalls,
    ToolResponses,
    Transcript,
    Transcription,
    TurnDetection,
    TurnEnded,
)
from groundwire.contracts.messages import CallItem, ResultItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason
from groundwire.contracts.requests import FunctionTool, Sampling, ToolChoice

API = "openai-realtime"
CLIENT = [
    {"type": "session.update", "event_id": "e", "session": {
        "type": "realtime", "model": "gpt-realtime", "instructions": "Be short.", "output_modalities": ["audio"],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
                  {"type": "mcp", "server_label": "s"}],
        "tool_choice": {"type": "function", "name": "f"}, "parallel_tool_calls": False, "max_output_tokens": 100,
        "audio": {"input": {"format": {"type": "audio/pcmu"}, "noise_reduction": {"type": "near_field"},
                            "turn_detection": {"type": "semantic_vad", "eagerness": "low", "create_response": False},
                            "transcription": {"model": "whisper-1", "language": "de", "prompt": "p"}},
                  "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin", "speed": 1.1}},
        "tracing": "auto", "truncation": "auto"}},
    {"type": "session.update", "session": {"type": "realtime", "tools": [], "max_output_tokens": "inf"}},
    {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {"turn_detection": None}}}},
    {"type": "session.update", "session": {"type": "realtime", "audio": {"output": {"voice": {"id": "v"}}}}},
    {"type": "session.update", "session": {"type": "transcription"}},
    {"type": "session.update", "session": {"modalities": ["text"], "turn_detection": None}},
    {"type": "input_audio_buffer.append", "audio": "AAEC", "event_id": "e"},
    {"type": "input_audio_buffer.append", "audio": "cut off!"},
    {"type": "input_audio_buffer.commit", "event_id": "e"},
    {"type": "input_audio_buffer.clear"},
    {"type": "conversation.item.create", "previous_item_id": "root", "item": {
        "id": "i", "type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "a"}, {"type": "input_audio", "audio": "AAEC", "transcript": "t"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAEC", "detail": "low"},
            {"type": "input_image", "image_url": "data:image/png;base64,??"}, {"type": "new", "x": 1}]}},
    {"type": "conversation.item.create", "item": {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "a"}, {"type": "output_audio", "transcript": "b", "audio": "AAEC"},
        {"type": "text", "text": "beta"}]}},
    {"type": "conversation.item.create", "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}},
    {"type": "conversation.item.create", "item": {"type": "function_call_output", "id": "i", "call_id": "c", "output": "o"}},
    {"type": "conversation.item.create", "item": {"type": "mcp_approval_response", "id": "i", "approve": True}},
    {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": 1500},
    {"type": "conversation.item.delete", "item_id": "i"},
    {"type": "response.create"},
    {"type": "response.create", "response": {"instructions": "Sing.", "conversation": "none"}},
    {"type": "response.cancel", "response_id": "r"},
    {"type": "something.new", "x": 1},
]  # fmt: skip
WHERE = {"event_id": "e", "response_id": "r", "item_id": "i", "output_index": 0, "content_index": 0}
SERVER = [
    {"type": "response.output_audio.delta", **WHERE, "delta": "AAEC"},
    {"type": "response.output_audio.delta", **WHERE, "delta": "cut off!"},
    {"type": "response.audio.delta", **WHERE, "delta": "AAEC"},
    {"type": "response.text.delta", **WHERE, "delta": "x"},
    {"type": "response.audio_transcript.delta", **WHERE, "delta": "x"},
    {"type": "response.audio_transcript.done", **WHERE, "transcript": "x"},
    {"type": "conversation.item.input_audio_transcription.delta", "item_id": "u", "delta": "x"},
    {"type": "conversation.item.input_audio_transcription.completed", "item_id": "u", "transcript": "x"},
    {"type": "conversation.item.input_audio_transcription.failed", "item_id": "u", "error": {"message": "m"}},
    {"type": "input_audio_buffer.speech_started", "audio_start_ms": 10, "item_id": "u"},
    {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 20, "item_id": "u"},
    {"type": "error", "event_id": "e", "error": {"type": "invalid_request_error", "message": "m", "param": "p"}},
    {"type": "response.done", "response": {"id": "r", "status": "failed",
        "status_details": {"type": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}}},
    {"type": "response.done", "response": {"id": "r", "status": "cancelled", "output": [],
        "status_details": {"type": "cancelled", "reason": "turn_detected"}, "usage": {"total_tokens": 3}}},
    {"type": "response.done", "response": 5},
    {"type": 5},
    {},
]  # fmt: skip


@pytest.mark.parametrize("event", CLIENT, ids=lambda event: str(event)[:70])
def test_every_client_event_is_written_as_it_was_read(event):
    losses = Losses()
    assert encode_client(decode_client(event), losses=losses) == [event]
    assert losses.taken() == ()


@pytest.mark.parametrize("event", SERVER, ids=lambda event: str(event)[:70])
def test_every_server_event_is_written_as_it_was_read(event):
    losses = Losses()
    assert encode_server(decode_server(event), losses=losses) == [event]
    assert losses.taken() == ()


def test_a_full_session_is_read_in_detail():
    (setup,) = decode_client(CLIENT[0])
    assert setup.tool_choice == ToolChoice(mode="required", names=("f",))
    assert (setup.voice, setup.max_output_tokens, setup.parallel_calls) == ("marin", 100, False)
    assert (setup.input_format.media_type, setup.output_format.rate) == ("audio/pcmu", 24000)
    assert setup.turn_detection.responds is False
    assert (setup.input_transcription.model, setup.input_transcription.language) == ("whisper-1", "de")
    (manual,) = decode_client(CLIENT[2])
    assert manual.turn_detection == TurnDetection(automatic=False)
    (unsaid,) = decode_client(CLIENT[1])
    assert unsaid.turn_detection is None


def test_audio_has_the_format_that_was_agreed():
    decoder = ClientDecoder()
    decoder.feed(CLIENT[0])
    (audio,) = decoder.feed(CLIENT[6])
    assert (audio.data, audio.media_type, audio.rate) == (b"\x00\x01\x02", "audio/pcmu", None)
    assert decode_client(CLIENT[6])[0].rate == 24000


def test_events_of_the_beta_are_read_as_those_of_today():
    kinds = [type(decode_server(event)[0]) for event in SERVER[2:6]]
    assert kinds == [AudioOutput, TextOutput, Transcript, Transcript]


def test_a_transcript_that_came_in_pieces_is_not_told_twice():
    decoder = ServerDecoder()
    told = [decoder.feed(SERVER[6])[0], decoder.feed(SERVER[7])[0], decoder.feed(SERVER[7])[0]]
    assert [frame.text for frame in told] == ["x", "", "x"]
    assert [frame.finished for frame in told] == [False, True, True]


@pytest.mark.parametrize(
    ("event", "path"),
    [
        ({}, "type"),
        ({"type": "session.update"}, "session"),
        ({"type": "session.update", "session": {"tools": [5]}}, "session.tools[0]"),
        ({"type": "conversation.item.create", "item": {"type": "message"}}, "item.role"),
        ({"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c"}}, "item.output"),
        ({"type": "response.create", "response": []}, "response"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(event, path):
    with pytest.raises(WireError) as caught:
        decode_client(event)
    assert caught.value.path == path


def call_events(response_id, place, *, done=True):
    where = {"response_id": response_id, "item_id": f"i{place}", "output_index": place}
    item = {"id": f"i{place}", "type": "function_call", "call_id": f"c{place}", "name": "f", "arguments": ""}
    events = [
        {"type": "response.output_item.added", **where, "item": item},
        {"type": "response.function_call_arguments.delta", **where, "delta": '{"n":'},
        {"type": "response.function_call_arguments.delta", **where, "delta": f" {place}}}\n"},
    ]
    if done:
        whole = f'{{"n": {place}}}\n'
        events.append({"type": "response.function_call_arguments.done", **where, "arguments": whole})
    return events


@pytest.mark.quirk(26)
def test_calls_of_one_response_are_told_together_at_its_end():
    decoder = ServerDecoder(names={"f": "find"})
    for event in [*call_events("r", 0), *call_events("r", 1)]:
        assert isinstance(decoder.feed(event)[0], NativeFrame)
    calls, ended = decoder.feed({"type": "response.done", "response": {"id": "r", "status": "completed"}})
    assert [(item.call.call_id, item.call.name, item.call.raw) for item in calls.calls] == [
        ("c0", "find", '{"n": 0}\n'),
        ("c1", "find", '{"n": 1}\n'),
    ]
    assert all(item.complete for item in calls.calls)
    assert ended.finish.reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("status", "reason", "done", "complete", "finish"),
    [
        ("completed", None, False, False, FinishReason.TOOL_CALLS),
        ("cancelled", "turn_detected", True, False, FinishReason.CANCELLED),
        ("cancelled", "client_cancelled", True, False, FinishReason.CANCELLED),
        ("incomplete", "max_output_tokens", True, False, FinishReason.LENGTH),
        ("incomplete", "content_filter", True, True, FinishReason.CONTENT_FILTER),
        ("incomplete", "other", True, False, FinishReason.INCOMPLETE),
        ("failed", None, True, False, FinishReason.FAILED),
        ("a new one", None, True, True, FinishReason.TOOL_CALLS),
    ],
)
def test_a_call_of_a_response_that_was_cut_must_not_run(status, reason, done, complete, finish):
    decoder = ServerDecoder()
    for event in call_events("r", 0, done=done):
        decoder.feed(event)
    response = {"id": "r", "status": status, "status_details": {"reason": reason}}
    frames = decoder.feed({"type": "response.done", "response": response})
    assert frames[0].calls[0].complete is complete
    assert frames[-1].finish.reason is finish
    assert any(isinstance(frame, Interrupted) for frame in frames) == (reason == "turn_detected")
    assert any(isinstance(frame, LiveFailed) for frame in frames) == (status == "failed")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "invalid_request_error", "code": "conversation_already_has_active_response"}, FailureKind.CONFLICT),
        ({"type": "invalid_request_error"}, FailureKind.INVALID_REQUEST),
        ({"type": "insufficient_quota"}, FailureKind.QUOTA),
        ({"code": "session_expired"}, FailureKind.TIMEOUT),
        ({"message": "maximum context length"}, FailureKind.CONTEXT_FULL),
        ({"type": 5}, FailureKind.SERVER),
    ],
)
def test_errors_are_failures(error, kind):
    (found,) = decode_server({"type": "error", "error": error})
    assert found.failure.kind is kind


def test_a_failure_of_our_own_is_an_error_event():
    failure = Failure(kind=FailureKind.RATE_LIMIT, message="slow")
    (event,) = encode_server((LiveFailed(failure=failure),))
    TypeAdapter(RealtimeServerEvent).validate_python(event)
    assert decode_server(event)[0].failure.kind is FailureKind.RATE_LIMIT


def test_a_setup_of_our_own_is_one_that_the_sdk_knows():
    encoder = ClientEncoder()
    (event,) = encoder.feed(
        SessionSetup(
            model="gpt-realtime",
            instructions=(TextPart(text="a"), TextPart(text="b")),
            tools=(FunctionTool(name="find it", parameters={"type": "object"}), FunctionTool(name="g")),
            tool_choice=ToolChoice(mode="auto", names=("find it",)),
            modalities=("audio",),
            turn_detection=TurnDetection(silence_ms=500),
            input_transcription=Transcription(language="de"),
            resumption=Resumption(handle="h"),
            sampling=Sampling(temperature=0.5),
        )
    )
    TypeAdapter(RealtimeClientEvent).validate_python(event)
    session = event["session"]
    assert session["instructions"] == "a\n\nb"
    assert [tool["name"] for tool in session["tools"]] == ["find_it"]
    assert session["audio"]["input"] == {
        "turn_detection": {"type": "server_vad", "silence_duration_ms": 500},
        "transcription": {"model": "whisper-1", "language": "de"},
    }
    assert sorted(warning.code for warning in encoder.warnings) == [
        "choice_approximated", "name_rewritten", "option_dropped", "option_dropped",
    ]  # fmt: skip


@pytest.mark.quirk(89)
def test_one_answer_is_asked_for_after_the_last_result_and_the_end_of_the_response():
    encoder = ClientEncoder()
    calls = tuple(CallItem(call=ToolCall(call_id=name, name="f", raw="{}")) for name in "ab")
    first, second = (
        ToolResponses(results=(ResultItem(call_id=name, name="f", parts=(TextPart(text=name),)),)) for name in "ab"
    )
    assert encoder.heard(ResponseStarted(), ToolCalls(calls=calls)) == []
    assert [event["type"] for event in encoder.feed(first)] == ["conversation.item.create"]
    assert [event["type"] for event in encoder.feed(second)] == ["conversation.item.create"]
    assert encoder.heard(TurnEnded(finish=Finish(reason=FinishReason.TOOL_CALLS))) == [{"type": "response.create"}]
    assert encoder.heard(TurnEnded(finish=Finish(reason=FinishReason.END))) == []


def test_silent_results_ask_for_nothing_and_pieces_are_sent_as_one():
    encoder = ClientEncoder()
    result = ResultItem(call_id="c", name="f", parts=(TextPart(text="a"),))
    assert len(encoder.feed(ToolResponses(results=(result,), scheduling="silent"))) == 1
    assert encoder.feed(ToolResponses(results=(result,), will_continue=True)) == []
    item, request = encoder.feed(ToolResponses(results=(result,)))
    assert item["item"]["output"] == "a\na"
    assert request == {"type": "response.create"}
    assert [warning.code for warning in encoder.warnings] == ["frame_approximated"]


def test_audio_of_another_rate_is_refused():
    with pytest.raises(NotExpressible):
        encode_client((AudioInput(data=b"", rate=16000),))
    with pytest.raises(NotExpressible):
        encode_server((AudioOutput(data=b"", rate=16000),))
    assert encode_client((AudioInput(data=b"\x00"),)) == [{"type": "input_audio_buffer.append", "audio": "AA=="}]


def test_text_and_the_end_of_speech_ask_for_an_answer():
    kinds = [event["type"] for event in encode_client((TextInput(text="hi"), ActivityEnded()))]
    assert kinds == ["conversation.item.create", "response.create", "input_audio_buffer.commit", "response.create"]


def test_a_spoken_answer_of_our_own_has_the_whole_lifecycle():
    encoder = ServerEncoder(prefix="a")
    events = encoder.feed(
        Transcript(speaker="assistant", text="Hi"),
        AudioOutput(data=b"\x00", rate=24000),
        TurnEnded(finish=Finish(reason=FinishReason.END)),
    )
    adapter = TypeAdapter(RealtimeServerEvent)
    for event in events:
        adapter.validate_python(event)
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created", "output_item.added", "conversation.item.added", "content_part.added",
        "output_audio_transcript.delta", "output_audio.delta", "output_audio.done", "output_audio_transcript.done",
        "content_part.done", "conversation.item.done", "output_item.done", "done",
    ]  # fmt: skip
    assert len({event["event_id"] for event in events}) == len(events)
    assert events[-1]["response"]["output"][0]["content"] == [{"type": "output_audio", "transcript": "Hi"}]

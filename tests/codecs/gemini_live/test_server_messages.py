"""Messages of a Gemini Live server, both ways, and how its connections end."""

import pytest
from google.genai import types

from groundwire.codecs.gemini_live import (
    ServerDecoder,
    ServerEncoder,
    decode_close,
    decode_server,
    encode_close,
    encode_server,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.frames import (
    AudioOutput,
    GenerationCompleted,
    GoingAway,
    Interrupted,
    LiveFailed,
    NativeFrame,
    ResponseStarted,
    ResumptionUpdated,
    SessionReady,
    SpeechStarted,
    SpeechStopped,
    TextOutput,
    ToolCalls,
    ToolCallsCancelled,
    Transcript,
    TurnEnded,
    UsageReported,
)
from groundwire.contracts.messages import CallItem
from groundwire.contracts.replies import Finish, FinishReason, Usage

API = "gemini-live"
MESSAGES = [
    {"setupComplete": {}},
    {"setupComplete": {"sessionId": "s", "voiceConsentSignature": {"signature": "x"}}},
    {"serverContent": {"modelTurn": {"parts": [{"text": "a"}, {"text": "b", "thought": True}], "role": "model"}}},
    {"serverContent": {"modelTurn": {"parts": [
        {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAEC"}},
        {"executableCode": {"code": "1"}},
        {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AwQF"}},
    ]}}},
    {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "cut off!"}}]}}},
    {"serverContent": {"modelTurn": {}}},
    {"serverContent": {"modelTurn": {"parts": []}}},
    {"serverContent": {"modelTurn": {"parts": [5, {"text": 5}]}}},
    {"serverContent": {"modelTurn": 5, "turnComplete": "yes"}},
    {"serverContent": {"interrupted": True, "turnComplete": True}},
    {"serverContent": {"interrupted": False, "turnComplete": False, "generationComplete": False}},
    {"serverContent": {"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED", "interactionStatus": "DONE"}},
    {"serverContent": {"turnCompleteReason": "NEED_MORE_INPUT"}},
    {"serverContent": {"turnComplete": True, "turnCompleteReason": 5}},
    {"serverContent": {"inputTranscription": {"text": "hi", "finished": True, "languageCode": "en"}}},
    {"serverContent": {"inputTranscription": {"text": "", "finished": False}, "outputTranscription": {"text": "x"}}},
    {"serverContent": {"inputTranscription": {"text": 5}}},
    {"serverContent": {"interimInputTranscription": {"text": "h"}, "waitingForInput": True}},
    {"serverContent": {"generationComplete": True}, "usageMetadata": {"promptTokenCount": 1}},
    {"usageMetadata": {"promptTokenCount": 3, "responseTokenCount": 4, "totalTokenCount": 7}},
    {"usageMetadata": "none"},
    {"toolCall": {"functionCalls": [{"id": "1", "name": "f", "args": {"a_b": 1}}, {"name": "g"}]}},
    {"toolCall": {"functionCalls": [{"id": "1", "name": "f", "args": "{}"}, {"id": "2", "name": "f", "args": [1]}]}},
    {"toolCall": {"functionCalls": [{"id": "1", "name": "f", "args": {}, "willContinue": True}]}},
    {"toolCall": {"functionCalls": []}},
    {"toolCall": {"functionCalls": "none"}},
    {"toolCall": {}},
    {"toolCallCancellation": {"ids": ["1", "2"]}},
    {"toolCallCancellation": {"ids": [1]}},
    {"goAway": {"timeLeft": "9.500s"}},
    {"goAway": {}},
    {"sessionResumptionUpdate": {"newHandle": "h", "resumable": True, "lastConsumedClientMessageIndex": "4"}},
    {"sessionResumptionUpdate": {}},
    {"voiceActivity": {"voiceActivityType": "ACTIVITY_START", "audioOffset": "1.250s"}},
    {"voiceActivity": {"voiceActivityType": "ACTIVITY_END"}},
    {"voiceActivity": {"voiceActivityType": "SOMETHING"}},
    {"voiceActivityDetectionSignal": {"vadSignalType": "VAD_SIGNAL_TYPE_SOS"}},
    {"somethingNew": [1], "setupComplete": {}},
    {"toolCall": {"functionCalls": [{}, {"id": "", "name": ""}]}},
    {"toolCall": {"functionCalls": [{"name": "a"}, 5, {"name": "b"}, {"name": 5}, {"name": "c"}], "new": [1]}},
    {"setupComplete": {"sessionId": ""}},
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message)[:60])
def test_every_message_is_written_as_it_was_read(message):
    losses = Losses()
    assert encode_server(decode_server(message), losses=losses) == [message]
    assert losses.taken() == ()


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        ({"goAway": {"timeLeft": "9.5s"}}, ("going.away", {"seconds_left": 9.5})),
        (MESSAGES[31], ("resumption.updated", {"handle": "h", "resumable": True})),
        (MESSAGES[32], ("resumption.updated", {"handle": "", "resumable": False})),
        (MESSAGES[33], ("speech.started", {"offset_ms": 1250})),
        (MESSAGES[34], ("speech.stopped", {"offset_ms": None})),
        (MESSAGES[27], ("tool.calls_cancelled", {"call_ids": ("1", "2")})),
        (MESSAGES[1], ("session.ready", {"session_id": "s", "configured": True})),
        (MESSAGES[14], ("transcript", {"speaker": "user", "text": "hi", "finished": True})),
    ],
)
def test_notices_are_read(message, frame):
    kind, members = frame
    (found,) = decode_server(message)
    assert found.kind == kind
    assert {name: getattr(found, name) for name in members} == members


def test_parts_of_a_turn_keep_their_order():
    first, native, second = decode_server(MESSAGES[3])
    assert (first.data, second.data) == (b"\x00\x01\x02", b"\x03\x04\x05")
    assert isinstance(native, NativeFrame)


def test_cut_audio_is_kept_as_it_came():
    (found,) = decode_server(MESSAGES[4])
    assert found == NativeFrame(origin=API, value=MESSAGES[4])


def test_calls_without_an_id_get_one_that_is_not_sent():
    decoder = ServerDecoder(names={"g": "the g"})
    (first,) = decoder.feed(MESSAGES[21])
    (second,) = decoder.feed({"toolCall": {"functionCalls": [{"name": "default_api.g"}]}})
    assert [item.call.call_id for item in first.calls] == ["1", "call_2"]
    assert [item.call.name for item in first.calls] == ["f", "the g"]
    assert [item.call.raw for item in first.calls] == ['{"a_b":1}', "{}"]
    assert second.calls[0].call.call_id == "call_3"
    assert second.calls[0].call.name == "the g"


def test_odd_arguments_are_kept_as_text():
    (found,) = decode_server(MESSAGES[22])
    assert [item.call.raw for item in found.calls] == ["{}", "[1]"]
    assert [item.complete for item in found.calls] == [True, True]


def test_a_call_that_goes_on_must_not_run():
    (found,) = decode_server(MESSAGES[23])
    assert [item.complete for item in found.calls] == [False]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, FinishReason.END),
        ("MALFORMED_FUNCTION_CALL", FinishReason.MALFORMED_CALL),
        ("RESPONSE_REJECTED", FinishReason.CONTENT_FILTER),
        ("NEED_MORE_INPUT", FinishReason.END),
        ("PROHIBITED_INPUT_CONTENT", FinishReason.PROMPT_BLOCKED),
        ("INPUT_IMAGE_CELEBRITY", FinishReason.PROMPT_BLOCKED),
        ("GENERATED_AUDIO_SAFETY", FinishReason.CONTENT_FILTER),
        ("MAX_REGENERATION_REACHED", FinishReason.FAILED),
        ("A_NEW_ONE", FinishReason.END),
    ],
)
def test_turns_end_for_a_reason(raw, reason):
    content = {"turnComplete": True} if raw is None else {"turnComplete": True, "turnCompleteReason": raw}
    (found,) = decode_server({"serverContent": content})
    assert found.finish == Finish(reason=reason, raw=raw)


def test_every_reason_of_the_sdk_is_known():
    for reason in types.TurnCompleteReason:
        (found,) = decode_server({"serverContent": {"turnComplete": True, "turnCompleteReason": reason.value}})
        ends_well = reason.value in ("NEED_MORE_INPUT", "TURN_COMPLETE_REASON_UNSPECIFIED")
        assert (found.finish.reason is FinishReason.END) == ends_well


def test_an_interrupted_turn_ends_once_and_as_cancelled():
    decoder = ServerDecoder()
    found = [
        frame
        for message in (
            {"serverContent": {"interrupted": True}},
            {"serverContent": {"turnComplete": True}},
            {"serverContent": {"turnComplete": True}},
        )
        for frame in decoder.feed(message)
    ]
    assert isinstance(found[0], Interrupted)
    assert [frame.finish.reason for frame in found[1:]] == [FinishReason.CANCELLED, FinishReason.END]


OWN = [
    SessionReady(session_id="s"),
    AudioOutput(data=b"\x00\x01", rate=24000),
    TextOutput(text="hm", thought=True),
    Transcript(speaker="assistant", text="Hi"),
    Transcript(speaker="user", text="Yo", finished=True),
    ToolCalls(calls=(CallItem(call=ToolCall(call_id="c", name="f", raw='{"a": 1}')),)),
    ToolCallsCancelled(call_ids=("c",)),
    Interrupted(),
    UsageReported(usage=Usage(input=3, output=5, total=8, cached=1, reasoning=2)),
    GoingAway(seconds_left=9.5),
    ResumptionUpdated(handle="h", resumable=True),
    SpeechStarted(offset_ms=1500),
    SpeechStopped(),
]


@pytest.mark.parametrize("frame", OWN, ids=lambda frame: frame.kind)
def test_frames_of_our_own_are_messages_that_the_sdk_knows(frame):
    encoder = ServerEncoder()
    (message,) = encoder.feed(frame)
    types.LiveServerMessage.model_validate(message)
    assert encoder.warnings == ()
    (found,) = decode_server(message)
    assert found.kind == frame.kind
    members = [name for name in frame.__struct_fields__ if name not in ("private", "calls", "usage", "call_ids")]
    assert {name: getattr(found, name) for name in members} == {name: getattr(frame, name) for name in members}


def test_calls_and_usage_of_our_own_are_written():
    assert encode_server((OWN[5], OWN[8])) == [
        {"toolCall": {"functionCalls": [{"id": "c", "name": "f", "args": {"a": 1}}]}},
        {
            "usageMetadata": {
                "promptTokenCount": 3,
                "responseTokenCount": 3,
                "totalTokenCount": 8,
                "cachedContentTokenCount": 1,
                "thoughtsTokenCount": 2,
            }
        },
    ]


def test_a_turn_of_our_own_ends_with_generation_first():
    end = TurnEnded(finish=Finish(reason=FinishReason.END), usage=Usage(input=1, output=2, total=3))
    completed = {"serverContent": {"generationComplete": True}}
    counts = {"promptTokenCount": 1, "responseTokenCount": 2, "totalTokenCount": 3}
    ended = {"serverContent": {"turnComplete": True}, "usageMetadata": counts}
    assert encode_server((end,)) == [completed, ended]
    assert encode_server((GenerationCompleted(), end)) == [completed, ended]
    assert encode_server((GenerationCompleted(), end, end)) == [completed, ended, completed, ended]


@pytest.mark.parametrize(
    ("reason", "raw"),
    [
        (FinishReason.CONTENT_FILTER, "RESPONSE_REJECTED"),
        (FinishReason.MALFORMED_CALL, "MALFORMED_FUNCTION_CALL"),
        (FinishReason.PROMPT_BLOCKED, "PROHIBITED_INPUT_CONTENT"),
        (FinishReason.LENGTH, None),
        (FinishReason.FAILED, None),
    ],
)
def test_bad_ends_are_said_or_warned_of(reason, raw):
    encoder = ServerEncoder()
    message = encoder.feed(TurnEnded(finish=Finish(reason=reason)))[-1]
    assert message["serverContent"].get("turnCompleteReason") == raw
    assert [warning.code for warning in encoder.warnings] == ([] if raw else ["finish_approximated"])


def test_what_live_cannot_say_is_warned_of():
    encoder = ServerEncoder()
    failure = Failure(kind=FailureKind.SERVER, message="broken")
    cut = CallItem(call=ToolCall(call_id="c", name="f", raw='{"a'), complete=False)
    frames = (
        LiveFailed(failure=failure),
        ToolCalls(calls=(cut,)),
        NativeFrame(origin="openai-realtime", value={"type": "rate_limits.updated"}),
        ResponseStarted(),
        SessionReady(configured=False),
    )
    assert encoder.feed(*frames) == []
    assert [warning.code for warning in encoder.warnings] == ["frame_dropped", "frame_dropped", "native_dropped"]


def test_arguments_that_are_no_object_are_wrapped():
    encoder = ServerEncoder()
    (message,) = encoder.feed(ToolCalls(calls=(CallItem(call=ToolCall(call_id="c", name="f", raw="[1]")),)))
    assert message["toolCall"]["functionCalls"][0]["args"] == {"_raw_arguments": "[1]"}
    assert [warning.code for warning in encoder.warnings] == ["arguments_not_object"]
    (found,) = decode_server(message)
    assert found.calls[0].call.raw == "[1]"


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (1000, "", FailureKind.CANCELLED),
        (1007, "Request contains an invalid argument.", FailureKind.INVALID_REQUEST),
        (1008, "models/x is not found for API version v1beta", FailureKind.NOT_FOUND),
        (1008, "You exceeded your current quota", FailureKind.QUOTA),
        (1008, "Operation is not implemented", FailureKind.PERMISSION),
        (1011, "Deadline expired before operation could complete.", FailureKind.TIMEOUT),
        (1011, "The service is currently unavailable.", FailureKind.OVERLOADED),
        (1011, "", FailureKind.SERVER),
        (4999, "", FailureKind.SERVER),
        (1007, "The input token count exceeds the maximum number of tokens allowed", FailureKind.CONTEXT_FULL),
    ],
)
def test_closes_are_failures(code, reason, kind):
    failure = decode_close(code, reason)
    assert failure.kind is kind
    assert failure.code == str(code)
    assert failure.message


def test_a_failure_closes_with_a_sentence_that_fits():
    assert encode_close(Failure(kind=FailureKind.INVALID_REQUEST, message="No setup.")) == (1007, "No setup.")
    code, reason = encode_close(Failure(kind=FailureKind.SERVER, message="ä" * 100))
    assert code == 1011
    assert reason == "ä" * 61

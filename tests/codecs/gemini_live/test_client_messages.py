"""Messages of a Gemini Live client, both ways."""

import pytest
from google.genai import types

from groundwire.codecs.gemini_live import ClientEncoder, decode_client, encode_client
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import WireError
from groundwire.contracts.frames import (
    ActivityEnded,
    ActivityStarted,
    AudioFormat,
    AudioInput,
    AudioStreamEnded,
    ItemTruncated,
    NativeFrame,
    ResponseCancelled,
    ResponseRequested,
    Resumption,
    SessionSetup,
    TextInput,
    ToolCalls,
    ToolCallsCancelled,
    ToolResponses,
    Transcription,
    TurnDetection,
    UserContent,
    VideoInput,
)
from groundwire.contracts.messages import CallItem, MediaPart, Message, ReasoningItem, ResultItem, TextPart, say
from groundwire.contracts.requests import FunctionTool, NativeTool, Sampling, ToolChoice

API = "gemini-live"
FULL_SETUP = {
    "setup": {
        "model": "models/live",
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": {
                "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}},
                "languageCode": "de-DE",
            },
            "temperature": 0.8,
            "topP": 0.9,
            "topK": 40,
            "seed": 7,
            "maxOutputTokens": 500,
            "thinkingConfig": {"thinkingBudget": 0},
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        },
        "systemInstruction": {"parts": [{"text": "Be short."}, {"text": "Be kind."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "f",
                        "description": "d",
                        "behavior": "NON_BLOCKING",
                        "parameters": {"type": "OBJECT", "properties": {"x": {"type": "INTEGER"}}, "required": ["x"]},
                    },
                    {"name": "g", "parameters": {"type": "OBJECT", "properties": {}}},
                    {"name": "h"},
                ]
            },
            {"googleSearch": {}},
        ],
        "realtimeInputConfig": {
            "automaticActivityDetection": {
                "disabled": False,
                "startOfSpeechSensitivity": "START_SENSITIVITY_HIGH",
                "prefixPaddingMs": 20,
                "silenceDurationMs": 500,
            },
            "activityHandling": "NO_INTERRUPTION",
            "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        "inputAudioTranscription": {"languageCodes": ["de-DE"]},
        "outputAudioTranscription": {},
        "sessionResumption": {"handle": "h1", "transparent": True},
        "contextWindowCompression": {"triggerTokens": "25600", "slidingWindow": {"targetTokens": "12800"}},
        "proactivity": {"proactiveAudio": True},
        "historyConfig": {"initialHistoryInClientContent": True},
    }
}


def test_a_full_setup_is_read_and_written_again():
    (setup,) = decode_client(FULL_SETUP)
    assert isinstance(setup, SessionSetup)
    assert setup.model == "models/live"
    assert setup.voice == "Kore"
    assert [part.text for part in setup.instructions] == ["Be short.", "Be kind."]
    assert setup.sampling == Sampling(temperature=0.8, top_p=0.9, top_k=40, seed=7)
    assert setup.max_output_tokens == 500
    function, empty, bare, search = setup.tools
    assert function.private[API]["behavior"] == "NON_BLOCKING"
    assert function.parameters == {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert empty.parameters == {"type": "object", "properties": {}}
    assert bare.parameters is None
    assert search == NativeTool(origin=API, value={"googleSearch": {}})
    detection = setup.turn_detection
    assert (detection.automatic, detection.interrupts, detection.responds) == (True, False, None)
    assert (detection.prefix_padding_ms, detection.silence_ms) == (20, 500)
    assert setup.input_transcription.language == "de-DE"
    assert setup.output_transcription == Transcription()
    assert setup.resumption.handle == "h1"
    losses = Losses()
    assert encode_client((setup,), losses=losses) == [FULL_SETUP]
    assert losses.taken() == ()


def test_reading_a_setup_leaves_the_message_alone():
    before = repr(FULL_SETUP)
    decode_client(FULL_SETUP)
    assert repr(FULL_SETUP) == before


def test_snake_case_is_read_and_camel_case_is_written():
    (setup,) = decode_client(
        {
            "setup": {
                "model": "m",
                "generation_config": {
                    "response_modalities": ["TEXT"],
                    "speech_config": {"voice_config": {"prebuilt_voice_config": {"voice_name": "Puck"}}},
                },
                "system_instruction": {"parts": [{"text": "s"}]},
                "tools": [
                    {
                        "function_declarations": [
                            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}}}
                        ]
                    }
                ],
                "realtime_input_config": {"automatic_activity_detection": {"disabled": True}},
                "session_resumption": {},
            }
        }
    )
    assert setup.modalities == ("text",)
    assert setup.voice == "Puck"
    assert setup.turn_detection.automatic is False
    assert setup.resumption == Resumption()
    assert setup.tools[0].parameters["properties"] == {"a_b": {"type": "string"}}
    assert encode_client((setup,)) == [
        {
            "setup": {
                "model": "m",
                "generationConfig": {
                    "responseModalities": ["TEXT"],
                    "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Puck"}}},
                },
                "systemInstruction": {"parts": [{"text": "s"}]},
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}}}
                        ]
                    }
                ],
                "realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}},
                "sessionResumption": {},
            }
        }
    ]
    (answer,) = decode_client(
        {
            "tool_response": {
                "function_responses": [{"id": "1", "name": "f", "response": {"a_b": 1}, "will_continue": True}]
            }
        }
    )
    assert answer.will_continue
    assert encode_client((answer,)) == [
        {
            "toolResponse": {
                "functionResponses": [{"id": "1", "name": "f", "response": {"a_b": 1}, "willContinue": True}]
            }
        }
    ]


MESSAGES = [
    {"clientContent": {"turnComplete": True}},
    {"clientContent": {"turns": [], "turnComplete": False}},
    {"clientContent": {"turns": [{"parts": [{"text": "no role"}]}]}},
    {
        "clientContent": {
            "turns": [
                {"role": "user", "parts": [{"text": "a"}]},
                {"role": "user", "parts": [{"text": "b"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": {"x": 1}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"id": "1", "name": "f", "response": {"output": "ok"}}}],
                },
                {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": "z"}]},
                {"role": "user", "parts": [{"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b"}}]},
            ],
            "turnComplete": True,
        }
    },
    {"realtimeInput": {"audio": {"data": "AAEC", "mimeType": "audio/pcm;rate=16000"}}},
    {"realtimeInput": {"audio": {"data": "AAEC", "mimeType": "audio/pcm; rate=16000"}}},
    {"realtimeInput": {"audio": {"data": "AAEC", "mimeType": "audio/pcm"}}},
    {"realtimeInput": {"audio": {"data": "not base64!", "mimeType": "audio/pcm"}}},
    {"realtimeInput": {"video": {"data": "AAEC", "mimeType": "image/jpeg"}}},
    {"realtimeInput": {"text": "hello"}},
    {"realtimeInput": {"activityStart": {}}},
    {"realtimeInput": {"activityEnd": {}}},
    {"realtimeInput": {"audioStreamEnd": True}},
    {"realtimeInput": {"audioStreamEnd": False}},
    {"realtimeInput": {}},
    {
        "realtimeInput": {
            "mediaChunks": [{"data": "AA==", "mimeType": "audio/pcm"}, {"data": "AQ==", "mimeType": "image/png"}]
        }
    },
    {"realtimeInput": {"text": "look", "video": {"data": "AAEC", "mimeType": "image/jpeg"}}},
    {"toolResponse": {"functionResponses": []}},
    {"toolResponse": {"functionResponses": [{"name": "f", "response": {"result": {"a": [1]}}}]}},
    {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": {"error": "gone"}}]}},
    {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": {"error": 5}}]}},
    {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": {}, "scheduling": "SILENT"}]}},
    {
        "toolResponse": {
            "functionResponses": [
                {"id": "1", "name": "f", "response": {"output": "a"}, "scheduling": "INTERRUPT"},
                {"id": "2", "name": "f", "response": {"output": "b"}, "scheduling": "WHEN_IDLE", "willContinue": False},
            ]
        }
    },
    {"contextUpdate": {"systemInstruction": {"parts": [{"text": "new"}]}}},
    {"contextUpdate": {}},
    {"setup": {}},
    {"setup": {"generationConfig": {}}},
    {"setup": {"generationConfig": {"responseModalities": []}, "tools": []}},
    {"somethingNew": {"a": 1}},
    {"toolResponse": {"functionResponses": [{"id": "", "name": "", "response": {}}, {}]}},
    {},
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message)[:60])
def test_every_message_is_written_as_it_was_read(message):
    losses = Losses()
    assert encode_client(decode_client(message), losses=losses) == [message]
    assert losses.taken() == ()


def test_inputs_of_one_message_are_several_frames():
    audio, end = decode_client(
        {"realtimeInput": {"audio": {"data": "AAEC", "mimeType": "audio/pcm;rate=16000"}, "audioStreamEnd": True}}
    )
    assert (audio.data, audio.media_type, audio.rate) == (b"\x00\x01\x02", "audio/pcm", 16000)
    assert isinstance(end, AudioStreamEnded)


def test_contents_become_items_that_remember_their_turns():
    (content,) = decode_client(MESSAGES[3])
    assert [item.kind for item in content.items] == [
        "message", "message", "reasoning", "call", "result", "message", "message",
    ]  # fmt: skip
    assert [item.split for item in content.items] == [False, True, False, True, False, False, False]
    assert content.items[1].parts[1] == MediaPart(media_type="image/png", data=b"\x00\x00\x00")
    assert content.items[2] == ReasoningItem(text="hm", private={API: {"thoughtSignature": "c2ln"}})
    assert content.items[3].call.arguments == {"x": 1}
    assert content.items[4].text == "ok"


def test_results_say_what_they_share():
    (answer,) = decode_client(MESSAGES[21])
    assert (answer.scheduling, answer.respond, answer.will_continue) == ("silent", False, False)
    assert answer.results[0].private == {}
    (mixed,) = decode_client(MESSAGES[22])
    assert mixed.scheduling is None
    assert [result.private[API]["scheduling"] for result in mixed.results] == ["INTERRUPT", "WHEN_IDLE"]
    (failed,) = decode_client(MESSAGES[19])
    assert failed.results[0].failed
    assert failed.results[0].text == "gone"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"setup": []}, "setup"),
        ({"setup": {"model": 5}}, "setup.model"),
        (
            {"setup": {"tools": [{"functionDeclarations": [{"description": "d"}]}]}},
            "setup.tools[0].functionDeclarations[0].name",
        ),
        ({"clientContent": {"turns": {}}}, "clientContent.turns"),
        ({"clientContent": {"turns": [{"parts": [5]}]}}, "clientContent.turns[0].parts[0]"),
        ({"realtimeInput": {"text": 5}}, "realtimeInput.text"),
        ({"toolResponse": {"functionResponses": [{"response": "text"}]}}, "toolResponse.functionResponses[0].response"),
        ({"setup": {"generationConfig": {"temperature": "hot"}}}, "setup.generationConfig.temperature"),
    ],
)
def test_a_wrong_type_is_named_with_its_path(message, path):
    with pytest.raises(WireError) as caught:
        decode_client(message)
    assert caught.value.path == path


def test_binary_frames_are_read_like_text():
    assert decode_client(b'{"realtimeInput":{"text":"a"}}') == decode_client('{"realtimeInput":{"text":"a"}}')


def test_a_setup_of_our_own_is_one_that_the_sdk_knows():
    schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "additionalProperties": False}
    setup = SessionSetup(
        model="models/live",
        instructions=(TextPart(text="Be short."),),
        tools=(FunctionTool(name="find it", description="Find", parameters=schema),),
        tool_choice=ToolChoice(mode="required"),
        modalities=("audio",),
        voice="Kore",
        output_format=AudioFormat(media_type="audio/pcmu", rate=8000),
        turn_detection=TurnDetection(automatic=False, interrupts=True),
        input_transcription=Transcription(),
        resumption=Resumption(handle="h"),
    )
    encoder = ClientEncoder()
    (message,) = encoder.feed(setup)
    types.LiveClientMessage.model_validate(
        {"setup": {k: v for k, v in message["setup"].items() if k != "realtimeInputConfig"}}
    )
    types.RealtimeInputConfig.model_validate(message["setup"]["realtimeInputConfig"])
    (declaration,) = message["setup"]["tools"][0]["functionDeclarations"]
    assert declaration == {
        "name": "find_it",
        "description": "Find",
        "parameters": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}},
    }
    assert encoder.names == {"find_it": "find it"}
    assert {warning.code for warning in encoder.warnings} >= {"name_rewritten", "choice_approximated", "option_dropped"}


def test_a_tool_that_must_not_be_called_is_not_offered():
    tools = (FunctionTool(name="a"), FunctionTool(name="b"))
    for choice, offered in (
        (ToolChoice(mode="none"), []),
        (ToolChoice(mode="auto", names=("b",)), ["b"]),
        (ToolChoice(mode="auto"), ["a", "b"]),
    ):
        (message,) = encode_client((SessionSetup(tools=tools, tool_choice=choice),))
        groups = message["setup"].get("tools", [])
        assert [tool["name"] for group in groups for tool in group["functionDeclarations"]] == offered


def test_a_second_setup_changes_only_what_live_can_change():
    encoder = ClientEncoder()
    encoder.feed(SessionSetup(model="m"))
    changed = SessionSetup(model="m", instructions=(TextPart(text="new"),), voice="Kore")
    assert encoder.feed(changed) == [{"contextUpdate": {"systemInstruction": {"parts": [{"text": "new"}]}}}]
    assert [warning.path for warning in encoder.warnings] == ["setup.generationConfig"]


def test_speech_of_a_manual_session_is_framed_by_activity():
    encoder = ClientEncoder()
    encoder.feed(SessionSetup(turn_detection=TurnDetection(automatic=False)))
    audio = AudioInput(data=b"\x00\x00", rate=24000)
    kinds = [next(iter(message["realtimeInput"])) for message in encoder.feed(audio, audio, ActivityEnded(), audio)]
    assert kinds == ["activityStart", "audio", "audio", "activityEnd", "activityStart", "audio"]


def test_the_end_of_activity_is_no_error_while_the_server_listens():
    encoder = ClientEncoder()
    encoder.feed(SessionSetup(turn_detection=TurnDetection()))
    assert encoder.feed(ActivityEnded()) == [{"realtimeInput": {"audioStreamEnd": True}}]
    assert [warning.code for warning in encoder.warnings] == ["frame_approximated"]


@pytest.mark.quirk(90)
def test_a_cancelled_call_gets_no_result():
    encoder = ClientEncoder()
    calls = tuple(CallItem(call=ToolCall(call_id=name, name=f"tool_{name}", raw="{}")) for name in "ab")
    encoder.heard(ToolCalls(calls=calls), ToolCallsCancelled(call_ids=("a",)))
    results = tuple(ResultItem(call_id=name, parts=(TextPart(text=name),)) for name in "ab")
    assert encoder.feed(ToolResponses(results=results)) == [
        {"toolResponse": {"functionResponses": [{"id": "b", "name": "tool_b", "response": {"output": "b"}}]}}
    ]
    assert encoder.feed(ToolResponses(results=results[:1])) == []
    assert [warning.code for warning in encoder.warnings] == ["frame_dropped"]


@pytest.mark.quirk(89)
def test_an_answer_is_asked_for_only_where_live_does_not_answer_by_itself():
    encoder = ClientEncoder()
    content = UserContent(items=(say("user", "hi"),))
    result = ToolResponses(results=(ResultItem(call_id="1", name="f", parts=(TextPart(text="ok"),)),), respond=False)
    assert encoder.feed(content, ResponseRequested())[1:] == [{"clientContent": {"turnComplete": True}}]
    assert [list(message) for message in encoder.feed(result, ResponseRequested())] == [["toolResponse"]]
    assert encoder.feed(TextInput(text="go"), ResponseRequested()) == [{"realtimeInput": {"text": "go"}}]


def test_what_live_cannot_say_is_warned_of():
    losses = Losses()
    frames = (
        ResponseCancelled(),
        ItemTruncated(item_id="i"),
        NativeFrame(origin="openai-realtime", value={"type": "input_audio_buffer.clear"}),
        ResponseRequested(instructions="Sing."),
    )
    assert encode_client(frames, losses=losses) == [{"clientContent": {"turnComplete": True}}]
    assert [warning.code for warning in losses.taken()] == [
        "frame_dropped", "frame_dropped", "native_dropped", "option_dropped",
    ]  # fmt: skip


def test_items_that_live_has_no_place_for_are_told_or_warned_of():
    losses = Losses()
    items = (
        say("system", "Be kind."),
        ReasoningItem(text="hm", private={"anthropic": {"signature": "s"}}),
        ResultItem(call_id="1", name="f", parts=(TextPart(text="see "), MediaPart(media_type="image/png", data=b""))),
        Message(role="user", parts=(MediaPart(media_type="image/png", file_id="file-1"),)),
    )
    (message,) = encode_client((UserContent(items=items),), losses=losses)
    assert message["clientContent"]["turns"] == [
        {
            "role": "user",
            "parts": [
                {"text": "<system>Be kind.</system>"},
                {"functionResponse": {"id": "1", "name": "f", "response": {"output": "see [image/png left out]"}}},
                {"text": "[image/png left out: file-1]"},
            ],
        }
    ]
    codes = [warning.code for warning in losses.taken()]
    assert codes == ["role_changed", "reasoning_dropped", "media_dropped", "media_dropped"]


def test_pictures_and_activity_of_our_own_are_live_inputs():
    assert encode_client((VideoInput(data=b"\x00", media_type="image/jpeg"), ActivityStarted())) == [
        {"realtimeInput": {"video": {"data": "AA==", "mimeType": "image/jpeg"}}},
        {"realtimeInput": {"activityStart": {}}},
    ]

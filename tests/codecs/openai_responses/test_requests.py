import json

import pytest

from groundwire.codecs.openai_responses import DIALECT, Profile, decode_request, encode_request
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    RefusalPart,
    ResultItem,
    TextPart,
    say,
)
from groundwire.contracts.requests import ModelRequest, OutputFormat, ReasoningOptions, Sampling
from tests.codecs.openai_responses.recordings import without_nulls

CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}


def body_with(**members):
    return {"model": "m", "input": [{"role": "user", "content": "hi"}], **members}


def back(body, **options):
    return encode_request(decode_request(json.dumps(body).encode()), **options)


def codes(encoded):
    return [warning.code for warning in encoded.warnings]


ROUND_TRIPS = {
    "a text as input": {"model": "m", "input": "hi"},
    "an empty text as input": {"model": "m", "input": ""},
    "no input, because a stored prompt has it": {"prompt": {"id": "pmpt_1", "variables": {"a": "b"}}},
    "an empty input": {"model": "m", "input": []},
    "settings of the provider's state": body_with(
        store=False, previous_response_id="resp_1", include=["reasoning.encrypted_content"], metadata={"a": "b"},
        truncation="auto", background=True, service_tier="flex", user="u", prompt_cache_key="k", top_logprobs=2,
        conversation={"id": "conv_1"}, context_management=[{"type": "compaction", "compact_threshold": 1000}],
    ),
    "instructions": body_with(instructions="be brief"),
    "empty instructions": body_with(instructions=""),
    "sampling": body_with(temperature=0.5, top_p=1, max_output_tokens=900),
    "streaming, said or not": body_with(stream=True, stream_options={"include_obfuscation": False}),
    "no streaming, said": body_with(stream=False),
    "verbosity beside a format": body_with(text={"format": {"type": "text"}, "verbosity": "low"}),
    "verbosity alone": body_with(text={"verbosity": "low"}),
    "an empty text setting": body_with(text={}),
    "any JSON as output": body_with(text={"format": {"type": "json_object"}}),
    "JSON of a schema as output": body_with(
        text={
            "format": {
                "type": "json_schema", "name": "n", "description": "d", "strict": True,
                "schema": {"type": "object", "anyOf": [{}]},
            }
        }
    ),
    "a format that nobody knows": body_with(text={"format": {"type": "grammar", "syntax": "lark"}}),
    "reasoning": body_with(reasoning={"effort": "high", "summary": "detailed", "context": "all_turns"}),
    "reasoning without an effort": body_with(reasoning={"summary": "auto"}),
    "empty reasoning": body_with(reasoning={}),
    "a typed easy message": body_with(input=[{"type": "message", "role": "user", "content": "hi"}]),
    "a list with one text": body_with(input=[{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]),
    "a list with one text of the model": body_with(
        input=[{"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]
    ),
    "a text of the model in the form of a question": body_with(
        input=[{"role": "assistant", "content": [{"type": "input_text", "text": "hi"}]}]
    ),
    "an empty list": body_with(input=[{"role": "user", "content": []}]),
    "an id on a plain text": body_with(input=[{"id": "msg_1", "role": "user", "content": "hi"}]),
    "a message of a response": body_with(
        input=[
            {
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
                "content": [
                    {"type": "output_text", "text": "hi", "annotations": [], "logprobs": []},
                    {"type": "refusal", "refusal": "no"},
                ],
            }
        ]
    ),
    "annotations": body_with(
        input=[
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "output_text",
                        "text": "see there",
                        "annotations": [
                            {"type": "url_citation", "url": "u", "title": "t", "start_index": 4, "end_index": 9},
                            {"type": "url_citation", "url": "u", "start_index": 4},
                            {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 3},
                        ],
                    }
                ],
            }
        ]
    ),
    "a role that nobody knows": body_with(input=[{"role": "critic", "content": "hm"}]),
    "media": body_with(
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": "https://x/a.png", "detail": "high"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAEC"},
                    {"type": "input_image", "image_url": "data:image/PNG;charset=x;base64,AAEC", "detail": "auto"},
                    {"type": "input_image", "file_id": "file-1", "detail": "low"},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,AAEC", "filename": "a.pdf"},
                    {"type": "input_file", "file_data": "AAEC", "filename": "a.pdf"},
                    {"type": "input_file", "file_data": "data:image/png;base64,AAEC"},
                    {"type": "input_file", "file_url": "https://x/a.pdf", "detail": "low"},
                    {"type": "input_file", "file_id": "assistant-abc"},
                    {"type": "input_audio", "input_audio": {"data": "AAEC", "format": "mp3"}},
                    {"type": "input_video", "video_url": "https://x/a.mp4"},
                    {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
                ],
            }
        ]
    ),
    "outputs of calls": body_with(
        input=[
            {**CALL, "id": "fc_1", "status": "completed", "namespace": "n", "caller": {"type": "direct"}},
            {**CALL, "call_id": "c2", "arguments": ""},
            {**CALL, "call_id": "c3"},
            {**CALL, "call_id": "c4"},
            {**OUTPUT, "id": "fco_1", "status": "completed", "name": "f"},
            {**OUTPUT, "call_id": "c2", "output": ""},
            {**OUTPUT, "call_id": "c3", "output": []},
            {**OUTPUT, "call_id": "c4", "output": [{"type": "input_text", "text": "one"}]},
        ]
    ),
    "custom calls": body_with(
        input=[
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": 'select "a"\n'},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
        ]
    ),
    "entries of the provider's own tools": body_with(
        input=[
            {"type": "item_reference", "id": "rs_1"},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAA"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
            {"type": "function_call_output", "name": "f", "namespace": "n", "output": "pushed"},
        ]
    ),
    "a result of a call that the provider has stored": body_with(
        previous_response_id="resp_1", input=[{**OUTPUT, "call_id": "elsewhere"}]
    ),
    "outputs in any order, and words between them": body_with(
        input=[
            CALL,
            {**CALL, "call_id": "c2"},
            {"role": "assistant", "content": "one moment"},
            {**OUTPUT, "call_id": "c2"},
            {"role": "user", "content": "hurry"},
            OUTPUT,
        ]
    ),
    "members that nobody knows": body_with(novelty={"a": [1]}, input=[{"role": "user", "content": "hi", "mood": "good"}]),
}  # fmt: skip


@pytest.mark.parametrize("body", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_what_this_dialect_says_it_gets_back(body):
    encoded = back(body)
    assert without_nulls(encoded.body) == body
    assert encoded.warnings == ()


def test_messages_without_any_private_note_are_plain():
    request = decode_request(body_with(input="hi"))
    assert request.items == (say("user", "hi"),)
    assert decode_request(body_with()).items == (say("user", "hi"),)


def test_media_is_read_into_bytes_addresses_and_ids():
    content = ROUND_TRIPS["media"]["input"][0]["content"]
    parts = decode_request(body_with(input=[{"role": "user", "content": content}])).items[0].parts
    found = [(part.media_type, part.data, part.url, part.file_id, part.name) for part in parts if part.kind == "media"]
    assert found == [
        ("image/*", None, "https://x/a.png", None, None),
        ("image/png", b"\x00\x01\x02", None, None, None),
        ("image/png", b"\x00\x01\x02", None, None, None),
        ("image/*", None, None, "file-1", None),
        ("application/pdf", b"\x00\x01\x02", None, None, "a.pdf"),
        ("application/pdf", b"\x00\x01\x02", None, None, "a.pdf"),
        ("image/png", b"\x00\x01\x02", None, None, None),
        ("application/pdf", None, "https://x/a.pdf", None, None),
        ("application/octet-stream", None, None, "assistant-abc", None),
        ("audio/mpeg", b"\x00\x01\x02", None, None, None),
    ]
    assert parts[10] == NativePart(origin=DIALECT, value={"type": "input_video", "video_url": "https://x/a.mp4"})


def test_citations_are_read_with_their_places():
    content = ROUND_TRIPS["annotations"]["input"][0]["content"]
    text = decode_request(body_with(input=[{"role": "assistant", "content": content}])).items[0].parts[0]
    assert text.citations[0] == Citation(url="u", title="t", start=4, end=9)
    assert text.citations[2].title == "a.pdf"


def test_a_refusal_is_a_part_of_its_own():
    request = decode_request(
        body_with(input=[{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}])
    )
    assert request.items[0].parts == (RefusalPart(text="no"),)


def test_a_custom_call_is_a_call_with_one_argument():
    request = decode_request(ROUND_TRIPS["custom calls"])
    call, result = request.items
    assert call.call.raw == '{"input":"select \\"a\\"\\n"}'
    assert (result.call_id, result.text) == ("c1", "1")


def test_options_have_their_places():
    request = decode_request(
        body_with(
            temperature=0.5, top_p=0.9, max_output_tokens=7, parallel_tool_calls=False, instructions="be brief",
            text={"format": {"type": "json_schema", "name": "n", "schema": {"a": 1}, "strict": True}, "verbosity": "low"},
            reasoning={"effort": "high", "summary": "auto"}, stream=True, user="u",
        )
    )  # fmt: skip
    assert request.sampling == Sampling(temperature=0.5, top_p=0.9)
    assert request.max_output_tokens == 7
    assert request.parallel_calls is False
    assert request.instructions == (TextPart(text="be brief"),)
    assert (request.output.type, request.output.schema, request.output.strict) == ("schema", {"a": 1}, True)
    assert (request.reasoning.effort, request.reasoning.summary) == ("high", True)
    assert request.stream
    assert request.extras == {DIALECT: {"user": "u", "text": {"verbosity": "low"}}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"[]", ""),
        (b"{", ""),
        ({"model": 5}, "model"),
        ({"input": 5}, "input"),
        ({"input": ["hi"]}, "input[0]"),
        ({"input": [{}]}, "input[0]"),
        ({"input": [{"type": 5}]}, "input[0].type"),
        ({"input": [{"role": 5, "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [5]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"text": "x"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png,x"}]}]},
            "input[0].content[0].image_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "§"}]}]},
            "input[0].content[0].file_data",
        ),
        ({"input": [{"type": "function_call", "name": "f"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "input[0].name"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
        ({"instructions": ["x"]}, "instructions"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_output_tokens": "many"}, "max_output_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"parallel_tool_calls": 1}, "parallel_tool_calls"),
        ({"text": "json"}, "text"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
        ({"reasoning": "high"}, "reasoning"),
        ({"tools": {}}, "tools"),
        ({"tools": [5]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "function": {"name": 5}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, "tools[0].parameters"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "none", "tools": []}}, "tool_choice.mode"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_with_its_place(body, path):
    with pytest.raises(WireError) as caught:
        decode_request(body if isinstance(body, bytes) else json.dumps({"input": "hi", **body}).encode())
    assert caught.value.path == path


# From other dialects


def test_a_foreign_conversation_becomes_plain_items():
    call = CallItem(call=_call("c1", "f", '{"a":1}'))
    request = ModelRequest(
        model="m",
        instructions=(TextPart(text="be"), TextPart(text="brief")),
        items=(say("system", "s"), say("user", "hi"), call, ResultItem(call_id="c1", parts=(TextPart(text="ok"),))),
    )
    encoded = encode_request(request)
    assert encoded.body == {
        "model": "m",
        "instructions": "be\n\nbrief",
        "input": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
    }
    assert encoded.warnings == ()


def test_media_of_a_tool_result_stays_in_the_result():
    parts = (TextPart(text="here"), MediaPart(media_type="image/png", data=b"\x00"))
    request = ModelRequest(model="m", items=(CallItem(call=_call("c", "f")), ResultItem(call_id="c", parts=parts)))
    assert encode_request(request).body["input"][1]["output"] == [
        {"type": "input_text", "text": "here"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
    ]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            MediaPart(media_type="application/pdf", data=b"\x00"),
            {"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "file.pdf"},
        ),
        (
            MediaPart(media_type="application/pdf", url="https://x/a", name="a.pdf"),
            {"type": "input_file", "file_url": "https://x/a", "filename": "a.pdf"},
        ),
        (
            MediaPart(media_type="image/*", url="https://x"),
            {"type": "input_image", "image_url": "https://x", "detail": "auto"},
        ),
        (
            MediaPart(media_type="image/*", file_id="file-9"),
            {"type": "input_image", "file_id": "file-9", "detail": "auto"},
        ),
    ],
)
def test_media_that_has_a_place_is_sent(part, written):
    encoded = encode_request(ModelRequest(model="m", items=(Message(role="user", parts=(part,)),)))
    assert encoded.body["input"] == [{"role": "user", "content": [written]}]
    assert encoded.warnings == ()


@pytest.mark.parametrize(
    "part",
    [
        MediaPart(media_type="audio/wav", data=b"\x00"),
        MediaPart(media_type="video/mp4", url="https://x/a.mp4"),
        MediaPart(media_type="image/png", file_id="files/of-another-provider"),
    ],
)
def test_media_without_a_place_becomes_a_note(part):
    encoded = encode_request(ModelRequest(model="m", items=(Message(role="user", parts=(part,)),)))
    (written,) = encoded.body["input"][0]["content"]
    assert written["type"] == "input_text"
    assert part.media_type in written["text"]
    assert codes(encoded) == ["media_dropped"]


def test_sound_is_sent_where_the_endpoint_takes_it():
    request = ModelRequest(
        model="m", items=(Message(role="user", parts=(MediaPart(media_type="audio/wav", data=b"\x00"),)),)
    )
    encoded = encode_request(request, profile=Profile(audio_input=True))
    assert encoded.body["input"][0]["content"] == [
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    ]


def test_foreign_private_data_extras_and_natives_stay_behind_and_are_named():
    foreign = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
    request = ModelRequest(
        model="m",
        items=(
            Message(
                role="user", parts=(TextPart(text="hi", private=foreign), NativePart(origin="gemini", value={"a": 1}))
            ),
            NativeItem(origin="anthropic", value={"type": "server_tool_use"}),
            Message(role="tool", parts=(TextPart(text="x"),), private={"openai-chat": {"_list": True}}),
        ),
        extras={"openai-chat": {"logit_bias": {"1": 2}, "_stream": False}},
    )
    encoded = encode_request(request)
    assert encoded.body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "user", "content": "x"},
    ]
    assert codes(encoded) == ["extra_dropped", "private_dropped", "native_dropped", "native_dropped", "role_changed"]


def test_options_that_do_not_exist_here_are_named():
    sampling = Sampling(top_k=4, seed=1, presence_penalty=0.5, frequency_penalty=0.5, stop=("x",), count=2)
    encoded = encode_request(ModelRequest(model="m", items=(say("user", "hi"),), sampling=sampling))
    assert encoded.body.keys() == {"model", "input"}
    assert [(warning.code, warning.path) for warning in encoded.warnings] == [
        ("option_dropped", "sampling.top_k"),
        ("option_dropped", "sampling.seed"),
        ("option_dropped", "sampling.presence_penalty"),
        ("option_dropped", "sampling.frequency_penalty"),
        ("option_dropped", "sampling.stop"),
        ("option_dropped", "sampling.count"),
    ]
    single = ModelRequest(model="m", items=(say("user", "hi"),), sampling=Sampling(count=1))
    assert encode_request(single).warnings == ()


@pytest.mark.parametrize(
    ("options", "written", "found"),
    [
        (ReasoningOptions(effort="high", summary=True), {"effort": "high", "summary": "auto"}, []),
        (ReasoningOptions(summary=False), None, []),
        (ReasoningOptions(budget=0), {"effort": "none"}, ["option_adjusted"]),
        (ReasoningOptions(budget=1024), {"effort": "low"}, ["option_adjusted"]),
        (ReasoningOptions(budget=10000), {"effort": "medium"}, ["option_adjusted"]),
        (ReasoningOptions(budget=32000), {"effort": "high"}, ["option_adjusted"]),
        (ReasoningOptions(budget=-1), {"effort": "medium"}, ["option_adjusted"]),
        (ReasoningOptions(effort="dynamic"), None, ["option_dropped"]),
    ],
)
def test_foreign_reasoning_options_become_an_effort(options, written, found):
    encoded = encode_request(ModelRequest(model="m", items=(say("user", "hi"),), reasoning=options))
    assert encoded.body.get("reasoning") == written
    assert codes(encoded) == found


@pytest.mark.parametrize(
    ("output", "written"),
    [
        (OutputFormat(type="text"), {"type": "text"}),
        (OutputFormat(type="json"), {"type": "json_object"}),
        (
            OutputFormat(type="schema", schema={"type": "object"}),
            {"type": "json_schema", "name": "answer", "schema": {"type": "object"}},
        ),
        (
            OutputFormat(type="schema", schema={}, name="n", description="d", strict=False),
            {"type": "json_schema", "name": "n", "schema": {}, "description": "d", "strict": False},
        ),
    ],
)
def test_foreign_output_formats_are_flat_here(output, written):
    encoded = encode_request(ModelRequest(model="m", items=(say("user", "hi"),), output=output))
    assert encoded.body["text"] == {"format": written}


@pytest.mark.quirk(59)
def test_an_endpoint_is_spared_the_options_that_it_refuses():
    profile = Profile(dropped_options=frozenset({"temperature", "include", "seed"}))
    encoded = back(body_with(temperature=0.5, include=["x"], top_p=0.5), profile=profile)
    assert encoded.body == body_with(top_p=0.5)
    assert codes(encoded) == ["option_dropped", "option_dropped"]


def test_a_replayed_call_says_that_it_has_no_status_where_that_is_demanded():
    profile = Profile(status_null=True)
    assert back(body_with(input=[CALL, OUTPUT]), profile=profile).body["input"][0] == {**CALL, "status": None}
    said = {**CALL, "status": "completed"}
    assert back(body_with(input=[said, OUTPUT]), profile=profile).body["input"][0] == said


@pytest.mark.quirk(5)
def test_arguments_may_come_as_an_object_and_go_as_text():
    encoded = back(body_with(input=[{**CALL, "arguments": {"a": 1}}, OUTPUT]))
    assert encoded.body["input"][0]["arguments"] == '{"a":1}'


@pytest.mark.quirk(10)
def test_an_id_that_is_used_again_becomes_an_id_of_its_own_in_both_halves():
    encoded = back(body_with(input=[CALL, OUTPUT, CALL, {**OUTPUT, "output": "two"}]))
    first, _, second, answer = encoded.body["input"]
    assert first["call_id"] == "c1"
    assert second["call_id"] == answer["call_id"] != "c1"
    assert codes(encoded) == ["call_id_rewritten"]
    assert back(body_with(input=[CALL, OUTPUT, CALL, {**OUTPUT, "output": "two"}])).body == encoded.body


@pytest.mark.quirk(12)
def test_an_id_that_is_too_long_is_replaced_in_both_halves():
    long = "call_" + "x" * 80
    encoded = back(body_with(input=[{**CALL, "call_id": long}, {**OUTPUT, "call_id": long}]))
    call, output = encoded.body["input"]
    assert call["call_id"] == output["call_id"]
    assert len(call["call_id"]) <= 64


def _call(call_id, name, raw="{}"):
    return (
        decode_request({"input": [{"type": "function_call", "call_id": call_id, "name": name, "arguments": raw}]})
        .items[0]
        .call
    )

import base64
import json

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.codecs.wire.ids import OPENAI_OWN_CHAT_IDS
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
    say,
)
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)
from tests.codecs.openai_chat.support import codes, request, round_trip, tool_call, without_nulls

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CUSTOM = {"type": "custom", "custom": {"name": "write", "description": "d", "format": {"type": "text"}}}
PNG = base64.b64encode(b"\x89PNG..").decode()

MESSAGES = {
    "one text part": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    "several parts": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "empty list": [{"role": "user", "content": []}],
    "cache marker": [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}
    ],
    "name": [{"role": "user", "content": "a", "name": "ann"}],
    "roles": [
        {"role": "developer", "content": "a"},
        {"role": "system", "content": "b"},
        {"role": "odd", "content": ""},
    ],
    "image": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]}
    ],
    "image address": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}}]}
    ],
    "flat image": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://x/a"}]}],
    "odd data url": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;x=1;base64,{PNG}"}}]}
    ],
    "sound": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": PNG, "format": "mp3"}}]}],
    "odd sound": [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": PNG, "format": "flac"}}]}
    ],
    "file": [
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}}
            ],
        }
    ],
    "unnamed file": [
        {"role": "user", "content": [{"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PNG}"}}]}
    ],
    "bare file": [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": PNG}}]}],
    "file id": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}],
    "odd file id": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "x"}}]}],
    "file address": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "https://x/a.pdf"}}]}],
    "image as file": [
        {"role": "user", "content": [{"type": "file", "file": {"file_data": f"data:image/png;base64,{PNG}"}}]}
    ],
    "video": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://x/a.mp4"}}]}],
    "document": [
        {"role": "user", "content": [{"type": "document_url", "document_url": "https://x/a", "document_name": "n"}]}
    ],
    "native part": [{"role": "user", "content": [{"type": "new_kind", "value": 1}]}],
    "assistant parts": [
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]},
    ],
    "assistant refusal": [USER, {"role": "assistant", "content": None, "refusal": "no"}],
    "assistant text and refusal": [USER, {"role": "assistant", "content": "a", "refusal": "no"}],
    "assistant twice": [USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
    "assistant empty": [USER, {"role": "assistant", "content": ""}],
    "assistant audio": [USER, {"role": "assistant", "audio": {"id": "audio_1"}}],
    "assistant prefix": [USER, {"role": "assistant", "content": "a", "prefix": True}],
    "empty beside calls": [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [tool_call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": ""},
    ],
    "text beside calls": [
        USER,
        {"role": "assistant", "content": "now", "tool_calls": [tool_call(), tool_call("call_2", "g", '{"a": 1}')]},
        {"role": "tool", "tool_call_id": "call_2", "content": "2"},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "1"}]},
        USER,
    ],
    "unknown beside calls": [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [tool_call()], "weight": 1},
        {"role": "tool", "tool_call_id": "call_1", "content": "x", "name": "f", "extra": 2},
    ],
    "call members": [
        USER,
        {"role": "assistant", "tool_calls": [{**tool_call(), "index": 0, "extra_content": {"x": 1}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    ],
    "untyped call": [
        USER,
        {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": "{}", "p": 1}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    ],
    "custom call": [
        USER,
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "w", "input": 'a "b"'}}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ],
    "legacy call": [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "y"},
    ],
    "reasoning content": [
        USER,
        {"role": "assistant", "content": "a", "reasoning_content": "t"},
        USER,
        {"role": "assistant", "content": "a", "reasoning_content": ""},
    ],
    "reasoning details": [
        USER,
        {"role": "assistant", "content": "a", "reasoning": "t", "reasoning_details": [{"type": "x", "data": "zz"}]},
    ],
    "thinking parts": [
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "t"}], "closed": True},
                {"type": "text", "text": "a"},
            ],
        },
    ],
    "think tags": [USER, {"role": "assistant", "content": "<think>\nt\n</think>\n\na"}],
    "media in result": [
        USER,
        {"role": "assistant", "tool_calls": [tool_call()]},
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png"}}],
        },
    ],
}
OPTIONS = {
    "stop text": {"stop": "x"},
    "stop list": {"stop": ["x", "y"]},
    "no stop": {"stop": []},
    "sampling": {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 3,
        "seed": 7,
        "presence_penalty": 1,
        "frequency_penalty": -1,
        "n": 2,
    },
    "new limit": {"max_completion_tokens": 5},
    "old limit": {"max_tokens": 5},
    "both limits": {"max_tokens": 5, "max_completion_tokens": 6},
    "text": {"response_format": {"type": "text"}},
    "json": {"response_format": {"type": "json_object"}},
    "schema": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"anyOf": []}, "x": 1}}
    },
    "odd format": {"response_format": {"type": "grammar", "grammar": "g"}},
    "effort": {"reasoning_effort": "xhigh"},
    "loud effort": {"reasoning_effort": "High"},
    "streams": {"stream": True, "stream_options": {"include_usage": True}},
    "streams without usage": {"stream": True},
    "streams otherwise": {"stream": True, "stream_options": {"include_obfuscation": False}},
    "does not stream": {"stream": False},
    "unknown": {"service_tier": "flex", "metadata": {"a": "b"}, "logit_bias": {"1": 2}, "store": False},
    "tools": {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
    "odd tools": {"tools": [{"function": {"name": "f", "parameters": {}, "x": 1}, "y": 2}]},
    "strict": {"tools": [{"type": "function", "function": {"name": "f", "description": "d", "strict": True}}]},
    "custom": {"tools": [CUSTOM, {"type": "custom", "custom": {"name": "b"}}], "tool_choice": "required"},
    "grammar": {
        "tools": [
            {
                "type": "custom",
                "custom": {
                    "name": "g",
                    "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}},
                },
            }
        ]
    },
    "native tool": {"tools": [{"type": "web_search", "depth": 1}]},
    "no tools": {"tools": []},
    "choice alone": {"tool_choice": "none"},
    "any": {"tools": [TOOL], "tool_choice": "any"},
    "named": {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    "named custom": {"tools": [CUSTOM], "tool_choice": {"type": "custom", "custom": {"name": "write"}}},
    "native choice": {"tools": [TOOL], "tool_choice": {"type": "web_search"}},
    "allowed": {
        "tools": [TOOL, CUSTOM],
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "auto",
                "tools": [
                    {"type": "function", "function": {"name": "f"}},
                    {"type": "custom", "custom": {"name": "write"}},
                ],
            },
        },
    },
    "one allowed": {
        "tools": [TOOL],
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
        },
    },
    "legacy": {
        "functions": [{"name": "f", "parameters": {"type": "object", "properties": {}}}],
        "function_call": "auto",
    },
    "legacy named": {"functions": [{"name": "f"}], "function_call": {"name": "f"}},
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_come_back_as_they_were(name):
    body = request(*MESSAGES[name])
    encoded = round_trip(body)
    assert without_nulls(encoded.body) == without_nulls(body)
    assert encoded.warnings == ()


@pytest.mark.parametrize("name", OPTIONS)
def test_options_come_back_as_they_were(name):
    body = request(USER, **OPTIONS[name])
    encoded = round_trip(body)
    assert without_nulls(encoded.body) == without_nulls(body)
    assert encoded.warnings == ()


def test_options_are_read_into_their_places():
    body = request(USER, **OPTIONS["sampling"], stop="x", max_tokens=9, reasoning_effort="Low", tools=[TOOL, CUSTOM])
    read = chat.decode_request(body)
    assert read.sampling == Sampling(
        temperature=0, top_p=0.5, top_k=3, seed=7, presence_penalty=1, frequency_penalty=-1, stop=("x",), count=2
    )
    assert (read.max_output_tokens, read.reasoning.effort) == (9, "low")
    assert read.tools[0] == FunctionTool(name="f", parameters={"type": "object", "properties": {}})
    assert read.tools[1] == FunctionTool(name="write", description="d", freeform={"type": "text"})


def test_flat_tools_and_choices_have_one_reading():
    body = request(
        USER,
        tools=[{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}],
        tool_choice={"type": "function", "name": "f"},
    )
    written = round_trip(body).body
    assert written["tools"] == [TOOL]
    assert written["tool_choice"] == {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ({"messages": []}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": 1, "messages": []}, "model"),
        (request("x"), "messages[0]"),
        (request({"content": "x"}), "messages[0].role"),
        (request({"role": "user", "content": 5}), "messages[0].content"),
        (request(USER, {"role": "user", "content": [{"type": "text", "text": 5}]}), "messages[1].content[0].text"),
        (request({"role": "user", "content": [{"text": "x"}]}), "messages[0].content[0].type"),
        (
            request({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}),
            "messages[0].content[0].image_url.url",
        ),
        (
            request(
                {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "*", "format": "wav"}}]}
            ),
            "messages[0].content[0].input_audio.data",
        ),
        (request({"role": "assistant", "tool_calls": {}}), "messages[0].tool_calls"),
        (request({"role": "assistant", "tool_calls": [{"id": "a"}]}), "messages[0].tool_calls[0].function"),
        (
            request({"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}),
            "messages[0].tool_calls[0].function.name",
        ),
        (
            request({"role": "assistant", "tool_calls": [tool_call(arguments=5)]}),
            "messages[0].tool_calls[0].function.arguments",
        ),
        (request({"role": "assistant", "tool_calls": [tool_call(call_id=5)]}), "messages[0].tool_calls[0].id"),
        (request({"role": "assistant", "reasoning": 5}), "messages[0].reasoning"),
        (request({"role": "tool", "content": "x"}), "messages[0].tool_call_id"),
        (request(tools=5), "tools"),
        (request(tools=[{"type": "function"}]), "tools[0].function"),
        (request(tools=[{"type": "function", "function": {"name": 5}}]), "tools[0].function.name"),
        (request(functions=[{"name": "f", "parameters": 5}]), "functions[0].parameters"),
        (request(tool_choice="sometimes"), "tool_choice"),
        (request(temperature="hot"), "temperature"),
        (request(stop=[1]), "stop[0]"),
        (request(stream="yes"), "stream"),
        (request(response_format="json"), "response_format"),
    ],
)
def test_a_wrong_member_is_named_by_its_path(body, path):
    with pytest.raises(WireError) as caught:
        chat.decode_request(json.dumps(body).encode())
    assert caught.value.path == path


def test_an_address_may_name_the_model():
    assert chat.decode_request({"messages": []}, model="deployed").model == "deployed"


@pytest.mark.quirk(1)
def test_legacy_calls_and_results_find_each_other():
    items = chat.decode_request(request(*MESSAGES["legacy call"])).items
    assert [item.kind for item in items] == ["message", "call", "result", "call", "result"]
    assert items[1].call.call_id == items[2].call_id
    assert items[3].call.call_id == items[4].call_id != items[1].call.call_id
    assert items[1].call.raw == '{"a":1}'


@pytest.mark.quirk(9)
def test_calls_without_ids_get_the_same_ids_on_every_reading():
    body = request(
        USER,
        {"role": "assistant", "tool_calls": [tool_call("", "f"), tool_call("", "g")]},
        {"role": "tool", "tool_call_id": "", "content": "1"},
        {"role": "tool", "tool_call_id": "", "content": "2"},
    )
    messages = round_trip(body).body["messages"]
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [message["tool_call_id"] for message in messages[2:]] == ids
    assert round_trip(body).body["messages"] == messages


@pytest.mark.quirk(6)
@pytest.mark.parametrize("arguments", ["", "  ", None])
def test_blank_arguments_of_a_history_are_an_empty_object(arguments):
    body = request(
        USER,
        {"role": "assistant", "tool_calls": [tool_call(arguments=arguments)]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    )
    assert round_trip(body).body["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.quirk(5)
def test_arguments_that_are_an_object_are_sent_as_text():
    body = request(
        USER,
        {"role": "assistant", "tool_calls": [tool_call(arguments={"a": 1})]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    )
    assert round_trip(body).body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a":1}'


def test_a_custom_call_is_canonically_a_call_with_the_argument_input():
    items = chat.decode_request(request(*MESSAGES["custom call"])).items
    assert items[1].call.raw == '{"input":"a \\"b\\""}'


def test_gemini_signatures_travel_with_the_calls_of_chat_clients():
    extra = {"google": {"thought_signature": "sig"}}
    body = request(
        USER,
        {"role": "assistant", "tool_calls": [{**tool_call(), "extra_content": extra}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    )
    read = chat.decode_request(body)
    assert read.items[1].private["gemini"] == {"thoughtSignature": "sig"}
    assert without_nulls(chat.encode_request(read).body) == body
    foreign = CallItem(call=read.items[1].call, private={"gemini": {"thoughtSignature": "sig"}})
    moved = ModelRequest(model="m", items=(read.items[0], foreign, read.items[2]))
    plain = chat.encode_request(moved)
    assert "extra_content" not in plain.body["messages"][1]["tool_calls"][0]
    assert codes(plain.warnings) == ["private_dropped"]
    google = chat.encode_request(moved, profile=chat.Profile(google_signatures=True))
    assert google.body["messages"][1]["tool_calls"][0]["extra_content"] == extra
    assert google.warnings == ()


def call(call_id="call_1", name="f", raw="{}", **members):
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw), **members)


def result(call_id="call_1", text="x", **members):
    return ResultItem(call_id=call_id, parts=(TextPart(text=text),), **members)


def encode(*items, profile=None, **members):
    return chat.encode_request(ModelRequest(model="m", items=items, **members), profile=profile or chat.Profile())


def test_instructions_lead_as_system_messages_and_as_one_for_servers_that_take_one():
    instructions = (TextPart(text="a"), TextPart(text="b"))
    body = encode(say("user", "hi"), instructions=instructions).body
    assert body["messages"] == [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, USER]
    merged = encode(say("user", "hi"), instructions=instructions, profile=chat.Profile(merge_same_role=True)).body
    assert merged["messages"] == [{"role": "system", "content": "a\n\nb"}, USER]


@pytest.mark.quirk(17)
def test_all_that_the_model_did_in_one_turn_is_one_message():
    encoded = encode(say("user", "hi"), say("assistant", "a"), call(), say("assistant", "b"), result())
    assert encoded.body["messages"][1:] == [
        {"role": "assistant", "content": "ab", "tool_calls": [tool_call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
    ]


@pytest.mark.quirk(70)
def test_a_call_without_a_result_gets_one():
    encoded = encode(say("user", "hi"), call(), say("user", "stop"))
    assert [message["role"] for message in encoded.body["messages"]] == ["user", "assistant", "tool", "user"]
    assert codes(encoded.warnings) == ["result_added"]


def test_a_result_without_a_call_becomes_text():
    encoded = encode(say("user", "hi"), result("gone"))
    assert [message["role"] for message in encoded.body["messages"]] == ["user", "user"]
    assert codes(encoded.warnings) == ["result_orphaned"]


@pytest.mark.quirk(71)
def test_media_of_results_follow_in_a_message_of_the_user():
    picture = MediaPart(media_type="image/png", data=b"\x89PNG..")
    encoded = encode(
        say("user", "hi"),
        call(),
        call("call_2"),
        ResultItem(call_id="call_1", parts=(TextPart(text="see"), picture)),
        result("call_2"),
    )
    roles = [message["role"] for message in encoded.body["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    assert encoded.body["messages"][4]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PNG}"},
    }
    assert codes(encoded.warnings) == ["media_moved"]


@pytest.mark.parametrize(
    ("part", "note"),
    [
        (MediaPart(media_type="video/mp4", data=b"x"), "[video/mp4 left out]"),
        (MediaPart(media_type="audio/ogg", data=b"x"), "[audio/ogg left out]"),
        (MediaPart(media_type="application/pdf", url="https://x/a"), "[application/pdf left out: https://x/a]"),
        (MediaPart(media_type="image/png", file_id="files/1"), "[image/png left out: files/1]"),
    ],
)
def test_media_without_a_place_become_a_note(part, note):
    encoded = encode(Message(role="user", parts=(TextPart(text="a"), part)))
    assert encoded.body["messages"][0]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": note}]
    assert codes(encoded.warnings) == ["media_dropped"]


def test_pictures_of_the_model_become_a_note():
    encoded = encode(say("user", "a"), Message(role="assistant", parts=(MediaPart(media_type="image/png", data=b"x"),)))
    assert encoded.body["messages"][1] == {"role": "assistant", "content": "[image/png left out]"}
    assert codes(encoded.warnings) == ["media_dropped"]


def test_what_only_others_understand_is_left_out_with_a_warning():
    encoded = encode(
        Message(
            role="user",
            parts=(TextPart(text="hi", private={"anthropic": {"cache_control": {}}}), NativePart(origin="x", value={})),
        ),
        ReasoningItem(text="t", private={"anthropic": {"signature": "s"}}),
        NativeItem(origin="gemini", value={}),
        Message(role="assistant", parts=(TextPart(text="a", citations=(Citation(url="u"),)), RefusalPart(text="r"))),
        extras={"gemini": {"safetySettings": [], "_hint": 1}},
        tools=(NativeTool(origin="gemini", value={"googleSearch": {}}),),
        tool_choice=ToolChoice(mode="required"),
        parallel_calls=False,
    )
    assert encoded.body == {
        "model": "m",
        "messages": [USER, {"role": "assistant", "content": "a", "refusal": "r"}],
    }
    assert sorted(codes(encoded.warnings)) == [
        "citation_dropped",
        "extra_dropped",
        "native_dropped",
        "native_dropped",
        "option_dropped",
        "private_dropped",
        "private_dropped",
        "reasoning_dropped",
        "tool_dropped",
    ]


@pytest.mark.quirk(12)
def test_ids_that_break_the_rule_are_replaced_in_both_halves():
    long = "fc_" + "x" * 50 + "|call_1"
    encoded = encode(say("user", "a"), call(long), result(long), profile=chat.Profile(call_ids=OPENAI_OWN_CHAT_IDS))
    messages = encoded.body["messages"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]
    assert len(messages[2]["tool_call_id"]) <= 40
    assert codes(encoded.warnings) == ["call_id_rewritten"]


@pytest.mark.quirk(10)
def test_an_id_that_is_used_again_becomes_another():
    encoded = encode(say("user", "a"), call("call_0"), result("call_0"), call("call_0"), result("call_0", "y"))
    first, second = (m["tool_calls"][0]["id"] for m in encoded.body["messages"] if m["role"] == "assistant")
    assert first == "call_0" != second
    assert encoded.body["messages"][4]["tool_call_id"] == second


def test_names_that_break_the_rule_are_replaced_everywhere_and_lead_back():
    tool = FunctionTool(name="shop.find", parameters={"type": "object", "properties": {}})
    choice = ToolChoice(mode="required", names=("shop.find",))
    encoded = encode(say("user", "a"), call(name="shop.find"), result(), tools=(tool,), tool_choice=choice)
    (wire,) = encoded.names
    assert encoded.names == {wire: "shop.find"}
    assert encoded.body["tools"][0]["function"]["name"] == wire
    assert encoded.body["tool_choice"]["function"]["name"] == wire
    assert encoded.body["messages"][1]["tool_calls"][0]["function"]["name"] == wire
    assert codes(encoded.warnings) == ["name_rewritten"]


def test_a_schema_that_openai_refuses_is_changed_with_a_warning():
    tool = FunctionTool(name="f", parameters={"anyOf": [{"type": "object", "properties": {"a": {}}}]})
    encoded = encode(say("user", "a"), tools=(tool,))
    assert encoded.body["tools"][0]["function"]["parameters"]["type"] == "object"
    assert codes(encoded.warnings) == ["schema"]


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (ToolChoice(), "auto"),
        (ToolChoice(mode="none"), "none"),
        (ToolChoice(mode="none", names=("f",)), "none"),
        (ToolChoice(mode="required"), "required"),
        (ToolChoice(mode="required", names=("f",)), {"type": "function", "function": {"name": "f"}}),
        (ToolChoice(mode="required", names=("w",)), {"type": "custom", "custom": {"name": "w"}}),
        (
            ToolChoice(names=("f",)),
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
        ),
    ],
)
def test_every_choice_has_its_form(choice, written):
    tools = (FunctionTool(name="f"), FunctionTool(name="w", freeform={"type": "text"}))
    assert encode(say("user", "a"), tools=tools, tool_choice=choice).body["tool_choice"] == written


def test_a_streaming_request_of_another_dialect_asks_for_usage():
    body = encode(say("user", "a"), stream=True).body
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize(
    ("options", "effort", "expected"),
    [
        (ReasoningOptions(effort="high"), "high", []),
        (ReasoningOptions(budget=0), "none", ["option_adjusted"]),
        (ReasoningOptions(budget=1024), "low", ["option_adjusted"]),
        (ReasoningOptions(budget=8000), "medium", ["option_adjusted"]),
        (ReasoningOptions(budget=32000), "high", ["option_adjusted"]),
        (ReasoningOptions(effort="low", budget=5, summary=True), "low", ["option_dropped", "option_dropped"]),
    ],
)
def test_thinking_is_an_effort(options, effort, expected):
    encoded = encode(say("user", "a"), reasoning=options)
    assert encoded.body["reasoning_effort"] == effort
    assert codes(encoded.warnings) == expected


def test_a_schema_for_the_answer_gets_the_name_that_openai_demands():
    form = OutputFormat(type="schema", schema={"type": "object", "properties": {}})
    assert encode(say("user", "a"), output=form).body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {}}},
    }


def test_top_k_of_others_is_left_out():
    encoded = encode(say("user", "a"), sampling=Sampling(top_k=5, temperature=1))
    assert "top_k" not in encoded.body
    assert codes(encoded.warnings) == ["option_dropped"]


def test_a_turn_of_which_nothing_is_left_is_not_sent():
    thought = ReasoningItem(text="hm", private={"anthropic": {"signature": "S"}})
    search = NativeItem(origin="anthropic", value={"type": "server_tool_use"})
    encoded = chat.encode_request(ModelRequest(model="m", items=(say("user", "hi"), thought, search)))
    assert encoded.body["messages"] == [USER]
    assert codes(encoded.warnings) == ["private_dropped", "reasoning_dropped", "native_dropped"]


@pytest.mark.quirk(61)
def test_a_strict_tool_is_sent_as_strict_only_if_openai_would_take_its_schema():
    good = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    closed = {**good, "additionalProperties": False}
    refused = [
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {"b": {"type": "null"}}}]}},
         "required": ["a"]},
    ]  # fmt: skip
    tools = tuple(
        FunctionTool(name=f"f{i}", parameters=schema, strict=True) for i, schema in enumerate([good, *refused])
    )
    encoded = chat.encode_request(ModelRequest(model="m", items=(say("user", "hi"),), tools=tools))
    first, *others = [tool["function"] for tool in encoded.body["tools"]]
    assert (first["parameters"], first["strict"]) == (closed, True)
    assert [(other["parameters"], other["strict"]) for other in others] == [(schema, False) for schema in refused]
    assert [(warning.code, warning.path) for warning in encoded.warnings] == [
        ("option_adjusted", f"tools[{place}].strict") for place in range(1, len(refused) + 1)
    ]


@pytest.mark.quirk(61)
def test_a_strict_tool_of_this_dialect_is_its_senders_business():
    schema = {"type": "object", "properties": {"q": {"type": "string", "default": "x"}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    encoded = round_trip(request(USER, tools=[tool]))
    assert encoded.body["tools"] == [tool]
    assert encoded.warnings == ()


@pytest.mark.quirk(80)
def test_a_long_description_is_cut_only_for_a_server_that_refuses_it():
    tool = {"type": "function", "function": {"name": "f", "description": "d" * 2000}}
    assert round_trip(request(USER, tools=[tool])).body["tools"] == [tool]
    encoded = round_trip(request(USER, tools=[tool]), max_description=1024)
    assert encoded.body["tools"][0]["function"]["description"] == "d" * 1023 + "…"
    assert codes(encoded.warnings) == ["option_adjusted"]

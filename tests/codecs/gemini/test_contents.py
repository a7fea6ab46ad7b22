"""Requests of other dialects as Gemini's contents, and the order that it insists on."""

import base64

import pytest

from groundwire.codecs import gemini
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import (
    CallItem,
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
from groundwire.contracts.requests import FunctionTool, ModelRequest

OPTIONAL = gemini.Profile(signatures="optional")
DUMMY = base64.b64encode(b"skip_thought_signature_validator").decode()


def call(call_id, name="f", raw="{}", **private):
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw, origin="openai-chat"), private=private)


def result(call_id, text="ok", **more):
    return ResultItem(call_id=call_id, parts=(TextPart(text=text),), **more)


def encoded(*items, profile=OPTIONAL, **more):
    return gemini.encode_request(ModelRequest(model="m", items=items, **more), profile=profile)


def codes(outcome):
    return [warning.code for warning in outcome.warnings]


@pytest.mark.requirement("X-30", "E-032", "A-093")
def test_results_stand_alone_behind_their_calls_in_the_order_of_the_calls():
    outcome = encoded(
        say("user", "go"),
        say("assistant", "so be it"),
        call("a", raw='{"x": 1}'),
        call("b", name="g"),
        result("b", "second"),
        result("a", '{"n": 1}'),
        say("user", "and now?"),
    )

    assert outcome.body["contents"] == [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {"text": "so be it"},
                {"functionCall": {"name": "f", "id": "a", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "id": "b", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "id": "a", "response": {"n": 1}}},
                {"functionResponse": {"name": "g", "id": "b", "response": {"output": "second"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]
    assert outcome.warnings == ()


@pytest.mark.quirk(65)
def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_becomes_text():
    outcome = encoded(say("user", "go"), call("a"), call("b"), result("b"), result("z", "late"))

    responses = outcome.body["contents"][2]["parts"]
    assert [part["functionResponse"]["id"] for part in responses] == ["a", "b"]
    assert "error" in responses[0]["functionResponse"]["response"]
    assert outcome.body["contents"][3]["parts"][-1] == {"text": "late"}
    assert sorted(codes(outcome)) == ["result_added", "result_orphaned"]


def test_a_message_between_calls_and_results_moves_behind_them():
    outcome = encoded(say("user", "go"), call("a"), say("user", "hurry"), result("a"))

    assert [content["role"] for content in outcome.body["contents"]] == ["user", "model", "user", "user"]
    assert outcome.body["contents"][3]["parts"] == [{"text": "hurry"}]
    assert codes(outcome) == ["message_moved"]


def test_one_id_used_twice_in_a_step_is_told_apart():
    outcome = encoded(say("user", "go"), call("a"), call("a", name="g"), result("a", "one"), result("a", "two"))

    calls, results = outcome.body["contents"][1]["parts"], outcome.body["contents"][2]["parts"]
    ids = [part["functionCall"]["id"] for part in calls]
    assert len(set(ids)) == 2
    assert [part["functionResponse"]["id"] for part in results] == ids
    assert [part["functionResponse"]["response"] for part in results] == [{"output": "one"}, {"output": "two"}]
    assert codes(outcome) == ["call_id_rewritten"]


def test_one_id_used_in_two_steps_stays():
    outcome = encoded(say("user", "go"), call("a"), result("a"), call("a", name="g"), result("a"))

    names = [content["parts"][0]["functionResponse"]["name"] for content in outcome.body["contents"][2::2]]
    assert names == ["f", "g"]
    assert outcome.warnings == ()


def test_a_turn_that_calls_joins_the_models_turn_before_it():
    second = Message(role="assistant", parts=(TextPart(text="two"),), split=True)

    outcome = encoded(say("user", "go"), say("assistant", "one"), second, call("a"), result("a"))

    assert [content["role"] for content in outcome.body["contents"]] == ["user", "model", "user"]
    assert [part.get("text") for part in outcome.body["contents"][1]["parts"]] == ["one", "two", None]


def test_turns_that_only_talk_stay_apart_where_they_were():
    second = Message(role="assistant", parts=(TextPart(text="two"),), split=True)

    outcome = encoded(say("user", "go"), say("assistant", "one"), second)

    assert [content["role"] for content in outcome.body["contents"]] == ["user", "model", "model"]


@pytest.mark.parametrize("items", [(), (say("assistant", "hello"), say("user", "hi"))])
def test_a_conversation_without_a_users_beginning_gets_one(items):
    outcome = encoded(*items)

    assert outcome.body["contents"][0] == {"role": "user", "parts": [{"text": "(The conversation begins here.)"}]}
    assert codes(outcome) == ["placeholder_added"]


@pytest.mark.quirk(67)
@pytest.mark.requirement("A-085")
def test_only_the_first_system_messages_are_the_system_prompt():
    outcome = encoded(
        say("system", "one"),
        say("developer", "two"),
        say("user", "hi"),
        say("system", "later"),
        instructions=(TextPart(text="zero"),),
    )

    assert outcome.body["systemInstruction"] == {"parts": [{"text": "zero"}, {"text": "one"}, {"text": "two"}]}
    assert outcome.body["contents"][1] == {"role": "user", "parts": [{"text": "<system>later</system>"}]}
    assert codes(outcome) == ["role_changed"]


@pytest.mark.quirk(65)
def test_the_first_call_of_each_step_of_the_current_turn_is_signed():
    outcome = encoded(
        say("user", "one"),
        call("old"),
        result("old"),
        say("user", "two"),
        call("a"),
        call("b"),
        result("a"),
        result("b"),
        call("c", gemini={"thoughtSignature": "cmVhbA=="}),
        result("c"),
        call("d", raw="no json"),
        result("d"),
        profile=gemini.Profile(),
    )

    signatures = [
        part.get("thoughtSignature")
        for content in outcome.body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    ]
    assert signatures == [None, DUMMY, None, "cmVhbA==", DUMMY]
    assert codes(outcome) == ["arguments_not_object", "signature_added", "signature_added"]
    assert DUMMY == "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


@pytest.mark.quirk(66)
@pytest.mark.parametrize(
    ("item", "response"),
    [
        (result("a", "42"), {"output": "42"}),
        (result("a", "[1]"), {"output": "[1]"}),
        (result("a", '{"x": 1}'), {"x": 1}),
        (result("a", ""), {"output": ""}),
        (result("a", "broken", failed=True), {"error": "broken"}),
        (result("a", '{"why": "x"}', failed=True), {"error": {"why": "x"}}),
        (ResultItem(call_id="a", parts=()), {"output": ""}),
        (ResultItem(call_id="a", parts=(TextPart(text="a"), TextPart(text="b"))), {"output": "ab"}),
    ],
)
def test_a_result_is_always_an_object(item, response):
    outcome = encoded(say("user", "go"), call("a"), item)

    assert outcome.body["contents"][2]["parts"] == [
        {"functionResponse": {"name": "f", "id": "a", "response": response}}
    ]


@pytest.mark.quirk(5)
def test_arguments_that_are_no_object_are_wrapped_and_unwrapped_again():
    outcome = encoded(say("user", "go"), call("a", raw="[1, 2"), result("a"))

    assert outcome.body["contents"][1]["parts"][0]["functionCall"]["args"] == {"_raw_arguments": "[1, 2"}
    assert codes(outcome) == ["arguments_not_object"]
    again = gemini.decode_request(outcome.body)
    assert again.items[1].call.raw == "[1, 2"


@pytest.mark.quirk(25)
def test_big_integers_keep_their_digits():
    outcome = encoded(say("user", "go"), call("a", raw='{"n": 12345678901234567890123}'), result("a"))

    assert outcome.body["contents"][1]["parts"][0]["functionCall"]["args"] == {"n": 12345678901234567890123}


PNG = MediaPart(media_type="image/png", data=b"\x89PNG", name="plot")


def test_media_of_a_result_stay_in_it_where_the_model_takes_them():
    outcome = encoded(say("user", "go"), call("a"), ResultItem(call_id="a", parts=(TextPart(text="see"), PNG)))

    assert outcome.body["contents"][2]["parts"] == [
        {
            "functionResponse": {
                "name": "f",
                "id": "a",
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw==", "displayName": "plot"}}],
                "response": {"output": "see"},
            }
        }
    ]
    assert outcome.warnings == ()


def test_media_of_a_result_follow_it_where_the_model_takes_none():
    profile = gemini.profile_for("gemini-2.5-flash")
    outcome = encoded(
        say("user", "go"), call("a"), ResultItem(call_id="a", parts=(TextPart(text="see "), PNG)), profile=profile
    )

    response = outcome.body["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert response == {"output": "see [image/png follows below: plot]"}
    assert outcome.body["contents"][3] == {
        "role": "user",
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw==", "displayName": "plot"}}],
    }
    assert codes(outcome) == ["media_moved"]


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (
            MediaPart(media_type="audio/wav", data=b"RIFF"),
            {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        ),
        (
            MediaPart(media_type="image/*", url="https://e.org/a.png?x=1"),
            {"fileData": {"mimeType": "image/png", "fileUri": "https://e.org/a.png?x=1"}},
        ),
        (MediaPart(media_type="image/*", url="https://e.org/a"), {"fileData": {"fileUri": "https://e.org/a"}}),
        (
            MediaPart(media_type="application/pdf", file_id="gs://b/a.pdf"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}},
        ),
    ],
)
def test_media_of_a_user_are_bytes_or_an_address(part, wire):
    outcome = encoded(Message(role="user", parts=(TextPart(text="look"), part)))

    assert outcome.body["contents"][0]["parts"] == [{"text": "look"}, wire]
    assert outcome.warnings == ()


def test_a_file_of_another_provider_becomes_a_note():
    outcome = encoded(Message(role="user", parts=(MediaPart(media_type="application/pdf", file_id="file-abc"),)))

    assert outcome.body["contents"][0]["parts"] == [{"text": "[application/pdf left out: file-abc]"}]
    assert codes(outcome) == ["media_dropped"]


@pytest.mark.quirk(71)
@pytest.mark.quirk(87)
def test_what_only_another_provider_understands_is_left_out_with_a_warning():
    signed = TextPart(text="hi", private={"anthropic": {"cache_control": {"type": "ephemeral"}}})
    outcome = encoded(
        Message(role="user", parts=(signed, NativePart(origin="anthropic", value={"type": "container"}))),
        ReasoningItem(text="hm", private={"anthropic": {"signature": "x"}}),
        NativeItem(origin="openai-responses", value={"type": "web_search_call"}),
        Message(role="assistant", parts=(TextPart(text=""), RefusalPart(text="no"))),
        extras={"openai-chat": {"user": "u", "_hint": 1}},
    )

    assert outcome.body["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "no"}]},
    ]
    assert codes(outcome) == [
        "extra_dropped",
        "private_dropped",
        "native_dropped",
        "reasoning_dropped",
        "native_dropped",
        "empty_text_dropped",
    ]


def test_shape_hints_of_another_dialect_are_no_loss():
    message = Message(role="user", parts=(TextPart(text="hi", private={"openai-chat": {"_list": True}}),))

    assert encoded(message).warnings == ()


def test_a_name_that_gemini_refuses_is_replaced_everywhere_and_leads_back():
    outcome = encoded(
        say("user", "go"),
        call("a", name="1 bad/name"),
        result("a"),
        tools=(FunctionTool(name="1 bad/name"),),
    )

    wire = outcome.body["tools"][0]["functionDeclarations"][0]["name"]
    assert outcome.names == {wire: "1 bad/name"}
    assert outcome.body["contents"][1]["parts"][0]["functionCall"]["name"] == wire
    assert outcome.body["contents"][2]["parts"][0]["functionResponse"]["name"] == wire
    response = {"candidates": [{"content": {"parts": [{"functionCall": {"name": wire}}]}, "finishReason": "STOP"}]}
    assert gemini.decode_response(response, names=outcome.names).calls[0].call.name == "1 bad/name"


def test_calls_from_gemini_without_ids_go_back_without_ids_and_so_do_their_results():
    response = {
        "responseId": "r",
        "candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]}}],
    }
    reply = gemini.decode_response(response)

    outcome = encoded(say("user", "go"), *reply.items, result(reply.calls[0].call.call_id))

    assert outcome.body["contents"][1]["parts"] == [{"functionCall": {"name": "f", "args": {"x": 1}}}]
    assert outcome.body["contents"][2]["parts"] == [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}]


def test_a_thousand_steps_take_no_longer_each_than_ten():
    items = [say("user", "go")]
    for step in range(1000):
        items += [call(f"c{step}"), result(f"c{step}")]

    assert len(encoded(*items).body["contents"]) == 2001


def test_turns_of_the_model_before_a_call_become_one_however_many_they_are():
    asked = CallItem(call=ToolCall(call_id="a", name="f", raw="{}"), split=True)
    second = Message(role="assistant", parts=(TextPart(text="two"),), split=True)
    outcome = encoded(say("user", "go"), say("assistant", "one"), second, asked, result("a"))

    assert [content["role"] for content in outcome.body["contents"]] == ["user", "model", "user"]
    assert outcome.body["contents"][1]["parts"] == [
        {"text": "one"},
        {"text": "two"},
        {"functionCall": {"name": "f", "id": "a", "args": {}}},
    ]

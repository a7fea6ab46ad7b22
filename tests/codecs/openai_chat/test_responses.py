import json

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    TextPart,
)
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, Usage
from tests.codecs.openai_chat.support import codes, decode, request, response, tool_call, without_nulls

LINK = {"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 1, "end_index": 4}}
MESSAGES = {
    "text": {"content": "a"},
    "empty": {"content": ""},
    "nothing": {"content": None},
    "refusal": {"content": None, "refusal": "no"},
    "blank refusal": {"content": "a", "refusal": ""},
    "calls": {"content": None, "tool_calls": [tool_call(), tool_call("call_2", "g", '{"a": 1}')]},
    "empty beside calls": {"content": "", "tool_calls": [tool_call()]},
    "no calls": {"content": "a", "tool_calls": []},
    "index in call": {"tool_calls": [{**tool_call(), "index": 0}]},
    "custom placeholder": {"tool_calls": [{**tool_call(), "custom": {"name": "", "input": ""}}]},
    "untyped call": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
    "no arguments": {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]},
    "blank arguments": {"tool_calls": [tool_call(arguments="")]},
    "custom": {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "w", "input": "x\n"}}]},
    "signature": {"tool_calls": [{**tool_call(), "extra_content": {"google": {"thought_signature": "s"}}}]},
    "legacy": {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
    "legacy placeholder": {"content": "a", "function_call": {"name": "", "arguments": ""}},
    "annotations": {"content": "a b c", "annotations": [LINK, {"type": "file_citation", "file": 1}]},
    "no annotations": {"content": "a", "annotations": []},
    "annotations beside calls": {"tool_calls": [tool_call()], "annotations": []},
    "audio": {"content": None, "audio": {"id": "x", "data": "y"}},
    "reasoning": {"content": "a", "reasoning": "t"},
    "reasoning content": {"content": "a", "reasoning_content": "t", "tool_calls": [tool_call()]},
    "both names": {"content": "a", "reasoning": "t", "reasoning_content": "t"},
    "details": {"content": "a", "reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]},
    "details only": {"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]},
    "thinking parts": {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "t"}]},
            {"type": "text", "text": "a"},
            {"type": "thinking", "thinking": [{"type": "text", "text": "u"}], "closed": True},
            {"type": "text", "text": "b"},
        ]
    },
    "list": {"content": [{"type": "text", "text": "a"}]},
    "native part": {"content": [{"type": "text", "text": "a"}, {"type": "image", "x": 1}]},
    "think tags": {"content": "<think>\nt\n</think>\n\na"},
    "think tags and calls": {"content": "<think>t</think>", "tool_calls": [tool_call()]},
    "lone end of thought": {"content": "I think.\n</think>\n\nYes."},
    "end of thought behind a field": {"content": "</think>\n\nYes.", "reasoning_content": "t"},
    "unclosed thought": {"content": "<think>\nt\n"},
    "unknown": {"content": "a", "images": [{"url": "x"}]},
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_response_comes_back_as_it_was(name):
    body = response(MESSAGES[name], usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9, "odd": 1})
    encoded = chat.encode_response(chat.decode_response(json.dumps(body).encode()))
    assert without_nulls(encoded.body) == without_nulls(body)
    assert encoded.warnings == ()


@pytest.mark.parametrize("absent", ["id", "object", "created", "model"])
def test_members_that_a_server_left_out_stay_out(absent):
    body = {name: value for name, value in response({"content": "a"}).items() if name != absent}
    assert without_nulls(chat.encode_response(chat.decode_response(body)).body) == body


def test_further_choices_are_alternatives_with_all_that_was_said_about_them():
    body = response({"content": "a"})
    second = {
        "index": 1,
        "message": {"role": "assistant", "tool_calls": [tool_call(arguments='{"a"')]},
        "finish_reason": "length",
        "logprobs": {"content": [{"token": "x"}]},
    }
    body["choices"].append(second)
    reply = chat.decode_response(body)
    assert reply.text == "a"
    (other,) = reply.alternatives
    assert other.finish.reason is FinishReason.LENGTH
    assert other.items[0].complete is False
    assert without_nulls(chat.encode_response(reply).body) == without_nulls(body)


@pytest.mark.parametrize(
    ("word", "has_calls", "reason"),
    [
        ("stop", False, FinishReason.END),
        pytest.param("stop", True, FinishReason.TOOL_CALLS, marks=pytest.mark.quirk(37)),
        ("tool_calls", True, FinishReason.TOOL_CALLS),
        pytest.param("tool_calls", False, FinishReason.END, marks=pytest.mark.quirk(37)),
        ("function_call", True, FinishReason.TOOL_CALLS),
        ("length", False, FinishReason.LENGTH),
        ("content_filter", False, FinishReason.CONTENT_FILTER),
        pytest.param("", True, FinishReason.TOOL_CALLS, marks=pytest.mark.quirk(37)),
        (None, False, FinishReason.END),
        ("eos", False, FinishReason.END),
        ("eos", True, FinishReason.TOOL_CALLS),
        ("model_length", False, FinishReason.LENGTH),
        ("error", False, FinishReason.FAILED),
        ("insufficient_system_resource", False, FinishReason.INCOMPLETE),
        pytest.param(
            "function_call_filter: MALFORMED_FUNCTION_CALL", False, FinishReason.MALFORMED_CALL,
            marks=pytest.mark.quirk(35),
        ),
    ],
)  # fmt: skip
def test_the_content_decides_what_a_reason_means(word, has_calls, reason):
    message = {"content": None, "tool_calls": [tool_call()]} if has_calls else {"content": "a"}
    reply = decode(message, word)
    assert (reply.finish.reason, reply.finish.raw) == (reason, word)
    if word is not None:
        assert chat.encode_response(reply).body["choices"][0]["finish_reason"] == word


@pytest.mark.quirk(20)
@pytest.mark.parametrize(
    ("word", "complete"),
    [("length", [True, False]), ("error", [False, False]), ("tool_calls", [True, True])],
)
def test_calls_that_were_cut_are_not_complete(word, complete):
    reply = decode({"tool_calls": [tool_call(), tool_call("call_2", arguments='{"a":')]}, word)
    assert [item.complete for item in reply.items] == complete


@pytest.mark.quirk(2)
@pytest.mark.quirk(3)
def test_placeholders_are_no_calls():
    reply = decode({"content": "a", "tool_calls": None, "function_call": {"name": "", "arguments": ""}})
    assert reply.calls == ()


@pytest.mark.quirk(4)
def test_calls_in_an_object_are_read_in_the_order_of_their_numbers():
    numbered = {str(number): tool_call(f"call_{number}", f"f{number}") for number in (10, 2, 0)}
    assert [item.call.name for item in decode({"tool_calls": numbered}).calls] == ["f0", "f2", "f10"]
    assert [item.call.name for item in decode({"tool_calls": tool_call()}).calls] == ["f"]


@pytest.mark.quirk(5)
def test_arguments_that_are_an_object_become_their_text():
    reply = decode({"tool_calls": [tool_call(arguments={"a": [1, 2]})]})
    assert reply.calls[0].call.raw == '{"a":[1,2]}'
    function = chat.encode_response(reply).body["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function["arguments"] == '{"a":[1,2]}'


@pytest.mark.quirk(9)
def test_missing_ids_are_made_once_and_for_all():
    first, second = decode({"tool_calls": [tool_call(""), tool_call(None)]}).calls
    assert first.call.call_id != second.call.call_id
    assert first.private["openai-chat"]["_synthetic"] is True
    assert decode({"tool_calls": [tool_call(""), tool_call(None)]}).calls == (first, second)


@pytest.mark.quirk(11)
def test_ids_are_unique_within_a_response():
    calls = decode({"tool_calls": [tool_call("a"), tool_call("a"), tool_call("a")]}).calls
    assert [item.call.call_id for item in calls] == ["a", "a_2", "a_3"]


@pytest.mark.quirk(13)
@pytest.mark.parametrize(
    "said", ["shop_find", "functions.shop_find", "shop_find.json", "shop_find<|channel|>commentary"]
)
def test_names_lead_back_to_the_callers(said):
    names = {"shop_find": "shop.find"}
    assert decode({"tool_calls": [tool_call(name=said)]}, names=names).calls[0].call.name == "shop.find"


@pytest.mark.quirk(14)
def test_a_call_of_an_unknown_tool_stays():
    assert decode({"tool_calls": [tool_call(name="ghost")]}, names={"f": "f"}).calls[0].call.name == "ghost"


@pytest.mark.quirk(25)
def test_big_integers_keep_their_digits():
    raw = '{"id":123456789012345678901234567890}'
    reply = decode({"tool_calls": [tool_call(arguments=raw)]}, usage={"prompt_tokens": 2**70})
    assert reply.calls[0].call.raw == raw
    assert reply.usage.input == 2**70


@pytest.mark.quirk(31)
def test_content_in_parts_is_told_apart():
    items = decode(MESSAGES["thinking parts"]).items
    assert [(item.kind, item.text) for item in items] == [
        ("reasoning", "t"), ("message", "a"), ("reasoning", "u"), ("message", "b"),
    ]  # fmt: skip


def test_annotations_are_citations():
    (message,) = decode(MESSAGES["annotations"]).items
    citation = message.parts[0].citations[0]
    assert (citation.url, citation.title, citation.start, citation.end) == ("u", "t", 1, 4)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ("many", None),
        ({}, (0, 0, 0, None, None)),
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4, 7, None, None)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 20}, (3, 4, 20, None, None)),
        ({"prompt_tokens": 3, "num_cached_tokens": 2}, (3, 0, 3, 2, None)),
        (
            {
                "prompt_tokens": 3,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            (3, 4, 7, 1, 2),
        ),
    ],
)
@pytest.mark.quirk(39)
def test_usage_is_what_the_server_said(usage, expected):
    read = decode({"content": "a"}, usage=usage).usage
    assert (read and (read.input, read.output, read.total, read.cached, read.reasoning)) == expected


@pytest.mark.quirk(40)
def test_an_answer_without_header_is_read():
    reply = chat.decode_response({"choices": [{"message": {"content": "a"}}], "id": "", "created": 0, "model": ""})
    assert (reply.reply_id, reply.model, reply.created, reply.text) == ("", "", 0, "a")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "choices"),
        ({"choices": []}, "choices"),
        ({"choices": [1]}, "choices[0]"),
        ({"choices": [{}]}, "choices[0].message"),
        ({"choices": [{"message": {"content": 5}}]}, "choices[0].message.content"),
        ({"choices": [{"message": {"tool_calls": [5]}}]}, "choices[0].message.tool_calls[0]"),
    ],
)
def test_a_body_that_is_no_answer_is_refused(body, path):
    with pytest.raises(WireError) as caught:
        chat.decode_response(body)
    assert caught.value.path == path


def reply(*items, reason=FinishReason.END, **members):
    return Reply(reply_id="r", model="m", items=items, finish=Finish(reason=reason, raw="FOREIGN"), **members)


def encoded_message(answer, **options):
    return chat.encode_response(answer, **options).body["choices"][0]["message"]


@pytest.mark.parametrize(
    ("reason", "word", "warnings"),
    [
        (FinishReason.END, "stop", []),
        (FinishReason.STOP_SEQUENCE, "stop", []),
        (FinishReason.TOOL_CALLS, "tool_calls", []),
        (FinishReason.LENGTH, "length", []),
        (FinishReason.CONTEXT_FULL, "length", []),
        (FinishReason.CONTENT_FILTER, "content_filter", []),
        (FinishReason.PROMPT_BLOCKED, "content_filter", []),
        (FinishReason.PAUSED, "stop", ["finish_approximated"]),
        (FinishReason.INCOMPLETE, "length", ["finish_approximated"]),
    ],
)
def test_reasons_of_others_get_the_nearest_word(reason, word, warnings):
    encoded = chat.encode_response(reply(reason=reason))
    assert encoded.body["choices"][0]["finish_reason"] == word
    assert codes(encoded.warnings) == warnings


@pytest.mark.quirk(35)
@pytest.mark.parametrize("reason", [FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.CANCELLED])
def test_a_failure_is_never_told_as_an_end(reason):
    with pytest.raises(NotExpressible):
        chat.encode_response(reply(reason=reason))


def test_reasoning_of_any_origin_is_told_to_clients():
    answer = reply(
        ReasoningItem(text="t", private={"anthropic": {"signature": "s"}}),
        Message(role="assistant", parts=(TextPart(text="a"), TextPart(text="b"))),
    )
    encoded = chat.encode_response(answer)
    assert without_nulls(encoded.body["choices"][0]["message"]) == {
        "role": "assistant", "content": "ab", "reasoning_content": "t",
    }  # fmt: skip
    assert codes(encoded.warnings) == ["private_dropped"]


def test_a_gemini_signature_is_handed_to_the_client():
    call = CallItem(
        call=ToolCall(call_id="c", name="f", raw="{}"), private={"gemini": {"thoughtSignature": "s", "_x": 1}}
    )
    encoded = chat.encode_response(reply(call, reason=FinishReason.TOOL_CALLS))
    assert encoded.body["choices"][0]["message"]["tool_calls"][0]["extra_content"] == {
        "google": {"thought_signature": "s"}
    }
    assert encoded.warnings == ()


def test_the_request_tells_in_which_form_the_client_knows_its_tools():
    call = CallItem(call=ToolCall(call_id="c", name="w", raw='{"input":"x"}'))
    custom = chat.decode_request(request(tools=[{"type": "custom", "custom": {"name": "w"}}]))
    assert encoded_message(reply(call), request=custom)["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "w", "input": "x"}}
    ]
    legacy = chat.decode_request(request(functions=[{"name": "w"}]))
    encoded = chat.encode_response(reply(call, call, reason=FinishReason.TOOL_CALLS), request=legacy)
    (choice,) = encoded.body["choices"]
    assert choice["message"]["function_call"] == {"name": "w", "arguments": '{"input":"x"}'}
    assert choice["finish_reason"] == "function_call"
    assert codes(encoded.warnings) == ["call_dropped"]


def test_what_a_response_has_no_place_for_is_told():
    text = TextPart(text="bc", citations=(Citation(url="u", start=0, end=2), Citation(quote="q")))
    answer = reply(
        Message(role="assistant", parts=(TextPart(text="a"), text, RefusalPart(text="no"))),
        Message(role="assistant", parts=(MediaPart(media_type="image/png", data=b"x"),)),
        NativeItem(origin="anthropic", value={}),
        usage=Usage(input=5, output=2, total=7, cached=1, cache_write=2, reasoning=1),
        alternatives=(Alternative(items=(), finish=Finish(reason=FinishReason.END)),),
        extras={"gemini": {"modelVersion": "x"}},
    )
    encoded = chat.encode_response(answer)
    message = encoded.body["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == ("abc[image/png left out]", "no")
    assert message["annotations"] == [
        {"type": "url_citation", "url_citation": {"url": "u", "title": "u", "start_index": 1, "end_index": 3}}
    ]
    assert encoded.body["choices"][1]["message"]["content"] is None
    assert encoded.body["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    assert codes(encoded.warnings) == ["citation_dropped", "media_dropped", "native_dropped", "extra_dropped"]


@pytest.mark.quirk(20)
def test_a_call_that_was_cut_is_not_shown_to_a_client_who_would_run_it():
    cut = CallItem(call=ToolCall(call_id="a", name="f", raw="{}"), complete=False)
    whole = CallItem(call=ToolCall(call_id="b", name="g", raw="{}"))
    written = chat.encode_response(reply(cut, whole, reason=FinishReason.TOOL_CALLS))
    assert [call["id"] for call in written.body["choices"][0]["message"]["tool_calls"]] == ["b"]
    assert codes(written.warnings) == ["call_dropped"]

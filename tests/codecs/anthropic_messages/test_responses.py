import pytest
from anthropic.types import Message as SdkMessage

from groundwire.codecs import anthropic_messages
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    ReasoningItem,
    RefusalPart,
    TextPart,
    say,
)
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import ModelRequest

END = Finish(reason=FinishReason.END)


def message(*content, **members):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": list(content),
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
        **members,
    }


def text(words, **members):
    return {"type": "text", "text": words, **members}


def call(**members):
    return {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}, **members}


def encode(*items, **members):
    """Written, and found good by the SDK's own model."""
    written = anthropic_messages.encode_response(Reply(items=items, **{"finish": END, "reply_id": "r", **members}))
    SdkMessage.model_validate(written.body, strict=True)
    return written


def codes(written):
    return [warning.code for warning in written.warnings]


def without_nulls(body):
    return {key: value for key, value in body.items() if value is not None}


@pytest.mark.parametrize(
    "body",
    [
        message(text("a"), text("b")),
        message(),
        message(text("a", citations=[{"type": "page_location", "cited_text": "q", "start_page_number": 1}])),
        message(text("a", citations=[])),
        message({"type": "thinking", "thinking": "", "signature": "S"}, text("a")),
        message({"type": "redacted_thinking", "data": "D"}, text("a")),
        message(call(caller={"type": "direct"}), stop_reason="tool_use"),
        message(call(), stop_reason="max_tokens"),
        message({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
        message(stop_reason="stop_sequence", stop_sequence="END"),
        message(
            stop_reason="refusal",
            stop_details={"type": "refusal", "category": "cyber", "explanation": "no"},
        ),
        message(stop_reason="pause_turn"),
        message(stop_reason="compaction"),
        message(stop_reason="model_context_window_exceeded"),
        message(stop_reason="a_future_reason"),
        message(call(), stop_reason="end_turn"),
        message(container={"id": "c", "expires_at": "2026"}, context_management={"applied_edits": []}),
        message(
            usage={
                "input_tokens": 3,
                "output_tokens": 4,
                "cache_creation_input_tokens": 5,
                "cache_read_input_tokens": 6,
                "cache_creation": {"ephemeral_5m_input_tokens": 5},
                "output_tokens_details": {"thinking_tokens": 1},
                "service_tier": "batch",
                "iterations": [{}],
            }
        ),
    ],
)
def test_a_response_read_and_written_again_is_the_same(body):
    written = anthropic_messages.encode_response(anthropic_messages.decode_response(body))

    assert without_nulls(written.body) == body
    assert written.warnings == ()


@pytest.mark.parametrize(
    ("raw", "content", "reason"),
    [
        ("end_turn", [], FinishReason.END),
        ("max_tokens", [], FinishReason.LENGTH),
        ("stop_sequence", [], FinishReason.STOP_SEQUENCE),
        ("tool_use", [call()], FinishReason.TOOL_CALLS),
        ("pause_turn", [], FinishReason.PAUSED),
        ("refusal", [], FinishReason.CONTENT_FILTER),
        ("model_context_window_exceeded", [], FinishReason.CONTEXT_FULL),
        ("end_turn", [call()], FinishReason.TOOL_CALLS),
        ("tool_use", [text("a")], FinishReason.END),
        ("", [call()], FinishReason.TOOL_CALLS),
        (None, [text("a")], FinishReason.END),
        ("eos", [], FinishReason.END),
    ],
)
@pytest.mark.quirk(37)
def test_stop_reasons_are_read_and_the_content_has_the_last_word(raw, content, reason):
    finish = anthropic_messages.decode_response(message(*content, stop_reason=raw)).finish

    assert (finish.reason, finish.raw) == (reason, raw)


def test_the_matched_stop_string_and_the_reason_of_a_refusal_are_details():
    stopped = anthropic_messages.decode_response(message(stop_reason="stop_sequence", stop_sequence="END"))
    details = {"type": "refusal", "category": "bio", "explanation": "because"}
    refused = anthropic_messages.decode_response(message(stop_reason="refusal", stop_details=details))

    assert stopped.finish.detail == "END"
    assert refused.finish.detail == "because"
    assert refused.finish.private == {"anthropic": {"stop_details": details}}


def test_usage_counts_the_cache_and_takes_it_off_again():
    counters = {
        "input_tokens": 10,
        "output_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    usage = anthropic_messages.decode_response(message(usage=counters)).usage

    assert usage is not None
    assert (usage.input, usage.output, usage.total) == (60, 7, 67)
    assert (usage.cached, usage.cache_write, usage.reasoning) == (30, 20, 5)
    foreign = encode(usage=Usage(input=60, output=7, total=67, cached=30, cache_write=20, reasoning=5))
    assert foreign.body["usage"] == counters
    assert foreign.warnings == ()


def test_a_total_above_its_parts_is_told_as_lost():
    written = encode(usage=Usage(input=1, output=1, total=9))

    assert written.body["usage"] == {"input_tokens": 1, "output_tokens": 1}
    assert codes(written) == ["usage_dropped"]


@pytest.mark.quirk(20)
def test_a_call_that_the_limit_cut_is_not_complete():
    reply = anthropic_messages.decode_response(message(call(), call(id="toolu_2", input={}), stop_reason="max_tokens"))

    assert [item.complete for item in reply.calls] == [True, False]


@pytest.mark.quirk(6)
@pytest.mark.quirk(5)
@pytest.mark.parametrize(
    ("block", "raw"),
    [
        (call(input=None), "{}"),
        ({"type": "tool_use", "id": "i", "name": "f"}, "{}"),
        (call(input='{"x": 1}'), '{"x": 1}'),
        (call(input=" "), "{}"),
        (call(input=[1]), "[1]"),
    ],
)
def test_odd_inputs_are_read_as_their_text(block, raw):
    (item,) = anthropic_messages.decode_response(message(block)).calls

    assert item.call.raw == raw


@pytest.mark.quirk(9)
@pytest.mark.quirk(11)
def test_missing_and_repeated_ids_become_ids_of_their_own():
    body = message(call(id=""), call(), call(), {"type": "tool_use", "name": "g"})
    reply = anthropic_messages.decode_response(body)
    ids = [item.call.call_id for item in reply.calls]

    assert ids[1:3] == ["toolu_1", "toolu_1_2"]
    assert len(set(ids)) == 4
    assert reply.calls[0].private == reply.calls[3].private == {"anthropic": {"_synthetic": True}}
    assert anthropic_messages.decode_response(body) == reply


@pytest.mark.quirk(13)
def test_names_lead_back_to_the_callers():
    reply = anthropic_messages.decode_response(
        message(call(name="shop_find"), call(name="functions.shop_find"), call(name="invented")),
        names={"shop_find": "shop.find"},
    )

    assert [item.call.name for item in reply.calls] == ["shop.find", "shop.find", "invented"]


def test_lenient_readings_of_a_message():
    assert anthropic_messages.decode_response(message(content="plain")).text == "plain"
    assert anthropic_messages.decode_response(message(content=None)).items == ()
    assert anthropic_messages.decode_response(message(text(None))).text == ""
    assert anthropic_messages.decode_response(message(usage="free")).usage is None
    assert anthropic_messages.decode_response(message(id=7, model=None)).reply_id == ""


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"{}",
        b"[]",
        {"type": "error", "error": {}},
        message(content=3),
        message(3),
        message({"type": "tool_use"}),
    ],
)
def test_what_is_no_message_is_refused(body):
    with pytest.raises(WireError):
        anthropic_messages.decode_response(body)


@pytest.mark.quirk(40)
def test_a_reply_of_another_provider_becomes_a_message_that_clients_accept():
    written = anthropic_messages.encode_response(
        Reply(
            items=(
                ReasoningItem(text="thought", private={"gemini": {"thoughtSignature": "x"}}),
                ReasoningItem(),
                say("assistant", "a"),
                CallItem(call=ToolCall(call_id="fc_1|x", name="f", raw='{"x": 1}')),
            ),
            finish=Finish(reason=FinishReason.TOOL_CALLS, raw="tool_calls"),
        ),
        request=ModelRequest(model="asked-for"),
    )

    assert SdkMessage.model_validate(written.body).stop_reason == "tool_use"
    assert written.body["model"] == "asked-for"
    assert written.body["id"] == "msg_0"
    assert written.body["content"][:2] == [{"type": "thinking", "thinking": "thought", "signature": ""}, text("a")]
    block = written.body["content"][2]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "f", {"x": 1})
    assert block["id"].startswith("toolu_")
    assert codes(written) == ["private_dropped", "call_id_rewritten"]


@pytest.mark.parametrize(
    ("finish", "sent", "losses"),
    [
        (Finish(reason=FinishReason.END, raw="stop"), ("end_turn", None), []),
        (Finish(reason=FinishReason.LENGTH, raw="length"), ("max_tokens", None), []),
        (Finish(reason=FinishReason.STOP_SEQUENCE, detail="X"), ("stop_sequence", "X"), []),
        (Finish(reason=FinishReason.STOP_SEQUENCE), ("end_turn", None), ["finish_approximated"]),
        (Finish(reason=FinishReason.CONTENT_FILTER, raw="SAFETY"), ("refusal", None), []),
        (Finish(reason=FinishReason.PROMPT_BLOCKED), ("refusal", None), []),
        (Finish(reason=FinishReason.CONTEXT_FULL), ("model_context_window_exceeded", None), []),
        (Finish(reason=FinishReason.PAUSED), ("pause_turn", None), []),
    ],
)
def test_ends_are_written_as_stop_reasons(finish, sent, losses):
    written = encode(finish=finish)

    assert (written.body["stop_reason"], written.body["stop_sequence"]) == sent
    assert codes(written) == losses


@pytest.mark.quirk(35)
@pytest.mark.parametrize(
    "reason", [FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.CANCELLED, FinishReason.INCOMPLETE]
)
def test_a_broken_reply_is_never_a_message(reason):
    with pytest.raises(NotExpressible):
        anthropic_messages.encode_response(Reply(finish=Finish(reason=reason)))


def test_what_has_no_place_in_a_message_is_told():
    written = encode(
        Message(
            role="assistant",
            parts=(
                RefusalPart(text="No."),
                MediaPart(media_type="image/png", data=b"x"),
                NativePart(origin="gemini", value={}),
                NativePart(origin="anthropic", value=text("own")),
            ),
        ),
        NativeItem(origin="gemini", value={}),
        alternatives=(Alternative(items=(), finish=END),),
        extras={"gemini": {"responseId": "x"}},
    )

    assert written.body["content"] == [text("No."), text("[image/png left out]"), text("own")]
    assert codes(written) == ["media_dropped", "native_dropped", "native_dropped", "option_dropped", "extra_dropped"]


def test_citations_of_another_provider_are_search_results_if_they_have_an_address():
    part = TextPart(text="t", citations=(Citation(url="https://e.org", title="E"), Citation(title="no address")))
    written = encode(Message(role="assistant", parts=(part,)))

    assert written.body["content"][0]["citations"] == [
        {
            "type": "web_search_result_location",
            "cited_text": "",
            "url": "https://e.org",
            "title": "E",
            "encrypted_index": "",
        }
    ]
    assert codes(written) == ["citation_dropped"]


def test_arguments_that_are_no_object_are_wrapped_or_left_out_if_they_were_cut():
    whole = CallItem(call=ToolCall(call_id="a", name="f", raw="[1]"))
    cut = CallItem(call=ToolCall(call_id="b", name="f", raw='{"x'), complete=False)
    written = encode(whole, cut, finish=Finish(reason=FinishReason.LENGTH))

    assert [block["input"] for block in written.body["content"]] == [{"_raw_arguments": "[1]"}]
    assert codes(written) == ["arguments_not_object", "call_dropped"]


@pytest.mark.quirk(20)
def test_a_call_that_was_cut_is_not_shown_to_a_client_who_would_run_it():
    cut = CallItem(call=ToolCall(call_id="a", name="f", raw="{}"), complete=False)
    whole = CallItem(call=ToolCall(call_id="b", name="g", raw="{}"))
    written = encode(cut, whole, finish=Finish(reason=FinishReason.TOOL_CALLS))
    assert [block["id"] for block in written.body["content"]] == ["b"]
    assert codes(written) == ["call_dropped"]


def test_a_word_that_means_something_else_to_its_sender_is_not_repeated():
    written = encode(say("assistant", "a"), finish=Finish(reason=FinishReason.LENGTH, raw="end_turn"))
    assert written.body["stop_reason"] == "max_tokens"


def test_arguments_that_were_no_object_come_back_as_the_text_they_were():
    call = CallItem(call=ToolCall(call_id="toolu_1", name="f", raw='{"a":1,}', origin="anthropic"))
    body = encode(call, finish=Finish(reason=FinishReason.TOOL_CALLS)).body
    read = anthropic_messages.decode_response(body).calls[0].call
    assert (read.raw, read.arguments) == ('{"a":1,}', None)

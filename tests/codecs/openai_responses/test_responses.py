import pytest
from openai.types.responses import Response

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.openai_responses import DIALECT, decode_request, decode_response, encode_response
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    TextPart,
    say,
)
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import FunctionTool, ModelRequest
from tests.codecs.openai_responses.recordings import without_nulls

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"}
END = Finish(reason=FinishReason.END)


def wire_with(*output, **members):
    return {"id": "resp_1", "object": "response", "created_at": 5, "model": "m", "status": "completed",
            "output": list(output), **members}  # fmt: skip


def codes(encoded):
    return [warning.code for warning in encoded.warnings]


@pytest.mark.parametrize(
    ("members", "reason", "raw"),
    [
        ({}, FinishReason.TOOL_CALLS, "completed"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, FinishReason.LENGTH, "max_output_tokens"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, FinishReason.CONTENT_FILTER, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, FinishReason.INCOMPLETE, "steered"),
        ({"status": "incomplete", "incomplete_details": None}, FinishReason.INCOMPLETE, "incomplete"),
        ({"status": "failed", "error": {"code": "server_error", "message": "x"}}, FinishReason.FAILED, "failed"),
        ({"status": "cancelled"}, FinishReason.CANCELLED, "cancelled"),
        ({"status": "queued"}, FinishReason.PAUSED, "queued"),
        ({"status": "in_progress"}, FinishReason.PAUSED, "in_progress"),
        ({"status": "novelty"}, FinishReason.TOOL_CALLS, "novelty"),
        ({"status": None}, FinishReason.TOOL_CALLS, None),
    ],
)  # fmt: skip
def test_every_status_has_a_reason_and_comes_back(members, reason, raw):
    wire = wire_with(CALL, **members)
    reply = decode_response(wire)
    assert (reply.finish.reason, reply.finish.raw) == (reason, raw)
    encoded = encode_response(reply)
    if members.get("status", "completed") in ("novelty", None):
        assert encoded.body["status"] == "completed"
    else:
        assert encoded.body["status"] == wire["status"]
        assert encoded.body["incomplete_details"] == wire.get("incomplete_details")
        assert encoded.body["error"] == wire.get("error")


@pytest.mark.quirk(20)
@pytest.mark.parametrize(
    "wire",
    [
        wire_with({**CALL, "status": "incomplete", "arguments": '{"a'}),
        wire_with({**CALL, "status": "in_progress"}, status="in_progress"),
        wire_with(CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        wire_with(CALL, status="failed", error={"code": "server_error", "message": "x"}),
        wire_with(CALL, status="cancelled"),
        wire_with(CALL, status="incomplete"),
    ],
)
def test_a_call_that_was_cut_must_not_run(wire):
    (call,) = decode_response(wire).calls
    assert not call.complete


@pytest.mark.quirk(6)
@pytest.mark.parametrize("arguments", ["", "  ", None])
def test_missing_arguments_are_an_empty_object(arguments):
    (call,) = decode_response(wire_with({**CALL, "arguments": arguments})).calls
    assert (call.call.raw, call.complete) == ("{}", True)


@pytest.mark.quirk(5)
def test_arguments_that_are_an_object_are_dumped():
    (call,) = decode_response(wire_with({**CALL, "arguments": {"a": 1}})).calls
    assert call.call.raw == '{"a":1}'


@pytest.mark.quirk(9)
@pytest.mark.parametrize("call_id", [None, ""])
def test_a_missing_id_is_made_from_the_response_and_the_place(call_id):
    wire = wire_with({**CALL, "call_id": call_id}, {**CALL, "call_id": call_id})
    first, second = decode_response(wire).calls
    assert first.call.call_id != second.call.call_id
    assert first.private[DIALECT]["_synthetic"] is True
    assert decode_response(wire).calls == (first, second)


@pytest.mark.quirk(11)
def test_an_id_that_comes_twice_is_made_unique():
    assert [call.call.call_id for call in decode_response(wire_with(CALL, CALL)).calls] == ["c1", "c1_2"]


@pytest.mark.quirk(13)
def test_a_name_finds_its_tool_with_what_models_add_to_it():
    wire = wire_with({**CALL, "name": "functions.f"}, {**CALL, "name": "crm_find"})
    names = {"f": "f", "crm_find": "crm.find"}
    assert [call.call.name for call in decode_response(wire, names=names).calls] == ["f", "crm.find"]


@pytest.mark.quirk(17)
def test_words_after_a_call_stay_after_it():
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": [], "logprobs": []}]}  # fmt: skip
    wire = wire_with(CALL, said)
    assert [item.kind for item in decode_response(wire).items] == ["call", "message"]
    assert encode_response(decode_response(wire)).body["output"] == wire["output"]


@pytest.mark.quirk(39)
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({"input_tokens": 1, "output_tokens": 2}, Usage(input=1, output=2, total=3, private={DIALECT: {"input_tokens": 1, "output_tokens": 2}})),
        (
            {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 14},
            Usage(input=9, output=5, total=14, cached=4, cache_write=1, reasoning=3),
        ),
    ],
)  # fmt: skip
def test_tokens_are_counted_and_come_back(usage, expected):
    reply = decode_response(wire_with(usage=usage))
    assert reply.usage == expected
    assert encode_response(reply).body["usage"] == usage


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", {"output": 5}, {"output": ["x"]}])
def test_what_is_no_response_is_said_to_be_none(body):
    with pytest.raises(WireError):
        decode_response(body)


def test_a_message_with_plain_text_or_nothing_is_read():
    wire = wire_with({"type": "message", "content": "hi"}, {"type": "message", "content": None})
    assert [item.text for item in decode_response(wire).items] == ["hi", ""]


# For clients of this dialect, from replies of any other


def foreign_reply(**members):
    reply = {
        "reply_id": "chatcmpl-1",
        "model": "m",
        "created": 7,
        "finish": END,
        "items": (
            ReasoningItem(text="hm", private={"anthropic": {"signature": "s"}}),
            Message(role="assistant", parts=(TextPart(text="see", citations=(Citation(url="u"), Citation(quote="q"))), RefusalPart(text="no"))),
            CallItem(call=ToolCall(call_id="c", name="f", raw='{"a":1}')),
        ),
        "usage": Usage(input=3, output=2, total=5, cached=1),
        **members,
    }  # fmt: skip
    return Reply(**reply)


def test_a_foreign_reply_is_a_whole_response():
    encoded = encode_response(foreign_reply())
    Response.model_validate(encoded.body)
    reasoning, message, call = encoded.body["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert message["content"] == [
        {
            "type": "output_text",
            "text": "see",
            "annotations": [{"type": "url_citation", "url": "u", "title": "", "start_index": 0, "end_index": 3}],
            "logprobs": [],
        },
        {"type": "refusal", "refusal": "no"},
    ]
    assert (call["call_id"], call["name"], call["arguments"], call["status"]) == ("c", "f", '{"a":1}', "completed")
    assert [item["id"][:3] for item in encoded.body["output"]] == ["rs_", "msg", "fc_"]
    assert encoded.body["usage"]["input_tokens_details"] == {"cached_tokens": 1, "cache_write_tokens": 0}
    assert codes(encoded) == ["private_dropped", "citation_dropped"]


def test_item_ids_depend_on_nothing_but_the_reply_and_the_place():
    first, again = encode_response(foreign_reply()), encode_response(foreign_reply())
    assert first.body == again.body
    other = encode_response(foreign_reply(reply_id="chatcmpl-2"))
    ids = {item["id"] for body in (first.body, other.body) for item in body["output"]}
    assert len(ids) == 6


@pytest.mark.quirk(40)
def test_a_reply_without_id_or_time_gets_what_clients_need():
    body = encode_response(Reply(finish=END, items=(say("assistant", "hi"),))).body
    assert body["id"].startswith("resp_")
    assert body["created_at"] == 0
    Response.model_validate(body)


def test_the_settings_of_the_request_are_echoed():
    request = decode_request(
        {"model": "m", "input": "hi", "instructions": "be brief", "temperature": 0.5, "max_output_tokens": 9, "store": True,
         "tools": [{"type": "function", "name": "f", "parameters": None}], "tool_choice": "required", "metadata": {"a": "b"},
         "parallel_tool_calls": False, "previous_response_id": "resp_0", "conversation": "conv_1", "include": ["x"],
         "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}, "stream": True}
    )  # fmt: skip
    body = encode_response(foreign_reply(), request=request).body
    Response.model_validate(body)
    assert without_nulls({key: body[key] for key in (
        "instructions", "temperature", "max_output_tokens", "store", "tools", "tool_choice", "metadata",
        "parallel_tool_calls", "previous_response_id", "conversation", "reasoning", "text",
    )}) == {
        "instructions": "be brief", "temperature": 0.5, "max_output_tokens": 9, "store": True,
        "tools": [{"type": "function", "name": "f"}], "tool_choice": "required", "metadata": {"a": "b"},
        "parallel_tool_calls": False, "previous_response_id": "resp_0", "conversation": {"id": "conv_1"},
        "reasoning": {"effort": "low"}, "text": {"format": {"type": "text"}, "verbosity": "low"},
    }  # fmt: skip
    assert not {"include", "stream", "input"} & body.keys()


@pytest.mark.parametrize(
    ("reason", "status", "details", "error"),
    [
        (FinishReason.END, "completed", None, None),
        (FinishReason.TOOL_CALLS, "completed", None, None),
        (FinishReason.STOP_SEQUENCE, "completed", None, None),
        (FinishReason.LENGTH, "incomplete", "max_output_tokens", None),
        (FinishReason.CONTEXT_FULL, "incomplete", "max_output_tokens", None),
        (FinishReason.CONTENT_FILTER, "incomplete", "content_filter", None),
        (FinishReason.PROMPT_BLOCKED, "failed", None, "invalid_prompt"),
        (FinishReason.PAUSED, "in_progress", None, None),
        (FinishReason.MALFORMED_CALL, "failed", None, "server_error"),
        (FinishReason.FAILED, "failed", None, "server_error"),
        (FinishReason.CANCELLED, "cancelled", None, None),
        (FinishReason.INCOMPLETE, "incomplete", None, None),
    ],
)
def test_every_reason_has_a_status(reason, status, details, error):
    body = encode_response(foreign_reply(finish=Finish(reason=reason, raw="word of another dialect"))).body
    Response.model_validate(body)
    assert body["status"] == status
    assert (body["incomplete_details"] or {}).get("reason") == details
    assert (body["error"] or {}).get("code") == error


def test_a_message_at_the_end_of_a_cut_reply_is_incomplete():
    body = encode_response(Reply(finish=Finish(reason=FinishReason.LENGTH), items=(say("assistant", "hal"),))).body
    assert body["output"][0]["status"] == "incomplete"


def test_what_a_client_cannot_be_told_is_named():
    items = (
        NativeItem(origin="anthropic", value={"type": "server_tool_use"}),
        ReasoningItem(private={"anthropic": {"signature": "s"}}),
        Message(role="assistant", parts=(MediaPart(media_type="image/png", data=b"\x00"),)),
        CallItem(call=ToolCall(call_id="c", name="f", raw='{"a'), complete=False),
    )
    alternatives = (Alternative(items=(), finish=END),)
    encoded = encode_response(foreign_reply(items=items, alternatives=alternatives, extras={"gemini": {"x": 1}}))
    Response.model_validate(encoded.body)
    assert [item["type"] for item in encoded.body["output"]] == ["message", "function_call"]
    assert encoded.body["output"][1]["status"] == "incomplete"
    assert codes(encoded) == [
        "native_dropped", "private_dropped", "reasoning_dropped", "media_dropped", "extra_dropped", "extra_dropped",
    ]  # fmt: skip


def test_a_foreign_call_of_a_plain_text_tool_is_told_as_a_custom_call():
    request = ModelRequest(model="m", tools=(FunctionTool(name="sql", freeform={"type": "text"}),))
    call = CallItem(call=ToolCall(call_id="c", name="sql", raw='{"input":"select 1"}'))
    (written,) = encode_response(foreign_reply(items=(call,)), request=request).body["output"]
    assert (written["type"], written["input"]) == ("custom_tool_call", "select 1")


def test_what_a_response_repeats_of_its_request_is_no_loss_in_another_dialect():
    body = {
        "id": "resp_1", "object": "response", "created_at": 5, "status": "completed", "model": "m",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
        "temperature": 0.5, "tools": [{"type": "function", "name": "f"}], "tool_choice": "auto", "truncation": "disabled",
        "metadata": {"a": "b"}, "service_tier": "default", "completed_at": None, "billing": {"payer": "us"},
    }  # fmt: skip
    reply = decode_response(body)
    for target in ("openai-chat", "anthropic", "gemini"):
        found = codec_of(target).encode_response(reply).warnings
        assert [(warning.code, warning.path) for warning in found if warning.code == "extra_dropped"] == [
            ("extra_dropped", "extras.openai-responses.billing")
        ]
    again = encode_response(reply).body
    assert {name: again[name] for name in body if name != "output"} == {
        name: value for name, value in body.items() if name != "output"
    }


def test_a_tier_of_service_that_is_not_the_usual_one_is_told_as_lost():
    reply = decode_response({"id": "r", "status": "completed", "output": [], "service_tier": "priority"})
    assert reply.extras == {"openai-responses": {"service_tier": "priority"}}

import json

import pytest

from groundwire.codecs.openai_responses import DIALECT, StreamDecoder, decode_response
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import CallItem, Message, NativeItem, RefusalPart, TextPart
from groundwire.contracts.replies import (
    CallDelta,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    RefusalDelta,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyStarted,
    ReplyTextDelta,
)
from tests.codecs.openai_responses.recordings import decode, stream_of

CREATED = {
    "type": "response.created",
    "response": {"id": "resp_1", "created_at": 5, "model": "m", "status": "in_progress", "output": []},
}


def added(index, **item):
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index, **item):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind, item_id, text, **members):
    return {"type": f"response.{kind}.delta", "item_id": item_id, "delta": text, **members}


def ended(*output, status="completed", kind=None, **members):
    response = {**CREATED["response"], "status": status, "output": list(output), **members}
    return {"type": kind or f"response.{status}", "response": response}


def call(item_id="fc_1", call_id="c1", arguments="{}", **members):
    return {"type": "function_call", "id": item_id, "call_id": call_id, "name": "f", "arguments": arguments, **members}


def message(*content, item_id="msg_1"):
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": list(content)}


def text(words):
    return {"type": "output_text", "text": words, "annotations": [], "logprobs": []}


def last_of(*events):
    part = decode(stream_of(*events))[-1]
    assert isinstance(part, ReplyEnded)
    return part.reply


def failure_of(*events):
    part = decode(stream_of(*events))[-1]
    assert isinstance(part, ReplyFailed)
    return part.failure


@pytest.mark.quirk(50)
def test_parallel_calls_are_told_apart_by_their_item_ids_although_indexes_have_gaps():
    first, second = call("fc_1", "c1", '{"a":1}'), call("fc_2", "c2", '{"b":2}')
    events = [
        CREATED,
        added(1, **call("fc_1", "c1", "")),
        added(4, **call("fc_2", "c2", "")),
        delta("function_call_arguments", "fc_2", '{"b":'),
        delta("function_call_arguments", "fc_1", '{"a":1}'),
        delta("function_call_arguments", "fc_2", "2}"),
        done(4, **second),
        done(1, **first),
        ended(first, second),
    ]
    parts = decode(stream_of(*events))
    deltas = [(part.index, part.text) for part in parts if isinstance(part, CallDelta)]
    assert deltas == [(1, '{"b":'), (0, '{"a":1}'), (1, "2}")]
    assert parts[-1].reply == decode_response(events[-1]["response"])
    assert [item.call.call_id for item in parts[-1].reply.calls] == ["c1", "c2"]


@pytest.mark.quirk(49)
def test_the_ciphertext_of_a_thought_is_that_of_its_end():
    early = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAA"}
    late = {**early, "encrypted_content": "BBB"}
    for final in (ended(late), ended()):
        (item,) = last_of(CREATED, added(0, **early), done(0, **late), final).items
        assert item.private[DIALECT]["encrypted_content"] == "BBB"


def test_parts_of_a_summary_are_paragraphs():
    item = {
        "type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
    }  # fmt: skip
    events = [
        CREATED,
        added(0, type="reasoning", id="rs_1", summary=[]),
        delta("reasoning_summary_text", "rs_1", "one", summary_index=0),
        delta("reasoning_summary_text", "rs_1", "two", summary_index=1),
        done(0, **item),
        ended(item),
    ]
    parts = decode(stream_of(*events))
    assert "".join(part.text for part in parts if isinstance(part, ReasoningDelta)) == "one\n\ntwo"
    assert parts[-1].reply.items[0].text == "one\n\ntwo"


def test_thoughts_in_full_are_told_as_they_come():
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm so"}]}
    events = [
        CREATED,
        added(0, type="reasoning", id="rs_1", summary=[]),
        delta("reasoning_text", "rs_1", "hm ", content_index=0),
        delta("reasoning_text", "rs_1", "so", content_index=0),
        done(0, **item),
        ended(item),
    ]
    parts = decode(stream_of(*events))
    deltas = [part for part in parts if isinstance(part, ReasoningDelta)]
    assert [part.text for part in deltas] == ["hm ", "so"]
    assert deltas[0].private == {DIALECT: {"id": "rs_1", "_content": True}}
    assert parts[-1].reply.items[0].text == "hm so"


def test_refusals_stand_beside_texts():
    whole = message(text("a"), {"type": "refusal", "refusal": "no"})
    events = [
        CREATED,
        added(0, type="message", id="msg_1", role="assistant", content=[], status="in_progress"),
        delta("output_text", "msg_1", "a", content_index=0),
        delta("refusal", "msg_1", "n", content_index=1),
        delta("refusal", "msg_1", "o", content_index=1),
    ]
    parts = decode(stream_of(*events, done(0, **whole), ended(whole)))
    assert [part.text for part in parts if isinstance(part, RefusalDelta)] == ["n", "o"]
    assert parts[-1].reply.items[0].parts == (TextPart(text="a"), RefusalPart(text="no"))
    cut = decode(stream_of(*events))[-1].reply
    assert cut.items[0].parts == (TextPart(text="a"), RefusalPart(text="no"))


def test_a_custom_call_is_told_as_the_json_that_it_is_elsewhere():
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": 'say "ü"\n'}
    events = [
        CREATED,
        added(0, **{**item, "input": ""}),
        delta("custom_tool_call_input", "ctc_1", 'say "'),
        delta("custom_tool_call_input", "ctc_1", 'ü"\n'),
        {"type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "input": item["input"]},
    ]
    parts = decode(stream_of(*events, done(0, **item), ended(item)))
    told = "".join(part.text for part in parts if isinstance(part, CallDelta))
    assert json.loads(told) == {"input": item["input"]}
    assert told == parts[-1].reply.calls[0].call.raw
    (cut,) = decode(stream_of(*events[:-1]))[-1].reply.calls
    assert (json.loads(cut.call.raw), cut.complete) == ({"input": item["input"]}, False)


def test_entries_of_hosted_tools_keep_their_place():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    events = [
        CREATED,
        added(0, type="web_search_call", id="ws_1", status="in_progress"),
        added(1, type="message", id="msg_1", role="assistant", content=[]),
        delta("output_text", "msg_1", "hi"),
        done(1, **message(text("hi"))),
        done(0, **search),
        ended(search, message(text("hi"))),
    ]
    reply = last_of(*events)
    assert reply.items[0] == NativeItem(origin=DIALECT, value=search)
    assert reply == decode_response(events[-1]["response"])
    cut = decode(stream_of(*events[:3]))[-1].reply
    assert cut.items[0] == NativeItem(origin=DIALECT, value=events[1]["item"])


def test_the_final_object_tells_what_the_stream_left_out():
    parts = decode(stream_of(CREATED, ended(message(text("hi")), call())))
    assert [type(part) for part in parts] == [
        ReplyStarted, ReplyTextDelta, ItemEnded, ReplyCallStarted, CallDelta, ItemEnded, ReplyEnded,
    ]  # fmt: skip
    assert parts[-1].reply == decode_response(ended(message(text("hi")), call())["response"])


def test_items_that_the_final_object_leaves_out_stay():
    reply = last_of(
        CREATED, added(0, **call(arguments="")), delta("function_call_arguments", "fc_1", '{"a":1}'), ended()
    )
    assert (reply.calls[0].call.raw, reply.calls[0].complete) == ('{"a":1}', True)
    assert reply.finish.reason is FinishReason.TOOL_CALLS


def test_arguments_and_texts_may_come_only_with_their_end():
    events = [
        CREATED,
        added(0, **call(arguments="")),
        {"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": '{"a":1}'},
        added(1, type="message", id="msg_1", role="assistant", content=[]),
        {"type": "response.output_text.done", "item_id": "msg_1", "text": "hi"},
        ended(),
    ]
    reply = last_of(*events)
    assert reply.calls[0].call.raw == '{"a":1}'
    assert reply.text == "hi"


def test_pieces_of_an_item_that_was_never_announced_are_kept():
    reply = last_of(CREATED, delta("output_text", "msg_9", "hi"), ended())
    assert reply.text == "hi"


@pytest.mark.quirk(43)
def test_events_that_nobody_knows_are_ignored():
    reply = last_of(CREATED, {"type": "response.novelty", "x": 1}, {"type": "keepalive"}, ended(message(text("hi"))))
    assert reply.text == "hi"


@pytest.mark.quirk(44)
def test_a_stream_that_breaks_off_is_incomplete_and_its_calls_must_not_run():
    events = [
        CREATED,
        added(0, **call(arguments="")),
        delta("function_call_arguments", "fc_1", '{"a":1}'),
        done(0, **call()),
    ]
    for cut in (events, events[:-1]):
        reply = last_of(*cut)
        assert reply.finish.reason is FinishReason.INCOMPLETE
        assert (reply.reply_id, reply.model) == ("resp_1", "m")
        assert [item.complete for item in reply.calls] == [False]


@pytest.mark.quirk(20)
def test_a_call_that_was_cut_by_the_length_must_not_run():
    cut = call(arguments='{"a', status="incomplete")
    event = ended(cut, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    reply = last_of(CREATED, added(0, **call(arguments="")), delta("function_call_arguments", "fc_1", '{"a'), event)
    assert reply.finish.reason is FinishReason.LENGTH
    assert [item.complete for item in reply.calls] == [False]
    assert reply == decode_response(event["response"])


@pytest.mark.quirk(88)
def test_a_response_that_is_only_queued_is_paused():
    queued = {"type": "response.queued", "response": {**CREATED["response"], "status": "queued"}}
    assert last_of(CREATED, queued).finish.reason is FinishReason.PAUSED
    assert last_of(queued).finish.reason is FinishReason.PAUSED


@pytest.mark.quirk(41)
def test_a_response_that_begins_anew_voids_what_came_before():
    again = {"type": "response.created", "response": {**CREATED["response"], "id": "resp_2"}}
    parts = decode(
        stream_of(CREATED, added(0, **call()), done(0, **call()), again, added(0, **call("fc_9", "c9")), ended())
    )
    assert [part.reply_id for part in parts if isinstance(part, ReplyStarted)] == ["resp_1", "resp_2"]
    assert [item.call.call_id for item in parts[-1].reply.calls] == ["c9"]


@pytest.mark.quirk(11)
def test_an_id_that_comes_twice_is_unique_in_the_stream_too():
    first, second = call("fc_1", "c"), call("fc_2", "c")
    parts = decode(
        stream_of(
            CREATED, added(0, **first), added(1, **second), done(0, **first), done(1, **second), ended(first, second)
        )
    )
    assert [part.call_id for part in parts if isinstance(part, ReplyCallStarted)] == ["c", "c_2"]
    assert parts[-1].reply == decode_response(ended(first, second)["response"])


@pytest.mark.quirk(9)
def test_a_missing_id_is_the_same_as_without_streaming():
    nameless = {key: value for key, value in call().items() if key != "call_id"}
    reply = last_of(CREATED, added(0, **nameless), done(0, **nameless), ended(nameless))
    assert reply == decode_response(ended(nameless)["response"])


@pytest.mark.quirk(13)
def test_names_lead_back_to_the_callers_tools():
    item = call(name="crm_find")
    parts = decode(stream_of(CREATED, added(0, **item), done(0, **item), ended(item)), names={"crm_find": "crm.find"})
    assert [part.name for part in parts if isinstance(part, ReplyCallStarted)] == ["crm.find"]
    assert parts[-1].reply.calls[0].call.name == "crm.find"


@pytest.mark.quirk(21)
def test_a_character_that_was_split_between_pieces_is_whole_again():
    head = stream_of(CREATED, added(0, type="message", id="msg_1", role="assistant", content=[]))
    pieces = b"".join(
        b'data: {"type":"response.output_text.delta","item_id":"msg_1","delta":"%b"}\n\n' % half
        for half in (b"a\\ud83d", b"\\ude00b")
    )
    parts = decode(head + pieces + stream_of(ended()))
    assert "".join(part.text for part in parts if isinstance(part, ReplyTextDelta)) == "a😀b"
    assert parts[-1].reply.text == "a😀b"


@pytest.mark.parametrize(
    ("event", "kind", "code"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None}, FailureKind.RATE_LIMIT, "rate_limit_exceeded"),
        ({"type": "error", "error": {"type": "server_error", "message": "x"}}, FailureKind.SERVER, None),
        ({"error": {"message": "x", "code": "insufficient_quota"}}, FailureKind.QUOTA, "insufficient_quota"),
        (ended(status="failed", error={"code": "server_error", "message": "x"}), FailureKind.SERVER, "server_error"),
        (ended(status="failed"), FailureKind.SERVER, None),
    ],
)  # fmt: skip
def test_an_error_in_the_stream_ends_it_as_a_failure(event, kind, code):
    data = stream_of(CREATED, added(0, **call())) + f"data: {json.dumps(event)}\n\n".encode() + stream_of(ended(call()))
    parts = decode(data)
    assert isinstance(parts[-1], ReplyFailed)
    assert (parts[-1].failure.kind, parts[-1].failure.code) == (kind, code)
    assert sum(isinstance(part, (ReplyEnded, ReplyFailed)) for part in parts) == 1


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", FailureKind.BAD_RESPONSE),
        (b"<html>busy</html>", FailureKind.BAD_RESPONSE),
        (b'{"error":{"message":"slow","code":"rate_limit_exceeded"}}', FailureKind.RATE_LIMIT),
        (b"data: {\n\n", FailureKind.BAD_RESPONSE),
        (b"data: []\n\n", FailureKind.BAD_RESPONSE),
        (stream_of(CREATED, ended(message(5))), FailureKind.BAD_RESPONSE),
    ],
)
def test_what_is_no_stream_is_a_failure(body, kind):
    parts = decode(body)
    assert isinstance(parts[-1], ReplyFailed)
    assert parts[-1].failure.kind is kind


def test_after_the_end_nothing_counts():
    decoder = StreamDecoder()
    assert isinstance(decoder.feed(stream_of(CREATED, ended(message(text("hi")))))[-1], ReplyEnded)
    assert decoder.feed(stream_of(ended(call()))) == []
    assert decoder.feed(b"data: [DONE]\n\n") == []
    assert decoder.finish() == []


def test_the_last_event_needs_no_blank_line():
    assert last_of(CREATED, ended(message(text("hi")))).text == "hi"
    cut = stream_of(CREATED, ended(message(text("hi"))))[:-2]
    assert decode(cut)[-1].reply.text == "hi"


def test_every_item_ends_once_and_before_the_reply():
    parts = decode(stream_of(CREATED, added(0, **call()), done(0, **call()), done(0, **call()), ended(call())))
    (item,) = [part.item for part in parts if isinstance(part, ItemEnded)]
    assert isinstance(item, CallItem)
    assert not isinstance(item, Message)


@pytest.mark.quirk(50)
def test_items_that_share_an_id_are_told_apart_by_their_places():
    first, second = call("same", "c1", '{"a":1}'), call("same", "c2", '{"b":2}')
    reply = last_of(
        CREATED,
        added(0, **call("same", "c1", "")),
        delta("function_call_arguments", "same", '{"a":1}', output_index=0),
        done(0, **first),
        added(1, **call("same", "c2", "")),
        delta("function_call_arguments", "same", '{"b":2}', output_index=1),
        done(1, **second),
        ended(first, second),
    )
    assert [(item.call.call_id, item.call.raw) for item in reply.calls] == [("c1", '{"a":1}'), ("c2", '{"b":2}')]

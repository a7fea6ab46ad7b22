import pytest

from groundwire.codecs.openai_responses import StreamEncoder, decode_request, encode_response
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, RefusalPart, TextPart
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
    FinishReason,
    ItemEnded,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyStarted,
    ReplyTextDelta,
    Usage,
)
from tests.codecs.openai_responses.recordings import decode, encode, events_in, final_response_of, raw_events_of

STARTED = ReplyStarted(reply_id="r1", model="m", created=5)


def call(call_id, raw="{}", name="f"):
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw))


def reply_of(*items, reason=FinishReason.END, **members):
    return Reply(reply_id="r1", model="m", created=5, items=items, finish=Finish(reason=reason), **members)


def types_in(data):
    return [event["type"].removeprefix("response.") for event in events_in(data)]


def test_a_message_lives_through_all_its_events():
    reply = reply_of(
        Message(role="assistant", parts=(TextPart(text="Hello"),)), usage=Usage(input=1, output=2, total=3)
    )
    data = encode(parts_of(reply, piece=3))
    assert types_in(data) == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    events = events_in(data)
    assert [event["sequence_number"] for event in events] == list(range(10))
    item_id = events[2]["item"]["id"]
    assert item_id.startswith("msg_")
    assert {event["item_id"] for event in events if "item_id" in event} == {item_id}
    assert [event["delta"] for event in events if "delta" in event] == ["Hel", "lo"]
    assert events[-1]["response"] == encode_response(reply).body
    final = final_response_of(data)
    assert final.output_text == "Hello"
    assert final.usage.total_tokens == 3


@pytest.mark.requirement("X-21")
def test_parallel_calls_are_accepted_by_the_official_client_although_their_pieces_interleave():
    first, second = call("c1", '{"a":1}'), call("c2", '{"a":2}')
    reply = reply_of(first, second, reason=FinishReason.TOOL_CALLS)
    parts = [
        STARTED,
        ReplyCallStarted(index=0, call_id="c1", name="f"),
        ReplyCallStarted(index=1, call_id="c2", name="f"),
        CallDelta(index=1, text='{"a"'),
        CallDelta(index=0, text='{"a":1}'),
        CallDelta(index=1, text=":2}"),
        ItemEnded(index=1, item=second),
        ItemEnded(index=0, item=first),
        ReplyEnded(reply=reply),
    ]
    data = encode(parts)
    final = final_response_of(data)
    assert [(item.call_id, item.name, item.arguments) for item in final.output] == [
        ("c1", "f", '{"a":1}'),
        ("c2", "f", '{"a":2}'),
    ]
    assert [item.call.raw for item in decode(data)[-1].reply.calls] == ['{"a":1}', '{"a":2}']
    assert [event.type for event in raw_events_of(data)] == [event["type"] for event in events_in(data)]


def test_thoughts_words_refusals_and_calls_go_through_the_official_client():
    said = Message(role="assistant", parts=(TextPart(text="one "), RefusalPart(text="no")))
    reply = reply_of(ReasoningItem(text="hm"), said, call("c"), reason=FinishReason.TOOL_CALLS)
    data = encode(parts_of(reply))
    final = final_response_of(data)
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert final.output[0].summary[0].text == "hm"
    assert [part.type for part in final.output[1].content] == ["output_text", "refusal"]
    again = decode(data)[-1].reply
    assert again.items[0].text == "hm"
    assert again.items[1].parts == said.parts


def test_full_thoughts_of_this_dialect_stay_full_thoughts():
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    request = decode_request({"input": [item]})
    data = encode(parts_of(reply_of(*request.items)))
    assert "reasoning_text.delta" in types_in(data)
    assert final_response_of(data).output[0].content[0].text == "hm"


def test_a_plain_text_tool_gets_its_text():
    request = decode_request({"model": "m", "input": "hi", "tools": [{"type": "custom", "name": "sql"}]})
    data = encode(parts_of(reply_of(call("c", '{"input":"select 1"}', "sql")), piece=4), request=request)
    final = final_response_of(data)
    assert (final.output[0].type, final.output[0].input) == ("custom_tool_call", "select 1")
    assert "custom_tool_call_input.done" in types_in(data)
    assert "function_call_arguments.delta" not in types_in(data)


def test_items_of_this_dialect_are_shown_and_those_of_others_are_named():
    own = NativeItem(
        origin="openai-responses",
        value={
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
    )
    foreign = NativeItem(origin="anthropic", value={"type": "server_tool_use"})
    encoder = StreamEncoder()
    reply = reply_of(foreign, own, Message(role="assistant", parts=(TextPart(text="hi"),)))
    data = b"".join(encoder.feed(part) for part in parts_of(reply)) + encoder.finish()
    final = final_response_of(data)
    assert [item.type for item in final.output] == ["web_search_call", "message"]
    assert [event["output_index"] for event in events_in(data) if event["type"] == "response.output_item.added"] == [
        0,
        1,
    ]
    assert [warning.code for warning in encoder.warnings] == ["native_dropped"]


def test_a_reply_that_only_ends_is_told_whole():
    reply = reply_of(Message(role="assistant", parts=(TextPart(text="hi"),)), call("c", '{"a":1}'))
    final = final_response_of(encode([ReplyEnded(reply=reply)]))
    assert final.output_text == "hi"
    assert final.output[1].arguments == '{"a":1}'


def test_empty_messages_and_empty_arguments_are_told():
    reply = reply_of(Message(role="assistant", parts=()), call("c"))
    final = final_response_of(encode([STARTED, ItemEnded(index=0, item=reply.items[0]), ReplyEnded(reply=reply)]))
    assert final.output[0].content == []
    assert final.output[1].arguments == "{}"


@pytest.mark.parametrize(
    ("reason", "terminal"),
    [
        (FinishReason.LENGTH, "response.incomplete"),
        (FinishReason.CONTENT_FILTER, "response.incomplete"),
        (FinishReason.PAUSED, "response.incomplete"),
        (FinishReason.MALFORMED_CALL, "response.failed"),
        (FinishReason.FAILED, "response.failed"),
    ],
)
def test_the_last_event_says_how_it_ended(reason, terminal):
    data = encode(parts_of(reply_of(Message(role="assistant", parts=(TextPart(text="hi"),)), reason=reason)))
    assert events_in(data)[-1]["type"] == terminal
    assert raw_events_of(data)[-1].type == terminal
    last = decode(data)[-1]
    if terminal == "response.failed":
        assert isinstance(last, ReplyFailed)
    else:
        assert last.reply.finish.reason is reason


@pytest.mark.quirk(83)
def test_a_failure_is_told_inside_the_stream():
    failure = Failure(kind=FailureKind.RATE_LIMIT, message="slow", code="rate_limit_exceeded", status=429)
    data = encode([STARTED, ReplyTextDelta(index=0, text="hi"), ReplyFailed(failure=failure)])
    error, failed = events_in(data)[-2:]
    assert error == {
        "type": "error",
        "sequence_number": 5,
        "code": "rate_limit_exceeded",
        "message": "slow",
        "param": None,
    }
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "slow"}
    assert [event.type for event in raw_events_of(data)][-2:] == ["error", "response.failed"]
    assert decode(data)[-1].failure.kind is FailureKind.RATE_LIMIT


def test_a_failure_before_anything_began_is_one_error():
    data = encode([ReplyFailed(failure=Failure(kind=FailureKind.SERVER, message="x"))])
    assert types_in(data) == ["error"]


def test_a_reply_that_begins_anew_ends_with_an_error_and_the_rest_is_ignored():
    encoder = StreamEncoder()
    encoder.feed(STARTED)
    encoder.feed(ReplyTextDelta(index=0, text="hi"))
    assert types_in(encoder.feed(STARTED)) == ["error", "failed"]
    assert encoder.feed(ReplyTextDelta(index=0, text="more")) == b""
    assert encoder.finish() == b""


def test_parts_that_stop_without_an_end_are_a_failure():
    encoder = StreamEncoder()
    encoder.feed(STARTED)
    assert types_in(encoder.finish()) == ["error", "failed"]


def test_ids_stay_the_same_when_a_reply_has_none():
    data = encode(
        [
            ReplyStarted(model="m"),
            ReplyTextDelta(index=0, text="hi"),
            ReplyEnded(
                reply=Reply(
                    model="m",
                    finish=Finish(reason=FinishReason.END),
                    items=(Message(role="assistant", parts=(TextPart(text="hi"),)),),
                )
            ),
        ]
    )
    assert len({event["response"]["id"] for event in events_in(data) if "response" in event}) == 1
    assert final_response_of(data).output_text == "hi"

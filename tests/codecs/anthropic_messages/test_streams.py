import json

import pytest

from groundwire.codecs import anthropic_messages
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, TextPart
from groundwire.contracts.replies import (
    CallDelta,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyStarted,
    ReplyTextDelta,
)


def event(kind, **members):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def start(**members):
    message = {"id": "msg_1", "model": "claude-x", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}
    return event("message_start", message={**message, **members})


def block(index, **members):
    return event("content_block_start", index=index, content_block=members)


def delta(index, kind, **members):
    return event("content_block_delta", index=index, delta={"type": kind, **members})


def stop(index):
    return event("content_block_stop", index=index)


def ending(reason="end_turn", **members):
    return event("message_delta", delta={"stop_reason": reason, **members}, usage={"output_tokens": 9})


END = event("message_stop")


def decode(*events, names=None):
    decoder = anthropic_messages.StreamDecoder(names=names)
    return [part for data in events for part in decoder.feed(data)] + decoder.finish()


def reply_of(*events, names=None):
    last = decode(*events, names=names)[-1]
    assert isinstance(last, ReplyEnded)
    return last.reply


def failure_of(*events):
    parts = decode(*events)
    assert [part.kind for part in parts if part.kind in ("reply.ended", "reply.failed")] == ["reply.failed"]
    assert isinstance(parts[-1], ReplyFailed)
    return parts[-1].failure


def whole_call(index=0, call_id="toolu_1", *fragments):
    opened = block(index, type="tool_use", id=call_id, name="f", input={})
    return opened + b"".join(delta(index, "input_json_delta", partial_json=each) for each in fragments) + stop(index)


def test_a_stream_tells_each_piece_as_it_comes():
    parts = decode(
        start(),
        event("ping"),
        block(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="S"),
        stop(0),
        block(1, type="text", text=""),
        delta(1, "text_delta", text="a"),
        delta(1, "text_delta", text="b"),
        stop(1),
        whole_call(2, "toolu_1", "", '{"x"', ": 1}"),
        ending("tool_use"),
        END,
    )

    thought = ReasoningItem(text="hm", private={"anthropic": {"signature": "S"}})
    words = Message(role="assistant", parts=(TextPart(text="ab"),))
    ended = parts[-1]
    assert isinstance(ended, ReplyEnded)
    call = ended.reply.calls[0]
    started = parts[0]
    assert isinstance(started, ReplyStarted)
    assert started.usage is not None
    assert (started.reply_id, started.usage.input) == ("msg_1", 3)
    assert parts[1:-1] == [
        ReasoningDelta(index=0, text="hm"),
        ItemEnded(index=0, item=thought),
        ReplyTextDelta(index=1, text="a"),
        ReplyTextDelta(index=1, text="b"),
        ItemEnded(index=1, item=words),
        ReplyCallStarted(index=2, call_id="toolu_1", name="f"),
        CallDelta(index=2, text='{"x"'),
        CallDelta(index=2, text=": 1}"),
        ItemEnded(index=2, item=call),
    ]
    assert ended.reply.items == (thought, words, call)
    assert (call.call.raw, call.complete) == ('{"x": 1}', True)
    assert ended.reply.finish.reason is FinishReason.TOOL_CALLS
    assert ended.reply.usage is not None
    assert (ended.reply.usage.input, ended.reply.usage.output) == (3, 9)


@pytest.mark.quirk(6)
def test_a_call_without_arguments_has_an_empty_object():
    reply = reply_of(start(), whole_call(0, "a", ""), whole_call(1, "b"), ending("tool_use"), END)

    assert [item.call.raw for item in reply.calls] == ["{}", "{}"]


@pytest.mark.quirk(47)
def test_a_call_that_comes_whole_at_its_beginning_keeps_its_arguments():
    opened = block(0, type="tool_use", id="a", name="f", input={"x": 1})
    reply = reply_of(start(), opened, stop(0), ending("tool_use"), END)

    assert reply.calls[0].call.raw == '{"x":1}'


@pytest.mark.quirk(41)
def test_a_second_beginning_voids_the_first():
    parts = decode(
        start(),
        whole_call(0, "toolu_1", "{}"),
        start(id="msg_2"),
        block(0, type="text", text="new"),
        stop(0),
        ending(),
        END,
    )

    assert [part.reply_id for part in parts if isinstance(part, ReplyStarted)] == ["msg_1", "msg_2"]
    ended = parts[-1]
    assert isinstance(ended, ReplyEnded)
    assert (ended.reply.reply_id, ended.reply.text, ended.reply.calls) == ("msg_2", "new", ())


def test_usage_that_the_end_leaves_out_or_calls_null_stays_as_it_began():
    begun = {"input_tokens": 702, "cache_read_input_tokens": 5, "output_tokens": 1, "service_tier": "standard"}
    last = {"input_tokens": 1591, "cache_read_input_tokens": None, "output_tokens": 40}
    reply = reply_of(start(usage=begun), event("message_delta", delta={"stop_reason": "end_turn"}, usage=last), END)

    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (1596, 5, 40)
    assert reply.usage.private == {"anthropic": {"service_tier": "standard"}}


def test_a_refusal_without_any_block_is_told_with_its_details():
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    reply = reply_of(start(), event("ping"), ending("refusal", stop_details=details), END)

    assert reply.items == ()
    assert (reply.finish.reason, reply.finish.detail) == (FinishReason.CONTENT_FILTER, "no")


@pytest.mark.quirk(83)
def test_an_error_event_ends_the_stream_as_failed():
    error = {"type": "overloaded_error", "message": "Overloaded"}
    failure = failure_of(start(), whole_call(0, "a", "{}"), event("error", error=error), ending(), END)

    assert (failure.kind, failure.message, failure.type) == (FailureKind.OVERLOADED, "Overloaded", "overloaded_error")
    assert (failure.status, failure.retryable) == (529, True)


@pytest.mark.quirk(44)
def test_a_stream_that_stops_without_a_reason_is_incomplete_and_its_calls_may_not_run():
    closed = reply_of(start(), whole_call(0, "a", "{}"))
    cut = reply_of(
        start(), block(0, type="tool_use", id="a", name="f", input={}), delta(0, "input_json_delta", partial_json='{"x')
    )

    assert closed.finish.reason is cut.finish.reason is FinishReason.INCOMPLETE
    assert [item.complete for item in (*closed.calls, *cut.calls)] == [False, False]
    assert cut.calls[0].call.raw == '{"x'


@pytest.mark.quirk(44)
def test_a_reason_without_the_last_event_is_an_end():
    reply = reply_of(start(), whole_call(0, "a", "{}"), ending("tool_use"))

    assert reply.finish.reason is FinishReason.TOOL_CALLS
    assert reply.calls[0].complete is True


@pytest.mark.quirk(20)
def test_a_call_that_the_limit_cut_in_a_stream_is_not_complete():
    reply = reply_of(start(), whole_call(0, "a", "{}"), whole_call(1, "b", '{"x": "un'), ending("max_tokens"), END)

    assert [item.complete for item in reply.calls] == [True, False]


@pytest.mark.quirk(9)
@pytest.mark.quirk(11)
def test_ids_of_a_stream_are_made_unique_and_never_missing():
    opened = block(2, type="tool_use", name="f", input={}) + stop(2)
    events = (start(), whole_call(0, "a", "{}"), whole_call(1, "a", "{}"), opened, ending("tool_use"), END)
    ids = [item.call.call_id for item in reply_of(*events).calls]

    assert ids[:2] == ["a", "a_2"]
    assert ids[2].startswith("toolu_")
    assert ids == [item.call.call_id for item in reply_of(*events).calls]


@pytest.mark.quirk(13)
def test_names_of_a_stream_lead_back_to_the_callers():
    reply = reply_of(start(), whole_call(0, "a", "{}"), ending("tool_use"), END, names={"f": "shop.f"})

    assert reply.calls[0].call.name == "shop.f"


@pytest.mark.quirk(21)
def test_halves_of_a_character_are_joined_across_events():
    high = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}\n\n'
    low = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00!"}}\n\n'
    parts = decode(start(), block(0, type="text", text=""), high, low, high, stop(0), ending(), END)

    assert [part.text for part in parts if isinstance(part, ReplyTextDelta)] == ["😀!"]
    assert isinstance(parts[-1], ReplyEnded)
    assert parts[-1].reply.text == "😀!�"


@pytest.mark.quirk(42)
@pytest.mark.parametrize(
    "dress",
    [
        lambda stream: stream.replace(b"\n", b"\r\n"),
        lambda stream: b"\xef\xbb\xbf: hello\n\n" + stream,
        lambda stream: stream[:-2],
        lambda stream: b"\n\n".join(b"\n".join(reversed(each.split(b"\n"))) for each in stream.split(b"\n\n")),
        lambda stream: b"\n".join(line for line in stream.split(b"\n") if not line.startswith(b"event:")),
        lambda stream: stream + b"data: [DONE]\n\n",
        lambda stream: stream.replace(b"}\n", b"}      \n"),
    ],
)
def test_the_dress_of_the_events_does_not_matter(dress):
    stream = start() + block(0, type="text", text="") + delta(0, "text_delta", text="hi") + stop(0) + ending() + END

    assert reply_of(dress(stream)) == reply_of(stream)


@pytest.mark.quirk(43)
def test_unknown_events_and_deltas_are_passed_over():
    reply = reply_of(
        start(),
        event("weather", sunny=True),
        block(0, type="text", text=""),
        delta(0, "color_delta", color="red"),
        delta(0, "text_delta", text="a"),
        stop(0),
        delta(7, "input_json_delta", partial_json="{}"),
        stop(7),
        ending(),
        END,
    )

    assert reply.text == "a"
    assert len(reply.items) == 1


def test_a_text_whose_beginning_is_missing_is_read_all_the_same():
    reply = reply_of(start(), delta(0, "text_delta", text="a"), stop(0), ending(), END)

    assert reply.text == "a"


def test_native_blocks_grow_by_deltas_of_any_kind():
    reply = reply_of(
        start(),
        block(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query":'),
        delta(0, "input_json_delta", partial_json='"q"}'),
        stop(0),
        block(1, type="compaction", content="a"),
        delta(1, "compaction_delta", content="b"),
        stop(1),
        ending(),
        END,
    )

    assert reply.items == (
        NativeItem(
            origin="anthropic",
            value={"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        ),
        NativeItem(origin="anthropic", value={"type": "compaction", "content": "ab"}),
    )


def test_redacted_thoughts_come_whole():
    parts = decode(start(), block(0, type="redacted_thinking", data="D"), stop(0), ending(), END)

    assert parts[1] == ItemEnded(index=0, item=ReasoningItem(private={"anthropic": {"_redacted": True, "data": "D"}}))


def test_members_beside_the_message_are_extras():
    reply = reply_of(
        start(diagnostics={"cache_miss_reason": None}),
        event(
            "message_delta",
            delta={"stop_reason": "end_turn", "container": {"id": "c"}},
            usage={"output_tokens": 1},
            context_management={"applied_edits": []},
        ),
        END,
    )

    assert reply.extras == {
        "anthropic": {
            "diagnostics": {"cache_miss_reason": None},
            "container": {"id": "c"},
            "context_management": {"applied_edits": []},
        }
    }


@pytest.mark.parametrize("stream", [b"", b"<html>busy</html>", b"data: {\n\n", b"data: 7\n\n", b": only a comment\n\n"])
def test_what_is_no_stream_fails_as_a_bad_response(stream):
    failure = failure_of(stream)

    assert (failure.kind, failure.retryable) == (FailureKind.BAD_RESPONSE, True)


def test_nothing_comes_after_the_end():
    decoder = anthropic_messages.StreamDecoder()
    parts = decoder.feed(start() + ending() + END + start())

    assert parts[-1].kind == "reply.ended"
    assert decoder.feed(start() + ending() + END) == []
    assert decoder.finish() == []


def test_a_block_without_its_end_counts_if_its_arguments_are_whole():
    opened = block(0, type="tool_use", id="a", name="f", input={})
    whole = reply_of(start(), opened, delta(0, "input_json_delta", partial_json='{"x":1}'), ending("tool_use"), END)
    half = reply_of(start(), opened, delta(0, "input_json_delta", partial_json='{"x":'), ending("tool_use"), END)

    assert isinstance(whole.items[0], CallItem)
    assert [whole.calls[0].complete, half.calls[0].complete] == [True, False]

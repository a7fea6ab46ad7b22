import json

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Citation, Message, NativeItem, ReasoningItem, RefusalPart, TextPart
from groundwire.contracts.replies import (
    Alternative,
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
from tests.codecs.openai_chat.support import codes, decode_stream, encode_stream, request

HEADER = {"id": "r", "object": "chat.completion.chunk", "created": 7, "model": "m"}


def call(call_id="c1", name="f", raw='{"a":1}', **members):
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw, origin="openai-chat"), **members)


def spoken(*parts):
    return Message(role="assistant", parts=parts)


def reply(*items, reason=FinishReason.END, **members):
    members = {"finish": Finish(reason=reason), **members}
    return Reply(reply_id="r", model="m", created=7, items=items, **members)


def frames(data):
    return [frame.removeprefix("data: ") for frame in data.decode().split("\n\n") if frame]


def deltas(data):
    chunks = [json.loads(frame) for frame in frames(data) if frame != "[DONE]"]
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk.get("choices")]


def test_text_is_streamed_as_openai_does():
    written, warnings = encode_stream(
        parts_of(reply(spoken(TextPart(text="ab")), usage=Usage(input=1, output=2)), piece=1)
    )
    chunks = frames(written)
    assert chunks[-1] == "[DONE]"
    assert [json.loads(frame) for frame in chunks[:-1]] == [
        {**HEADER, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}]},
        {**HEADER, "choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": None, "finish_reason": None}]},
        {**HEADER, "choices": [{"index": 0, "delta": {"content": "b"}, "logprobs": None, "finish_reason": None}]},
        {**HEADER, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]},
        {**HEADER, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    ]  # fmt: skip
    assert warnings == ()


def test_calls_are_numbered_from_zero_whatever_came_before_them():
    answer = reply(ReasoningItem(text="t"), call(), call("c2", "g", "{}"), reason=FinishReason.TOOL_CALLS)
    written, _ = encode_stream(parts_of(answer))
    assert deltas(written)[1:] == [
        {"reasoning_content": "t"},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {},
    ]
    assert json.loads(frames(written)[-2])["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    "answer",
    [
        reply(spoken(TextPart(text="a")), usage=Usage(input=1, output=2, total=3, cached=1, private={})),
        reply(spoken(TextPart(text="a"), RefusalPart(text="no"))),
        reply(spoken(TextPart(text="now")), call(), call("c2"), reason=FinishReason.TOOL_CALLS),
        reply(spoken(TextPart(text="cut")), reason=FinishReason.LENGTH),
        reply(spoken(TextPart(text="cut")), reason=FinishReason.CONTENT_FILTER),
        reply(
            spoken(TextPart(text="a")),
            alternatives=(
                Alternative(items=(spoken(TextPart(text="b")), call()), finish=Finish(reason=FinishReason.TOOL_CALLS)),
            ),
        ),
    ],
)
@pytest.mark.parametrize("piece", [None, 1, 3])
def test_what_was_written_reads_the_same(answer, piece):
    written, warnings = encode_stream(parts_of(answer, piece=piece))
    read = decode_stream(written)[-1].reply
    assert warnings == ()
    assert read.items == answer.items
    assert read.finish.reason is answer.finish.reason
    assert [other.items for other in read.alternatives] == [other.items for other in answer.alternatives]
    if answer.usage is not None:
        assert (read.usage.input, read.usage.cached) == (answer.usage.input, answer.usage.cached)


def test_a_signature_follows_its_call():
    signed = call(private={"gemini": {"thoughtSignature": "s"}})
    written, warnings = encode_stream(parts_of(reply(signed, reason=FinishReason.TOOL_CALLS)))
    assert warnings == ()
    assert decode_stream(written)[-1].reply.calls[0].private["gemini"] == {"thoughtSignature": "s"}


def test_items_without_deltas_are_written_when_they_end():
    parts = [
        ReplyStarted(),
        ItemEnded(index=0, item=ReasoningItem(text="t")),
        ItemEnded(index=1, item=spoken(TextPart(text="a"), RefusalPart(text="r"))),
        ItemEnded(index=2, item=call()),
        ReplyCallStarted(index=3, call_id="c2", name="g"),
        ItemEnded(index=3, item=call("c2", "g", "{}")),
    ]
    written, _ = encode_stream(parts)
    assert [next(iter(delta)) for delta in deltas(written)] == [
        "role", "reasoning_content", "content", "refusal", *["tool_calls"] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "has_usage"),
    [({"stream": True}, False), ({"stream": True, "stream_options": {"include_usage": True}}, True)],
)
def test_usage_comes_only_to_clients_that_asked_for_it(members, has_usage):
    asked = chat.decode_request(request({"role": "user", "content": "a"}, **members))
    written, _ = encode_stream(parts_of(reply(spoken(TextPart(text="a")), usage=Usage(input=1))), request=asked)
    assert (b'"usage":{' in written) is has_usage
    assert (b'"usage":null' in written) is has_usage


def test_clients_get_calls_in_the_form_in_which_they_know_their_tools():
    parts = parts_of(
        reply(call("c1", "w", '{"input":"x"}'), call("c2", "w", "{}"), reason=FinishReason.TOOL_CALLS), piece=4
    )
    custom = chat.decode_request(request(tools=[{"type": "custom", "custom": {"name": "w"}}]))
    written, _ = encode_stream(parts, request=custom)
    assert deltas(written)[1:3] == [
        {"tool_calls": [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "w", "input": ""}}]},
        {"tool_calls": [{"index": 0, "custom": {"input": "x"}}]},
    ]
    legacy = chat.decode_request(request(functions=[{"name": "w"}]))
    written, warnings = encode_stream(parts, request=legacy)
    read = decode_stream(written)[-1].reply
    assert [item.call.raw for item in read.calls] == ['{"input":"x"}']
    assert read.finish.raw == "function_call"
    assert set(codes(warnings)) == {"call_dropped"}


def test_a_failure_is_told_in_the_stream():
    failure = Failure(kind=FailureKind.OVERLOADED, message="busy", status=529)
    written, _ = encode_stream([ReplyStarted(), ReplyTextDelta(index=0, text="a"), ReplyFailed(failure=failure)])
    error, done = frames(written)[-2:]
    assert json.loads(error)["error"]["status_code"] == 503
    assert done == "[DONE]"
    assert decode_stream(written)[-1].failure.kind is FailureKind.OVERLOADED


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (FinishReason.MALFORMED_CALL, FailureKind.MALFORMED_CALL),
        (FinishReason.INCOMPLETE, FailureKind.BAD_RESPONSE),
        (FinishReason.FAILED, FailureKind.BAD_RESPONSE),
        (FinishReason.CANCELLED, FailureKind.CANCELLED),
    ],
)
@pytest.mark.quirk(35)
def test_an_answer_that_broke_off_is_no_end(reason, kind):
    written, _ = encode_stream(parts_of(reply(call(complete=False), reason=reason)))
    assert json.loads(frames(written)[-2])["error"]["code"] is not None
    assert isinstance(decode_stream(written)[-1], ReplyFailed)
    assert decode_stream(written)[-1].failure.kind in (kind, FailureKind.SERVER)


@pytest.mark.quirk(41)
def test_an_upstream_that_begins_anew_ends_the_stream():
    encoder = chat.StreamEncoder()
    encoder.feed(ReplyStarted())
    encoder.feed(ReplyTextDelta(index=0, text="a"))
    assert b'"error"' in encoder.feed(ReplyStarted())
    assert encoder.feed(ReplyTextDelta(index=0, text="b")) == b""
    assert encoder.finish() == b""


def test_parts_that_stop_without_an_end_are_told_as_a_failure():
    encoder = chat.StreamEncoder()
    encoder.feed(ReplyStarted())
    assert isinstance(decode_stream(encoder.finish())[-1], ReplyFailed)


def test_what_a_stream_has_no_place_for_is_told():
    cited = spoken(TextPart(text="a", citations=(Citation(url="u", start=0, end=1),)))
    answer = reply(
        cited,
        ReasoningItem(text="t", private={"anthropic": {"signature": "s"}}),
        NativeItem(origin="gemini", value={}),
        extras={"gemini": {"x": 1}, "openai-chat": {"service_tier": "flex"}},
    )
    written, warnings = encode_stream(parts_of(answer))
    assert codes(warnings) == ["private_dropped", "native_dropped", "extra_dropped"]
    end = decode_stream(written)[-1]
    assert isinstance(end, ReplyEnded)
    assert end.reply.extras == {"openai-chat": {"service_tier": "flex"}}
    assert end.reply.items[0].parts[0].citations[0].url == "u"


@pytest.mark.quirk(20)
def test_a_stream_with_a_cut_call_in_it_does_not_end_as_if_it_were_whole():
    data, _ = encode_stream(parts_of(reply(call(complete=False), reason=FinishReason.TOOL_CALLS)))
    assert decode_stream(data)[-1].failure.code == "malformed_call"

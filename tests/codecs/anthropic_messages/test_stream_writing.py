import json

import httpx2
import pytest
from anthropic import Anthropic, APIStatusError

from groundwire.codecs import anthropic_messages
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.sse import SseReader
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
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
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyStarted,
    ReplyTextDelta,
    Usage,
)
from groundwire.contracts.requests import ModelRequest
from tests.codecs.anthropic_messages.recordings import STREAMED, recording

END = Finish(reason=FinishReason.END)
CALLS = Finish(reason=FinishReason.TOOL_CALLS, raw="tool_calls")


def write(*parts, request=None):
    encoder = anthropic_messages.StreamEncoder(request=request)
    written = b"".join(encoder.feed(part) for part in parts) + encoder.finish()
    return written, [warning.code for warning in encoder.warnings]


def events(stream):
    reader = SseReader()
    found = [*reader.feed(stream), *reader.finish()]
    bodies = [json.loads(each.data) for each in found]
    assert [each.event for each in found] == [body["type"] for body in bodies]
    return bodies


def accumulated(stream):
    """What the official SDK makes of the stream."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=stream, headers={"content-type": "text/event-stream"})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        client = Anthropic(api_key="k", base_url="http://test", http_client=http, max_retries=0)
        with client.messages.stream(model="m", max_tokens=10, messages=[{"role": "user", "content": "hi"}]) as running:
            return running.get_final_message()


def call(index, raw="{}"):
    return CallItem(call=ToolCall(call_id=f"toolu_{index}", name="f", raw=raw))


FULL = Reply(
    reply_id="msg_1",
    model="claude-x",
    items=(
        ReasoningItem(text="thought", private={"anthropic": {"signature": "SIG"}}),
        ReasoningItem(private={"anthropic": {"_redacted": True, "data": "D"}}),
        NativeItem(
            origin="anthropic",
            value={"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        ),
        Message(
            role="assistant",
            parts=(
                TextPart(
                    text="cited",
                    citations=(
                        Citation(
                            private={
                                "anthropic": {
                                    "type": "web_search_result_location",
                                    "url": "u",
                                    "title": "t",
                                    "cited_text": "c",
                                    "encrypted_index": "e",
                                }
                            }
                        ),
                    ),
                ),
            ),
        ),
        say("assistant", "then"),
        CallItem(
            call=ToolCall(call_id="toolu_1", name="f", raw='{"x": [1, 2]}'),
            private={"anthropic": {"caller": {"type": "direct"}}},
        ),
        call(2),
    ),
    finish=CALLS,
    usage=Usage(input=60, output=7, total=67, cached=30, cache_write=20, reasoning=5),
)


@pytest.mark.parametrize("piece", [None, 1, 3])
def test_the_official_sdk_accumulates_the_whole_message(piece):
    stream, losses = write(*parts_of(FULL, piece=piece))
    message = accumulated(stream)

    assert losses == []
    assert (message.id, message.model, message.stop_reason) == ("msg_1", "claude-x", "tool_use")
    assert [block.type for block in message.content] == [
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "text",
        "text",
        "tool_use",
        "tool_use",
    ]
    thinking, redacted, search, cited, text, first, second = message.content
    assert (thinking.thinking, thinking.signature) == ("thought", "SIG")
    assert redacted.data == "D"
    assert search.input == {"query": "q"}
    assert (cited.text, cited.citations[0].encrypted_index, text.text) == ("cited", "e", "then")
    assert (first.id, first.name, first.input, first.caller.type) == ("toolu_1", "f", {"x": [1, 2]}, "direct")
    assert second.input == {}
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 7)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (30, 20)
    assert usage.output_tokens_details.thinking_tokens == 5


@pytest.mark.parametrize("name", STREAMED)
def test_the_official_sdk_sees_a_rewritten_recording_as_the_original(name):
    original = recording(name)["response"].encode()
    decoder = anthropic_messages.StreamDecoder()
    stream, losses = write(*decoder.feed(original), *decoder.finish())

    assert losses == []
    assert accumulated(stream).to_dict() == accumulated(original).to_dict()


def test_events_come_in_the_providers_order():
    stream, _ = write(*parts_of(Reply(reply_id="r", items=(say("assistant", "ab"), call(1)), finish=CALLS), piece=1))

    assert [(body["type"], body.get("index")) for body in events(stream)] == [
        ("message_start", None),
        ("content_block_start", 0),
        ("content_block_delta", 0),
        ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_delta", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("message_delta", None),
        ("message_stop", None),
    ]
    assert events(stream)[5]["content_block"] == {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}


def test_calls_that_grow_side_by_side_come_one_after_the_other():
    reply = Reply(items=(call(0, '{"a":1}'), call(1, '{"b":2}'), call(2, "{}")), finish=CALLS)
    stream, _ = write(
        ReplyStarted(),
        ReplyCallStarted(index=0, call_id="toolu_0", name="f"),
        CallDelta(index=0, text='{"a"'),
        ReplyCallStarted(index=1, call_id="toolu_1", name="f"),
        ReplyCallStarted(index=2, call_id="toolu_2", name="f"),
        CallDelta(index=1, text='{"b"'),
        CallDelta(index=0, text=":1}"),
        CallDelta(index=2, text="{}"),
        CallDelta(index=1, text=":2}"),
        *(ItemEnded(index=index, item=item) for index, item in enumerate(reply.items)),
        ReplyEnded(reply=reply),
    )

    assert [(block.id, block.input) for block in accumulated(stream).content] == [
        ("toolu_0", {"a": 1}),
        ("toolu_1", {"b": 2}),
        ("toolu_2", {}),
    ]


def test_calls_that_nobody_ended_are_still_told():
    reply = Reply(items=(call(0), call(1)), finish=CALLS)
    stream, _ = write(
        ReplyCallStarted(index=0, call_id="toolu_0", name="f"),
        ReplyCallStarted(index=1, call_id="toolu_1", name="f"),
        CallDelta(index=1, text='{"b":2}'),
        CallDelta(index=0, text='{"a":1}'),
        ReplyEnded(reply=reply),
    )

    assert [block.input for block in accumulated(stream).content] == [{"a": 1}, {"b": 2}]


@pytest.mark.quirk(17)
def test_text_that_is_interrupted_goes_on_in_a_block_of_its_own():
    stream, _ = write(
        ReplyStarted(),
        ReasoningDelta(index=0, text="hm"),
        ReplyTextDelta(index=1, text="a"),
        ReasoningDelta(index=0, text=" so"),
        ReplyTextDelta(index=1, text="b"),
        ItemEnded(index=0, item=ReasoningItem(text="hm so")),
        ItemEnded(index=1, item=say("assistant", "ab")),
        ReplyEnded(reply=Reply(finish=END)),
    )

    content = accumulated(stream).content
    assert [(block.type, getattr(block, "text", None) or block.thinking) for block in content] == [
        ("thinking", "hm"),
        ("text", "a"),
        ("thinking", " so"),
        ("text", "b"),
    ]


def test_a_reply_of_another_provider_is_told_with_its_losses():
    reply = Reply(
        items=(
            ReasoningItem(private={"openai-responses": {"encrypted_content": "x"}}),
            Message(role="assistant", parts=(RefusalPart(text="No."), MediaPart(media_type="image/png", data=b"x"))),
            NativeItem(origin="gemini", value={}),
            CallItem(call=ToolCall(call_id="a|b", name="f", raw="{}")),
        ),
        finish=CALLS,
    )
    stream, losses = write(*parts_of(reply), request=ModelRequest(model="asked-for"))
    message = accumulated(stream)

    assert message.model == "asked-for"
    assert [block.type for block in message.content] == ["text", "text", "tool_use"]
    assert message.content[0].text == "No."
    assert message.content[1].text == "[image/png left out]"
    assert losses == ["private_dropped", "media_dropped", "native_dropped", "call_id_rewritten"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (FailureKind.OVERLOADED, "overloaded_error"),
        (FailureKind.RATE_LIMIT, "rate_limit_error"),
        (FailureKind.BAD_RESPONSE, "api_error"),
    ],
)
def test_a_failure_is_an_error_event(kind, name):
    stream, _ = write(
        ReplyStarted(), ReplyTextDelta(index=0, text="a"), ReplyFailed(failure=Failure(kind=kind, message="no")),
        ReplyTextDelta(index=0, text="b"),
    )  # fmt: skip

    assert events(stream)[-1] == {"type": "error", "error": {"type": name, "message": "no"}}
    with pytest.raises(APIStatusError):
        accumulated(stream)


@pytest.mark.quirk(35)
@pytest.mark.parametrize(
    "reason", [FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.CANCELLED, FinishReason.INCOMPLETE]
)
def test_a_broken_reply_never_ends_as_if_it_were_whole(reason):
    stream, _ = write(*parts_of(Reply(items=(call(1),), finish=Finish(reason=reason))))

    assert events(stream)[-1]["type"] == "error"
    assert "message_stop" not in [body["type"] for body in events(stream)]


@pytest.mark.quirk(41)
def test_a_beginning_anew_cannot_be_undone():
    stream, _ = write(
        ReplyStarted(), ReplyTextDelta(index=0, text="a"), ReplyStarted(), ReplyTextDelta(index=0, text="b")
    )

    assert [body["type"] for body in events(stream)] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "error",
    ]


def test_a_stream_that_nobody_ended_is_told_as_broken():
    stream, _ = write(ReplyStarted(), ReplyTextDelta(index=0, text="a"))

    assert events(stream)[-1]["type"] == "error"


def test_a_refusal_carries_its_details():
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    finish = Finish(
        reason=FinishReason.CONTENT_FILTER, raw="refusal", detail="no", private={"anthropic": {"stop_details": details}}
    )
    stream, _ = write(*parts_of(Reply(finish=finish)))

    message = accumulated(stream)
    assert (message.stop_reason, message.stop_details.category, message.content) == ("refusal", "cyber", [])


@pytest.mark.quirk(20)
def test_a_stream_with_a_cut_call_in_it_does_not_end_as_if_it_were_whole():
    cut = CallItem(call=ToolCall(call_id="toolu_1", name="f", raw="{}"), complete=False)
    stream, _ = write(*parts_of(Reply(items=(cut,), finish=CALLS)))
    assert events(stream)[-1]["type"] == "error"

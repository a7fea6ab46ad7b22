import json
import random

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import MediaPart
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyFailed
from tests.codecs.openai_chat.support import chunk, decode, decode_stream, response, stream_of, tool_call
from tests.codecs.pieces import Piece


def fragment(index=0, call_id=None, name=None, arguments=None, **members):
    function = {}
    if name is not None:
        function["name"] = name
    if arguments is not None:
        function["arguments"] = arguments
    entry = {"function": function, **members}
    if index is not None:
        entry["index"] = index
    if call_id is not None:
        entry.update({"id": call_id, "type": "function"})
    return chunk({"tool_calls": [entry]})


def calls_of(*chunks, names=None, finish="tool_calls"):
    reply = decode_stream(stream_of(*chunks, chunk({}, finish)), names=names)[-1].reply
    return [(item.call.call_id, item.call.name, item.call.raw) for item in reply.calls]


def end_of(*chunks, **options):
    return decode_stream(stream_of(*chunks, **options))[-1]


WHOLE = [
    ({"content": "Hello"}, "stop"),
    ({"content": None, "tool_calls": [tool_call(), tool_call("call_2", "g", '{"a": "é😀"}')]}, "tool_calls"),
    ({"content": "now", "reasoning_content": "t", "tool_calls": [tool_call()]}, "tool_calls"),
    ({"content": "a", "reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]}, "stop"),
    ({"content": "a", "reasoning": "t", "reasoning_content": "u"}, "stop"),
    ({"content": None, "refusal": "I won't"}, "stop"),
    ({"content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}, "function_call"),
    ({"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "w", "input": 'a "b"\n'}}]}, "tool_calls"),
    ({"tool_calls": [tool_call("", "f"), tool_call("", "g")]}, "tool_calls"),
    ({"tool_calls": [{**tool_call(), "extra_content": {"google": {"thought_signature": "s"}}}]}, "stop"),
    ({"content": "a", "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]}, "stop"),
    ({"content": "a", "images": [{"url": "x"}]}, "stop"),
    ({"content": "<think>t</think>a"}, "length"),
    ({"tool_calls": [tool_call(arguments='{"a":')]}, "length"),
    ({"tool_calls": [tool_call()]}, "error"),
    (
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]},
        "stop",
    ),
]


@pytest.mark.quirk(47)
@pytest.mark.parametrize(("message", "reason"), WHOLE)
def test_a_message_in_one_delta_reads_like_the_whole_response(message, reason):
    reply = end_of(chunk(message), chunk({}, reason)).reply
    assert reply.items == decode(message, reason).items
    assert reply.finish == decode(message, reason).finish


@pytest.mark.requirement("X-21")
def test_fragments_are_joined_by_their_index():
    assert calls_of(
        fragment(0, "a", "f", ""),
        fragment(1, "b", "f", ""),
        fragment(1, arguments='{"y"'),
        fragment(0, arguments='{"x"'),
        fragment(0, arguments=":1}"),
        fragment(1, arguments=":2}"),
    ) == [("a", "f", '{"x":1}'), ("b", "f", '{"y":2}')]


@pytest.mark.quirk(45)
@pytest.mark.parametrize(
    "fragments",
    [
        [fragment(None, "a", "f", '{"x"'), fragment(None, None, None, ":1}"), fragment(None, "b", "g", "{}")],
        [fragment(0, "a", "f", '{"x"'), fragment(0, None, None, ":1}"), fragment(0, "b", "g", "{}")],
        [fragment(0, "a", "f", '{"x"'), fragment(0, "a", None, ":1}"), fragment(1, "b", "g", "{}")],
        [fragment(0, "a", "f", '{"x"'), fragment(0, "a", "f", ":1}"), fragment(1, "b", "g", "{}")],
        [fragment(None, "a", "f", '{"x":1}'), fragment(None, "b", "g")],
    ],
)
def test_calls_are_told_apart_whatever_servers_do_with_indexes_and_ids(fragments):
    assert calls_of(*fragments) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


@pytest.mark.quirk(45)
def test_calls_without_ids_and_indexes_are_told_apart_by_their_names():
    calls = calls_of(
        fragment(None, None, "f", '{"x":1}'), fragment(None, None, "f", '{"x":2}'), fragment(0, None, "g", "{}")
    )
    assert [call[1:] for call in calls] == [("f", '{"x":1}'), ("f", '{"x":2}'), ("g", "{}")]
    assert len({call[0] for call in calls}) == 3


@pytest.mark.quirk(11)
def test_one_id_for_two_calls_becomes_two():
    assert calls_of(fragment(0, "a", "f", "{}"), fragment(1, "a", "f", "{}")) == [("a", "f", "{}"), ("a_2", "f", "{}")]


@pytest.mark.quirk(46)
def test_a_split_name_is_joined_only_to_a_declared_one():
    names = {"get_weather": "get.weather", "get": "get"}
    split = [fragment(0, "a", "get_"), fragment(0, None, "weather"), fragment(0, None, None, "{}")]
    assert calls_of(*split, names=names) == [("a", "get.weather", "{}")]
    parts = decode_stream(stream_of(*split, chunk({}, "tool_calls")), names=names)
    assert [part.name for part in parts if part.kind == "call.started"] == ["get.weather"]


@pytest.mark.quirk(46)
def test_a_name_in_every_fragment_counts_once():
    assert calls_of(fragment(0, None, "f", '{"x"'), fragment(0, None, "f", ":1"), fragment(0, None, "f", "}"))[0][
        1:
    ] == (
        "f",
        '{"x":1}',
    )


def test_a_name_that_comes_again_after_whole_arguments_begins_another_call():
    calls = calls_of(*[fragment(None, None, "f", text) for text in ('{"x"', ':"}{"', "}", '{"y"', ":2}", "{}")])
    assert [raw for _, _, raw in calls] == ['{"x":"}{"}', '{"y":2}', "{}"]


def test_arguments_that_come_before_the_name_wait_for_it():
    assert calls_of(fragment(0, "a", None, '{"x"'), fragment(0, None, "f", ":1}")) == [("a", "f", '{"x":1}')]


def test_a_call_without_a_name_can_never_run():
    reply = end_of(fragment(0, "a", None, "{}"), chunk({}, "tool_calls")).reply
    assert [(item.call.name, item.complete) for item in reply.calls] == [("", False)]


@pytest.mark.quirk(6)
@pytest.mark.parametrize("pieces", [[], [""], [" "], [None]])
def test_blank_arguments_are_an_empty_object(pieces):
    assert calls_of(fragment(0, "a", "f"), *[fragment(0, arguments=piece) for piece in pieces]) == [("a", "f", "{}")]


@pytest.mark.quirk(21)
@pytest.mark.parametrize("wrap", ["content", "arguments", "input", "reasoning"])
def test_characters_cut_in_half_become_whole_again(wrap):
    halves = [r'"x\ud83d"', r'"\ude00y"']
    shapes = {
        "content": '{"content":%s}',
        "reasoning": '{"reasoning":%s}',
        "arguments": '{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":%s}}]}',
        "input": '{"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"f","input":%s}}]}',
    }
    data = "".join('data: {"id":"r","choices":[{"index":0,"delta":%s}]}\n\n' % (shapes[wrap] % half) for half in halves)
    item = decode_stream(data.encode() + b"data: [DONE]\n\n")[-1].reply.items[0]
    told = item.call.raw if item.kind == "call" else item.text
    assert told == ('{"input":"x😀y"}' if wrap == "input" else "x😀y")


@pytest.mark.quirk(36)
def test_chunks_without_choices_say_nothing_by_themselves():
    parts = decode_stream(
        stream_of(
            {"id": "", "choices": [], "prompt_filter_results": [1]},
            chunk({"content": "a"}),
            chunk({}, "stop"),
            chunk(usage={"prompt_tokens": 1, "completion_tokens": 2}),
        )
    )
    assert [part.kind for part in parts] == ["reply.started", "text.delta", "item.ended", "reply.ended"]
    reply = parts[-1].reply
    assert (reply.reply_id, reply.usage.total) == ("r1", 3)
    assert reply.extras == {"openai-chat": {"prompt_filter_results": [1]}}


@pytest.mark.quirk(39)
def test_of_several_usages_the_last_counts():
    reply = end_of(
        chunk({"content": "a"}, usage={"prompt_tokens": 1}),
        chunk({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 5}),
        chunk({}, usage=None),
    ).reply
    assert reply.usage.output == 5
    groq = end_of(chunk({"content": "a"}, "stop", x_groq={"usage": {"prompt_tokens": 8}})).reply
    assert groq.usage.input == 8


@pytest.mark.quirk(44)
@pytest.mark.parametrize(
    ("finish", "done", "reason", "complete"),
    [
        ("tool_calls", True, FinishReason.TOOL_CALLS, True),
        ("tool_calls", False, FinishReason.TOOL_CALLS, True),
        (None, True, FinishReason.TOOL_CALLS, True),
        (None, False, FinishReason.INCOMPLETE, False),
        ("length", True, FinishReason.LENGTH, False),
    ],
)
def test_only_a_stream_that_came_to_its_end_has_complete_calls(finish, done, reason, complete):
    chunks = [chunk({"tool_calls": [{**tool_call(), "index": 0}]}), chunk({}, finish)]
    parts = decode_stream(stream_of(*chunks, done=done))
    reply = parts[-1].reply
    assert (reply.finish.reason, reply.calls[0].complete) == (reason, complete)
    ended = [part.item.complete for part in parts if part.kind == "item.ended"]
    assert ended == [complete]


@pytest.mark.parametrize(
    ("arguments", "complete"), [('{"a": 1}', True), ("{}", True), ('{"a": 1', False), ("", False), ("[1]", False)]
)
def test_where_no_reason_was_given_a_call_is_whole_only_if_its_arguments_are(arguments, complete):
    reply = end_of(fragment(0, "call_1", "f", arguments)).reply
    assert [item.complete for item in reply.calls] == [complete]
    said = end_of(fragment(0, "call_1", "f", arguments), chunk({}, "tool_calls")).reply
    assert [item.complete for item in said.calls] == [True]


@pytest.mark.parametrize("data", [b"", b"data: [DONE]\n\n", b": keep-alive\n\n", b"\n\n", b"\xef\xbb"])
def test_a_stream_without_any_answer_is_incomplete(data):
    parts = decode_stream(data)
    assert [part.kind for part in parts] == ["reply.started", "reply.ended"]
    assert parts[-1].reply.finish.reason is FinishReason.INCOMPLETE


@pytest.mark.quirk(42)
def test_frames_may_be_written_in_every_way_that_the_standard_allows():
    text = "\ufeff: OPENROUTER PROCESSING\r\n\r\n"
    text += 'data: {"id":"r1","choices":[{"index":0,\r\ndata: "delta":{"content":"a"}}]}\r\n\r\n'
    text += 'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\revent: x\r\rdata: [DONE] '
    assert decode_stream(text.encode(), cuts=range(1, len(text.encode())))[-1].reply.text == "a"
    assert decode_stream(text.encode())[-1].reply.finish.raw == "stop"


def test_after_the_end_nothing_counts():
    data = stream_of(chunk({"content": "a"}, "stop")) + stream_of(chunk({"content": "b"})) + b"data: {broken\n\n"
    parts = decode_stream(data)
    assert parts[-1].reply.text == "a"
    assert sum(isinstance(part, (ReplyEnded, ReplyFailed)) for part in parts) == 1


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"data: {broken\n\n", FailureKind.BAD_RESPONSE),
        (b"data: 5\n\n", FailureKind.BAD_RESPONSE),
        (b"<html>busy</html>", FailureKind.BAD_RESPONSE),
        (b'{"choices": 5}', FailureKind.BAD_RESPONSE),
        (b'data: {"error":{"message":"m","type":"server_error"}}\n\n', FailureKind.SERVER),
        (b'data: {"error":{"message":"slow","code":429}}\n\n', FailureKind.RATE_LIMIT),
        (b'event: error\ndata: {"message":"m"}\n\n', FailureKind.SERVER),
        (b'{"error":{"message":"m","type":"insufficient_quota"}}', FailureKind.QUOTA),
        (b'data: {"error":"overloaded, too many tokens"}\n\n', FailureKind.CONTEXT_FULL),
    ],
)
def test_a_broken_stream_fails_once(data, kind):
    before = stream_of(chunk({"content": "a"}), done=False) if data.startswith((b"data", b"event")) else b""
    parts = decode_stream(before + data)
    assert isinstance(parts[-1], ReplyFailed)
    assert parts[-1].failure.kind is kind
    assert not any(isinstance(part, ReplyEnded) for part in parts)


@pytest.mark.quirk(38)
def test_a_server_that_does_not_stream_is_understood():
    body = json.dumps(response({"content": "a", "tool_calls": [tool_call()]}, "tool_calls")).encode()
    parts = decode_stream(body, cuts=[1, 5, 40])
    assert [part.kind for part in parts] == [
        "reply.started", "text.delta", "item.ended", "call.started", "call.delta", "item.ended", "reply.ended",
    ]  # fmt: skip


def test_further_choices_come_with_the_end():
    def other(delta, finish=None):
        return {"id": "r1", "choices": [{"index": 1, "delta": delta, "finish_reason": finish}]}

    reply = end_of(
        chunk({"content": "a"}),
        other({"content": "x"}),
        other({"tool_calls": [tool_call("")]}),
        other({}, "stop"),
        chunk({}, "stop"),
    ).reply
    assert reply.text == "a"
    (alternative,) = reply.alternatives
    assert [item.kind for item in alternative.items] == ["message", "call"]
    assert alternative.finish.reason is FinishReason.TOOL_CALLS


def test_log_probabilities_grow_with_the_chunks():
    chunks = [chunk({"content": sign}) for sign in "ab"]
    for value, sign in zip(chunks, "ab", strict=True):
        value["choices"][0]["logprobs"] = {"content": [{"token": sign}], "refusal": None}
    reply = end_of(*chunks, chunk({}, "stop")).reply
    assert reply.finish.private["openai-chat"]["logprobs"] == {
        "content": [{"token": "a"}, {"token": "b"}], "refusal": None,
    }  # fmt: skip


@pytest.mark.quirk(76)
def test_fragments_of_signed_reasoning_are_joined_for_the_way_back():
    def detail(**members):
        return chunk({"reasoning": members.get("text", ""), "reasoning_details": [{"index": 0, **members}]})

    reply = end_of(
        detail(type="reasoning.text", text="I ", format="f"),
        detail(type="reasoning.text", text="see"),
        chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "z"}]}),
        chunk({"content": "a"}, "stop"),
    ).reply
    thought = reply.items[0]
    assert thought.text == "I see"
    assert thought.private["openai-chat"] == {
        "_field": "reasoning",
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "I see", "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "z"},
        ],
    }


def test_an_empty_text_beside_a_signature_does_not_replace_the_reasoning():
    def detail(**members):
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **members}]})

    reply = end_of(detail(text="I "), detail(text="see"), detail(text="", signature="s"), chunk({}, "stop")).reply
    assert reply.items[0].private["openai-chat"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "I see", "signature": "s"}
    ]


def test_blank_pieces_before_the_first_event_are_not_copied_with_each_other():
    decoder = chat.StreamDecoder()
    for piece in [Piece(b"\n \n")] * 1000:
        assert decoder.feed(piece) == []
    parts = decoder.feed(b"\n" + stream_of(chunk({"content": "a"}, "stop")))
    assert parts[-1].reply.text == "a"


@pytest.mark.quirk(31)
def test_thoughts_in_lists_of_content_are_reasoning():
    def thinking(text):
        return chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]})

    reply = end_of(thinking("I "), thinking("see"), chunk({"content": "Yes"}), chunk({}, "stop")).reply
    assert [(item.kind, item.text) for item in reply.items] == [("reasoning", "I see"), ("message", "Yes")]
    assert reply.items[0].private == {"openai-chat": {"_field": "thinking"}}


def test_parts_of_content_that_are_no_text_are_kept():
    part = {"type": "image_url", "image_url": {"url": "https://x/a.png"}}
    reply = end_of(chunk({"content": [{"type": "text", "text": "see"}, part, 5]}), chunk({}, "stop")).reply
    assert isinstance(reply.items[0].parts[1], MediaPart)
    assert reply.text == "see"


def test_reasoning_and_text_keep_their_order():
    reply = end_of(
        chunk({"reasoning": "a"}), chunk({"content": "b"}), chunk({"reasoning": "c"}), chunk({"content": "d"}, "stop")
    ).reply
    assert [(item.kind, item.text) for item in reply.items] == [
        ("reasoning", "a"), ("message", "b"), ("reasoning", "c"), ("message", "d"),
    ]  # fmt: skip


def test_a_long_stream_costs_no_more_per_chunk_than_a_short_one():
    data = stream_of(*[chunk({"content": "word "})] * 20_000, chunk({}, "stop"))
    cuts = sorted(random.Random(1).sample(range(len(data)), 5000))
    assert len(decode_stream(data, cuts=cuts)[-1].reply.text) == 100_000

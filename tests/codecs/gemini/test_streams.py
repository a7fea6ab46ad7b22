"""Streams in both forms, cut anywhere, broken anywhere; and streams written for Gemini's clients."""

import json

import pytest

from groundwire.codecs import gemini
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Message, ReasoningItem, TextPart, say
from groundwire.contracts.replies import (
    Alternative,
    Finish,
    FinishReason,
    ItemEnded,
    Reply,
    ReplyFailed,
    ReplyStarted,
    ReplyTextDelta,
    Usage,
)
from tests.codecs.gemini.recordings import STREAMS, chunk, decoded, events, reply_of
from tests.codecs.pieces import Piece

STOP = chunk({"text": ""}, finishReason="STOP")


def written(parts, **options):
    encoder = gemini.StreamEncoder(**options)
    return b"".join(encoder.feed(part) for part in parts) + encoder.finish()


def payloads(data):
    return [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]


@pytest.mark.quirk(51)
def test_a_signature_on_a_last_empty_text_is_a_part_of_its_own():
    reply = reply_of(
        events(
            chunk({"text": "a"}),
            chunk({"text": "b"}),
            chunk({"text": "", "thoughtSignature": "cw=="}, finishReason="STOP"),
        )
    )

    signed = TextPart(text="", private={"gemini": {"thoughtSignature": "cw=="}})
    assert reply.items == (Message(role="assistant", parts=(TextPart(text="ab"), signed)),)


def test_nothing_is_joined_to_a_signed_text():
    reply = reply_of(
        events(chunk({"text": "a"}), chunk({"text": "b", "thoughtSignature": "cw=="}), chunk({"text": "c"}), STOP)
    )

    signed = TextPart(text="b", private={"gemini": {"thoughtSignature": "cw=="}})
    assert reply.items == (
        Message(role="assistant", parts=(TextPart(text="a"), signed)),
        Message(role="assistant", parts=(TextPart(text="c"),)),
    )


def test_thoughts_text_and_parallel_calls_over_several_chunks_stay_in_order():
    parts = decoded(
        events(
            {**chunk({"text": "hm", "thought": True}), "responseId": "r"},
            chunk({"text": " so", "thought": True}),
            chunk({"text": "ok"}),
            chunk({"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "cw=="}),
            chunk({"functionCall": {"name": "g"}}),
            STOP,
        )
    )

    reply = parts[-1].reply
    assert reply.items[:2] == (ReasoningItem(text="hm so", private={"gemini": {}}), say("assistant", "ok"))
    assert [(item.call.name, item.call.raw, item.complete) for item in reply.calls] == [
        ("f", '{"x":1}', True),
        ("g", "{}", True),
    ]
    assert reply.finish.reason is FinishReason.TOOL_CALLS
    assert [part.index for part in parts if isinstance(part, ItemEnded)] == [0, 1, 2, 3]
    assert tuple(part.item for part in parts if isinstance(part, ItemEnded)) == reply.items


PIECES = (
    chunk({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "cw=="}),
    chunk(
        {
            "functionCall": {
                "partialArgs": [{"jsonPath": "$.a.b[0]", "stringValue": "Bos", "willContinue": True}],
                "willContinue": True,
            }
        }
    ),
    chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.a.b[0]", "stringValue": "ton"}], "willContinue": True}}),
    chunk(
        {
            "functionCall": {
                "partialArgs": [
                    {"jsonPath": "$.n", "numberValue": 5},
                    {"jsonPath": "$.t", "boolValue": True},
                    {"jsonPath": "$.z", "nullValue": "NULL_VALUE"},
                    {"jsonPath": "$['odd key']", "stringValue": "x"},
                ],
                "willContinue": True,
            }
        }
    ),
)
ARGUMENTS = {"a": {"b": ["Boston"]}, "n": 5, "t": True, "z": None, "odd key": "x"}


@pytest.mark.quirk(52)
@pytest.mark.parametrize(
    "ending",
    [
        (chunk({"functionCall": {}}), STOP),
        (STOP,),
        (chunk({"functionCall": {"name": "g"}}), chunk({"functionCall": {}}), STOP),
    ],
)
def test_arguments_by_path_are_put_together_with_or_without_their_end(ending):
    reply = reply_of(events(*PIECES, *ending))

    first = reply.calls[0]
    assert (first.call.name, json.loads(first.call.raw), first.complete) == ("f", ARGUMENTS, True)
    assert first.private["gemini"]["thoughtSignature"] == "cw=="
    assert all(item.complete for item in reply.calls)


@pytest.mark.quirk(52)
@pytest.mark.parametrize(
    "ending", [(), (chunk(finishReason="MAX_TOKENS"),), (chunk(finishReason="MALFORMED_FUNCTION_CALL"),)]
)
def test_arguments_by_path_that_were_cut_are_never_complete(ending):
    assert [item.complete for item in reply_of(events(*PIECES, *ending)).calls] == [False]


@pytest.mark.parametrize("path", ["$.a[7]", "a", "$.a..b", "$" + ".a" * 99, "$.n.m", 5])
def test_a_path_that_cannot_be_followed_makes_the_call_incomplete(path):
    begin = chunk({"functionCall": {"name": "f", "willContinue": True, "args": {"n": 1}}})
    piece = chunk({"functionCall": {"partialArgs": [{"jsonPath": path, "stringValue": "x"}]}})

    assert [item.complete for item in reply_of(events(begin, piece, STOP)).calls] == [False]


def test_the_array_form_gives_the_same_reply_however_it_is_cut():
    body = STREAMS["google-streaming-tool-call-thought-signature-t1"]["response"]
    array = json.dumps(
        [*payloads(body.encode()), chunk({"text": 'a "}{" \\'}, index=0, finishReason="STOP")], indent=1
    ).encode()

    whole = decoded(array)
    assert whole[-1].reply.text == 'The capital of Mexico is Mexico City.a "}{" \\'
    for place in range(0, len(array), 7):
        assert decoded(array[:place], array[place:]) == whole
    assert decoded(*(array[place : place + 1] for place in range(len(array)))) == whole


@pytest.mark.quirk(42)
@pytest.mark.parametrize("line", [b"\n", b"\r\n", b"\r"])
def test_any_line_ending_comments_and_a_missing_last_blank_line_are_read(line):
    frames = [b": hello", b"data: " + json.dumps(chunk({"text": "a"})).encode(), b"data: " + json.dumps(STOP).encode()]
    body = b"\xef\xbb\xbf" + (line + line).join(frames)

    assert reply_of(body).items == (say("assistant", "a"),)
    assert reply_of(*(body[place : place + 1] for place in range(len(body)))).items == (say("assistant", "a"),)


@pytest.mark.quirk(21)
def test_a_character_split_over_two_chunks_is_joined():
    body = (
        b'data: {"candidates":[{"content":{"parts":[{"text":"a\\ud83d"}]}}]}\n\n'
        b'data: {"candidates":[{"content":{"parts":[{"text":"\\ude00b"}]},"finishReason":"STOP"}]}\n\n'
    )

    assert reply_of(body).text == "a😀b"


@pytest.mark.quirk(44)
def test_a_stream_that_was_cut_is_incomplete_and_its_calls_may_not_run():
    body = events(chunk({"text": "a"}), chunk({"functionCall": {"name": "f"}}), STOP)

    for end in range(len(body) - len(events(STOP)) + 1):
        last = decoded(body[:end])[-1]
        assert last.kind == "reply.ended"
        assert last.reply.finish.reason is FinishReason.INCOMPLETE
        assert not any(item.complete for item in last.reply.calls)


@pytest.mark.parametrize(
    "body",
    [
        events(chunk({"text": "a"}), {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, STOP),
        b'[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]',
        b'{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}',
        b'data: [{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]\n\n',
    ],
)
def test_an_error_in_the_stream_ends_it(body):
    parts = decoded(body)

    assert isinstance(parts[-1], ReplyFailed)
    assert (parts[-1].failure.kind, parts[-1].failure.message) == (FailureKind.OVERLOADED, "busy")
    assert [part.kind for part in parts].count("reply.failed") == 1


@pytest.mark.quirk(38)
@pytest.mark.parametrize("body", [b"<html>oops</html>", b"data: {broken\n\n" + events(STOP), b"data: 5\n\n"])
def test_bytes_that_are_no_stream_are_a_bad_response(body):
    parts = decoded(body)

    assert [part.kind for part in parts] == ["reply.failed"]
    assert (parts[0].failure.kind, parts[0].failure.retryable) == (FailureKind.BAD_RESPONSE, True)


def test_after_the_end_nothing_is_read():
    decoder = gemini.StreamDecoder()
    decoder.feed(events(STOP))
    assert [part.kind for part in decoder.finish()] == ["reply.ended"]
    assert decoder.feed(events(STOP)) == []
    assert decoder.finish() == []


@pytest.mark.quirk(33)
def test_a_blocked_prompt_and_no_candidates_are_told_apart():
    assert reply_of(events({"promptFeedback": {"blockReason": "SAFETY"}})).finish.reason is FinishReason.PROMPT_BLOCKED
    empty = reply_of(events({"usageMetadata": {"promptTokenCount": 1}})).finish
    assert (empty.reason, empty.detail) == (FinishReason.FAILED, "no_candidates")


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}]},
        {"candidates": [{"content": {}, "finishReason": "SAFETY"}]},
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "m"}]},
        {"promptFeedback": {"blockReason": "OTHER"}},
        chunk({"functionCall": {"name": "f"}}, finishReason="UNEXPECTED_TOOL_CALL"),
        chunk(
            {"executableCode": {"code": "1"}},
            {"text": "a"},
            finishReason="STOP",
            groundingMetadata={"webSearchQueries": ["q"]},
        ),
        {
            **chunk(
                {"text": "a"},
                finishReason="STOP",
                citationMetadata={"citations": [{"uri": "https://e.org", "startIndex": 0, "endIndex": 1}]},
            ),
            "responseId": "r",
            "modelVersion": "m",
            "createTime": "t",
        },
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP", "index": 0},
                {
                    "content": {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
                    "finishReason": "STOP",
                    "index": 1,
                },
            ]
        },
    ],
)
def test_one_chunk_gives_the_reply_that_the_response_gives(body):
    assert reply_of(events(body)) == gemini.decode_response(body)


def test_a_second_candidate_is_an_alternative():
    def both(one, two, **more):
        return {
            "candidates": [
                {"content": {"parts": [{"text": one}]}, "index": 0, **more},
                {"content": {"parts": [{"text": two}]}, "index": 1, **more},
            ]
        }

    parts = decoded(events(both("a", "x"), both("b", "y", finishReason="STOP")))

    assert parts[-1].reply.text == "ab"
    assert parts[-1].reply.alternatives == (
        Alternative(items=(say("assistant", "xy"),), finish=Finish(reason=FinishReason.END, raw="STOP")),
    )
    assert [part.text for part in parts if isinstance(part, ReplyTextDelta)] == ["a", "b"]


FOREIGN = Reply(
    reply_id="r",
    model="m",
    items=(
        ReasoningItem(text="hm"),
        say("assistant", "hello world"),
        CallItem(call=ToolCall(call_id="a", name="f", raw='{"x":1}')),
        CallItem(call=ToolCall(call_id="b", name="g", raw="{}")),
    ),
    finish=Finish(reason=FinishReason.TOOL_CALLS, raw="tool_calls"),
    usage=Usage(input=3, output=4, total=7),
)


def test_a_reply_of_another_dialect_is_streamed_as_gemini_does_it():
    chunks = payloads(written(parts_of(FOREIGN, piece=6)))

    head = {"modelVersion": "m", "responseId": "r"}

    def said(part):
        return {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **head}

    assert chunks == [
        said({"text": "hm", "thought": True}),
        said({"text": "hello "}),
        said({"text": "world"}),
        said({"functionCall": {"name": "f", "id": "a", "args": {"x": 1}}}),
        said({"functionCall": {"name": "g", "id": "b", "args": {}}}),
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}],
            **head,
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
        },
    ]


def test_the_array_form_is_one_json_array():
    assert json.loads(written(parts_of(FOREIGN), array=True)) == payloads(written(parts_of(FOREIGN)))
    assert json.loads(written([], array=True)) == []


def test_a_failure_is_an_error_frame_and_ends_the_stream():
    failure = Failure(kind=FailureKind.OVERLOADED, message="busy", status=529)
    parts = [
        ReplyStarted(),
        ReplyTextDelta(index=0, text="a"),
        ReplyFailed(failure=failure),
        ReplyTextDelta(index=0, text="b"),
    ]

    assert payloads(written(parts))[1:] == [{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]
    assert json.loads(written(parts, array=True))[1]["error"]["status"] == "UNAVAILABLE"


@pytest.mark.quirk(41)
def test_an_upstream_that_begins_anew_cannot_be_undone():
    begun = [
        ReplyStarted(),
        ReplyStarted(model="m"),
        ReplyTextDelta(index=0, text="a"),
        ReplyStarted(),
        ReplyTextDelta(index=0, text="b"),
    ]

    first, second = payloads(written(begun))
    assert first["modelVersion"] == "m"
    assert second["error"]["status"] == "INTERNAL"


def test_a_cut_call_is_not_streamed_unless_the_reason_disowns_it():
    cut = CallItem(call=ToolCall(call_id="a", name="f", raw='{"x":'), complete=False)
    encoder = gemini.StreamEncoder()

    data = b"".join(
        encoder.feed(part) for part in parts_of(Reply(items=(cut,), finish=Finish(reason=FinishReason.LENGTH)))
    )

    assert b"functionCall" not in data
    assert [warning.code for warning in encoder.warnings] == ["call_dropped"]
    malformed = Reply(items=(cut,), finish=Finish(reason=FinishReason.MALFORMED_CALL))
    assert payloads(written(parts_of(malformed)))[-1]["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"


def test_a_signature_follows_its_text_on_an_empty_part():
    signed = TextPart(text="b", private={"gemini": {"thoughtSignature": "cw=="}})
    reply = Reply(items=(Message(role="assistant", parts=(signed,)),), finish=Finish(reason=FinishReason.END))

    chunks = payloads(written(parts_of(reply)))

    parts = [part for entry in chunks for part in entry["candidates"][0]["content"]["parts"]]
    assert parts == [{"text": "b"}, {"text": "", "thoughtSignature": "cw=="}, {"text": ""}]


WORDS = {
    "usual": [chunk({"text": "b"}, index=0), chunk({"text": "c"}, {"text": "\u00e9"}, index=0)],
    "another shape": [
        chunk({"text": "b"}),
        chunk({"text": "b", "thought": True}, index=0),
        chunk({"text": ""}, index=0),
    ],
    "calls": [chunk({"functionCall": {"name": "f", "args": {}}}, index=0), chunk({"text": "b"}, index=0)],
    "many of another shape": [chunk({"text": "b", "thought": True}, index=0)] * 6 + [chunk({"text": "c"}, index=0)] * 2,
    "a late id": [{**chunk({"text": "b"}, index=0), "responseId": "r", "usageMetadata": {"promptTokenCount": 3}}],
    "a second candidate": [chunk({"text": "b"}, index=1), chunk({"text": "c"}, index=0)],
    "an end": [chunk({"text": "b"}, index=0, finishReason="STOP"), chunk({"text": "c"}, index=0)],
}


@pytest.mark.parametrize("chunks", WORDS.values(), ids=WORDS)
def test_words_that_are_read_quickly_give_what_the_full_reading_gives(chunks):
    chunks = [chunk({"text": "a"}, index=0), *chunks]
    # An array of one chunk says the same as the chunk, and is never of the usual shape.
    in_full = decoded(events(*([entry] for entry in chunks)))
    assert decoded(*(events(entry) for entry in chunks)) == in_full
    assert decoded(events(*chunks)) == in_full


@pytest.mark.parametrize("begin", [b"", b"\xef", b"\xef\xbb\xbf"])
def test_blank_pieces_before_the_first_frame_are_not_copied_with_each_other(begin):
    rest = b"\xef\xbb\xbf"[len(begin) :] if begin else b""
    frame = b"data: " + json.dumps(chunk({"text": "a"}, finishReason="STOP")).encode() + b"\n\n"
    assert reply_of(begin, Piece(rest), *[Piece(b"\n \n")] * 1000, b"\n", frame).text == "a"


def test_texts_by_path_may_take_turns_and_go_on_after_whole_arguments():
    def piece(path, text):
        return {"functionCall": {"partialArgs": [{"jsonPath": path, "stringValue": text}], "willContinue": True}}

    reply = reply_of(
        events(
            chunk({"functionCall": {"name": "f", "args": {"a": "0"}, "willContinue": True}}),
            *[chunk(piece(path, text)) for text in "12" for path in ("$.a", "$.b[0]", "$.b[1].c")],
            chunk({"functionCall": {}}),
            STOP,
        )
    )
    assert json.loads(reply.calls[0].call.raw) == {"a": "012", "b": ["12", {"c": "12"}]}
    assert reply.calls[0].complete


def test_a_path_below_a_text_makes_the_call_incomplete():
    def piece(path):
        return {"functionCall": {"partialArgs": [{"jsonPath": path, "stringValue": "x"}], "willContinue": True}}

    begin = chunk({"functionCall": {"name": "f", "willContinue": True}})
    reply = reply_of(events(begin, chunk(piece("$.a")), chunk(piece("$.a.b")), STOP))
    assert [(item.call.raw, item.complete) for item in reply.calls] == [('{"a":"x"}', False)]

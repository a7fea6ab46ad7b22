"""Responses in their odd forms, and replies of other dialects as responses."""

import json

import pytest

from groundwire.codecs import gemini
from groundwire.codecs.dialects import codec_of
from groundwire.codecs.gemini.usual import read_usual
from groundwire.codecs.wire.building import parts_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Citation,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    TextPart,
    say,
)
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import DIALECTS, ModelRequest
from tests.codecs.gemini.recordings import events, reply_of


def candidate(*parts, **more):
    return {"content": {"role": "model", "parts": list(parts)}, **more}


def response(*parts, **more):
    return {"candidates": [candidate(*parts, **more)]}


CALL = {"functionCall": {"name": "f", "args": {"x": 1}}}

ROUND_TRIPS = {
    "thinking ate the budget": {
        "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}]
    },
    "blocked for safety": {"candidates": [{"content": {}, "finishReason": "SAFETY", "safetyRatings": []}]},
    "blocked by an armour": {"candidates": [{"finishReason": "MODEL_ARMOR", "finishMessage": "m"}]},
    "blocked prompt": {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 4},
    },
    "nothing": {"modelVersion": "m"},
    "an empty list": {"candidates": []},
    "empty parts": {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]},
    "no reason": response({"text": "a"}),
    "an unknown reason": response({"text": "a"}, finishReason="NEW"),
    "no role": {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]},
    "several candidates": {
        "candidates": [
            candidate({"text": "a"}, finishReason="STOP", index=0, avgLogprobs=-1.5),
            candidate(CALL, finishReason="MAX_TOKENS", index=1),
        ]
    },
    "all kinds of parts": response(
        {"text": "hm", "thought": True},
        {"text": "a"},
        {"text": "", "thoughtSignature": "c2ln"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB"}},
        {**CALL, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "q", "name": "g"}},
        finishReason="STOP",
    ),
    "an undeclared call": response(CALL, finishReason="UNEXPECTED_TOOL_CALL", finishMessage="undeclared function: f"),
    "a continuation": response({"text": "a"}, finishReason="CONTINUATION", continuationToken="t"),
    "sources": response(
        {"text": "a b"},
        finishReason="STOP",
        citationMetadata={"citations": [{"startIndex": 0, "endIndex": 1, "uri": "https://e.org", "license": "MIT"}]},
    ),
    "all around": {
        **response({"text": "a"}, finishReason="STOP"),
        "createTime": "2026-01-01T00:00:00Z",
        "modelStatus": {"modelStage": "STABLE"},
        "responseId": "r",
        "usageMetadata": {"promptTokenCount": 1, "toolUsePromptTokenCount": 2, "trafficType": "ON_DEMAND"},
    },
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_response_comes_back_as_it_was(name):
    encoded = gemini.encode_response(gemini.decode_response(ROUND_TRIPS[name]))

    assert encoded.body == ROUND_TRIPS[name]
    assert encoded.warnings == ()


@pytest.mark.quirk(33)
@pytest.mark.quirk(35)
@pytest.mark.quirk(37)
@pytest.mark.quirk(88)
@pytest.mark.parametrize(
    ("body", "reason", "raw"),
    [
        (ROUND_TRIPS["thinking ate the budget"], FinishReason.LENGTH, "MAX_TOKENS"),
        (ROUND_TRIPS["blocked for safety"], FinishReason.CONTENT_FILTER, "SAFETY"),
        (ROUND_TRIPS["blocked by an armour"], FinishReason.CONTENT_FILTER, "MODEL_ARMOR"),
        (ROUND_TRIPS["blocked prompt"], FinishReason.PROMPT_BLOCKED, "PROHIBITED_CONTENT"),
        (ROUND_TRIPS["a continuation"], FinishReason.PAUSED, "CONTINUATION"),
        (
            {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
            FinishReason.MALFORMED_CALL,
            "MALFORMED_FUNCTION_CALL",
        ),
        (response(CALL, finishReason="TOO_MANY_TOOL_CALLS"), FinishReason.MALFORMED_CALL, "TOO_MANY_TOOL_CALLS"),
        (response({"text": "a"}, finishReason="OTHER"), FinishReason.FAILED, "OTHER"),
        (response({"text": "a"}, finishReason="STOP"), FinishReason.END, "STOP"),
        (response(CALL, finishReason="STOP"), FinishReason.TOOL_CALLS, "STOP"),
        (response(CALL, finishReason="NEW"), FinishReason.TOOL_CALLS, "NEW"),
        (response({"text": "a"}, finishReason=7), FinishReason.END, None),
    ],
)
def test_the_reason_is_in_our_words_and_in_geminis(body, reason, raw):
    finish = gemini.decode_response(body).finish

    assert (finish.reason, finish.raw) == (reason, raw)


@pytest.mark.parametrize("target", [codec_of(name) for name in DIALECTS], ids=DIALECTS)
@pytest.mark.parametrize("more", [{"index": 0}, {}], ids=["with an index", "without"])
def test_an_ordinary_response_translates_without_a_warning(target, more):
    body = response({"text": "a"}, CALL, finishReason="STOP", **more)
    reply = gemini.decode_response(body)
    assert target.encode_response(reply).warnings == ()
    assert gemini.encode_response(reply).body == body
    streamed = reply_of(events(body))
    assert streamed == reply
    encoder = target.StreamEncoder()
    for part in parts_of(streamed):
        encoder.feed(part)
    assert encoder.warnings == ()


def test_an_index_that_is_not_the_place_is_kept():
    body = {"candidates": [candidate({"text": "a"}, index=1, finishReason="STOP")]}
    reply = gemini.decode_response(body)
    assert reply.extras == {"gemini": {"candidates": [{"index": 1}]}}
    assert reply_of(events(body)) == reply
    assert gemini.encode_response(reply).body == body


@pytest.mark.parametrize("body", [{}, {"candidates": None}, {"responseId": None, "id": "chatcmpl-1", "choices": []}])
def test_an_object_with_nothing_of_a_response_in_it_is_none(body):
    with pytest.raises(WireError) as caught:
        gemini.decode_response(body)
    assert caught.value.message == "candidates: is missing, and so is all else that a response has"


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": []},
        {"candidates": "x"},
        {"usageMetadata": {"promptTokenCount": 1}},
        {"modelVersion": "gemini-3"},
        {"responseId": "r"},
        {"response_id": "r"},
    ],
)
def test_a_response_without_candidates_and_without_a_reason_is_a_failure(body):
    reply = gemini.decode_response(body)

    assert (reply.finish.reason, reply.finish.detail) == (FinishReason.FAILED, "no_candidates")
    assert reply.items == ()


@pytest.mark.quirk(14)
@pytest.mark.quirk(35)
@pytest.mark.parametrize("raw", ["UNEXPECTED_TOOL_CALL", "MALFORMED_FUNCTION_CALL", "OTHER"])
def test_a_call_that_gemini_itself_disowns_is_kept_but_never_complete(raw):
    reply = gemini.decode_response(response(CALL, finishReason=raw, finishMessage="m"))

    assert [item.complete for item in reply.calls] == [False]
    assert reply.finish.detail == "m"


@pytest.mark.quirk(20)
def test_the_last_call_of_a_reply_cut_by_its_length_is_not_complete():
    reply = gemini.decode_response(response(CALL, CALL, finishReason="MAX_TOKENS"))

    assert [item.complete for item in reply.calls] == [True, False]


@pytest.mark.quirk(6)
@pytest.mark.quirk(17)
@pytest.mark.requirement("A-090", "A-091", "A-094")
def test_text_and_calls_keep_their_order_and_missing_arguments_are_empty():
    reply = gemini.decode_response(
        response({"text": "a"}, {"functionCall": {"name": "f"}}, {"text": "b"}, CALL, finishReason="STOP")
    )

    assert [item.kind for item in reply.items] == ["message", "call", "message", "call"]
    first, second = reply.calls
    assert (first.call.raw, first.call.arguments) == ("{}", {})
    assert second.call == ToolCall(
        call_id=second.call.call_id, name="f", raw='{"x":1}', arguments={"x": 1}, origin="gemini"
    )
    assert first.call.call_id != second.call.call_id


@pytest.mark.quirk(11)
def test_ids_are_unique_within_a_response():
    call = {"functionCall": {"id": "a", "name": "f"}}

    assert [item.call.call_id for item in gemini.decode_response(response(call, call)).calls] == ["a", "a_2"]


def test_made_ids_fit_every_dialect_and_depend_on_the_response():
    long = gemini.decode_response({"responseId": "x" * 500, **response(CALL)}).calls[0].call.call_id
    none = gemini.decode_response(response(CALL)).calls[0].call.call_id

    assert len(long) <= 40
    assert len(none) <= 40
    assert long != none
    assert none == gemini.decode_response(response(CALL)).calls[0].call.call_id


@pytest.mark.quirk(13)
@pytest.mark.parametrize("name", ["f", "default_api.f", "default_api:f", "functions.f"])
def test_what_models_add_around_a_name_is_taken_off(name):
    body = response({"functionCall": {"name": name}}, finishReason="STOP")

    assert gemini.decode_response(body, names={"f": "my.tool"}).calls[0].call.name == "my.tool"


@pytest.mark.requirement("A-092")
def test_thoughts_count_as_output_and_prompts_of_built_in_tools_as_input():
    body = {
        **response({"text": "a"}, finishReason="STOP"),
        "usageMetadata": {
            "promptTokenCount": 10,
            "toolUsePromptTokenCount": 5,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
        },
    }

    usage = gemini.decode_response(body).usage
    assert (usage.input, usage.output, usage.total, usage.cached, usage.reasoning) == (15, 5, 20, 4, 2)


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": [5, {"content": "x"}]},
        {"candidates": [{"content": {"parts": "x"}}]},
        {"candidates": [{"content": {"parts": ["x", None, {"text": 5}, {"functionCall": "x"}, {"inlineData": {}}]}}]},
        {
            "candidates": [{"content": {"parts": [{"functionCall": {"name": 5}}]}}],
            "usageMetadata": "x",
            "responseId": 1,
        },
    ],
)
def test_a_response_of_wrong_types_is_still_read(body):
    reply = gemini.decode_response(body)

    assert not any(item.complete for item in reply.calls)


def test_arguments_that_came_as_text_are_read_as_text():
    reply = gemini.decode_response(response({"functionCall": {"name": "f", "args": '{"x": 1}'}}, finishReason="STOP"))

    assert (reply.calls[0].call.raw, reply.calls[0].complete) == ('{"x": 1}', True)


def test_sources_are_told_on_the_one_text():
    reply = gemini.decode_response(
        response(
            {"text": "Größe: 5"},
            finishReason="STOP",
            groundingMetadata={
                "groundingChunks": [
                    {"web": {"uri": "https://e.org/a", "title": "A"}},
                    {"web": {"uri": "https://e.org/b"}},
                ],
                "groundingSupports": [
                    {"segment": {"endIndex": 7, "text": "Größe"}, "groundingChunkIndices": [0, 9]},
                    {"segment": {"startIndex": 9, "endIndex": 10}, "groundingChunkIndices": [1]},
                ],
            },
        )
    )

    assert reply.items[0].parts[0].citations == (
        Citation(url="https://e.org/a", title="A", quote="Größe", start=0, end=5),
        Citation(url="https://e.org/b", start=7, end=8),
    )
    assert "groundingMetadata" in reply.extras["gemini"]["candidates"][0]


def test_a_reply_of_another_dialect_becomes_a_response():
    cited = TextPart(text="hello", citations=(Citation(url="https://e.org", title="E", start=0, end=5),))
    reply = Reply(
        reply_id="r",
        items=(
            ReasoningItem(text="hm", private={"anthropic": {"signature": "s"}}),
            Message(role="assistant", parts=(cited, MediaPart(media_type="image/png", data=b"\x89PNG"))),
            CallItem(call=ToolCall(call_id="a", name="f", raw='{"x":1}')),
            NativeItem(origin="anthropic", value={"type": "server_tool_use"}),
        ),
        finish=Finish(reason=FinishReason.TOOL_CALLS, raw="tool_use"),
        usage=Usage(input=10, output=5, total=15, cached=2, cache_write=1, reasoning=3),
        extras={"anthropic": {"container": {}}},
    )

    encoded = gemini.encode_response(reply, request=ModelRequest(model="gemini-3-flash"))

    assert encoded.body == {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "hello"},
                        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
                        {"functionCall": {"name": "f", "id": "a", "args": {"x": 1}}},
                    ],
                },
                "finishReason": "STOP",
                "index": 0,
                "citationMetadata": {
                    "citations": [{"startIndex": 0, "endIndex": 5, "uri": "https://e.org", "title": "E"}]
                },
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 2,
            "totalTokenCount": 15,
            "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 2,
        },
        "modelVersion": "gemini-3-flash",
        "responseId": "r",
    }
    assert [warning.code for warning in encoded.warnings] == [
        "extra_dropped",
        "private_dropped",
        "native_dropped",
        "usage_dropped",
    ]


@pytest.mark.parametrize(
    ("finish", "word"),
    [
        (Finish(reason=FinishReason.END, raw="stop"), "STOP"),
        (Finish(reason=FinishReason.STOP_SEQUENCE), "STOP"),
        (Finish(reason=FinishReason.LENGTH, raw="length"), "MAX_TOKENS"),
        (Finish(reason=FinishReason.CONTENT_FILTER, raw="refusal"), "SAFETY"),
        (Finish(reason=FinishReason.CONTENT_FILTER, raw="RECITATION"), "RECITATION"),
        (Finish(reason=FinishReason.PAUSED, raw="pause_turn"), "CONTINUATION"),
        (Finish(reason=FinishReason.MALFORMED_CALL), "MALFORMED_FUNCTION_CALL"),
        (Finish(reason=FinishReason.INCOMPLETE), "OTHER"),
        (Finish(reason=FinishReason.FAILED), "OTHER"),
        (Finish(reason=FinishReason.LENGTH, raw="STOP"), "MAX_TOKENS"),
    ],
)
def test_every_reason_has_a_word(finish, word):
    body = gemini.encode_response(Reply(items=(say("assistant", "a"),), finish=finish)).body

    assert body["candidates"][0]["finishReason"] == word


def test_a_blocked_prompt_and_alternatives_are_written():
    blocked = Reply(finish=Finish(reason=FinishReason.PROMPT_BLOCKED, raw="content_filter", detail="no"))
    two = Reply(
        items=(say("assistant", "a"),),
        finish=Finish(reason=FinishReason.END),
        alternatives=(Alternative(items=(say("assistant", "b"),), finish=Finish(reason=FinishReason.LENGTH)),),
    )

    assert gemini.encode_response(blocked).body == {
        "promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "no"}
    }
    candidates = gemini.encode_response(two).body["candidates"]
    assert [(entry["index"], entry["finishReason"]) for entry in candidates] == [(0, "STOP"), (1, "MAX_TOKENS")]


def test_a_call_that_was_cut_is_left_out_because_clients_would_run_it():
    cut = CallItem(call=ToolCall(call_id="a", name="f", raw='{"x":'), complete=False)

    encoded = gemini.encode_response(Reply(items=(cut,), finish=Finish(reason=FinishReason.LENGTH)))

    assert encoded.body["candidates"] == [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}]
    assert [warning.code for warning in encoded.warnings] == ["call_dropped"]


USUAL = {
    "a text": response({"text": "a"}, finishReason="STOP", index=0),
    "texts and calls": {
        **response({"text": "a"}, {"text": "b"}, CALL, CALL, {"text": "c"}, finishReason="STOP", index=0),
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": "7"},
        "modelVersion": "m",
        "responseId": "r",
    },
    "a signed call": {
        **response({**CALL, "thoughtSignature": "c2ln"}, finishReason="STOP", index=0),
        "responseId": "an id that is not plain",
    },
    "several calls": response(
        *[{"functionCall": {"name": "wire", "id": call_id, "args": {"x": 1}}} for call_id in "ij"],
        finishReason="STOP",
        index=0,
    ),
    "an empty id": {
        **response({"functionCall": {"name": "f", "id": "", "args": {}}}, finishReason="STOP", index=0),
        "responseId": "r",
    },
    "wrapped arguments": response(
        {"functionCall": {"name": "f", "id": "i", "args": {"_raw_arguments": "x"}}}, finishReason="STOP", index=0
    ),
}
NEARLY_USUAL = {
    "calls with the same id": response(
        *[{"functionCall": {"name": "wire", "id": "i", "args": {"x": 1}}}] * 3, finishReason="STOP", index=0
    ),
    "a signed text": response({"text": "a", "thoughtSignature": "c2ln"}, {"text": "b"}, finishReason="STOP", index=0),
    "an empty text": response({"text": ""}, finishReason="STOP", index=0),
    "a thought": response({"text": "a", "thought": True}, {"text": "b"}, finishReason="STOP", index=0),
    "an empty part": response({}, finishReason="STOP", index=0),
    "a text beside a call": response({**CALL, "text": ""}, finishReason="STOP", index=0),
    "no ids at all": response(CALL, finishReason="STOP", index=0),
    "bare arguments": response({"functionCall": {"name": "f", "id": "i"}}, finishReason="STOP", index=0),
    "cut": response(CALL, finishReason="MAX_TOKENS", index=0),
    "snake case": {**response(CALL, finish_reason="STOP", index=0), "model_version": "m"},
    "another index": response({"text": "a"}, finishReason="STOP", index=1),
    "an index of another type": response({"text": "a"}, finishReason="STOP", index=False),
    "nulls": {**response({"text": "a"}, finishReason="STOP", index=0), "responseId": None, "usageMetadata": None},
    "another member": response({"text": "a"}, finishReason="STOP", index=0, avgLogprobs=-0.5),
    "another role": {
        "candidates": [{"content": {"parts": [{"text": "a"}], "role": "user"}, "finishReason": "STOP", "index": 0}]
    },
}


@pytest.mark.parametrize("body", [*USUAL.values(), *NEARLY_USUAL.values(), *ROUND_TRIPS.values()])
def test_the_quick_reading_of_bytes_gives_what_the_full_reading_gives(body):
    names = {"wire": "own"}
    assert gemini.decode_response(json.dumps(body).encode(), names=names) == gemini.decode_response(body, names=names)


def test_usual_responses_are_read_quickly_and_others_are_not():
    assert [name for name, body in USUAL.items() if read_usual(json.dumps(body).encode(), {}) is None] == []
    assert [name for name, body in NEARLY_USUAL.items() if read_usual(json.dumps(body).encode(), {})] == []

"""Every recording through every dialect: what goes in comes out, and what cannot is said."""

import json
import random
import re

import pytest

from groundwire.codecs.dialects import codec_of, translate
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.stored import stored_members
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Message, NativePart, ResultItem, TextPart, say
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyFailed
from groundwire.contracts.requests import DIALECTS, FunctionTool, ModelRequest, NativeTool, Sampling
from tests.codecs.recordings import essence, load, plain, recordings

CUTS = 1000


def ids(value):
    return value.rpartition("/")[2].removesuffix(".json") if "/" in value else value


def decoded(dialect, file):
    return codec_of(dialect).decode_request(load(file)["request"], model=load(file)["model"])


@pytest.mark.parametrize(("dialect", "file"), recordings(), ids=ids)
def test_a_recorded_request_goes_back_to_its_own_provider_as_it_was(dialect, file):
    camel = dialect == "gemini"
    recording = load(file)
    back = translate(dump(recording["request"]), dialect, dialect, model=recording["model"])
    sent = {**recording["request"], "model": recording["model"]} if dialect != "gemini" else recording["request"]
    assert plain(json.loads(back.body), camel=camel) == plain(sent, camel=camel)
    assert back.warnings == ()


@pytest.mark.requirement("C-209", "OQ-32")
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), recordings(), ids=ids)
def test_a_recorded_request_keeps_its_meaning_through_every_other_dialect(dialect, file, target):
    recording = load(file)
    request = decoded(dialect, file)
    if stored_members(request.extras) and target != dialect:
        with pytest.raises(NotExpressible):
            translate(dump(recording["request"]), dialect, target, model=recording["model"])
        return
    there = translate(dump(recording["request"]), dialect, target, model=recording["model"])
    back = translate(there.body, target, dialect, model=recording["model"])
    again = codec_of(dialect).decode_request(back.body, model=recording["model"])
    codes = {warning.code for warning in (*there.warnings, *back.warnings)}
    before, after = (comparable(essence(value.items, value.instructions), codes) for value in (request, again))
    assert after == before
    functions = [tool.name for tool in request.tools if tool.kind == "function"]
    assert [tool.name for tool in again.tools if tool.kind == "function"] == functions
    if functions and "choice_approximated" not in codes:
        assert (again.tool_choice and again.tool_choice.mode) == (request.tool_choice and request.tool_choice.mode)


def comparable(facts, codes):
    """The facts without what a warning says has changed."""
    if "call_id_rewritten" in codes:
        facts = [("call", "", *fact[2:]) if fact[0] == "call" else fact for fact in facts]
        facts = [("result", "", *fact[2:]) if fact[0] == "result" else fact for fact in facts]
    if "role_changed" in codes:
        tags = re.compile("</?system>")
        facts = [("text", "", tags.sub("", fact[2])) if fact[0] == "text" else fact for fact in facts]
    if "format_approximated" in codes:
        added = "Answer with one JSON value and nothing else."
        facts = [(*fact[:2], fact[2].replace(added, "").strip()) if fact[0] == "text" else fact for fact in facts]
    return facts


def reply_of(dialect, file):
    recording = load(file)
    if not recording["stream"]:
        return codec_of(dialect).decode_response(recording["response"])
    decoder = codec_of(dialect).StreamDecoder()
    last = (decoder.feed(recording["response"].encode()) + decoder.finish())[-1]
    return last.reply if isinstance(last, ReplyEnded) else None


@pytest.mark.parametrize(("dialect", "file"), recordings(stream=False), ids=ids)
def test_a_recorded_response_comes_out_of_its_own_dialect_as_it_was(dialect, file):
    reply = reply_of(dialect, file)
    encoded = codec_of(dialect).encode_response(reply)
    assert plain(encoded.body) == plain(load(file)["response"])


ANSWERS = [(dialect, file) for dialect, file in recordings() if reply_of(dialect, file) is not None]


def test_all_recordings_but_the_one_that_reports_a_failure_are_answers():
    assert [file for dialect, file in recordings() if (dialect, file) not in ANSWERS] == [
        "openai-chat/tool-use-failed-error-streaming-t0.json"
    ]


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), ANSWERS, ids=ids)
def test_a_recorded_answer_keeps_calls_and_text_in_every_dialect_whole_and_streamed(dialect, file, target):
    reply = reply_of(dialect, file)
    wanted = essence(reply.items)
    codec = codec_of(target)
    whole = codec.decode_response(dump(codec.encode_response(reply).body))
    assert essence(whole.items) == wanted
    assert whole.finish.reason == reply.finish.reason
    encoder, decoder = codec.StreamEncoder(), codec.StreamDecoder()
    sent = b"".join([encoder.feed(part) for part in parts_of(reply, piece=7)]) + encoder.finish()
    last = (decoder.feed(sent) + decoder.finish())[-1]
    assert isinstance(last, ReplyEnded)
    assert essence(last.reply.items) == wanted
    assert last.reply.finish.reason == reply.finish.reason


@pytest.mark.parametrize(("dialect", "file"), recordings(stream=True), ids=ids)
def test_a_recorded_stream_gives_the_same_however_it_is_cut(dialect, file):
    data = load(file)["response"].encode()
    codec = codec_of(dialect)
    decoder = codec.StreamDecoder()
    whole = decoder.feed(data) + decoder.finish()
    chance = random.Random(file)
    for _ in range(CUTS):
        cut = chance.randrange(len(data) + 1)
        decoder = codec.StreamDecoder()
        parts = decoder.feed(data[:cut]) + decoder.feed(data[cut:]) + decoder.finish()
        assert parts[-1] == whole[-1]
    decoder = codec.StreamDecoder()
    parts = [part for byte in range(len(data)) for part in decoder.feed(data[byte : byte + 1])] + decoder.finish()
    assert parts == whole


@pytest.mark.parametrize(("dialect", "file"), recordings(stream=True), ids=ids)
def test_a_stream_that_breaks_off_never_offers_a_call_to_execute(dialect, file):
    data = load(file)["response"].encode()
    chance = random.Random(file)
    for _ in range(100):
        decoder = codec_of(dialect).StreamDecoder()
        cut = chance.randrange(len(data))
        last = (decoder.feed(data[:cut]) + decoder.finish())[-1:]
        if last and isinstance(last[0], ReplyEnded) and last[0].reply.finish.reason == FinishReason.INCOMPLETE:
            assert not any(item.complete for item in last[0].reply.calls)


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), recordings(stream=True), ids=ids)
def test_a_recorded_stream_is_the_same_answer_in_every_dialect(dialect, file, target):
    reply = reply_of(dialect, file)
    sent = translate(load(file)["response"].encode(), dialect, target, kind="stream").body
    decoder = codec_of(target).StreamDecoder()
    last = (decoder.feed(sent) + decoder.finish())[-1]
    if reply is None:
        assert isinstance(last, ReplyFailed)
    else:
        assert isinstance(last, ReplyEnded)
        assert essence(last.reply.items) == essence(reply.items)


@pytest.mark.parametrize(
    ("source", "target"), [("openai-chat", "openai-responses"), ("openai-responses", "openai-chat")]
)
def test_what_openais_two_apis_call_alike_goes_from_one_to_the_other(source, target):
    shared = {"metadata": {"a": "b"}, "store": False, "service_tier": "flex", "user": "u1", "prompt_cache_key": "k"}
    said = {"messages": [{"role": "user", "content": "hi"}]} if source == "openai-chat" else {"input": "hi"}
    done = translate(dump({"model": "m", **said, **shared, "unheard_of": 1}), source, target)
    assert {name: json.loads(done.body).get(name) for name in shared} == shared
    assert [(warning.code, warning.path) for warning in done.warnings] == [
        ("extra_dropped", f"extras.{source}.unheard_of")
    ]


NEAREST = {
    "openai-chat": {"billing": "quota", "malformed_call": "server", "bad_response": "server"},
    "openai-responses": {
        "billing": "quota",
        "malformed_call": "server",
        "bad_response": "server",
        "cancelled": "server",
    },
    "anthropic": {
        "context_full": "invalid_request",
        "content_filter": "invalid_request",
        "malformed_call": "server",
        "quota": "rate_limit",
        "cancelled": "server",
        "bad_response": "server",
    },
    "gemini": {
        "billing": "permission",
        "too_large": "invalid_request",
        "context_full": "invalid_request",
        "content_filter": "invalid_request",
        "malformed_call": "server",
        "quota": "rate_limit",
        "bad_response": "server",
    },
}


@pytest.mark.parametrize("kind", sorted(FailureKind))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failure_keeps_its_kind_in_every_dialect_or_becomes_the_nearest_one(dialect, kind):
    status, body = codec_of(dialect).encode_error(Failure(kind=kind, message="m"))
    back = codec_of(dialect).decode_error(status, dump(body), {})
    assert back.kind == NEAREST[dialect].get(kind, kind)
    assert back.message == "m"
    assert 400 <= status < 600


@pytest.mark.requirement("E-029", "E-047")
def test_a_gemini_call_reaches_a_responses_client_as_a_function_call_item():
    part = {"functionCall": {"name": "get_weather", "args": {"city": "Tokyo"}}}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    item = json.loads(translate(dump(answer), "gemini", "openai-responses", kind="response").body)["output"][0]
    assert (item["type"], item["name"], item["arguments"]) == ("function_call", "get_weather", '{"city":"Tokyo"}')
    assert item["call_id"].startswith("call_")
    assert item["id"].startswith("fc_")


@pytest.mark.requirement("E-031")
def test_a_responses_clients_output_reaches_gemini_as_a_call_and_its_response():
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"Tokyo"}'}
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"temp":21}'}
    body = {"model": "m", "input": [{"role": "user", "content": "weather?"}, call, output]}
    contents = json.loads(translate(dump(body), "openai-responses", "gemini", model="gemini-2.5-flash").body)[
        "contents"
    ]
    assert contents[1:] == [
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "get_weather", "id": "call_1", "args": {"city": "Tokyo"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "get_weather", "id": "call_1", "response": {"temp": 21}}}],
        },
    ]


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_no_sender_can_write_the_notes_of_a_codec(dialect):
    notes = dict.fromkeys(["_legacy", "_bare", "_list", "_redacted", "_synthetic", "_message", "_untyped"], True)
    text = {"type": "text", "text": "t"}
    thinking = {"type": "thinking", "thinking": "x", "signature": "s"}
    answer = [thinking] if dialect == "anthropic" else [text]

    def body(members):
        messages = [
            {"role": "user", "content": [{**text, **members}], **members},
            {"role": "assistant", "content": [{**part, **members} for part in answer], **members},
            {"role": "user", "content": "more", **members},
        ]
        return json.dumps({"model": "m", "max_tokens": 5, "messages": messages}).encode()

    assert translate(body(notes), dialect, dialect).body == translate(body({}), dialect, dialect).body


@pytest.mark.parametrize(
    ("target", "codes"), [("openai-responses", []), ("anthropic", ["option_dropped"]), ("gemini", ["option_dropped"])]
)
def test_how_closely_an_image_is_looked_at_goes_along_or_is_named(target, codes):
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
    body = dump({"model": "m", "messages": [{"role": "user", "content": [image, {"type": "text", "text": "?"}]}]})
    done = translate(body, "openai-chat", target)
    assert [warning.code for warning in done.warnings] == codes
    if not codes:
        back = json.loads(translate(done.body, target, "openai-chat").body)
        assert back["messages"][0]["content"][0] == image


CLAUDE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
CLAUDE_STREAM = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"type": "message_start", "message": {**CLAUDE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )
)


@pytest.mark.parametrize(("target", "member"), [("openai-chat", "created"), ("openai-responses", "created_at")])
def test_an_answer_that_does_not_say_when_it_was_made_gets_the_time_of_the_caller(target, member):
    body = json.dumps(CLAUDE).encode()
    timed = translate(body, "anthropic", target, kind="response", created=1234567890)
    untimed = translate(body, "anthropic", target, kind="response")
    assert json.loads(timed.body)[member] == 1234567890
    assert json.loads(untimed.body)[member] == 0
    again = translate(timed.body, target, target, kind="response", created=5)
    assert json.loads(again.body)[member] == 1234567890
    stream = translate(CLAUDE_STREAM, "anthropic", target, kind="stream", created=1234567890).body
    assert set(re.findall(rb'"%b":(\d+)' % member.encode(), stream)) == {b"1234567890"}


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_a_dialect_without_a_time_takes_one_and_does_not_send_it(target):
    body = json.dumps(CLAUDE).encode()
    for data, kind in ((body, "response"), (CLAUDE_STREAM, "stream")):
        assert b"1234567890" not in translate(data, "anthropic", target, kind=kind, created=1234567890).body


@pytest.mark.parametrize(
    ("body", "kind", "hint"),
    [
        ({"contents": []}, "request", "this looks like a request of gemini"),
        ({"choices": []}, "request", "this looks like a response of openai-chat"),
        ({"model": "m"}, "request", ""),
    ],
)
def test_hints_of_the_library_speak_of_no_command_line(body, kind, hint):
    with pytest.raises(WireError) as raised:
        translate(json.dumps(body).encode(), "openai-chat", "anthropic", kind=kind)
    assert raised.value.hint == hint


def test_a_model_that_nobody_names_is_asked_for_without_naming_an_option():
    with pytest.raises(WireError) as raised:
        translate(b'{"contents": []}', "gemini", "openai-chat")
    assert raised.value.hint == "the body does not name the model, so the caller must"


def test_a_stream_that_was_cut_is_translated_as_far_as_it_came_and_says_so():
    cut = CLAUDE_STREAM[: CLAUDE_STREAM.index(b'data: {"type": "message_delta"')]
    done = translate(cut, "anthropic", "gemini", kind="stream")
    assert b'"text":"hi"' in done.body
    assert done.failure is not None
    assert done.failure.message == "The stream was cut before its end."
    assert translate(CLAUDE_STREAM, "anthropic", "gemini", kind="stream").failure is None


LOSSY = ModelRequest(
    model="m",
    items=(
        say("system", "s"),
        say("user", "hi"),
        CallItem(call=ToolCall(call_id="a", name="f", raw="{}")),
        CallItem(call=ToolCall(call_id="b", name="f", raw="{}")),
        say("user", "wait"),
        ResultItem(call_id="a", parts=(TextPart(text="1"),)),
        Message(role="user", parts=(TextPart(text="x"), NativePart(origin="elsewhere", value={"type": "odd"}))),
    ),
    tools=(FunctionTool(name="f", parameters={"type": "object", "properties": {}}),),
    sampling=Sampling(seed=1, top_k=5, count=2, presence_penalty=0.5),
    extras={"elsewhere": {"odd": 1}},
)


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("openai-chat", ["items[5]", "items[3]", "items[6]", "sampling.top_k", "extras.elsewhere.odd"]),
        (
            "openai-responses",
            [
                "extras.elsewhere.odd", "sampling.top_k", "sampling.seed", "sampling.presence_penalty", "sampling.count",
                "items[3]", "items[6].parts[1]",
            ],
        ),
        (
            "anthropic",
            [
                "items[5]", "items[3]", "items[6]", "extras.elsewhere.odd", "sampling.seed",
                "sampling.presence_penalty", "sampling.count",
            ],
        ),
        ("gemini", ["extras.elsewhere.odd", "items[5]", "items[3]", "items[6].parts[1]"]),
    ],
)  # fmt: skip
def test_the_path_of_a_warning_leads_into_the_request_as_it_was_given(target, paths):
    assert [warning.path for warning in codec_of(target).encode_request(LOSSY).warnings] == paths


STORED = [
    ("openai-responses", {"model": "m", "input": "And then?"}, "previous_response_id", "resp_1"),
    ("openai-responses", {"model": "m", "input": "And then?"}, "conversation", {"id": "conv_1"}),
    ("openai-responses", {"model": "m"}, "prompt", {"id": "pmpt_1"}),
    ("anthropic", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, "thread", "t_1"),
    ("anthropic", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, "container", "c_1"),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, "cachedContent", "cachedContents/1"),
]


@pytest.mark.requirement("C-209")
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("source", "body", "member", "value"), STORED, ids=[case[2] for case in STORED])
def test_what_is_stored_at_the_provider_is_never_left_out_of_a_request(source, body, member, value, target):
    body = {**body, member: value}
    if target == source:
        assert json.loads(translate(dump(body), source, target, model="m").body)[member] == value
        return
    with pytest.raises(NotExpressible) as caught:
        translate(dump(body), source, target, model="m")
    assert caught.value.path == f"extras.{source}.{member}"
    assert caught.value.message == (
        f"{member} stands for something that is kept at the provider, and a request of {target} cannot name it."
    )


@pytest.mark.parametrize(("source", "body", "member", "value"), STORED[:2] + STORED[3:], ids=lambda case: None)
def test_a_member_for_stored_things_that_is_null_says_nothing(source, body, member, value):
    body = {**body, member: None}
    target = "anthropic" if source != "anthropic" else "gemini"
    assert translate(dump(body), source, target, model="m").body


NATIVE = [
    ("openai-responses", {"type": "web_search"}, "web_search"),
    ("anthropic", {"type": "web_search_20250305", "name": "web_search"}, "web_search"),
    ("gemini", {"googleSearch": {}}, "googleSearch"),
    ("gemini", {}, "A tool"),
]


@pytest.mark.parametrize(("origin", "value", "name"), NATIVE)
@pytest.mark.parametrize("target", DIALECTS)
def test_a_tool_that_is_left_out_is_named(origin, value, name, target):
    request = ModelRequest(model="m", items=(say("user", "hi"),), tools=(NativeTool(origin=origin, value=value),))
    told = [
        (warning.path, warning.message)
        for warning in codec_of(target).encode_request(request).warnings
        if warning.code == "tool_dropped"
    ]
    left_out = [("tools[0]", f"{name} was left out: only {origin} can run it.")]
    assert told == ([] if target == origin else left_out)


@pytest.mark.parametrize("target", ["anthropic", "openai-responses"])
def test_several_answers_that_cannot_be_had_are_told_in_the_words_of_the_apis(target):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 2}
    (warning,) = translate(dump(body), "openai-chat", target).warnings
    assert (warning.path, warning.message) == (
        "sampling.count",
        "Only one answer can be asked for here, not several (n, candidateCount).",
    )

"""The codecs under conversations that nobody recorded: what goes in comes out, and what cannot is said."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.codecs import anthropic_messages, gemini, gemini_live, openai_chat, openai_realtime, openai_responses
from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.ids import (
    ANTHROPIC_IDS,
    GEMINI_IDS,
    MISTRAL_IDS,
    OPENAI_CHAT_IDS,
    OPENAI_OWN_CHAT_IDS,
    OPENAI_RESPONSES_IDS,
    IdTable,
)
from groundwire.codecs.wire.json import dump, read_object
from groundwire.codecs.wire.names import NameTable, original_name
from groundwire.codecs.wire.warnings import WIRE_WARNINGS, Losses
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.failures import Failure
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyFailed
from groundwire.contracts.requests import DIALECTS, FunctionTool
from tests.codecs.live_recordings import frames_of
from tests.codecs.live_recordings import recordings as live_recordings
from tests.codecs.recordings import load, recordings
from tests.properties.conversations import IDS, NAMES, TEXTS, mark_of, replies, requests
from tests.properties.meanings import compare_replies, compare_requests
from tests.properties.wire_rules import CHECKS

in_each_dialect = pytest.mark.parametrize("dialect", DIALECTS)
# Whole requests take long to make, so a plain run looks at fewer of them; a thorough one at as many as it says.
FEWER = settings.default.max_examples // 2
some = settings(max_examples=FEWER)


@in_each_dialect
@some
@given(request=requests())
def test_a_request_keeps_its_meaning_up_to_the_losses_that_are_named(dialect, request):
    codec = codec_of(dialect)
    encoded = codec.encode_request(request)
    compare_requests(request, codec.decode_request(dump(encoded.body), model=request.model), encoded, dialect)


@in_each_dialect
@some
@given(request=requests())
def test_a_request_obeys_the_rules_of_the_api_it_is_written_for(dialect, request):
    CHECKS[dialect](read_object(dump(codec_of(dialect).encode_request(request).body)))


@pytest.mark.quirk(86)
@in_each_dialect
@some
@given(request=requests())
def test_writing_a_request_is_deterministic_and_leaves_it_as_it_was(dialect, request):
    before = msgspec.json.encode(request)
    first = codec_of(dialect).encode_request(request)
    written = dump(first.body)
    second = codec_of(dialect).encode_request(request)
    assert dump(second.body) == written
    assert second.warnings == first.warnings
    assert second.names == first.names
    assert msgspec.json.encode(request) == before
    assert {warning.code for warning in first.warnings} <= WIRE_WARNINGS.keys()


@in_each_dialect
@some
@given(request=requests())
def test_what_only_one_dialect_knows_goes_to_no_other(dialect, request):
    encoded = codec_of(dialect).encode_request(request)
    body = dump(encoded.body).decode()
    for other in DIALECTS:
        assert other == dialect or mark_of(other) not in body
    for own in request.extras.get(dialect, {}).values():
        assert own in body
    foreign = any(name != dialect for name in request.extras)
    assert not foreign or "extra_dropped" in {warning.code for warning in encoded.warnings}


@in_each_dialect
@some
@given(request=requests())
def test_the_names_of_all_tools_lead_back(dialect, request):
    encoded = codec_of(dialect).encode_request(request)
    named = [tool.name for tool in request.tools if tool.kind == "function"]
    offered = [name for name in encoded.names.values() if name in named]
    assert len(set(offered)) == len(offered)
    if "choice_approximated" not in {warning.code for warning in encoded.warnings}:
        assert sorted(offered) == sorted(named)
    for wire, name in encoded.names.items():
        assert original_name(wire, encoded.names) == name
        assert original_name(f"functions.{wire}", encoded.names) == name


@in_each_dialect
@some
@given(reply=replies())
def test_a_reply_keeps_its_meaning_in_one_piece(dialect, reply):
    codec = codec_of(dialect)
    before = msgspec.json.encode(reply)
    try:
        encoded = codec.encode_response(reply)
    except NotExpressible:
        assert reply.finish.reason in NOT_AN_ANSWER
        return
    assert msgspec.json.encode(reply) == before
    assert {warning.code for warning in encoded.warnings} <= WIRE_WARNINGS.keys()
    compare_replies(reply, codec.decode_response(dump(encoded.body)), encoded.warnings, dialect)


NOT_AN_ANSWER = (FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.CANCELLED, FinishReason.INCOMPLETE)


@in_each_dialect
@some
@given(reply=replies(), piece=st.none() | st.integers(1, 5), cuts=st.lists(st.integers(0, 10_000), max_size=4))
def test_a_reply_keeps_its_meaning_in_pieces_however_they_are_cut(dialect, reply, piece, cuts):
    codec = codec_of(dialect)
    encoder, decoder = codec.StreamEncoder(), codec.StreamDecoder()
    sent = b"".join([encoder.feed(part) for part in parts_of(reply, piece=piece)]) + encoder.finish()
    assert {warning.code for warning in encoder.warnings} <= WIRE_WARNINGS.keys()
    parts = []
    places = sorted({cut % (len(sent) + 1) for cut in cuts})
    for start, end in zip([0, *places], [*places, len(sent)], strict=True):
        parts += decoder.feed(sent[start:end])
    parts += decoder.finish()
    ends = [part for part in parts if isinstance(part, (ReplyEnded, ReplyFailed))]
    assert ends == parts[-1:]
    if isinstance(ends[0], ReplyFailed):
        codes = {warning.code for warning in encoder.warnings}
        has_cut_calls = any(not item.complete for item in reply.calls)
        assert reply.finish.reason in NOT_AN_ANSWER or has_cut_calls or "finish_approximated" in codes
    else:
        compare_replies(reply, ends[0].reply, encoder.warnings, dialect)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RECORDED = {dialect: [load(file) for name, file in recordings() if name == dialect] for dialect in DIALECTS}


def mutated(draw, value):
    """The value with one or two places in it replaced, removed or doubled."""
    for _ in range(draw(st.integers(1, 2))):
        value = _mutated(draw, value)
    return value


def _mutated(draw, value):
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 7)) == 0:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _mutated(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(value) - 1))
        if draw(st.integers(0, 7)) == 0:
            return [*value[:place], value[place], *value[place:]]
        return [*value[:place], _mutated(draw, value[place]), *value[place + 1 :]]
    return draw(JSON)


def dumped(value):
    return json.dumps(value).encode("utf-8", "replace")


def read_totally(codec, body):
    """Every decoder gives a value or a WireError, and every encoder takes what they gave."""
    for decode, encode in (
        (codec.decode_request, codec.encode_request),
        (codec.decode_response, codec.encode_response),
    ):
        try:
            value = decode(body)
        except WireError:
            continue
        try:
            dump(encode(value).body)
        except (NotExpressible, WireError):
            continue
    assert isinstance(codec.decode_error(500, body, {}), Failure)
    try:
        found = read_object(body)
    except WireError:
        return
    failure = codec.failure_in(found)
    assert failure is None or isinstance(failure, Failure)


def ends_once(codec, data, cut):
    decoder = codec.StreamDecoder()
    parts = decoder.feed(data[:cut]) + decoder.feed(data[cut:]) + decoder.finish()
    assert [part for part in parts if isinstance(part, (ReplyEnded, ReplyFailed))] == parts[-1:]
    assert parts
    assert decoder.feed(b'data: {"more": 1}\n\n') + decoder.finish() == []
    return parts


@in_each_dialect
@some
@given(data=st.binary(max_size=60) | JSON.map(dumped))
def test_any_bytes_are_read_or_refused(dialect, data):
    read_totally(codec_of(dialect), data)
    ends_once(codec_of(dialect), data, len(data) // 2)
    ends_once(codec_of(dialect), b"data: " + data + b"\n\n", len(data) // 3)


@in_each_dialect
@some
@given(data=st.data())
def test_mutated_recordings_are_read_or_refused(dialect, data):
    recording = data.draw(st.sampled_from(RECORDED[dialect]))
    read_totally(codec_of(dialect), dumped(mutated(data.draw, recording["request"])))
    if not recording["stream"]:
        read_totally(codec_of(dialect), dumped(mutated(data.draw, recording["response"])))


@in_each_dialect
@some
@given(data=st.data())
def test_mutated_streams_end_exactly_once_and_can_be_written_in_every_dialect(dialect, data):
    recording = data.draw(st.sampled_from([each for each in RECORDED[dialect] if each["stream"]]))
    lines = recording["response"].split("\n")
    places = [place for place, line in enumerate(lines) if line.startswith("data: {")]
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(places))
        event = lines[place].removeprefix("data: ")
        lines[place] = "data: " + dumped(mutated(data.draw, json.loads(event)) if event else {}).decode()
    if data.draw(st.booleans()):
        lines = lines[: data.draw(st.integers(0, len(lines)))]
    stream = "\n".join(lines).encode()
    parts = ends_once(codec_of(dialect), stream, data.draw(st.integers(0, len(stream))))
    for target in DIALECTS:
        encoder = codec_of(target).StreamEncoder()
        sent = b"".join([encoder.feed(part) for part in parts]) + encoder.finish()
        ends_once(codec_of(target), sent, len(sent) // 2)


NAME_RULES = {
    "openai-chat": openai_chat.declarations.NAME_RULE,
    "openai-responses": openai_responses.declarations.NAME_RULE,
    "anthropic": anthropic_messages.declarations.NAME_RULE,
    "gemini": gemini.declarations.NAME_RULE,
}
ID_RULES = {
    "openai-chat": [OPENAI_CHAT_IDS, OPENAI_OWN_CHAT_IDS, MISTRAL_IDS],
    "openai-responses": [OPENAI_RESPONSES_IDS],
    "anthropic": [ANTHROPIC_IDS],
    "gemini": [GEMINI_IDS],
}


@in_each_dialect
@given(ids=st.lists(IDS | st.text(max_size=70), max_size=8))
def test_the_ids_of_all_calls_lead_back(dialect, ids):
    for rule in ID_RULES[dialect]:
        table = IdTable(rule, Losses())
        wires = []
        for call_id in ids:
            wires.append(table.call(call_id))
            assert table.result(call_id) == wires[-1]
        assert len(set(wires)) == len(wires)
        assert [table.original(wire) for wire in wires] == ids
        assert all(re.fullmatch(rule.pattern, wire) for wire in wires)
        again = IdTable(rule)
        assert [again.call(call_id) for call_id in ids] == wires


@in_each_dialect
@given(names=st.lists(NAMES | st.text(max_size=140), max_size=8, unique=True))
def test_names_obey_the_rule_and_stay_apart(dialect, names):
    rule = NAME_RULES[dialect]
    table = NameTable(rule, Losses(), [FunctionTool(name=name) for name in names])
    wires = [table.declare(name, "") for name in names]
    assert len(set(wires)) == len(wires)
    assert [table.names[wire] for wire in wires] == names
    valid = re.compile(f"{rule.first}{rule.further}{{0,{rule.max_length - 1}}}").fullmatch
    assert all(valid(wire) for wire in wires)
    assert all(wire == name for wire, name in zip(wires, names, strict=True) if valid(name))


LIVE = {"gemini-live": gemini_live, "openai-realtime": openai_realtime}
LIVE_RECORDED = {
    api: [frame["message"] for path in live_recordings(api) for frame in [*frames_of(path)[:8], *frames_of(path)[-4:]]]
    for api in LIVE
}


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("api", LIVE)
@some
@given(data=st.data())
def test_any_live_frame_is_read_or_refused_and_can_be_written_again(api, side, data):
    message = data.draw(st.sampled_from(LIVE_RECORDED[api]))
    body = data.draw(st.one_of(st.binary(max_size=40), JSON.map(dumped), st.just(dumped(mutated(data.draw, message)))))
    codec = LIVE[api]
    try:
        frames = getattr(codec, f"decode_{side}")(body)
    except WireError:
        return
    getattr(codec, f"encode_{side}")(frames)
    for other in LIVE.values():
        try:
            getattr(other, f"encode_{side}")(frames)
        except (NotExpressible, WireError):
            continue

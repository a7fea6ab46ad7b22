"""Every recording through every dialect: what goes in comes out, and what cannot is said."""

import random

import pytest

from groundwire.codecs._building import parts_of
from groundwire.codecs._json import dump
from groundwire.codecs.dialects import codec_of, translate
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyFailed
from groundwire.contracts.requests import DIALECTS
from tests.codecs.recordings import essence, load, plain, recordings

CUTS = 1000


def ids(value):
    return value.rpartition("/")[2].removesuffix(".json") if "/" in value else value


def decoded(dialect, file):
    return codec_of(dialect).decode_request(load(file)["request"], model=load(file)["model"])


@pytest.mark.parametrize(("dialect", "file"), recordings(), ids=ids)
def test_a_recorded_request_goes_back_to_its_own_provider_as_it_was(dialect, file):
    camel = dialect == "gemini"
    encoded = codec_of(dialect).encode_request(decoded(dialect, file))
    assert plain(encoded.body, camel=camel) == plain(load(file)["request"], camel=camel)
    assert encoded.warnings == ()


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), recordings(), ids=ids)
def test_a_recorded_request_keeps_its_meaning_through_every_other_dialect(dialect, file, target):
    request = decoded(dialect, file)
    there = codec_of(target).encode_request(request)
    through = codec_of(target).decode_request(dump(there.body), model=request.model)
    back = codec_of(dialect).encode_request(through)
    again = codec_of(dialect).decode_request(dump(back.body), model=request.model)
    assert essence(again.items, again.instructions) == essence(request.items, request.instructions)
    assert [tool.name for tool in again.tools if tool.kind == "function"] == [
        tool.name for tool in request.tools if tool.kind == "function"
    ]
    if not any("choice_approximated" == warning.code for warning in there.warnings):
        assert (again.tool_choice and again.tool_choice.mode) == (request.tool_choice and request.tool_choice.mode)


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


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(("dialect", "file"), recordings(), ids=ids)
def test_a_recorded_answer_keeps_calls_and_text_in_every_dialect_whole_and_streamed(dialect, file, target):
    reply = reply_of(dialect, file)
    if reply is None:
        pytest.skip("this recording ends in an error, which test_a_recorded_failure_stays_a_failure covers")
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

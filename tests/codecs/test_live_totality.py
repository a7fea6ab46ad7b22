"""Any bytes are frames or a WireError; any JSON that can be read as frames of a live API is written as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.codecs import gemini_live, openai_realtime
from groundwire.contracts.errors import NotExpressible, WireError
from tests.codecs.live_recordings import frames_of, recordings, without_nulls

CODECS = {"gemini-live": gemini_live, "openai-realtime": openai_realtime}
RECORDED = [
    (api, frame["dir"], frame["message"])
    for api in CODECS
    for path in recordings(api)
    for frame in frames_of(path)[:12] + frames_of(path)[-6:]
]
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def total(decode, encode, other, message):
    try:
        frames = decode(message)
    except WireError:
        return None
    assert frames
    for encoder in (encode, other):
        try:
            written = encoder(frames)
        except (WireError, NotExpressible):
            written = None
        if encoder is encode:
            assert written is not None
    return encode(frames)


def pairs(api, side):
    own, other = CODECS[api], next(codec for name, codec in CODECS.items() if name != api)
    if side == "client":
        return own.decode_client, own.encode_client, other.encode_client
    return own.decode_server, own.encode_server, other.encode_server


SIDES = [(api, side) for api in CODECS for side in ("client", "server")]


@pytest.mark.parametrize(("api", "side"), SIDES)
@given(data=st.binary(max_size=60) | st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_frames_or_a_wire_error(api, side, data):
    total(*pairs(api, side), data)


@pytest.mark.parametrize(("api", "side"), SIDES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_known_members_with_any_value_are_frames_or_a_wire_error(api, side, data):
    if api == "gemini-live":
        names = st.sampled_from([
            "setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate", "serverContent", "toolCall",
            "toolCallCancellation", "goAway", "sessionResumptionUpdate", "setupComplete", "usageMetadata",
            "voiceActivity",
        ])  # fmt: skip
        message = data.draw(st.dictionaries(names, VALUES, min_size=1, max_size=2))
    else:
        names = st.sampled_from(sorted({m["type"] for name, _, m in RECORDED if name == api} | {"error"}))
        members = st.sampled_from(["session", "item", "response", "delta", "error", "item_id", "audio", "transcript"])
        message = {**data.draw(st.dictionaries(members, VALUES, max_size=3)), "type": data.draw(names)}
    total(*pairs(api, side), message)


# Not the sign of our own hints, and nothing that is base64 in another spelling: both come back otherwise by design.
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("!%é", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("!%é", max_size=4), inner, max_size=3),
)


def mutated(draw, value, values=VALUES):
    """The value with one place in it replaced or removed."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 5)) == 0:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: mutated(draw, value[key], values)}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(draw, value[place], values), *value[place + 1 :]]
    return draw(values)


@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_mutated_recordings_are_frames_or_a_wire_error(data):
    api, side, message = data.draw(st.sampled_from(RECORDED))
    total(*pairs(api, side), json.dumps(mutated(data.draw, message)).encode())


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_mutated_messages_of_a_server_are_written_as_they_were_read(data):
    api, _, message = data.draw(st.sampled_from([entry for entry in RECORDED if entry[1] == "server"]))
    changed = mutated(data.draw, message, PLAIN)
    if isinstance(changed, dict):
        written = total(*pairs(api, "server"), changed)
        assert written is None or without_nulls(written) == [without_nulls(changed)]


def test_a_part_whose_type_is_no_word_is_kept_as_it_came():
    part = {"type": [], "text": "x"}
    message = {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": [part]}}
    assert openai_realtime.encode_client(openai_realtime.decode_client(message)) == [message]

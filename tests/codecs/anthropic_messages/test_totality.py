import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.codecs import anthropic_messages
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.failures import Failure
from tests.codecs.anthropic_messages.recordings import NAMES, STREAMED, WHOLE, recording

WORDS = st.sampled_from([
    "type", "text", "content", "role", "user", "assistant", "system", "tool_use", "tool_result", "thinking", "image",
    "document", "source", "base64", "url", "file", "input", "id", "name", "tool_use_id", "is_error", "messages", "tools",
    "message_start", "message", "content_block_start", "content_block", "content_block_delta", "delta", "text_delta",
    "partial_json", "input_json_delta", "content_block_stop", "message_delta", "message_stop", "index", "usage", "error",
    "stop_reason", "citations", "citations_delta", "citation", "signature_delta",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=25,
)
THOROUGH = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def try_request(body):
    try:
        request = anthropic_messages.decode_request(body)
    except WireError:
        return
    try:
        anthropic_messages.encode_request(request)
    except (WireError, NotExpressible):
        return


def try_response(body):
    try:
        reply = anthropic_messages.decode_response(body)
    except WireError:
        return
    anthropic_messages.encode_response(reply)


def run_stream(data, size=17):
    decoder = anthropic_messages.StreamDecoder()
    parts = []
    for start in range(0, len(data), size):
        parts += decoder.feed(data[start : start + size])
    parts += decoder.finish()
    assert [part.kind in ("reply.ended", "reply.failed") for part in parts].count(True) == 1
    assert parts[-1].kind in ("reply.ended", "reply.failed")
    encoder = anthropic_messages.StreamEncoder()
    written = b"".join(encoder.feed(part) for part in parts) + encoder.finish()
    assert written.count(b"event: message_stop") + written.count(b"event: error") == 1


@THOROUGH
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    try_request(data)
    try_response(data)
    run_stream(data)
    assert isinstance(anthropic_messages.decode_error(500, data, {}), Failure)
    anthropic_messages.failure_in(data)


@THOROUGH
@given(VALUES)
def test_any_json_is_read_or_refused(value):
    data = json.dumps(value).encode()
    try_request(data)
    try_response(data)
    try_request({"messages": value})
    try_request({"messages": [{"role": "user", "content": value}, {"role": "assistant", "content": [value]}]})
    try_response({"type": "message", "content": [value], "usage": value, "stop_reason": value})
    assert isinstance(anthropic_messages.decode_error(400, data, {}), Failure)
    anthropic_messages.failure_in(data)


@THOROUGH
@given(st.lists(st.tuples(WORDS, VALUES), max_size=6))
def test_any_events_end_in_one_reply_or_one_failure(events):
    bodies = [{**value, "type": kind} if isinstance(value, dict) else value for kind, value in events]
    begun = b'data: {"type":"message_start","message":{}}\n\n'
    run_stream(begun + b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies))


def mutated(value, chance):
    """The value with one place changed into something odd."""
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(value)
    node, key = chance.choice(places)
    node[key] = chance.choice([None, 3, "", "x", [], {}, [3], {"type": "text"}, [{"type": 7}], True, -1.5])
    return value


@pytest.mark.parametrize("name", NAMES)
def test_requests_with_one_odd_place_are_read_or_refused(name):
    for seed in range(150):
        try_request(mutated(recording(name)["request"], random.Random(seed)))


@pytest.mark.parametrize("name", WHOLE)
def test_responses_with_one_odd_place_are_read_or_refused(name):
    for seed in range(150):
        try_response(mutated(recording(name)["response"], random.Random(seed)))


@pytest.mark.parametrize("name", STREAMED)
def test_streams_with_missing_repeated_or_odd_events_end_once(name):
    blocks = recording(name)["response"].encode().split(b"\n\n")
    for seed in range(60):
        chance = random.Random(seed)
        changed = list(blocks)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(changed))
            changed[place : place + 1] = chance.choice([[], [changed[place]] * 2, [changed[place][:-3]], [b"data: {}"]])
        run_stream(b"\n\n".join(changed), size=4096)


def test_deep_nesting_is_refused_and_not_a_crash():
    deep = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(WireError):
        anthropic_messages.decode_request(deep)
    with pytest.raises(WireError):
        anthropic_messages.decode_response(deep)
    run_stream(b"data: " + deep + b"\n\n", size=len(deep))

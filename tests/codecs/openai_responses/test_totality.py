"""Whatever comes in, a value or a WireError comes out."""

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.codecs.openai_responses import (
    decode_error,
    decode_request,
    decode_response,
    encode_error,
    encode_request,
    encode_response,
    failure_in,
)
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import WireError
from groundwire.contracts.replies import ReplyEnded, ReplyFailed
from tests.codecs.openai_responses.recordings import (
    NAMES,
    STREAMED,
    UNARY,
    decode,
    encode,
    events_in,
    recording,
    stream_of,
)

_KEYS = st.sampled_from([
    "type", "role", "content", "text", "id", "call_id", "name", "arguments", "output", "input", "tools", "tool_choice", "status",
    "summary", "annotations", "error", "usage", "item", "delta", "response", "item_id", "output_index", "format", "reasoning",
])  # fmt: skip
_WORDS = st.sampled_from([
    "message", "function_call", "function_call_output", "reasoning", "custom_tool_call", "namespace", "function", "custom",
    "allowed_tools", "input_text", "output_text", "input_image", "refusal", "completed", "failed", "incomplete", "json_schema",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.completed", "assistant",
])  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
# The first draw builds tables, which on a busy machine takes longer than the check allows.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=8)


def try_all(body):
    with contextlib.suppress(WireError):
        dump(encode_request(decode_request(body)).body)
    with contextlib.suppress(WireError):
        dump(encode_response(decode_response(body)).body)
    failure_in(body)


def end_of(data):
    parts = decode(data)
    assert sum(isinstance(part, (ReplyEnded, ReplyFailed)) for part in parts) == 1
    assert isinstance(parts[-1], (ReplyEnded, ReplyFailed))
    return parts


@settings(_PATIENT)
@given(st.binary(max_size=60))
def test_any_bytes(data):
    try_all(data)
    end_of(data)
    encode_error(decode_error(500, data, {}))


@settings(_PATIENT, max_examples=300)
@given(_OBJECTS)
def test_any_object(value):
    body = json.dumps(value).encode()
    try_all(body)
    try_all(json.dumps({"model": "m", "input": [value], "output": [value], "status": "completed"}).encode())
    encode_error(decode_error(400, body, {}))


@settings(_PATIENT, max_examples=200)
@given(st.lists(_OBJECTS, max_size=5))
def test_any_events(events):
    encode(end_of(b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)))


def changed(value, place, replacement):
    """The same JSON with the value at the n-th place replaced."""
    seen = iter(range(10**9))

    def walk(node):
        if next(seen) == place:
            return replacement
        if isinstance(node, dict):
            return {key: walk(item) for key, item in node.items()}
        return [walk(item) for item in node] if isinstance(node, list) else node

    return walk(value)


_ODD = st.sampled_from([None, 5, -1.5, True, "", "x", [], {}, [None], {"type": "x"}, "\ud800"])


@settings(_PATIENT, max_examples=150)
@given(st.sampled_from(NAMES), st.integers(0, 150), _ODD)
def test_recorded_requests_with_one_wrong_value(name, place, odd):
    try_all(json.dumps(changed(recording(name)["request"], place, odd)).encode())


@settings(_PATIENT, max_examples=150)
@given(st.sampled_from(UNARY), st.integers(0, 150), _ODD)
def test_recorded_responses_with_one_wrong_value(name, place, odd):
    try_all(json.dumps(changed(recording(name)["response"], place, odd)).encode())


@settings(_PATIENT, max_examples=150)
@given(st.sampled_from(STREAMED), st.integers(0, 500), _ODD)
def test_recorded_streams_with_one_wrong_value(name, place, odd):
    events = changed(events_in(recording(name)["response"].encode()), place, odd)
    if isinstance(events, list):
        encode(end_of(b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)))


@settings(_PATIENT, max_examples=60)
@given(st.sampled_from(STREAMED), st.data())
def test_recorded_streams_in_any_order_and_cut_anywhere(name, data):
    events = data.draw(st.permutations(events_in(recording(name)["response"].encode())))
    whole = stream_of(*events)
    encode(end_of(whole[: data.draw(st.integers(0, len(whole)))]))


@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_nesting_is_refused_or_read(depth):
    body = b'{"model":"m","input":' + b"[" * depth + b"]" * depth + b"}"
    try_all(body)
    end_of(b"data: " + body + b"\n\n")

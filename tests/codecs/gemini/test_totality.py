"""Any bytes and any JSON give a value or a WireError with a path; streams never raise."""

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.codecs import gemini
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.failures import Failure
from tests.codecs.gemini.recordings import RECORDINGS, STREAMS, UNARY

KEYS = st.sampled_from(
    [
        "contents",
        "parts",
        "role",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "functionResponse",
        "name",
        "args",
        "id",
        "response",
        "inlineData",
        "fileData",
        "fileUri",
        "mimeType",
        "data",
        "candidates",
        "content",
        "finishReason",
        "finishMessage",
        "index",
        "usageMetadata",
        "promptTokenCount",
        "promptFeedback",
        "blockReason",
        "tools",
        "functionDeclarations",
        "parameters",
        "parametersJsonSchema",
        "toolConfig",
        "willContinue",
        "functionCallingConfig",
        "mode",
        "allowedFunctionNames",
        "generationConfig",
        "stopSequences",
        "thinkingConfig",
        "responseSchema",
        "responseMimeType",
        "systemInstruction",
        "error",
        "code",
        "status",
        "details",
        "retryDelay",
        "groundingMetadata",
        "groundingSupports",
        "segment",
        "groundingChunks",
        "citationMetadata",
        "citations",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "type",
        "properties",
        "model",
        "responseId",
    ]
)
WORDS = st.sampled_from(
    ["user", "model", "function", "f", "STOP", "MAX_TOKENS", "ANY", "$.a[0].b", "application/json", "OBJECT", "34s", ""]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)


def request_round(body):
    try:
        request = gemini.decode_request(body)
    except WireError:
        return
    for model in ("gemini-3-flash", "gemini-2.5-pro", "gemini-2.0-flash"):
        try:
            encoded = gemini.encode_request(request, profile=gemini.profile_for(model))
        except NotExpressible:
            continue
        gemini.decode_request(dump(encoded.body))


def response_round(body):
    try:
        reply = gemini.decode_response(body)
    except WireError:
        return
    again = gemini.decode_response(dump(gemini.encode_response(reply).body))
    assert [item.complete for item in again.calls] == [item.complete for item in reply.calls]
    assert again.text == reply.text


def stream_round(*pieces):
    decoder = gemini.StreamDecoder()
    parts = [part for piece in pieces for part in decoder.feed(piece)] + decoder.finish()
    assert [part.kind for part in parts].count("reply.ended") + [part.kind for part in parts].count("reply.failed") == 1
    assert parts[-1].kind in ("reply.ended", "reply.failed")
    encoder = gemini.StreamEncoder()
    for part in parts:
        encoder.feed(part)
    return parts


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data):
    request_round(data)
    response_round(data)
    stream_round(data)
    stream_round(b"data: " + data + b"\n\n", data)
    assert isinstance(gemini.decode_error(500, data, {}), Failure)
    gemini.failure_in(data)


@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_any_json_of_known_names_is_survived(body):
    data = json.dumps(body).encode()
    request_round(data)
    response_round(data)
    stream_round(b"data: " + data + b"\n\n")
    stream_round(b"[" + data + b"," + data + b"]")
    gemini.encode_error(gemini.decode_error(400, data, {}))
    gemini.failure_in(data)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=4))
def test_any_parts_are_survived(parts):
    for role in ("user", "model"):
        request_round({"contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": role, "parts": parts}]})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    response_round({"candidates": [candidate]})
    stream_round(b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\n\n")


def places(value, path=()):
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


def mutated(body, chance):
    body = copy.deepcopy(body)
    path = chance.choice([path for path in places(body) if path])
    place = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = chance.choice([None, 5, -1.5, "x", "", [], {}, True, [None], {"a": None}, 10**30, "\ud800"])
    return body


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_with_any_member_replaced_is_survived(name):
    chance = random.Random(name)
    for _ in range(150):
        request_round(mutated(RECORDINGS[name]["request"], chance))
        if name in UNARY:
            response_round(mutated(RECORDINGS[name]["response"], chance))


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_with_any_byte_changed_is_survived(name):
    chance = random.Random(name)
    body = bytearray(STREAMS[name]["response"].encode())
    for _ in range(300):
        changed = bytearray(body)
        changed[chance.randrange(len(body))] = chance.randrange(256)
        cut = chance.randrange(len(body))
        stream_round(bytes(changed[:cut]), bytes(changed[cut:]))


@pytest.mark.parametrize("depth", [150, 5000])
def test_deep_nesting_is_survived(depth):
    deep = (
        b'{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":'
        + b'{"a":' * depth
        + b"1"
        + b"}" * depth
        + b"}}]}]}"
    )
    request_round(deep)
    response_round(
        deep.replace(b'"contents":[{"role":"model",', b'"candidates":[{"content":{').replace(b"]}]}", b"]}}]}")
    )
    stream_round(b"data: " + deep + b"\n\n")

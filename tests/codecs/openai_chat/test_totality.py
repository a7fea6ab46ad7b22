import json

from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.codecs import openai_chat as chat
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.replies import ReplyEnded, ReplyFailed
from tests.codecs.openai_chat.support import RECORDINGS, UNARY, chunk, decode_stream, encode_stream, stream_of

WORDS = st.sampled_from([
    "", "x", "user", "assistant", "tool", "function", "custom", "text", "image_url", "stop", "length", "<think>", "{}",
    "data:image/png;base64,AA==", "auto", "required", "allowed_tools", "json_schema", "thinking", "\ud83d",
])  # fmt: skip
KEYS = st.sampled_from([
    "role", "content", "tool_calls", "function_call", "function", "custom", "name", "arguments", "input", "id", "type",
    "index", "text", "image_url", "url", "input_audio", "data", "format", "file", "file_data", "file_id", "reasoning",
    "reasoning_content", "reasoning_details", "refusal", "annotations", "thinking", "choices", "message", "delta",
    "finish_reason", "usage", "error", "code", "messages", "model", "tools", "functions", "tool_choice", "stop",
    "response_format", "json_schema", "schema", "stream", "stream_options", "extra_content", "google", "parameters",
    "allowed_tools", "mode", "tool_call_id", "logprobs", "created", "status_code", "prompt_tokens", "detail",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 700) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)


def mutated(draw, value):
    """The same value with some of its members exchanged for anything."""
    if draw(st.integers(0, 25)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        return {name: mutated(draw, member) for name, member in value.items()}
    return [mutated(draw, member) for member in value] if isinstance(value, list) else value


@st.composite
def mutated_recordings(draw, part):
    pool = RECORDINGS if part == "request" else UNARY
    return mutated(draw, pool[draw(st.sampled_from(sorted(pool)))][part])


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except (WireError, NotExpressible):
        return None


def check_request(body):
    read = attempt(chat.decode_request, json.dumps(body).encode())
    if read is not None:
        encoded = chat.encode_request(read)
        again = chat.encode_request(chat.decode_request(encoded.body)).body
        assert again == encoded.body


def check_response(body):
    read = attempt(chat.decode_response, json.dumps(body).encode())
    if read is not None:
        attempt(chat.encode_response, read)


@given(OBJECTS.map(lambda body: {"model": "m", "messages": [], **body}))
def test_any_object_is_a_request_or_a_wire_error(body):
    check_request(body)


@given(st.lists(OBJECTS.map(lambda members: {"role": "assistant", **members}), max_size=3))
def test_any_messages_are_a_request_or_a_wire_error(messages):
    check_request({"model": "m", "messages": messages})


@settings(max_examples=200)
@given(mutated_recordings("request"))
def test_damaged_requests_are_read_or_refused(body):
    check_request(body)


@settings(max_examples=200)
@given(mutated_recordings("response"))
def test_damaged_responses_are_read_or_refused(body):
    check_response(body)


@given(OBJECTS)
def test_any_message_is_a_response_or_a_wire_error(message):
    check_response({"choices": [{"message": message, "finish_reason": "stop"}]})


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body):
    attempt(chat.decode_request, body)
    attempt(chat.decode_response, body)
    chat.failure_in(body)
    chat.decode_error(400, body, {})


@given(st.integers(100, 700), VALUES, st.dictionaries(st.sampled_from(["retry-after", "x-should-retry"]), st.text()))
def test_any_error_body_is_a_failure(status, body, headers):
    failure = chat.decode_error(status, json.dumps(body).encode(), headers)
    told, _ = chat.encode_error(failure)
    assert told >= 400 or status < 400
    if isinstance(body, dict):
        chat.failure_in(body)


def check_stream(data):
    parts = decode_stream(data)
    ends = [part for part in parts if isinstance(part, (ReplyEnded, ReplyFailed))]
    assert len(ends) == 1
    assert parts[-1] is ends[0]
    written, _ = encode_stream(parts)
    assert isinstance(decode_stream(written)[-1], (ReplyEnded, ReplyFailed))
    return parts


@given(st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_are_a_stream_with_one_end(data, cut):
    assert decode_stream(data, cuts=[min(cut, len(data))])[-1:] == check_stream(data)[-1:]


@settings(max_examples=200)
@given(st.lists(OBJECTS, max_size=5), st.booleans())
def test_any_deltas_are_a_stream_with_one_end(deltas, done):
    check_stream(stream_of(*[chunk(delta) for delta in deltas], done=done))


@given(st.lists(OBJECTS, max_size=4))
def test_any_chunks_are_a_stream_with_one_end(chunks):
    check_stream(stream_of(*chunks))


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["<think>", "</think>", "\n", " ", "a", "<", "</th", "b.\n", "think>"]), max_size=9),
    st.data(),
)
def test_thought_is_told_apart_in_the_same_way_whole_and_in_pieces(pieces, data):
    content = "".join(pieces)
    whole = chat.decode_response({"choices": [{"message": {"content": content}}]})
    assert (chat.encode_response(whole).body["choices"][0]["message"]["content"] or "") == content
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    cut_up = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    read = decode_stream(stream_of(*[chunk({"content": piece}) for piece in cut_up]))[-1].reply
    if content:
        assert read.items == whole.items

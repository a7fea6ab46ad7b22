"""What the tests of this codec share: recordings, comparison without nulls, and whole streams."""

import json
from pathlib import Path

from groundwire.codecs import openai_chat as chat

FOLDER = Path(__file__).parents[1] / "fixtures" / "openai-chat"
RECORDINGS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
UNARY = {name: recording for name, recording in RECORDINGS.items() if not recording["stream"]}
STREAMS = {name: recording for name, recording in RECORDINGS.items() if recording["stream"]}


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value


def request(*messages, **members):
    return {"model": "m", "messages": list(messages), **members}


def round_trip(body, **profile):
    return chat.encode_request(chat.decode_request(json.dumps(body).encode()), profile=chat.Profile(**profile))


def response(message, finish_reason="stop", **members):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **members}


def decode(message, finish_reason="stop", *, names=None, **members):
    return chat.decode_response(json.dumps(response(message, finish_reason, **members)).encode(), names=names)


def tool_call(call_id="call_1", name="f", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chunk(delta=None, finish_reason=None, **members):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {
        "id": "r1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **members,
    }


def stream_of(*chunks, done=True):
    frames = "".join(f"data: {json.dumps(value)}\n\n" for value in chunks)
    return (frames + ("data: [DONE]\n\n" if done else "")).encode()


def decode_stream(data, *, names=None, cuts=(), **options):
    decoder = chat.StreamDecoder(names=names, **options)
    parts = []
    start = 0
    for cut in [*cuts, len(data)]:
        parts += decoder.feed(data[start:cut])
        start = cut
    return parts + decoder.finish()


def encode_stream(parts, *, request=None):
    encoder = chat.StreamEncoder(request=request)
    return b"".join(encoder.feed(part) for part in parts) + encoder.finish(), encoder.warnings


def codes(warnings):
    return [warning.code for warning in warnings]

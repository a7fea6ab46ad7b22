"""The recorded exchanges of this dialect, and what the tests of its codec do with bytes again and again."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import openai
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from groundwire.codecs.openai_responses import StreamDecoder, StreamEncoder
from groundwire.contracts.replies import ReplyPart

FOLDER = Path(__file__).parent.parent / "fixtures" / "openai-responses"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def recording(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_bytes())


UNARY = [name for name in NAMES if not recording(name)["stream"]]
STREAMED = [name for name in NAMES if recording(name)["stream"]]
TOOL_SEARCH = "openai-native-tool-search-streaming-t0"
MANTLE = "reused-tool-call-ids-stream-t0"

_EVENTS = TypeAdapter(ResponseStreamEvent)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def decode(data: bytes, cuts: tuple[int, ...] = (), **options: Any) -> list[ReplyPart]:
    decoder = StreamDecoder(**options)
    parts: list[ReplyPart] = []
    start = 0
    for cut in (*sorted(cuts), len(data)):
        parts += decoder.feed(data[start:cut])
        start = cut
    return parts + decoder.finish()


def encode(parts: list[ReplyPart], **options: Any) -> bytes:
    encoder = StreamEncoder(**options)
    return b"".join([encoder.feed(part) for part in parts]) + encoder.finish()


def events_in(data: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]


def stream_of(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def final_response_of(data: bytes) -> Any:
    """What the official client makes of a stream; each event must be what its types say."""
    for event in events_in(data):
        if "response" in event:
            with_all_counters(event["response"])
        _EVENTS.validate_python(event)
    with _client(data).responses.stream(model="m", input="x") as stream:
        return stream.get_final_response()


def with_all_counters(response: dict[str, Any]) -> dict[str, Any]:
    """The types demand a counter that real responses often lack, and that a recording therefore lacks too."""
    if response.get("usage"):
        response["usage"]["input_tokens_details"].setdefault("cache_write_tokens", 0)
    return response


def raw_events_of(data: bytes) -> list[Any]:
    return list(_client(data).responses.create(model="m", input="x", stream=True))


def _client(data: bytes) -> openai.OpenAI:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=data, headers={"content-type": "text/event-stream"})

    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(api_key="none", base_url="http://local", http_client=httpx2.Client(transport=transport))

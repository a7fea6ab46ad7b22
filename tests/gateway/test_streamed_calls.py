"""What a stream of Responses says of calls: the documented events, in their order, with numbers and ids that fit."""

import json

import httpx2
import pytest

from groundwire.testing import Answer, Ask
from tests.gateway.conversation import upstreams

CITIES = ("Tokyo", "Oslo")
CALLS = Answer(calls=tuple(Ask("get_weather", {"city": city}) for city in CITIES))
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
DELTA = "response.function_call_arguments.delta"
OF_A_CALL = [
    "response.output_item.added",
    DELTA,
    "response.function_call_arguments.done",
    "response.output_item.done",
]


async def events_of(running):
    body = {"model": running.model, "input": "How is the weather?", "tools": [TOOL], "stream": True}
    async with httpx2.AsyncClient(timeout=30) as http:
        text = (await http.post(f"{running.url}/v1/responses", json=body)).text
    blocks = [block.split("\n") for block in text.split("\n\n") if block.startswith("event: ")]
    events = [(named.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for named, data in blocks]
    assert all(name == event["type"] for name, event in events)
    return [event for _, event in events]


@upstreams
@pytest.mark.requirement("OQ-45")
async def test_each_call_is_an_item_that_is_added_told_in_pieces_and_done(gateway, upstream):
    async with gateway(CALLS, upstream=upstream) as running:
        events = await events_of(running)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    calls = [item for item in events[-1]["response"]["output"] if item["type"] == "function_call"]
    for city, call in zip(CITIES, calls, strict=True):
        of_it = [event for event in events if call["id"] in (event.get("item_id"), event.get("item", {}).get("id"))]
        kinds = [event["type"] for event in of_it]
        assert list(dict.fromkeys(kinds)) == OF_A_CALL
        assert [kinds.count(kind) for kind in OF_A_CALL if kind != DELTA] == [1, 1, 1]
        assert len({event["output_index"] for event in of_it}) == 1
        added, *deltas, whole, done = of_it
        assert (added["item"]["status"], added["item"]["arguments"]) == ("in_progress", "")
        assert (added["item"]["call_id"], added["item"]["name"]) == (call["call_id"], "get_weather")
        assert "".join(event["delta"] for event in deltas) == whole["arguments"] == json.dumps({"city": city}, separators=(",", ":"))  # fmt: skip
        assert done["item"] == call

"""A turn that is to be kept is kept; where it cannot be, the caller hears of it, in a stream that has begun too."""

import json
import sqlite3

import httpx2 as httpx

from groundwire.testing import Answer, Ask


async def test_the_word_store_within_a_tool_does_not_make_a_response_forgotten(gateway):
    parameters = {"type": "object", "properties": {"settings": {"type": "object", "default": {"store": False}}}}
    tools = [{"type": "function", "name": "save", "parameters": parameters}]
    async with (
        gateway("Hello.", upstream="openai-responses") as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        made = (
            await client.post("/v1/responses", json={"model": running.model, "input": "Hi.", "tools": tools})
        ).json()
        shown = await client.get(f"/v1/responses/{made['id']}")
    assert (shown.status_code, shown.json()) == (200, made)


async def test_a_turn_that_cannot_be_kept_is_an_error_and_no_answer(gateway, tmp_path):
    file = tmp_path / "groundwire.db"
    async with (
        gateway("Hello.", store=f"sqlite:///{file}") as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        with sqlite3.connect(file) as elsewhere:
            elsewhere.execute("DROP TABLE gateway_turns")
        elsewhere.close()
        body = {"model": running.model, "input": "Hi."}
        whole = await client.post("/v1/responses", json=body)
        streamed = await client.post("/v1/responses", json={**body, "stream": True})
    assert whole.status_code == 500
    events = [line.removeprefix("event: ") for line in streamed.text.splitlines() if line.startswith("event: ")]
    assert "response.failed" in events
    assert "response.completed" not in events


async def test_a_call_that_cannot_be_kept_for_its_owner_is_an_error_within_a_relayed_stream(gateway, tmp_path):
    file = tmp_path / "groundwire.db"
    script = Answer(calls=(Ask("get_weather", {}),))
    async with (
        gateway(script, upstream="gemini", store=f"sqlite:///{file}") as running,
        httpx.AsyncClient(base_url=f"{running.url}/relay/desk") as client,
    ):
        await client.put("/tools", json={"tools": [{"functionDeclarations": [{"name": "get_weather"}]}]})
        with sqlite3.connect(file) as elsewhere:
            elsewhere.execute(
                "CREATE TRIGGER full BEFORE INSERT ON gateway_relay_steps BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        elsewhere.close()
        asked = {"contents": [{"role": "user", "parts": [{"text": "How is the weather?"}]}]}
        path = f"/v1beta/models/{running.model}:streamGenerateContent?alt=sse"
        streamed = await client.post(path, json=asked)
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: ")]
    assert (streamed.status_code, events[-1]["error"]["code"]) == (200, 500)

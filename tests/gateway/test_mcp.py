"""`/mcp` among the gateway's routes: the official client calls tools, under the gateway's own keys."""

import sqlite3

import httpx2 as httpx
import pytest
from mcp import Client
from pyreqwest.client import ClientBuilder

from groundwire import Registry, tool
from tests.gateway.raw_upstream import LIMIT

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def registry():
    @tool(category="retrieval")
    async def kb_search(query: str) -> dict:
        """Search."""
        return {"pages": [query]}

    return Registry([kb_search])


async def test_the_official_client_lists_and_calls_the_servers_tools(gateway, registry):
    async with gateway("Hello.", registry=registry) as running, Client(f"{running.url}/mcp") as client:
        listed = await client.list_tools()
        result = await client.call_tool("kb_search", {"query": "refunds"})
    assert [each.name for each in listed.tools] == ["kb_search"]
    assert result.structured_content == {"pages": ["refunds"]}


async def test_without_a_good_key_nothing_is_said_about_tools(gateway, registry):
    environ = {"GROUNDWIRE_MASTER_KEY": "right"}
    async with (
        gateway("Hello.", registry=registry, environ=environ) as running,
        httpx.AsyncClient(base_url=running.url, headers=ACCEPT) as client,
    ):
        wrong = await client.post("/mcp", json=HELLO, headers={"x-api-key": "wrong"})
        right = await client.post("/mcp", json=HELLO, headers={"x-api-key": "right"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "key_unknown")
    assert right.status_code == 200


async def test_a_client_of_http_2_is_known_by_the_host_that_it_names(gateway, registry):
    async with gateway(registry=registry) as running, ClientBuilder().http2_prior_knowledge().build() as client:
        asking = client.post(f"{running.url}/mcp").headers({**ACCEPT, "content-type": "application/json"})
        answer = await asking.body_json(HELLO).build().send()
    assert (answer.status, answer.version) == (200, "HTTP/2.0")


async def test_a_store_that_fails_is_an_answer_with_a_code(gateway, registry, tmp_path, caplog):
    file = tmp_path / "groundwire.db"
    async with (
        gateway(registry=registry, store=f"sqlite:///{file}") as running,
        httpx.AsyncClient(base_url=running.url, headers=ACCEPT) as client,
    ):
        with sqlite3.connect(file) as elsewhere:
            elsewhere.execute("DROP TABLE key_changes")
        elsewhere.close()
        answer = await client.post("/mcp", json=HELLO)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "store_error")
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_session_that_cannot_be_read_is_refused_and_nothing_runs(gateway):
    done = []

    @tool(category="action")
    def note(text: str) -> str:
        """Note it."""
        done.append(text)
        return text

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {"text": "x"}}}
    async with (
        gateway(registry=Registry([note])) as running,
        httpx.AsyncClient(base_url=running.url, headers=ACCEPT, timeout=LIMIT) as client,
    ):
        answer = await client.post("/mcp", json=call, headers={"x-groundwire-session-id": "séance".encode()})
    assert (answer.status_code, done) == (400, [])
    assert "must be ASCII" in answer.json()["error"]["message"]

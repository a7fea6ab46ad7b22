"""`/mcp` among the gateway's routes: the official client calls tools, under the gateway's own keys."""

import httpx2 as httpx
import pytest
from mcp import Client

from groundwire import Registry, tool

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

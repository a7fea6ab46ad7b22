"""More at once than can be served: connections that ask for nothing, and requests beyond the bound."""

import asyncio
import contextlib

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.contracts.servers import ServerSettings
from tests.gateway.test_request_bodies import LIMIT
from tests.gateway.test_signals import configure, project, served

__all__ = ["project"]

WORDS = {
    "silent": b"",
    "in its headers": b"GET / HTTP/1.1\r\nhost: localhost\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
}


@contextlib.asynccontextmanager
async def crowd(url, count, said):
    """Connections that say so much, and then nothing."""
    address = httpx.URL(str(url))
    opened = [await asyncio.open_connection(address.host, address.port) for _ in range(count)]
    try:
        for _, writer in opened:
            writer.write(said)
            await writer.drain()
        yield
    finally:
        for _, writer in opened:
            writer.close()


@pytest.mark.parametrize("said", WORDS.values(), ids=WORDS)
async def test_connections_that_ask_for_nothing_keep_nobody_out(gateway, said):
    async with (
        asyncio.timeout(LIMIT),
        gateway("Hello.") as running,
        crowd(running.url, 300, said),
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        assert (await client.get("/health/live")).status_code == 200


async def test_of_worker_processes_neither_however_few_requests_they_take_at_a_time(project):
    configure(project, server={"maxInFlight": 1})
    async with served(project) as (client, _), crowd(client.base_url, 50, b""):
        assert (await client.get("/health/live")).status_code == 200


CALL = {"tool": "wait", "arguments": {}}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
ASKED = {
    "/v1/chat/completions": {"model": "openai/gpt-5.2", "messages": [{"role": "user", "content": "hi"}]},
    "/api/calls": CALL,
    "/mcp": MESSAGE,
}


@pytest.mark.parametrize("path", ASKED)
async def test_beyond_the_bound_a_request_is_told_to_come_back_and_health_is_still_told(gateway, path):
    began, may_end = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        began.set()
        await may_end.wait()
        return "done"

    async with (
        asyncio.timeout(LIMIT),
        gateway("Hello.", registry=Registry([wait]), server=ServerSettings(max_in_flight=1)) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
    ):
        first = asyncio.create_task(client.post("/api/calls", json=CALL))
        await began.wait()
        headers = {"accept": "application/json, text/event-stream"}
        refused = await client.post(path, json=ASKED[path], headers=headers)
        told = [(await client.get(at)).status_code for at in ("/health/live", "/health/ready", "/metrics")]
        may_end.set()
        assert (await first).json()["ok"]
        again = await client.post(path, json=ASKED[path], headers=headers)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "requests are being worked on" in refused.json()["error"]["message"]
    assert told == [200, 200, 200]
    assert again.status_code == 200

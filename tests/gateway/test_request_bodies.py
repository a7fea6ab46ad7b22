"""Bodies of requests on their way in: those that come too slowly, or break off before their end."""

import asyncio
import contextlib
import json

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.contracts.servers import ServerSettings
from tests.gateway.raw_http2 import http2_stream

LIMIT = 30
CHAT = {"messages": [{"role": "user", "content": "hi"}]}
PATHS = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1beta/models/gpt-5.2:generateContent",
    "/v1/messages/count_tokens",
    "/relay/desk/v1beta/models/gpt-5.2:generateContent",
    "/api/calls",
    "/mcp",
]
each_path = pytest.mark.parametrize("path", PATHS)


def noting():
    """A registry with one action, and the list of what it did."""
    done = []

    @tool(category="action")
    def note(text: str) -> str:
        """Note it."""
        done.append(text)
        return text

    return Registry([note]), done


def body_for(path, running):
    """One that the path would take, and act upon."""
    note = {"name": "note", "arguments": {"text": "hi"}}
    if path == "/api/calls":
        body = {"tool": "note", "arguments": note["arguments"]}
    elif path == "/mcp":
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": note}
    elif "generateContent" in path:
        body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    elif path == "/v1/responses":
        body = {"model": running.model, "input": "hi"}
    else:
        body = {"model": running.model, "max_tokens": 100, **CHAT}
    return json.dumps(body).encode()


@contextlib.asynccontextmanager
async def connected(running):
    url = httpx.URL(running.url)
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection(url.host, url.port)
        with contextlib.closing(writer):
            yield reader, writer


def begin(writer, path, framing, **headers):
    lines = {"host": "localhost", "content-type": "application/json", **framing, **headers}
    told = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"POST {path} HTTP/1.1\r\n{told}\r\n".encode())


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


async def status_of(reader):
    return int((await reader.readline()).split()[1])


CHUNKED = {"transfer-encoding": "chunked"}
framings = pytest.mark.parametrize("framing", [{"content-length": "1000"}, CHUNKED], ids=["length", "chunked"])


@framings
@each_path
async def test_a_body_that_does_not_come_in_time_is_a_408_and_its_place_is_free_again(gateway, path, framing):
    server = ServerSettings(body_timeout=0.01, max_in_flight=1)
    async with gateway("Hello.", server=server) as running, connected(running) as (reader, writer):
        begin(writer, path, framing)
        if framing is CHUNKED:
            writer.write(chunk(b'{"model": '))
        assert await status_of(reader) == 408
        assert running.upstream.requests == []
        async with httpx.AsyncClient(base_url=running.url) as client:
            again = await client.post("/v1/chat/completions", json={"model": running.model, **CHAT})
        assert again.status_code == 200


async def test_what_was_too_slow_is_told_with_a_code_in_each_dialect(gateway):
    told = {}
    async with gateway(server=ServerSettings(body_timeout=0.01)) as running:
        for path in PATHS[:4]:
            async with connected(running) as (reader, writer):
                begin(writer, path, CHUNKED)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                told[path] = json.loads(await reader.readexactly(length))["error"]
    assert told["/v1/chat/completions"]["code"] == told["/v1/responses"]["code"] == "request_timeout"
    assert told["/v1/messages"]["type"] == "timeout_error"
    assert (told[PATHS[3]]["code"], told[PATHS[3]]["details"][0]["reason"]) == (408, "request_timeout")


@framings
async def test_a_body_in_pieces_that_comes_in_time_is_read(gateway, framing):
    async with gateway("Hello.") as running, connected(running) as (reader, writer):
        body = body_for("/v1/chat/completions", running)
        begin(writer, "/v1/chat/completions", {"content-length": len(body)} if framing is not CHUNKED else CHUNKED)
        for piece in (body[:20], body[20:]):
            writer.write(chunk(piece) if framing is CHUNKED else piece)
            await writer.drain()
        writer.write(b"0\r\n\r\n" if framing is CHUNKED else b"")
        assert await status_of(reader) == 200


@pytest.mark.parametrize("ending", [b"", b"zz\r\n", b"5\r\nab", b"0\r\n"], ids=["no end", "no size", "cut", "half end"])
@each_path
async def test_a_chunked_body_that_breaks_off_is_no_request_though_its_json_is_whole(gateway, path, ending):
    registry, done = noting()
    async with gateway("Hello.", registry=registry) as running, connected(running) as (reader, writer):
        begin(writer, path, CHUNKED)
        writer.write(chunk(body_for(path, running)) + ending)
        writer.write_eof()
        assert await reader.readline() in (b"HTTP/1.1 400 Bad Request\r\n", b"")  # nothing, where the server hangs up
        async with httpx.AsyncClient(base_url=running.url) as client:
            await client.get("/health/live")
        assert (done, running.upstream.requests) == ([], [])


@pytest.mark.parametrize("path", ["/api/calls", "/v1/chat/completions"])
async def test_trailers_that_were_announced_belong_to_a_whole_body(gateway, path):
    registry, _ = noting()
    async with gateway("Hello.", registry=registry) as running, connected(running) as (reader, writer):
        begin(writer, path, CHUNKED, trailer="x-sum")
        writer.write(chunk(body_for(path, running)) + b"0\r\nx-sum: 1\r\n\r\n")
        assert await status_of(reader) == 200


async def test_over_http_2_a_body_is_whole_when_its_stream_ends_whatever_empty_pieces_it_had(gateway):
    async with gateway("Hello.") as running, http2_stream(httpx.URL(running.url)) as stream, asyncio.timeout(LIMIT):
        stream.begin("POST", "/v1/chat/completions", "localhost")
        stream.send(body_for("/v1/chat/completions", running))
        stream.send(b"")
        stream.send(b"", is_last=True)
        assert b"Hello." in await stream.answer()


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/calls"])
async def test_over_http_2_a_stream_that_is_reset_runs_nothing_and_ends(gateway, path):
    registry, done = noting()
    async with (
        gateway("Hello.", registry=registry, server=ServerSettings(body_timeout=0.5)) as running,
        http2_stream(httpx.URL(running.url)) as stream,
        httpx.AsyncClient(base_url=running.url) as client,
        asyncio.timeout(LIMIT),
    ):
        stream.begin("POST", path, "localhost")
        stream.send(body_for(path, running))
        stream.reset()
        while (await in_flight(client)) > 1:  # noqa: ASYNC110 - the one that asks for it; there is no event
            await asyncio.sleep(0)
    assert (done, running.upstream.requests) == ([], [])


async def in_flight(client):
    answer = await client.get("/metrics", headers={"accept": "application/json"})
    return answer.json()["gateway"]["inFlight"]

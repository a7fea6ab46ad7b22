"""Connections without a request: they are closed after `headerTimeout`, and earlier where there are too many."""

import asyncio
import contextlib
import json
import resource
import socket
import sys
import time

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.assembly import Settings
from groundwire.cli.doors import make_application
from groundwire.contracts.servers import ServerSettings
from groundwire.serving.running import serving
from tests.gateway.raw_http2 import http2_stream
from tests.gateway.test_signals import configure, project, served

__all__ = ["project"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not list open connections")
LIMIT = 60
TIMEOUT = 0.3
QUICK = ServerSettings(header_timeout=TIMEOUT)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SENT = {
    "nothing": b"",
    "one byte": b"G",
    "one byte of HTTP/2": b"P",
    "half a line": b"GET / HT",
    "half of HTTP/2's first line": b"PRI * HTTP/2.0\r\n",
    "half a header": b"GET / HTTP/1.1\r\nhost: local",
    "no end of headers": b"GET / HTTP/1.1\r\nhost: localhost\r\n",
    "HTTP/2 without settings": PREFACE,
    "HTTP/2 without a request": PREFACE + SETTINGS,
}


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@contextlib.asynccontextmanager
async def connected(url, sent=b""):
    address = httpx.URL(str(url))
    reader, writer = await asyncio.open_connection(address.host, address.port)
    with contextlib.closing(writer):
        writer.write(sent)
        await writer.drain()
        yield reader, writer


async def until_closed(reader):
    """Read until the server ends the connection."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(65_536):
            pass


async def a_timeout_later(url):
    """Wait for `headerTimeout` to pass, as the server counts it."""
    async with connected(url) as (reader, _):
        await until_closed(reader)


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
async def test_a_connection_without_a_request_is_closed_after_the_timeout_and_not_before(gateway, sent):
    async with asyncio.timeout(LIMIT), gateway(server=QUICK) as running:
        began = time.monotonic()
        async with connected(running.url, sent) as (reader, _):
            await until_closed(reader)
        assert time.monotonic() - began >= TIMEOUT


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nx-long: " + b"a" * 10_000, PREFACE], ids=["HTTP/1", "HTTP/2"])
async def test_headers_that_come_byte_by_byte_do_not_keep_a_connection_open(gateway, head):
    async with asyncio.timeout(LIMIT), gateway(server=QUICK) as running, connected(running.url) as (reader, writer):
        for byte in head:
            writer.write(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if await asyncio.wait_for(reader.read(1), 0.02) == b"":
                    return
    pytest.fail("it was never closed")


def waiting_tool():
    may_end = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await may_end.wait()
        return "done"

    return Registry([wait]), may_end


CALL = json.dumps({"tool": "wait", "arguments": {}}).encode()


async def test_a_request_may_take_longer_than_the_timeout(gateway):
    registry, may_end = waiting_tool()
    async with asyncio.timeout(LIMIT), gateway(server=QUICK, registry=registry) as running:
        head = b"POST /api/calls HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        request = head + b"content-length: %d\r\n\r\n" % len(CALL) + CALL
        async with connected(running.url, request) as (reader, _):
            await a_timeout_later(running.url)
            await a_timeout_later(running.url)
            may_end.set()
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_a_request_over_http_2_may_take_longer_than_the_timeout(gateway):
    registry, may_end = waiting_tool()
    async with (
        asyncio.timeout(LIMIT),
        gateway(server=QUICK, registry=registry) as running,
        http2_stream(httpx.URL(running.url)) as stream,
    ):
        stream.begin("POST", "/api/calls", "localhost", **{"content-type": "application/json"})
        stream.send(CALL, is_last=True)
        await a_timeout_later(running.url)
        await a_timeout_later(running.url)
        may_end.set()
        assert json.loads(await stream.answer())["ok"]


@pytest.mark.skipif(not has_ipv6(), reason="needs an IPv6 loopback address")
async def test_a_request_over_ipv6_may_take_longer_than_the_timeout():
    registry, may_end = waiting_tool()
    application = make_application(Settings(server=QUICK), {}, registry=registry)
    async with asyncio.timeout(LIMIT), serving(application, "::1") as url, httpx.AsyncClient(base_url=url) as client:
        answer = asyncio.create_task(client.post("/api/calls", content=CALL, headers={"host": "localhost"}))
        await a_timeout_later(url)
        await a_timeout_later(url)
        may_end.set()
        assert (await answer).json()["ok"]


async def test_a_body_may_come_more_slowly_than_the_headers(gateway):
    registry, may_end = waiting_tool()
    may_end.set()
    async with asyncio.timeout(LIMIT), gateway(server=QUICK, registry=registry) as running:
        head = b"POST /api/calls HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        async with connected(running.url, head + b"content-length: %d\r\n\r\n" % len(CALL)) as (reader, writer):
            await a_timeout_later(running.url)
            writer.write(CALL)
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


LONG = "a" * 12_000_000
"""More than the system keeps for a client that does not read."""


@contextlib.asynccontextmanager
async def asked_for_a_long_answer(running):
    body = json.dumps({"model": running.model, "messages": [{"role": "user", "content": "hi"}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    async with connected(running.url, head + b"content-length: %d\r\n\r\n" % len(body) + body) as (reader, _):
        found = await reader.readuntil(b"\r\n\r\n")
        yield reader, int(found.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


async def test_an_answer_that_is_read_slowly_is_sent_whole(gateway):
    async with (
        asyncio.timeout(LIMIT),
        gateway(LONG, server=QUICK) as running,
        asked_for_a_long_answer(running) as (reader, length),
    ):
        for _ in range(4):
            await a_timeout_later(running.url)
            await reader.readexactly(2_000_000)
        await reader.readexactly(length - 4 * 2_000_000)


async def test_a_client_that_does_not_read_its_answer_at_all_is_disconnected(gateway):
    async with (
        asyncio.timeout(LIMIT),
        gateway(LONG, server=QUICK) as running,
        asked_for_a_long_answer(running) as (reader, length),
    ):
        for _ in range(4):
            await a_timeout_later(running.url)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(length)


class HealthCheck:
    """Asks again and again over new connections; `slowest` is the longest time that an answer took."""

    def __init__(self, client):
        self._client = client
        self.count = 0
        self.slowest = 0.0

    async def __aenter__(self):
        self._is_over = False
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *error):
        self._is_over = True
        await self._task  # the last one counts, too

    async def _run(self):
        while not self._is_over:
            began = time.monotonic()
            answer = await self._client.get("/health/live")
            assert answer.status_code == 200
            self.count += 1
            self.slowest = max(self.slowest, time.monotonic() - began)


@contextlib.asynccontextmanager
async def crowd(url, count, sent):
    """So many connections; the value is how many of them the server has closed."""
    address = httpx.URL(str(url))
    closed = 0

    class Silent(asyncio.Protocol):
        def connection_made(self, transport):
            transport.write(sent)

        def connection_lost(self, error):
            nonlocal closed
            closed += 1

    loop = asyncio.get_running_loop()
    transports = []
    try:
        while len(transports) < count:
            batch = [loop.create_connection(Silent, address.host, address.port) for _ in range(100)]
            transports += [transport for transport, _ in await asyncio.gather(*batch)]
        yield lambda: closed
    finally:
        for transport in transports:
            transport.abort()


async def all_closed(closed, count):
    while closed() < count:  # noqa: ASYNC110 - there is no event for the last of many
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "sent", [b"", b"G", b"GET / HTTP/1.1\r\n", PREFACE + SETTINGS], ids=["0", "1", "half", "HTTP/2"]
)
async def test_more_silent_connections_than_a_worker_may_have_keep_nobody_out(project, sent):
    """With 512 files, a worker accepts 256 connections. The timeout is far away."""
    configure(project, server={"headerTimeout": 600})
    async with (
        served(project, files=512) as (client, _),
        HealthCheck(client) as health,
        crowd(client.base_url, 600, sent) as closed,
    ):
        await all_closed(closed, 600 - 256)
        assert health.count
        assert (await client.post("/api/calls", json={"tool": "send_note", "arguments": {"text": "hi"}})).json()["ok"]


async def test_thousands_of_silent_connections_do_not_stop_health_checks_and_are_closed(project, capsys):
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(10_000, (soft - 500) // 100 * 100)
    configure(project, server={"headerTimeout": 5})
    async with (
        served(project) as (client, _),
        HealthCheck(client) as health,
        crowd(client.base_url, count, b"") as closed,
    ):
        await all_closed(closed, count)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{count} silent connections; slowest of {health.count} health checks: {health.slowest:.2f} s\n"
        )
    assert health.count > 10
    assert health.slowest < 5


async def test_as_many_requests_as_connections_are_possible_leave_room_for_health_checks(project):
    """With 256 files, a worker has 128 connections, and 96 of them may have requests."""
    configure(project, simulator={"kinds": ["slow_drip:0.4"]})
    body = {"model": "sim", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    async with served(project, files=256) as (client, _):
        answers = [asyncio.create_task(client.post("/v1/chat/completions", json=body)) for _ in range(140)]
        async with HealthCheck(client) as health:
            statuses = [(await answer).status_code for answer in answers]
        assert health.count > 1
    assert statuses.count(200) >= 96
    assert set(statuses) == {200, 503}


async def test_of_a_full_worker_a_connection_with_a_request_stays(project):
    configure(project, simulator={"kinds": ["slow_drip:0.4"]}, server={"headerTimeout": 600})
    body = {"model": "sim", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    async with (
        served(project, files=512) as (client, _),
        client.stream("POST", "/v1/chat/completions", json=body) as answer,
    ):
        chunks = answer.aiter_raw()
        first = await anext(chunks)
        async with crowd(client.base_url, 600, b"") as closed:
            await all_closed(closed, 600 - 256)
            rest = b"".join([chunk async for chunk in chunks])
    assert (first + rest).endswith(b"data: [DONE]\n\n")

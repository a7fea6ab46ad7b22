"""Pages in a browser: which may change something on a server without keys, and what every answer tells browsers."""

import asyncio
import base64
import json
import os

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.servers import ServerSettings
from groundwire.serving.application import Application, Doors
from groundwire.serving.running import serving
from tests.gateway.raw_http2 import http2_stream
from tests.gateway.raw_upstream import LIMIT

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
CHANGES = [
    ("POST", "/api/calls"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/messages"),
    ("POST", "/v1beta/models/m:generateContent"),
    ("PUT", "/relay/desk/tools"),
    ("DELETE", "/relay/desk/tools"),
    ("DELETE", "/v1/responses/resp_1"),
    ("POST", "/api/sessions/s/end"),
    ("POST", "/mcp"),
    ("DELETE", "/mcp"),
    ("PATCH", "/api/apps/any"),
]
FOREIGN = [
    "http://localhost:3000",
    "http://127.0.0.1",
    "http://localhost",
    "https://evil.example",
    "http://127.0.0.1.evil.example",
    "http://evil.example/127.0.0.1",
    "chrome-extension://abcdefgh",
    "null",
    "",
]
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "frame-ancestors 'none'",
}


class Done:
    """A gateway with a tool that notes its calls."""

    def __init__(self):
        self.texts = []

        @tool(category="action")
        def note(text: str) -> str:
            """Note it."""
            self.texts.append(text)
            return text

        self.registry = Registry([note])


@pytest.fixture
def done():
    return Done()


def call_of(text="hi"):
    return {"tool": "note", "arguments": {"text": text}}


def secured(answer):
    return {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_of_another_origin_changes_nothing_on_a_server_without_keys(gateway, done, origin):
    async with (
        gateway("Hello.", registry=done.registry) as running,
        httpx.AsyncClient(base_url=running.url, headers={"origin": origin}) as client,
    ):
        for method, path in CHANGES:
            body = {**call_of(), "model": running.model, **CHAT}
            answer = await client.request(method, path, json=body)
            assert (method, path, answer.status_code, secured(answer)) == (method, path, 403, True)
        assert (done.texts, running.upstream.requests) == ([], [])


@pytest.mark.parametrize("path", ["/api/calls", "/v1/chat/completions"])
async def test_a_header_that_cannot_be_read_is_no_way_around(gateway, done, path):
    async with gateway("Hello.", registry=done.registry) as running:
        url = httpx.URL(running.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        body = json.dumps({"model": running.model, **CHAT} if path.startswith("/v1") else call_of()).encode()
        writer.write(
            b"POST %b HTTP/1.1\r\nhost: %b\r\norigin: http://\xff\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (path.encode(), url.netloc, len(body), body)
        )
        async with asyncio.timeout(LIMIT):
            answer = await reader.read()
        writer.close()
        assert running.upstream.requests == []
    assert (answer.split(b" ")[1], done.texts) == (b"403", [])


@pytest.mark.parametrize(
    ("kind", "is_refused"),
    [
        ("application/json", False),
        ("application/json; charset=utf-8", False),
        ("application/json-patch+json", False),
        ("image/png", False),
        ("application/pdf", False),
        ("text/csv", False),
        ("text/plain", True),
        ("text/plain;charset=UTF-8", True),
        ("TEXT/PLAIN ; x=application/json", True),
        ("application/x-www-form-urlencoded", True),
        ("multipart/form-data; boundary=x", True),
        ("multipart/mixed", True),
        ("json", True),
        ("", True),
        (None, True),
    ],
)
async def test_a_page_of_its_own_sends_no_content_type_that_a_form_can(gateway, done, kind, is_refused):
    headers = {} if kind is None else {"content-type": kind}
    async with (
        gateway("Hello.", registry=done.registry) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        content = json.dumps(call_of()).encode()
        from_page = await client.post("/api/calls", content=content, headers={**headers, "origin": running.url})
        assert (from_page.status_code == 403, done.texts == []) == (is_refused, is_refused)
        from_program = await client.post("/api/calls", content=content, headers=headers)
    assert (from_program.status_code, done.texts[-1]) == (200, "hi")


@pytest.mark.parametrize(("content", "status"), [(b"", 404), (b"{", 403)])
async def test_without_a_content_type_a_page_may_send_no_byte_of_a_body(gateway, content, status):
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post("/api/sessions/none/end", content=content, headers={"origin": running.url})
    assert answer.status_code == status


async def test_a_body_of_unknown_length_without_a_content_type_is_refused(gateway):
    async def pieces():
        yield b"{}"

    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post("/api/sessions/none/end", content=pieces(), headers={"origin": running.url})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("same-site", 200), ("none", 200), ("cross-site", 403), ("Cross-Site", 403)],
)
async def test_a_browser_that_says_cross_site_is_believed(gateway, done, site, status):
    async with (
        gateway("Hello.", registry=done.registry) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        headers = {"origin": running.url, "sec-fetch-site": site}
        answer = await client.post("/api/calls", json=call_of(), headers=headers)
    assert (answer.status_code, len(done.texts)) == (status, 1 if status == 200 else 0)


async def test_with_keys_the_key_decides_and_not_the_page(gateway):
    """No browser adds a key by itself, so a page that sends one was given it."""
    page = {"origin": "https://app.example", "sec-fetch-site": "cross-site", "content-type": "text/plain"}
    async with (
        gateway("Hello.", environ={"GROUNDWIRE_MASTER_KEY": "the-master"}) as running,
        httpx.AsyncClient(base_url=running.url, headers=page) as client,
    ):
        content = json.dumps({"model": running.model, **CHAT})
        without = await client.post("/v1/chat/completions", content=content)
        with_key = await client.post("/v1/chat/completions", content=content, headers={"x-api-key": "the-master"})
    assert (without.status_code, with_key.status_code) == (401, 200)


@pytest.mark.parametrize("path", ["/api/calls", "/v1/chat/completions", "/mcp"])
async def test_an_origin_that_settings_allow_may_use_the_server_and_read_its_answers(gateway, done, path):
    settings = ServerSettings(allowed_origins=("http://LocalHost:3000", "tauri://localhost"))
    page = {"origin": "http://localhost:3000", "sec-fetch-site": "same-site", "accept": "application/json"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", **call_of(), **CHAT}
    async with (
        gateway("Hello.", registry=done.registry, server=settings) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        body = (
            {"model": running.model, **message} if path.startswith("/v1") else message if path == "/mcp" else call_of()
        )
        answers = [
            await client.post(path, json=body, headers={**page, "origin": origin})
            for origin in ("http://localhost:3000", "tauri://localhost", "http://localhost:3001")
        ]
        told = await client.post(path, json=[], headers=page)
    assert [answer.status_code == 403 for answer in answers] == [False, False, True]
    assert [answer.headers.get("access-control-allow-origin") for answer in answers] == [
        "http://localhost:3000", "tauri://localhost", None,
    ]  # fmt: skip
    assert (told.status_code >= 400, told.headers["access-control-allow-origin"]) == (True, "http://localhost:3000")
    assert told.headers["vary"] == "origin"


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://localhost:3001"])
async def test_a_browser_that_asks_first_is_told_what_an_allowed_page_may_send(gateway, origin):
    settings = ServerSettings(allowed_origins=("http://localhost:3000",))
    asked = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    async with gateway("Hello.", server=settings) as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.options("/v1/chat/completions", headers=asked)
    allowed = [answer.headers.get(f"access-control-allow-{name}") for name in ("origin", "methods", "headers")]
    if origin == "http://localhost:3000":
        assert (answer.status_code, allowed) == (204, [origin, "POST", "content-type"])
    else:
        assert (answer.status_code >= 400, allowed) == (True, [None, None, None])


@pytest.mark.parametrize(
    "origin", ["null", "*", "localhost:3000", "http://localhost:3000/", "http://a b", "http://*.example"]
)
def test_a_setting_that_is_no_origin_is_refused(origin):
    with pytest.raises(ConfigError):
        ServerSettings(allowed_origins=(origin,))


@pytest.mark.parametrize(("origin", "is_refused"), [("http://localhost:3000", True), ("http://gw.test", False)])
async def test_over_http_2_the_origin_is_compared_with_the_authority(gateway, origin, is_refused):
    server = ServerSettings(allowed_hosts=("gw.test",))
    async with (
        gateway("Hello.", server=server) as running,
        http2_stream(httpx.URL(running.url)) as stream,
        asyncio.timeout(LIMIT),
    ):
        headers = {"origin": origin, "content-type": "application/json"}
        stream.begin("POST", "/v1/chat/completions", "gw.test", **headers)
        stream.send(json.dumps({"model": running.model, **CHAT}).encode(), is_last=True)
        told = json.loads(await stream.answer())
    assert ("error" in told) is is_refused


class Opened:
    """Doors of an application that opens every websocket, and shows one page with that policy."""

    def __init__(self, policy=""):
        self.sockets = 0
        self.policy = policy.encode()

    async def __aenter__(self):
        return Doors(other=self.app)

    async def __aexit__(self, *failure):
        pass

    async def app(self, scope, receive, send):
        if scope["type"] == "websocket":
            self.sockets += 1
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": 1000})
            return
        headers = [(b"content-type", b"text/html")]
        if self.policy:
            headers.append((b"content-security-policy", self.policy))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"<p>"})


async def handshake(url, **headers):
    """The status of a websocket's handshake."""
    address = httpx.URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    key = base64.b64encode(os.urandom(16)).decode()
    fields = {
        "host": address.netloc.decode(),
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-key": key,
    }
    lines = "".join(
        f"{name}: {value}\r\n" for name, value in {**fields, "sec-websocket-version": 13, **headers}.items()
    )
    writer.write(f"GET /ws HTTP/1.1\r\n{lines}\r\n".encode())
    async with asyncio.timeout(LIMIT):
        status = (await reader.readline()).split(b" ")[1]
    writer.close()
    return int(status)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"origin": "OWN"}, 101),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "OWN", "sec-fetch-site": "cross-site"}, 403),
    ],
)
async def test_a_websocket_is_opened_for_programs_and_pages_of_its_own(headers, status):
    opened = Opened()
    async with serving(Application(opened), "127.0.0.1") as url:
        given = {name: value.replace("OWN", url) for name, value in headers.items()}
        assert await handshake(url, **{name.replace("_", "-"): value for name, value in given.items()}) == status
    assert opened.sockets == (1 if status == 101 else 0)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("", "frame-ancestors 'none'"),
        ("default-src 'self'", "default-src 'self'; frame-ancestors 'none'"),
        ("frame-ancestors 'self'", "frame-ancestors 'self'"),
    ],
)
async def test_a_pages_own_policy_is_completed_and_not_replaced(policy, told):
    async with (
        serving(Application(Opened(policy)), "127.0.0.1") as url,
        httpx.AsyncClient(base_url=url) as client,
    ):
        answer = await client.get("/page")
    assert answer.headers.get_list("content-security-policy") == [told]


async def test_every_answer_with_a_body_has_the_security_headers(gateway, done):
    async with (
        gateway("Hello.", registry=done.registry, server=ServerSettings(max_body=1024)) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        chat = {"model": running.model, **CHAT}
        answers = [
            await client.post("/v1/chat/completions", json=chat),
            await client.post("/v1/chat/completions", json={**chat, "stream": True}),
            await client.post("/v1/chat/completions", json={**chat, "x": "x" * 2000}),
            await client.post("/v1/messages", json=chat, headers={"idempotency-key": "k"}),
            await client.post("/v1/messages", json=chat, headers={"idempotency-key": "k"}),
            await client.post("/v1/responses", json={"model": running.model, "input": "hi"}),
            await client.post("/v1beta/models/m:streamGenerateContent", json={"contents": []}),
            await client.get("/v1/models"),
            await client.get("/v1/models/none:generateContent"),
            await client.get("/nowhere"),
            await client.put("/v1/messages"),
            await client.get("/metrics"),
            await client.get("/health/ready"),
            await client.get("/openapi.json"),
            await client.post("/api/calls", json=call_of()),
            await client.post("/api/calls", json={}),
            await client.get("/api/audit/export"),
            await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers={"accept": "*/*"}),
            await client.post("/mcp", json={}),
            await client.get("/relay/desk/tools"),
        ]
    assert [(str(answer.url), answer.status_code) for answer in answers if not secured(answer)] == []
    assert {answer.status_code for answer in answers} >= {200, 400, 404, 405, 413}

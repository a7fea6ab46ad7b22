"""The protocol over HTTP, message by message on a real socket."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client
from starlette.applications import Starlette

from groundwire import Runtime
from groundwire.mcp import HttpDoor, mcp_routes
from groundwire.mcp.messages import MAX_MESSAGE
from groundwire.serving.application import Application, Doors
from groundwire.serving.origins import LOOPBACK, origin_fault
from groundwire.serving.running import serving
from tests.mcp.stage import LIMIT, Gate, answering, listening, stage

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@pytest.fixture
async def runtime():
    async with Runtime(stage()) as runtime:
        yield runtime


@pytest.fixture
async def url(runtime):
    async with listening(runtime) as url:
        yield url


@pytest.fixture
async def http():
    async with httpx2.AsyncClient(timeout=LIMIT) as http:
        yield http


def called(name, arguments, number=2):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def answer_of(response):
    """The answer, from JSON or from the last event of a stream."""
    if response.headers["content-type"].startswith("application/json"):
        return response.json()
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1].removeprefix("data: "))


async def greet(http, url):
    response = await http.post(url, json=HELLO, headers=ACCEPT)
    return {**ACCEPT, "Mcp-Session-Id": response.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_a_version_that_both_know_is_agreed_on(http, url, asked, given):
    hello = HELLO | {"params": HELLO["params"] | {"protocolVersion": asked}}
    answer = answer_of(await http.post(url, json=hello, headers=ACCEPT))
    assert answer["result"]["protocolVersion"] == given
    assert answer["result"]["serverInfo"]["name"] == "groundwire"
    assert list(answer["result"]["capabilities"]) == ["tools"]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_it_is_served_beside_other_routes_too(runtime, era):
    door = HttpDoor(runtime)

    @asynccontextmanager
    async def doors():
        async with door.run():
            yield Doors(other=Starlette(routes=mcp_routes(door)))

    application = Application(doors())
    told = []

    async def tell(*progress):
        told.append(progress)

    async with (
        asyncio.timeout(LIMIT),
        serving(application, "127.0.0.1") as address,
        Client(f"{address}/mcp", mode=era) as client,
    ):
        result = await client.call_tool("count", {"to": 1}, progress_callback=tell)
    assert (result.content[0].text, told) == ("1", [(1.0, 1.0, "at 1")])


async def test_ping_is_answered(http, url):
    headers = await greet(http, url)
    answer = answer_of(await http.post(url, json={"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers=headers))
    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


async def test_a_session_holds_what_its_calls_share(http, url, runtime):
    ours, theirs = await greet(http, url), await greet(http, url)
    first = answer_of(await http.post(url, json=called("rare", {}), headers=ours))
    again = answer_of(await http.post(url, json=called("rare", {}, 3), headers=ours))
    other = answer_of(await http.post(url, json=called("rare", {}), headers=theirs))
    assert [first["result"]["isError"], again["result"]["isError"], other["result"]["isError"]] == [False, True, False]
    assert again["result"]["content"][0]["text"].startswith("BUDGET_EXCEEDED: ")
    assert await runtime.store.load_session("default", ours["Mcp-Session-Id"]) is not None


async def test_any_process_serves_any_request_of_a_session(http, tmp_path):
    store = f"sqlite:///{tmp_path / 'shared.db'}"
    async with (
        Runtime(stage(), store) as one,
        Runtime(stage(), store) as two,
        listening(one) as first,
        listening(two) as second,
    ):
        headers = await greet(http, first)
        await http.post(first, json=called("rare", {}), headers=headers)
        again = answer_of(await http.post(second, json=called("rare", {}, 3), headers=headers))
        ended = await http.delete(second, headers=headers)
        gone = await http.post(first, json=called("say", {"text": "hi"}, 4), headers=headers)
    assert again["result"]["content"][0]["text"].startswith("BUDGET_EXCEEDED: ")
    assert (ended.status_code, gone.status_code) == (204, 404)


async def test_a_session_may_be_named_by_the_caller(http, url, runtime):
    headers = {**await greet(http, url), "x-groundwire-session-id": "mine"}
    await http.post(url, json=called("say", {"text": "hi"}), headers=headers)
    assert (await runtime.store.load_session("default", "mine")).calls == 1


async def test_sessions_of_another_tenant_do_not_exist(http, tmp_path):
    store = f"sqlite:///{tmp_path / 'shared.db'}"
    async with Runtime(stage(), store) as runtime, listening(runtime, identify=lambda _: {"tenant": "a"}) as ours:
        headers = await greet(http, ours)
        await http.post(ours, json=called("rare", {}), headers=headers)
        async with listening(runtime, identify=lambda _: {"tenant": "b"}) as theirs:
            other = await http.post(theirs, json=called("rare", {}), headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (404, -32600)


@pytest.mark.parametrize("header", ["mcp-session-id", "x-groundwire-session-id"])
async def test_a_session_is_of_no_use_with_another_key(http, tmp_path, header):
    async with Runtime(stage(), f"sqlite:///{tmp_path / 'shared.db'}") as runtime:
        async with (
            listening(runtime, identify=lambda _: {"actor": "key_1"}) as first,
            listening(runtime, identify=lambda _: {"actor": "key_2"}) as second,
        ):
            headers = await greet(http, first)
            session = headers["Mcp-Session-Id"]
            theirs = {**ACCEPT, header: session}
            refused = [await http.post(second, json=called("rare", {}), headers=theirs)]
            refused.append(await http.delete(second, headers={**ACCEPT, "mcp-session-id": session}))
            own = answer_of(await http.post(first, json=called("rare", {}), headers=headers))
        assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [(404, -32600)] * 2
        assert own["result"]["isError"] is False
        assert (await runtime.store.load_session("default", session)).calls == 1


@pytest.mark.parametrize("session", ["made-up", "mcp_", "mcp_" + "0" * 47, "mcp_" + "0" * 48, "mcp_" + "G" * 48])
async def test_a_session_that_was_never_given_out_is_not_found(http, url, session):
    response = await http.post(url, json=called("say", {"text": "hi"}), headers={**ACCEPT, "Mcp-Session-Id": session})
    assert (response.status_code, response.json()["error"]["code"]) == (404, -32600)


async def test_nothing_is_sent_without_a_request(http, url):
    response = await http.get(url, headers={"Accept": "text/event-stream"})
    assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":[]}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"?"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
    ],
)
async def test_a_bad_message_gets_an_error_and_no_more(http, url, body, code):
    response = await http.post(url, content=body, headers=ACCEPT)
    answer = answer_of(response)
    assert response.status_code < 500
    assert answer["error"]["code"] == code
    assert "Traceback" not in response.text


@pytest.mark.parametrize(("size", "status"), [(MAX_MESSAGE, 400), (MAX_MESSAGE + 1, 413)])
async def test_a_message_has_a_size_limit(http, url, size, status):
    response = await http.post(url, content=b"x" * size, headers=ACCEPT)
    assert response.status_code == status


async def test_a_failure_of_ours_is_told_without_its_reason(http):
    runtime = Runtime(stage(), "sqlite:////nowhere/at/all/store.db")
    async with listening(runtime) as url:
        answer = answer_of(await http.post(url, json=called("say", {"text": "hi"}), headers=ACCEPT))
    assert answer["error"]["code"] == -32603
    assert "nowhere" not in answer["error"]["message"]


async def test_a_connection_that_breaks_does_not_stop_a_call(http):
    gate = Gate()
    async with asyncio.timeout(LIMIT), Runtime(stage(gate.tool())) as runtime:
        async with listening(runtime) as url:
            request = asyncio.create_task(http.post(url, json=called("wait", {}), headers=await greet(http, url)))
            await gate.begun.wait()
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)
            gate.open.set()
            await gate.ended.wait()
        records = [record.entry async for record in runtime.store.audit_records()]
    assert [record.success for record in records] == [True]


@pytest.mark.parametrize(
    ("host", "origin", "is_refused"),
    [
        ("localhost:8741", None, False),
        ("127.0.0.1", None, False),
        ("[::1]:8741", "http://[::1]:8741", False),
        ("LOCALHOST:1", "http://localhost:1", False),
        ("localhost", "http://LOCALHOST:80", False),
        ("localhost:443", "https://localhost", False),
        ("localhost:8741", "http://localhost:3000", True),
        ("localhost:8741", "http://127.0.0.1:8741", True),
        ("localhost:8741", "http://localhost", True),
        ("localhost:8741", "https://app.example", False),
        ("localhost:8741", "https://evil.example", True),
        ("localhost:8741", "null", True),
        ("evil.example:8741", None, True),
        ("localhost.evil.example", None, True),
        ("", None, True),
    ],
)
def test_a_page_elsewhere_cannot_use_a_server_on_this_machine(host, origin, is_refused):
    assert bool(origin_fault(host, origin, LOOPBACK, ("https://app.example",))) is is_refused


@pytest.mark.parametrize(("origin", "is_refused"), [("https://gw.example", False), ("https://other.example", True)])
def test_a_server_for_all_names_takes_its_own_pages_only(origin, is_refused):
    assert bool(origin_fault("gw.example", origin, None, ())) is is_refused


async def test_a_request_that_names_another_host_is_refused(http, url):
    headers = {**ACCEPT, "Host": "evil.example"}
    assert [(await http.request(method, url, headers=headers)).status_code for method in ("POST", "GET", "DELETE")] == [
        403,
        403,
        403,
    ]


async def test_the_user_may_agree_through_the_client_where_the_server_is_the_users_own(runtime):
    asked = []
    async with (
        asyncio.timeout(LIMIT),
        listening(runtime, elicits=True) as url,
        Client(url, mode="2026-07-28", elicitation_callback=answering("accept", asked)) as client,
    ):
        result = await client.call_tool("wipe", {"disk": "a"})
    assert (result.structured_content, asked) == ({"wiped": "a"}, ['Run wipe with {"disk":"a"}?'])


async def test_otherwise_it_may_not(runtime):
    asked = []
    async with (
        asyncio.timeout(LIMIT),
        listening(runtime) as url,
        Client(url, mode="2026-07-28", elicitation_callback=answering("accept", asked)) as client,
    ):
        result = await client.call_tool("wipe", {"disk": "a"})
    assert (result.is_error, asked) == (True, [])


async def test_a_client_that_has_left_when_its_result_is_sent_is_no_error_of_ours(runtime, caplog):
    body = json.dumps(called("say", {"text": "hi"})).encode()
    left = asyncio.Event()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            *((name.lower().encode(), value.encode()) for name, value in ACCEPT.items()),
        ],
    }

    async def receive():
        if body_left:
            return {"type": "http.request", "body": body_left.pop(), "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if message["type"] == "http.response.body":
            left.set()
            raise OSError("the client is gone")

    body_left = [body]
    door = HttpDoor(runtime)
    async with asyncio.timeout(LIMIT), door.run():
        await door(scope, receive, send)
    assert left.is_set()
    assert [record for record in caplog.records if record.exc_info] == []

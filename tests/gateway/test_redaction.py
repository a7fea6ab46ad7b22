"""Keys that end up where they do not belong are repeated by no error, no line of a log and no span."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import httpx2 as httpx
import pytest

from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.serving.keys import new_secret
from groundwire.serving.running import serving
from tests.gateway.raw_upstream import LIMIT, gateway_before_raw
from tests.gateway.test_model_limits import body_of
from tests.gateway.test_pass_through import PATHS
from tests.gateway.test_processes import answering

MASTER = "correct-horse-battery"
OWN = new_secret().reveal()
KEYS = {
    "own": OWN,
    "master": MASTER,
    "anthropic": "sk-ant-api03-Zk3xVn8Qw1Lr7Tp5Yb2M-abcdefgh_AA",
    "openai": "sk-proj-Zk3xVn8Qw1Lr7Tp5Yb2Mabcdefgh",
    "google": "AIzaSyD3xVn8Qw1Lr7Tp5Yb2MabcdefghIJKLMN",
    "webhook": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
}
CHAT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "input": "hi", "contents": []}


def requests_with(key):
    """A key in the path, the query, a header and the body, at addresses of every dialect and of our own."""
    paths = [
        f"/{key}",
        f"/nowhere/{key}",
        f"/nowhere/{'x' * 180}/{key}",
        f"/v1/{key}",
        f"/v1/models/{key}",
        f"/v1/messages/{key}",
        f"/v1/responses/{key}",
        f"/v1/responses/{key}/input_items",
        f"/v1beta/{key}",
        f"/v1beta/models/{key}",
        f"/v1beta/models/m:{key}",
        f"/relay/desk/{key}",
        f"/relay/{'x' * 250}-{key}/calls",
        f"/api/{key}",
        f"/api/calls/{key}",
        f"/api/runs/{key}",
        f"/api/jobs/{key}",
        f"/api/approvals/{key}",
        f"/api/audit/records/{key}",
        f"/api/runs?{key}=1",
        f"/api/runs?limit={key}",
        f"/api/runs?before={key}",
        f"/api/signals/{key}",
    ]
    yield from (("GET", path, {}, None) for path in paths)
    yield "POST", f"/v1beta/models/{key}:generateContent", {}, CHAT
    yield "POST", f"/v1beta/models/{key}:streamGenerateContent", {}, CHAT
    yield "POST", f"/v1beta/models/m:{key}", {}, CHAT
    yield "POST", f"/relay/desk/v1beta/models/{key}:generateContent", {}, CHAT
    yield "POST", f"/api/approvals/{key}/approve", {}, {"by": "me"}
    yield "POST", f"/api/effects/{key}/reconcile", {}, {"by": "me", "happened": True}
    yield "POST", "/api/calls", {}, {"tool": "t", "profile": key}
    yield "POST", "/api/calls", {}, {key: 1}
    yield "POST", "/api/calls", {"idempotency-key": key * 20}, {"tool": "t"}
    yield "POST", "/mcp", {}, {"jsonrpc": "2.0", "id": 1, "method": key}
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/gemini", "/v1/messages/count_tokens"):
        yield "POST", path, {}, {"model": key, **CHAT}
        yield "POST", path, {"content-encoding": key}, {"model": "m", **CHAT}
        yield "POST", path, {"x-groundwire-tools": key}, {"model": "m", **CHAT}
        yield "POST", path, {}, {"model": "m", **CHAT, "tools": [{"type": "groundwire", "name": key}]}
        yield "DELETE", f"{path}/{key}", {}, None


async def send_all(client, key):
    """Every answer that is a refusal."""
    for method, path, headers, body in requests_with(key):
        answer = await client.request(method, path, headers=headers, json=body)
        if answer.status_code >= 400:
            yield method, path, answer


@pytest.mark.parametrize("kind", list(KEYS))
async def test_no_error_of_any_dialect_repeats_a_key(kind):
    key = KEYS[kind]
    settings = Settings(store=StoreSettings(url="memory://"), providers={}, default_provider="")
    application = make_application(settings, {"GROUNDWIRE_MASTER_KEY": MASTER})
    found = []
    async with (
        serving(application, "127.0.0.1") as url,
        httpx.AsyncClient(base_url=url, headers={"x-api-key": MASTER}) as client,
    ):
        async for method, path, answer in send_all(client, key):
            found.append((method, path.replace(key, "KEY")))
            told = answer.text + repr(answer.headers)
            assert (found[-1], [part for part in (key, key[:20], key[-20:]) if part in told]) == (found[-1], [])
    assert len(found) > 35


async def test_a_key_is_hidden_in_an_error_within_a_stream():
    """The status is sent by then, so it is the stream itself that says it."""
    told = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hel"}},
        {"type": "error", "error": {"type": "api_error", "message": f"bad key {KEYS['openai']}"}},
    ]
    body = json.loads(body_of("openai-chat", {"stream": True}, is_direct=True))
    async with (
        gateway_before_raw("anthropic") as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
        asyncio.timeout(LIMIT),
    ):
        asking = asyncio.ensure_future(client.post("/v1/chat/completions", json=body))
        call = await running.upstream.next_call()
        await call.begin_stream()
        for event in told:
            await call.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await call.end_stream()
        answer = await asking
    assert (answer.status_code, "Hel" in answer.text, "bad key" in answer.text) == (200, True, True)
    assert KEYS["openai"] not in answer.text


@pytest.mark.parametrize("dialect", list(PATHS))
async def test_a_key_that_a_provider_repeats_is_hidden(dialect):
    error = {"type": "error", "error": {"message": f"bad key {KEYS['openai']}", "type": "invalid_request_error"}}
    async with (
        gateway_before_raw(dialect) as running,
        httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client,
        asyncio.timeout(LIMIT),
    ):
        asking = asyncio.ensure_future(client.post(PATHS[dialect], content=body_of(dialect, {}, is_direct=True)))
        call = await running.upstream.next_call()
        await call.answer(400, json.dumps(error).encode())
        answer = await asking
    assert (answer.status_code, "bad key" in answer.text, KEYS["openai"] in answer.text) == (400, True, False)


HANDLER = """
from groundwire import ErrorType, ToolError

def execute(kind):
    if kind == "planned":
        raise ToolError(ErrorType.AUTH, "refused: https://api.test/v1?key={key}&x=1")
    raise RuntimeError("could not log in with Bearer {key}")
"""
SCHEMA = {
    "toolId": "vault.open",
    "category": "action",
    "modes": ["text"],
    "parameters": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
}


def run(folder, environ, *arguments):
    """What a command prints."""
    command = [sys.executable, "-m", "groundwire", *arguments]
    return subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True).stdout.decode().strip()


def start(folder, environ, output, *arguments):
    with output.open("wb") as file:
        command = [sys.executable, "-m", "groundwire", *arguments]
        return subprocess.Popen(command, cwd=folder, env=environ, start_new_session=True, stdout=file, stderr=file)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_tool(folder, key):
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    (folder / "guide.md").write_text("Open the vault.")
    (folder / "handler.py").write_text(HANDLER.replace("{key}", key))


async def test_a_real_server_writes_no_key_to_its_output(tmp_path):
    """Access log, log with tracebacks, spans with content, and records; whatever the process writes is searched."""
    key, port, output = KEYS["anthropic"], free_port(), tmp_path / "output.txt"
    write_tool(tmp_path / "tools" / "vault_open", key)
    environ = {
        **os.environ,
        "GROUNDWIRE_STORE": f"sqlite:///{tmp_path}/store.db",
        "GROUNDWIRE_MASTER_KEY": MASTER,
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
    }
    run(tmp_path, environ, "build", "tools/")
    own = run(tmp_path, environ, "keys", "create", "--scope", "admin")
    process = start(tmp_path, environ, output, "--verbose", "serve", "--port", str(port), "--access-log")
    headers = {"authorization": f"Bearer {own}"}
    try:
        await answering(port, process)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            for secret in (own, MASTER, key):
                async for _ in send_all(client, secret):
                    pass
            for kind, error in (("planned", "AUTH"), ("not planned", "INTERNAL")):
                called = await client.post("/api/calls", json={"tool": "vault.open", "arguments": {"kind": kind}})
                assert (called.json()["error"]["type"], key in called.text) == (error, False)
            for path in ("/api/effects", "/api/audit", "/api/calls", "/metrics"):
                assert key not in (await client.get(path)).text
            for secret in (own, key):
                called = await client.post("/api/calls", json={"tool": secret, "arguments": {}})
                assert (called.json()["error"]["detail"], secret in called.json()["error"]["message"]) == (
                    "UNKNOWN_TOOL",
                    False,
                )
            metrics = (await client.get("/metrics")).text
            assert [secret for secret in (own, key) if secret in metrics] == []
        async with asyncio.timeout(60):
            while output.read_bytes().count(b'"name": "execute_tool') < 2:  # noqa: ASYNC110 - another process writes them
                await asyncio.sleep(0.05)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
    written = output.read_text()
    assert "Traceback" in written
    assert '"path":"/v1/models/[hidden]"' in written
    assert [secret for secret in (own, MASTER, key) if secret in written] == []

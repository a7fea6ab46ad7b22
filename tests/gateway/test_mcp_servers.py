"""Tools of `[mcpServers]` at the gateway: named, pinned and governed as everywhere, and no reason not to serve."""

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire.assembly import ProviderSettings, Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.registry.servers import McpServerSettings
from groundwire.runtime.policies.limits import Overrides, PolicyRule
from groundwire.serving.running import serving
from groundwire.testing import Answer, Ask, simulator
from tests.gateway.test_processes import answering, start

SERVER = Path(__file__).parent.parent / "mcp" / "upstream_server.py"
NOTED = 'echo begun >> "$2/life"; "$0" "$1" "$2"; echo ended >> "$2/life"'
"""Runs the server, and notes when it begins and ends."""
LIMIT = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(folder):
    return {"command": "sh", "args": ("-c", NOTED, sys.executable, str(SERVER), str(folder))}


@asynccontextmanager
async def serving_tools(*script, servers, **more):
    async with simulator(*script) as upstream:
        settings = Settings(
            store=StoreSettings(url="memory://"),
            providers={"openai": ProviderSettings(dialect="openai-chat", base_url=upstream.openai_url)},
            mcp_servers={name: McpServerSettings(**options) for name, options in servers.items()},
            **more,
        )
        async with (
            serving(make_application(settings, os.environ), "127.0.0.1") as url,
            httpx.AsyncClient(base_url=url, timeout=LIMIT) as client,
        ):
            yield client


async def chat(client, *names):
    tools = [{"type": "groundwire", "name": name} for name in names]
    body = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "hi"}], "tools": tools}
    return await client.post("/v1/chat/completions", json=body)


def lives(folder):
    return folder.joinpath("life").read_text().split()


async def test_a_model_uses_another_servers_tool_and_the_call_is_on_record(folder):
    script = (Answer(calls=(Ask("up__find", {"key": "a"}),)), Answer("Found."))
    async with asyncio.timeout(LIMIT), serving_tools(*script, servers={"up": command(folder)}) as client:
        answer = await chat(client, "up.find")
        (call,) = (await client.get("/api/calls")).json()["items"]
        audit = (await client.get("/api/audit/verify")).json()
    assert answer.json()["choices"][0]["message"]["content"] == "Found."
    assert (call["tool"], call["result"]["ok"]) == ("up.find", True)
    assert (audit["ok"], audit["records"]) == (True, 1)
    assert lives(folder) == ["begun", "ended"]


async def test_policies_hold_for_them_too(folder):
    rules = (PolicyRule(tools=("up.send.mail",), limits=Overrides(confirm=True)),)
    async with asyncio.timeout(LIMIT), serving_tools(servers={"up": command(folder)}, policies=rules) as client:
        answer = await client.post("/api/calls", json={"tool": "up.send.mail", "arguments": {"key": "a"}})
    assert answer.json()["error"]["type"] == "CONFIRMATION_REQUIRED"
    assert not folder.joinpath("sent").exists()


async def test_what_a_server_declares_otherwise_than_it_was_pinned_is_not_offered(folder):
    servers = {"up": command(folder)}
    async with asyncio.timeout(LIMIT), serving_tools(servers=servers):
        pass
    folder.joinpath("changed").touch()
    async with asyncio.timeout(LIMIT), serving_tools("Hello.", servers=servers) as client:
        changed, same = await chat(client, "up.find"), await chat(client, "up.fail")
    assert (changed.status_code, same.status_code) == (400, 200)
    assert "there is no tool 'up.find'" in changed.json()["error"]["message"]


async def test_a_server_that_is_down_is_named_and_everything_else_is_served(folder, caplog):
    servers = {"up": command(folder), "gone": {"command": str(folder / "nothing")}}
    with caplog.at_level(logging.WARNING, "groundwire"):
        async with asyncio.timeout(LIMIT), serving_tools("Hello.", servers=servers) as client:
            ready = await client.get("/health/ready")
            answer = await chat(client, "up.find")
    assert (ready.status_code, ready.json()["mcpServers"]) == (200, {"up": "connected", "gone": "unreachable"})
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert "the MCP server gone cannot be reached" in caplog.text


async def test_each_worker_has_its_own_connections(folder):
    arguments = ", ".join(f"'{each}'" for each in command(folder)["args"])
    folder.joinpath("groundwire.toml").write_text(f"[mcpServers.up]\ncommand = 'sh'\nargs = [{arguments}]\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = start(["serve", "--port", str(port), "--workers", "2"], {**os.environ}, folder)
    try:
        await answering(port, process)
        async with asyncio.timeout(LIMIT):
            while lives(folder) != ["begun", "begun"]:  # noqa: ASYNC110 - it is told by a file
                await asyncio.sleep(0.05)  # the other worker is being started: there is nothing else to wait for
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


async def test_pins_that_cannot_be_trusted_are_told_before_anything_is_served(folder):
    folder.joinpath("groundwire.toml").write_text("[mcpServers.up]\ncommand = 'sh'\n")
    folder.joinpath("mcp.lock").write_text("{")
    process = start(["serve", "--port", "0"], {**os.environ}, folder)
    said, _ = await asyncio.to_thread(process.communicate, timeout=LIMIT)
    assert process.returncode == 1
    assert b"mcp.lock cannot be read" in said

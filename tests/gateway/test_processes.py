"""Gateways as real processes that share a store: one is killed between two turns, and another goes on."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire.testing import Answer, Ask, simulator
from tests.postgres_server import new_schema, running_server

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "name": "get_weather", "parameters": SCHEMA}
SCRIPT = (Answer("Let me see.", reasoning="Look.", calls=(Ask("get_weather", {"city": "Oslo"}),)), Answer("Sunny."))


@pytest.fixture(scope="session")
def server():
    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/groundwire.db"
    return new_schema(request.getfixturevalue("server"))


@asynccontextmanager
async def served(store, upstream, folder):
    """A gateway in a process group of its own; the value is its address and how to kill it at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {**os.environ, **upstream.environment, "GROUNDWIRE_STORE": store, "GROUNDWIRE_DEFAULT_PROVIDER": "gemini"}
    process = start(["serve", "--port", str(port)], environ, folder)
    try:
        await answering(port, process)
        yield f"http://127.0.0.1:{port}", lambda: os.killpg(process.pid, signal.SIGKILL)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def start(arguments, environ, folder):
    command = [sys.executable, "-m", "groundwire", *arguments]
    return subprocess.Popen(
        command, env=environ, cwd=folder, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


async def answering(port, process):
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        while process.poll() is None:
            try:
                await client.get("/health/live")
            except httpx.TransportError:
                await asyncio.sleep(0.05)  # it is being started: there is nothing else to wait for
            else:
                return
    pytest.fail(process.stdout.read().decode())


async def post(url, path, body):
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.requirement("A-082")
async def test_the_second_of_two_gateways_goes_on_when_the_first_is_killed_between_the_turns(store, tmp_path):
    async with (
        simulator(*SCRIPT) as upstream,
        served(store, upstream, tmp_path) as (first, kill),
        served(store, upstream, tmp_path) as (second, _),
    ):
        body = {"model": "gemini-3-flash", "conversation": "trip"}
        one = await post(first, "/v1/responses", {**body, "input": "Weather?", "tools": [TOOL]})
        question = [{"role": "user", "content": "And by chat?"}]
        chat = {"model": "gemini-3-flash", "tools": [{"type": "function", "function": {"name": "get_weather"}}]}
        asked = (await post(first, "/v1/chat/completions", {**chat, "messages": question}))["choices"][0]["message"]
        kill()
        call = next(item for item in one["output"] if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        two = await post(second, "/v1/responses", {**body, "input": [result]})
        by_name = upstream.requests[-1].body
        bare = [{**each, "function": each["function"], "extra_content": None} for each in asked["tool_calls"]]
        said = {"role": "assistant", "content": asked["content"], "tool_calls": bare}
        answer = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "sunny"}
        three = await post(second, "/v1/chat/completions", {**chat, "messages": [*question, said, answer]})
        by_steps = upstream.requests[-1].body
    assert two["output"][0]["content"][0]["text"] == three["choices"][0]["message"]["content"] == "Sunny."
    for sent in (by_name, by_steps):
        parts = [part for content in sent["contents"] for part in content["parts"]]
        signed = next(part["thoughtSignature"] for part in parts if "functionCall" in part)
        assert signed != "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

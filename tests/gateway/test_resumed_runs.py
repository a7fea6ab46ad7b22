"""Runs whose server is killed, before and after a decision: another server resumes them, and nothing is done twice.

Real processes, real signals; a file outside of all stores counts what was really done.
"""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire.testing import Answer, Ask, simulator
from tests.gateway.test_processes import served

PAY = Answer(calls=(Ask("pay", {"amount": 5}),))
WAIT = Answer(calls=(Ask("wait", {"text": "a"}),))
HANDLER = """
import os, pathlib
def execute({argument}):
    with open(os.environ["WITNESS"], "a") as file:
        file.write("{name}\\n")
    {then}
    return {{"done": {argument}}}
"""
BLOCK = 'open(os.environ["GATE"]).read()'  # a named pipe: until somebody opens its other end


@pytest.fixture
def store(shared_store):
    return shared_store


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with an action that needs an approval, and one that can be killed in the middle."""
    witness, gate = tmp_path / "witness.txt", tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("WITNESS", str(witness))
    monkeypatch.setenv("GATE", str(gate))
    for name, argument, kind, confirm, then in (
        ("pay", "amount", "integer", True, "pass"),
        ("wait", "text", "string", False, BLOCK),
    ):
        folder = tmp_path / "tools" / name
        folder.mkdir(parents=True)
        schema = {
            "toolId": name,
            "category": "action",
            "requiresConfirmation": confirm,
            "policy": {"hardMs": 60000},
            "parameters": {"type": "object", "properties": {argument: {"type": kind}}, "required": [argument]},
        }
        (folder / "schema.json").write_text(json.dumps(schema))
        (folder / "guide.md").write_text(f"# {name}\n\n{name} it.\n")
        (folder / "handler.py").write_text(HANDLER.format(argument=argument, name=name, then=then))
    (tmp_path / "groundwire.toml").write_text("[ledger]\nleaseSeconds = 2\n")
    groundwire(tmp_path, "build", "tools/")
    return tmp_path


def groundwire(folder, *arguments, **environ):
    command = [sys.executable, "-m", "groundwire", *arguments]
    done = subprocess.run(
        command, check=False, cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def done(project):
    witness = project / "witness.txt"
    return witness.read_text().split() if witness.exists() else []


async def poll(url, path, is_done):
    async with asyncio.timeout(90), httpx.AsyncClient(base_url=url, timeout=30) as client:
        while True:
            body = (await client.get(path)).json()
            if is_done(body):
                return body


async def post(url, path, body, **headers):
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        answer = await client.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


@asynccontextmanager
async def waiting(store, upstream, project):
    """A server with a response in the background that waits for an approval."""
    async with served(store, upstream, project) as (url, kill):
        tools = [{"type": "groundwire", "name": "pay"}]
        body = {"model": "gemini-3-flash", "input": "Pay.", "background": True, "tools": tools}
        created = await post(url, "/v1/responses", body)
        path = f"/v1/responses/{created['id']}"
        pending = await poll(url, path, lambda body: body["groundwire"].get("approvals"))
        yield url, kill, path, pending["groundwire"]["approvals"][0]["id"]


async def test_a_decision_made_while_no_server_runs_is_carried_out_by_the_next_one(store, project):
    async with simulator(PAY, "Paid.") as upstream:
        async with waiting(store, upstream, project) as (_, kill, path, approval_id):
            kill()
        groundwire(project, "approvals", "approve", approval_id, GROUNDWIRE_STORE=store)
        assert done(project) == []
        async with served(store, upstream, project) as (url, _):
            body = await poll(url, path, lambda body: body["status"] == "completed")
    assert (body["output"][0]["content"][0]["text"], done(project)) == ("Paid.", ["pay"])


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2, 0.6, 1.5])
async def test_a_server_killed_after_the_decision_leaves_a_run_that_is_resumed_once(store, project, delay):
    async with simulator(PAY, "Paid.") as upstream:
        async with waiting(store, upstream, project) as (url, kill, path, approval_id):
            await post(url, f"/api/approvals/{approval_id}/approve", {})
            await asyncio.sleep(delay)  # the moment of the kill is what is tried here
            kill()
        async with served(store, upstream, project) as (url, _):
            body = await poll(url, path, lambda body: body["status"] == "completed")
    assert body["output"][0]["content"][0]["text"] == "Paid."
    assert done(project) == ["pay"]


async def test_a_run_killed_in_its_handler_is_interrupted_then_resumed_and_its_effect_is_not_repeated(store, project):
    async with simulator(WAIT, "It may have happened.") as upstream:
        async with served(store, upstream, project) as (url, kill):
            body = {"model": "gemini-3-flash", "messages": [{"role": "user", "content": "Wait."}]}
            asking = asyncio.create_task(post(url, "/v1/chat/completions", body, **{"x-groundwire-tools": "wait"}))
            runs = await poll(url, "/api/runs", lambda body: body["items"] and done(project))
            run_id = runs["items"][0]["runId"]
            running = await poll(url, f"/api/runs/{run_id}", lambda body: True)
            assert (running["run"]["status"], running["openCalls"][0]["name"]) == ("running", "wait")
            kill()
            with pytest.raises(httpx.TransportError):
                await asking
        async with served(store, upstream, project) as (url, _):
            ended = await poll(url, f"/api/runs/{run_id}", lambda body: body["run"]["status"] == "ended")
    assert (ended["openCalls"], ended["run"]["outcome"], ended["run"]["text"]) == (
        [],
        "completed",
        "It may have happened.",
    )
    assert ended["calls"][0]["result"]["error"]["type"] == "OUTCOME_UNKNOWN"
    assert done(project) == ["wait"]


async def test_a_run_is_cancelled_over_http_while_another_request_waits_for_it(store, project):
    async with simulator(WAIT, "Done.") as upstream, served(store, upstream, project) as (url, _):
        body = {"model": "gemini-3-flash", "messages": [{"role": "user", "content": "Wait."}]}
        asking = asyncio.create_task(post(url, "/v1/chat/completions", body, **{"x-groundwire-tools": "wait"}))
        runs = await poll(url, "/api/runs", lambda body: body["items"] and done(project))
        run_id = runs["items"][0]["runId"]
        assert (await post(url, f"/api/runs/{run_id}/cancel", {"note": "too slow"}))["cancelRequested"]
        ended = await poll(url, f"/api/runs/{run_id}", lambda body: body["run"]["status"] == "ended")
        assert ended["run"]["outcome"] == "cancelled"
        assert (await asking)["choices"][0]["finish_reason"] == "stop"
        (project / "gate").write_text("x")  # let the handler's thread end

"""A server answers and records each call, whatever leaves its handler; no other client notices."""

import json
import os

import httpx2 as httpx
import pytest

from groundwire.testing import simulator
from tests.gateway.test_processes import served, start

HANDLER = """
import asyncio
import builtins
import os


class Own(BaseException):
    pass


ODD = {"Own": Own, "CancelledError": asyncio.CancelledError}


async def leave(error):
    raise error


async def execute(error, where):
    if not error:
        return os.getpid()
    raised = (ODD.get(error) or getattr(builtins, error))()
    if where == "late":
        await asyncio.sleep(0)
    elif where == "task":
        async with asyncio.TaskGroup() as group:
            group.create_task(leave(raised))
    elif where == "awaited task":
        await asyncio.create_task(leave(raised))
    raise raised
"""
SCHEMA = {
    "toolId": "t",
    "category": "action",
    "modes": ["text"],
    "requiresConfirmation": False,
    "parameters": {
        "type": "object",
        "properties": {"error": {"type": "string"}, "where": {"type": "string"}},
        "required": ["error", "where"],
    },
}
ERRORS = ["ValueError", "GeneratorExit", "KeyboardInterrupt", "SystemExit", "CancelledError", "MemoryError", "Own"]


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools" / "t"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    (folder / "guide.md").write_text("# T\n\nEnds in one way or another.\n")
    (folder / "handler.py").write_text(HANDLER)
    built = start(["build", "tools/"], dict(os.environ), tmp_path)
    assert built.wait(60) == 0, built.communicate()
    built.communicate()
    return tmp_path


async def test_whatever_a_handler_raises_is_answered_and_recorded_and_the_worker_lives_on(tools):
    async with (
        simulator() as upstream,
        served(f"sqlite:///{tools}/store.db", upstream, tools) as (url, _),
        httpx.AsyncClient(base_url=url, timeout=30) as client,
    ):

        async def call(error, where):
            answer = await client.post("/api/calls", json={"tool": "t", "arguments": {"error": error, "where": where}})
            assert answer.status_code == 200, (error, where)
            return answer.json()

        first = await call("", "")
        for error in ERRORS:
            for where in ("at once", "late", "task", "awaited task"):
                failed = (await call(error, where))["error"]
                assert (error, where, failed["type"]) == (error, where, "INTERNAL")
                assert failed["partialSideEffects"] is True
        last = await call("", "")
        recorded = (await client.get("/api/calls", params={"limit": 200})).json()
    assert first["data"] == last["data"]
    assert len(recorded["items"]) == 2 + 4 * len(ERRORS)

"""`groundwire mcp` as a process: the official client, and messages written by hand."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from groundwire.mcp.messages import MAX_MESSAGE, BadMessage, read_message
from groundwire.registry.build import build
from tests.mcp.stage import LIMIT, answering, text_of

ERAS = ("legacy", "2026-07-28")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


def add_tool(name, handler, **schema):
    folder = Path("tools", name)
    folder.mkdir()
    written = {"toolId": name, "category": "utility", "parameters": {"type": "object", "properties": {}}, **schema}
    folder.joinpath("schema.json").write_text(json.dumps(written))
    folder.joinpath("guide.md").write_text(f"# {name}\n\nA test.\n")
    folder.joinpath("handler.py").write_text(handler)
    build("tools", ".")


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_lists_and_calls_tools(command, groundwire, era):
    async with asyncio.timeout(LIMIT), Client(command(), mode=era) as client:
        names = [each.name for each in (await client.list_tools()).tools]
        result = await client.call_tool("get_weather", {"city": "Lisbon"})
        sent = await client.call_tool("send_note", {"text": "hi"})
    assert names == ["get_weather", "send_note"]
    assert result.structured_content["city"] == "Lisbon"
    assert sent.structured_content["text"] == "hi"
    calls = json.loads(groundwire("calls", "list", "--json").stdout)
    assert sorted(call["tool"] for call in calls) == ["get_weather", "send_note"]
    assert {call["sessionId"] for call in calls} == {calls[0]["sessionId"]}
    assert calls[0]["sessionId"].startswith("mcp_")


async def test_tool_folders_are_served_as_they_are(command):
    async with asyncio.timeout(LIMIT), Client(command("--tools", "tools", "--store", "memory://")) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["get_weather", "send_note"]


async def test_a_profile_limits_what_is_offered(command, project):
    project.joinpath("groundwire.toml").write_text('[profiles.guest]\ndeny = ["send_*"]\n')
    async with asyncio.timeout(LIMIT), Client(command("--profile", "guest")) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["get_weather"]


async def test_what_tools_print_and_read_does_not_disturb_the_protocol(command, project):
    handler = "import os, sys\ndef execute():\n    print('noise')\n    os.write(1, b'more noise')\n    return sys.stdin.read()\n"
    add_tool("noisy", handler)
    async with asyncio.timeout(LIMIT), Client(command(), mode="legacy") as client:
        assert text_of(await client.call_tool("noisy", {})) == ["(no output)"]
        assert text_of(await client.call_tool("noisy", {})) == ["(no output)"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("action", "error"), [("accept", ""), ("decline", "(DENIED)"), ("cancel", "")])
async def test_the_person_at_the_client_is_asked(command, groundwire, era, action, error):
    asked = []
    handler = "def execute(disk):\n    return {'wiped': disk}\n"
    parameters = {"type": "object", "properties": {"disk": {"type": "string"}}, "required": ["disk"]}
    add_tool("wipe", handler, category="action", requiresConfirmation=True, parameters=parameters)
    client = Client(command(), mode=era, elicitation_callback=answering(action, asked))
    async with asyncio.timeout(LIMIT), client:
        result = await client.call_tool("wipe", {"disk": "a"})
    assert asked == ['Run wipe with {"disk":"a"}?']
    assert result.is_error is (action != "accept")
    if action != "accept":
        assert text_of(result)[0].startswith(f"CONFIRMATION_REQUIRED {error}".strip())
    decisions = [
        json.loads(line) for line in groundwire("audit", "export").stdout.splitlines() if '"kind":"approval"' in line
    ]
    assert [entry["actor"] for entry in decisions] == (["the user of mcp"] if action != "cancel" else [])


async def test_a_client_that_cannot_ask_gets_the_question_as_text(command):
    parameters = {"type": "object", "properties": {}}
    add_tool(
        "wipe", "def execute():\n    return 1\n", category="action", requiresConfirmation=True, parameters=parameters
    )
    asked = []
    quiet = Client(command("--no-elicitation"), elicitation_callback=answering("accept", asked))
    for client in (Client(command(), mode="legacy"), quiet):
        async with asyncio.timeout(LIMIT), client:
            result = await client.call_tool("wipe", {})
        assert text_of(result)[1].startswith("The question has the id cnf_")
    assert asked == []


def exchange(project, lines):
    """What the process answers to these lines, when nothing more comes."""
    run = subprocess.run(
        [sys.executable, "-m", "groundwire", "mcp"],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=LIMIT,
        cwd=project,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert b"Traceback" not in run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_everything_asked_before_the_end_of_input_is_answered(project):
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": "a",
            "method": "tools/call",
            "params": {"name": "get_weather", "arguments": {"city": "x"}},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]
    answers = exchange(project, [json.dumps(line).encode() for line in lines])
    assert {answer["id"] for answer in answers} == {1, "a", 3}
    assert next(answer for answer in answers if answer["id"] == "a")["result"]["isError"] is False


def test_bad_lines_get_errors_and_the_rest_goes_on(project):
    bad = [
        b"{",
        b"\xff",
        b"5",
        b"[]",
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b"",
        b"  ",
    ]
    answers = exchange(project, [*bad, json.dumps(HELLO).encode(), b"not json"])
    errors = [(answer["id"], answer["error"]["code"]) for answer in answers if "error" in answer]
    assert errors == [
        (None, -32700),
        (None, -32700),
        (None, -32600),
        (None, -32600),
        (7, -32600),
        (None, -32600),
        (None, -32700),
    ]
    assert [answer["result"]["serverInfo"]["name"] for answer in answers if "result" in answer] == ["groundwire"]


def test_a_profile_that_there_is_not_is_told_at_once(project, groundwire):
    run = groundwire("mcp", "--profile", "nobody", stdin=subprocess.DEVNULL)
    assert (run.returncode, run.stdout) == (1, "")
    assert "there is no profile 'nobody'" in run.stderr


def of_size(size):
    frame = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}'
    return frame % (b"x" * (size - len(frame) + 2))


def test_a_message_of_the_largest_size_is_read():
    assert read_message(of_size(MAX_MESSAGE)).method == "ping"


def test_a_larger_message_is_refused():
    with pytest.raises(BadMessage) as raised:
        read_message(of_size(MAX_MESSAGE + 1))
    assert raised.value.answer.error.code == -32600


def test_a_line_that_is_too_long_is_refused_and_skipped(project):
    answers = exchange(project, [of_size(MAX_MESSAGE * 2 + 5), json.dumps(HELLO).encode()])
    assert sorted((answer["id"] or 0, "error" in answer) for answer in answers) == [(0, True), (1, False)]

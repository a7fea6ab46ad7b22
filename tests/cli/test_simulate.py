"""`groundwire simulate` as a process of its own, asked over its port and stopped by signals."""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from pathlib import Path

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.providers.scripts import Answer, Ask, Rule, Script, read_script
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import HttpRequest

LIMIT = 60
SCRIPT = {
    "answers": [{"calls": [{"name": "get_weather", "arguments": {"city": "Tokyo"}}]}, "It is sunny."],
    "rules": [{"pattern": "refund", "answer": {"text": "I will look."}}],
}
TOML = """
answers = ["Hello."]

[[rules]]
pattern = "refund"
answer = {text = "I will look.", calls = [{name = "find_order", arguments = {number = 7}}]}
"""


@pytest.fixture
def script(empty):
    Path("script.json").write_text(json.dumps(SCRIPT))


@contextlib.asynccontextmanager
async def simulating(*options):
    """The process, and the lines that it prints first."""
    command = [sys.executable, "-m", "groundwire", "simulate", "--port", "0", *options]
    pipe = asyncio.subprocess.PIPE
    async with asyncio.timeout(LIMIT):
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def ask(url, said, headers=None):
    client = SocketTransport()
    weather = {"type": "function", "function": {"name": "get_weather"}}
    body = {"model": "m", "messages": [{"role": "user", "content": said}], "tools": [weather]}
    try:
        response = await client.send(
            HttpRequest(url=f"{url}/chat/completions", headers=headers or {}, body=json.dumps(body).encode())
        )
        return response.status, json.loads(await response.read())
    finally:
        await client.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_its_script_until_it_is_stopped(script, number):
    async with simulating("--script", "script.json", "--json", "--key", "k") as process:
        told = json.loads(await process.stdout.readline())
        url = told["environment"]["OPENAI_BASE_URL"]
        refused, _ = await ask(url, "hi")
        _, called = await ask(url, "hi", {"authorization": "Bearer k"})
        _, ruled = await ask(url, "a refund, please", {"authorization": "Bearer k"})
        process.send_signal(number)
        rest, errors = await process.communicate()
        assert (process.returncode, rest) == (0, b"")
    assert errors.decode().splitlines() == [f"POST /v1/chat/completions  m  {status}" for status in (401, 200, 200)]
    assert url == f"{told['url']}/v1"
    assert (refused, told["environment"]["OPENAI_API_KEY"]) == (401, "k")
    assert called["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert ruled["choices"][0]["message"]["content"] == "I will look."


@pytest.fixture
def settings(script):
    Path("groundwire.toml").write_text('[simulator]\nscript = "script.json"\n')


async def test_what_the_command_line_leaves_open_is_taken_from_the_settings(settings):
    async with simulating("--json") as process:
        url = json.loads(await process.stdout.readline())["environment"]["OPENAI_BASE_URL"]
        _, ruled = await ask(url, "a refund, please")
        process.terminate()
        await process.communicate()
    assert ruled["choices"][0]["message"]["content"] == "I will look."


async def test_it_prints_what_to_export(empty):
    async with simulating() as process:
        lines = [(await process.stdout.readline()).decode() for _ in range(9)]
        process.terminate()
        await process.communicate()
    url = lines[0].split()[2].rstrip(",")
    assert f"  export OPENAI_BASE_URL={url}/v1\n" in lines
    assert f"  export ANTHROPIC_BASE_URL={url}\n" in lines
    assert f"  export GEMINI_BASE_URL={url}\n" in lines


async def test_it_misbehaves_by_plan(empty):
    async with simulating("--json", "--faults", "3", "--rate", "1") as process:
        url = json.loads(await process.stdout.readline())["environment"]["OPENAI_BASE_URL"]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].partition("/")[0]))
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status = await reader.readline()
        writer.close()
        process.terminate()
        await process.communicate()
    from groundwire.providers.faults import ModelFaults

    fault = ModelFaults(seed=3, rate=1).fault(0)
    expected = fault.status if fault.kind == "status" else 200
    assert status.split()[1] == str(expected).encode()


def test_a_port_that_is_taken_is_a_clear_error(groundwire, empty):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = groundwire("simulate", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr == (
        f"error[config_error]: Port {port} of 127.0.0.1 is in use.\nhint: choose another with --port; 0 takes a free one\n"
    )


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("nobody.invalid", "The host 'nobody.invalid' is not known."),
        ("192.0.2.1", "192.0.2.1 is no address of this machine."),
    ],
)
def test_a_host_that_cannot_be_listened_on_is_named(groundwire, empty, host, message):
    done = groundwire("simulate", "--host", host, "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[config_error]: {message}\nhint: --host ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("script.json", "{"),
        ("script.json", '{"answers": [{"calls": "f"}]}'),
        ("script.json", '{"answer": []}'),
        ("script.json", '{"rules": [{"pattern": "(", "answer": {}}]}'),
        ("script.json", '{"answers": [{"txt": "a typing mistake"}]}'),
        ("script.toml", "answers = ["),
    ],
)
def test_a_script_that_is_none_is_a_clear_error(empty, name, text):
    Path(name).write_text(text)
    with pytest.raises(ConfigError, match=f"{name} is no script"):
        read_script(name)


@pytest.mark.parametrize(("name", "text", "form"), [("a.json", "{", "JSON"), ("a.toml", "answers = [", "TOML")])
def test_a_mistake_of_syntax_is_named_as_one_without_talk_of_answers_and_rules(empty, name, text, form):
    Path(name).write_text(text)
    with pytest.raises(ConfigError, match=f"{name} is no script: it is not {form}: ") as caught:
        read_script(name)
    assert caught.value.hint == ""


def test_the_command_says_what_is_wrong_with_a_script(groundwire, empty):
    Path("script.json").write_text('{"answers": [{"txt": "a typing mistake"}]}')
    result = groundwire("simulate", "--port", 0, "--script", "script.json")
    assert (result.returncode, result.stdout) == (1, "")
    assert "error[config_error]: script.json is no script: " in result.stderr
    assert "txt" in result.stderr


def test_a_script_that_is_not_there_is_a_clear_error(groundwire, empty):
    result = groundwire("simulate", "--port", 0, "--script", "gone.json")
    assert (result.returncode, "gone.json" in result.stderr) == (1, True)


def test_a_script_may_be_toml(empty):
    Path("script.toml").write_text(TOML)
    call = Ask("find_order", {"number": 7})
    assert read_script("script.toml") == Script(
        answers=("Hello.",), rules=(Rule("refund", Answer("I will look.", (call,))),)
    )


def test_an_error_says_where_in_the_script_it_is(empty):
    Path("script.json").write_text('{"answers": ["a", {"calls": [{"name": 7}]}]}')
    with pytest.raises(ConfigError, match="calls"):
        read_script("script.json")


def test_a_rate_without_a_seed_is_pointed_out():
    from click.testing import CliRunner

    from groundwire.cli import main

    done = CliRunner().invoke(main, ["simulate", "--rate", "0.5"])
    assert done.exit_code == 2
    assert "--faults" in done.stderr


def test_an_empty_key_is_pointed_out():
    from click.testing import CliRunner

    from groundwire.cli import main

    done = CliRunner().invoke(main, ["simulate", "--key", ""])
    assert done.exit_code == 2
    assert "--key is empty" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), ["POST /v1/chat/completions  m  429  fault status"] * 2),
        (("--quiet",), []),
    ],
)
async def test_faults_of_a_kind_strike_every_request_and_are_told(empty, options, told):
    async with simulating("--json", "--fault", "status:429", *options) as process:
        url = json.loads(await process.stdout.readline())["environment"]["OPENAI_BASE_URL"]
        statuses = [(await ask(url, "hi"))[0] for _ in range(2)]
        process.terminate()
        _, errors = await process.communicate()
    assert statuses == [429, 429]
    assert errors.decode().splitlines() == told


def test_a_fault_that_is_none_is_a_clear_error(groundwire, empty):
    result = groundwire("simulate", "--port", 0, "--fault", "explosion")
    assert (result.returncode, "There is no fault 'explosion'." in result.stderr) == (1, True)
    assert "wrong_content_type" in result.stderr

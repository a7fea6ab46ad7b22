"""`make run` as a stranger meets it: a conversation, and commands to try that work as they are printed."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run.sh"
VENDORS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_")


@pytest.fixture(autouse=True)
def no_vendors(monkeypatch):
    for name in [name for name in os.environ if name.startswith(VENDORS)]:
        monkeypatch.delenv(name)


@pytest.fixture
def commands(empty):
    """An environment as `make setup` leaves it, as far as the script uses it."""
    folder = empty / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name, started in (("python", sys.executable), ("groundwire", f"{sys.executable} -m groundwire")):
        folder.joinpath(name).write_text(f'#!/bin/sh\nexec {started} "$@"\n')
        folder.joinpath(name).chmod(0o755)
    return ".venv/bin"


@contextmanager
def running(commands, port):
    process = subprocess.Popen(
        ["bash", str(SCRIPT), commands],
        env={**os.environ, "GROUNDWIRE_PORT": str(port)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_what_it_suggests_works_as_it_is_printed(commands):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(commands, port) as process:
        said = []
        while not said or "Ctrl-C stops it." not in said[-1]:
            said.append(process.stdout.readline())
            assert said[-1], said
        _, _, suggested = "".join(said).partition("Try it, in another terminal:\n")
        answers = [
            subprocess.run(["bash", "-c", line], check=True, capture_output=True, text=True).stdout
            for line in suggested.splitlines()
            if line.startswith("  ")
        ]
    assert any('Here is what I found: {"ok":true,"data":{"city":"Rome"' in line for line in said)
    chat, sdk, terminal = answers
    assert '"content":"You said: Hello"' in chat
    assert sdk == "You said: Hello\n"
    assert '"city":"Oslo"' in terminal


def test_it_does_not_talk_with_whoever_has_the_port(commands):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(commands, port) as process:
            said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (
        1,
        f"Port {port} is in use. Choose another: GROUNDWIRE_PORT=8751 make run\n",
    )

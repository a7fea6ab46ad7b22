"""A real signal ends the program, whatever a tool is doing; an exception of the same type, raised by a tool, does not."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, signal, sys, time
from groundwire import Tool
from groundwire.testing import runtime_for

kind, runner = sys.argv[1:]

def busy():
    print("begun", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass

def sleepy():
    print("begun", flush=True)
    time.sleep(60)

async def waiting():
    print("begun", flush=True)
    await asyncio.sleep(60)

async def late():
    await asyncio.sleep(0)
    busy()

async def main():
    if runner == "exit on SIGTERM":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    handler = {"busy": busy, "sleepy": sleepy, "waiting": waiting, "late": late, "thread": sleepy}[kind]
    async with runtime_for(Tool(name="t", description="T.", handler=handler, blocking=kind == "thread")) as runtime:
        print(await runtime.call("t"), flush=True)

try:
    if runner == "loop":
        asyncio.new_event_loop().run_until_complete(main())
    else:
        asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.fixture
def program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    started = []

    def start(*arguments):
        command = [sys.executable, str(script), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        started.append(process)
        assert process.stdout.readline() == "begun\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", ["busy", "sleepy", "waiting", "late", "thread"])
def test_ctrl_c_ends_a_program_with_the_handler_of_python_itself(program, kind):
    process = program(kind, "loop")
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted\n")


@pytest.mark.parametrize("kind", ["waiting", "thread"])
def test_ctrl_c_ends_a_program_of_asyncio_that_waits_for_a_tool(program, kind):
    process = program(kind, "run")
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted\n")


@pytest.mark.parametrize("kind", ["busy", "late"])
def test_a_second_ctrl_c_ends_a_program_of_asyncio_that_a_tool_keeps_busy(program, kind):
    """The first one asks the loop to stop, which a tool that never waits does not notice."""
    process = program(kind, "run")
    for _ in range(40):
        os.kill(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=0.25)
        except subprocess.TimeoutExpired:
            continue
        break
    said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted\n")


@pytest.mark.parametrize("kind", ["busy", "sleepy", "waiting"])
def test_a_signal_handler_of_the_program_can_end_it_inside_a_tool(program, kind):
    process = program(kind, "exit on SIGTERM")
    os.kill(process.pid, signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (7, "")

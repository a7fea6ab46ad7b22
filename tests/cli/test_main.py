import os
import pty
import signal
import subprocess
import sys

import click
import pytest

from groundwire import __version__
from groundwire.cli import COMMANDS, main

HEAVY = ("asyncio", "msgspec", "orjson", "sqlite3", "pydantic", "groundwire.assembly", "groundwire.registry")


def walk(command, path=()):
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))


EVERY_COMMAND = list(walk(main))


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_every_command_explains_itself(run, path):
    for flag in ("--help", "-h"):
        result = run(*path, flag)
        assert result.exit_code == 0
        assert result.stdout.startswith("Usage: groundwire")


def test_the_commands_that_the_design_names_are_there():
    assert {" ".join(path) for path in EVERY_COMMAND} >= {
        "init",
        "build",
        "tools list",
        "tools show",
        "tools lint",
        "call",
        "approvals list",
        "approvals approve",
        "approvals deny",
        "effects list",
        "effects reconcile",
        "audit list",
        "audit verify",
        "audit export",
        "audit prune",
        "sessions list",
        "calls list",
        "metrics",
        "simulate",
    }


def test_the_summaries_of_help_are_those_of_the_commands():
    context = click.Context(main)
    for name, summary in COMMANDS.items():
        command = main.get_command(context, name)
        assert command is not None
        assert (command.help or "").partition("\n\n")[0] == summary


def test_the_version_is_the_package_version(run):
    assert run("--version").stdout == f"groundwire, version {__version__}\n"


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from groundwire.cli import main; main(['--help'], standalone_mode=False); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[]"


def test_an_unknown_command_is_a_usage_error_with_the_nearest_name(run):
    result = run("biuld")
    assert result.exit_code == 2
    assert "did you mean build?" in result.stderr


def test_an_unknown_option_is_a_usage_error(run):
    assert run("--nonsense").exit_code == 2
    assert run("call", "get_weather", "--nonsense").exit_code == 2


def test_global_options_may_stand_before_and_after_the_command(project, run):
    for args in (
        ("--store", "sqlite:///other.db", "call", "get_weather", '{"city": "Oslo"}'),
        ("call", "get_weather", '{"city": "Oslo"}', "--store", "sqlite:///other.db"),
    ):
        assert run(*args).exit_code == 0
        assert not (project / "groundwire.db").exists()
        (project / "other.db").unlink()


def test_an_error_is_one_line_and_a_hint(empty, run):
    result = run("tools", "list")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "error[artifact_error]: there is no tool_registry.json",
        "hint: groundwire build tools/",
    ]


@pytest.mark.parametrize("content", ["x = [", "[store]\nurll = 'x'", "[ledger]\nleaseSeconds = 'long'", "\udcff"])
def test_a_broken_configuration_is_named(project, run, content):
    (project / "groundwire.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
    result = run("audit", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[config_error]: groundwire.toml")


def test_a_configuration_that_is_not_there_is_named(project, run):
    result = run("--config", "elsewhere.toml", "audit", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[config_error]: elsewhere.toml")


@pytest.fixture
def missing_library(monkeypatch):
    """Something that no command expects: a library that it needs cannot be imported."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)


def test_a_bug_is_an_internal_error_without_traceback(project, run, missing_library):
    result = run("build", "tools/")
    assert result.exit_code == 1
    assert result.stderr == "error[internal_error]: internal error, run with --verbose\n"


def test_a_bug_shows_its_traceback_when_asked(project, run, missing_library):
    result = run("--verbose", "build", "tools/")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_a_file_that_cannot_be_written_is_an_error_with_its_name(project, run):
    run("call", "get_weather", '{"city": "Oslo"}')
    result = run("audit", "export", "--output", "nowhere/chain.jsonl")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[os_error]: nowhere/chain.jsonl")


@pytest.mark.parametrize("url", ["mysql://root:hunter2@host/db", "postgresql://root:hunter2@127.0.0.1:1/db"])
def test_the_password_of_a_store_is_never_printed(project, groundwire, url):
    done = groundwire("--verbose", "--store", url, "audit", "list")
    assert done.returncode == 1
    assert "error[" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_a_reader_that_goes_away_is_no_error(project, groundwire):
    groundwire("call", "get_weather", '{"city": "Oslo"}')
    reading, writing = os.pipe()
    os.close(reading)
    done = groundwire("audit", "export", capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_interrupt_is_quiet_and_settles_the_call(project, run_json, add_tool):
    waiting = "import asyncio, sys\nasync def execute():\n    print('began', flush=True)\n    await asyncio.sleep(60)\n"
    add_tool("wait_long", waiting, category="action", policy={"hardMs": 60000})
    process = subprocess.Popen(
        [sys.executable, "-m", "groundwire", "call", "wait_long"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background ignores interrupts, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    try:
        assert process.stderr.readline() == b"began\n"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout, stderr) == (130, b"", b"")
    assert [call["errorType"] for call in run_json("calls", "list")] == ["CANCELLED"]
    assert [effect["status"] for effect in run_json("effects", "list")] == ["unknown"]


def read_terminal(args, environment):
    """What a process writes when its output is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "groundwire", *args],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    process.wait(timeout=60)
    return seen.decode()


def test_colours_are_for_terminals(project, groundwire):
    assert "\x1b[31m" in read_terminal(["call", "get_weather", "{}"], {})
    assert "\x1b[1m" in read_terminal(["tools", "list"], {})
    done = groundwire("call", "get_weather", "{}")
    assert "\x1b" not in done.stdout + done.stderr


def test_no_color_is_honoured_on_a_terminal(project):
    for args in (["call", "get_weather", "{}"], ["tools", "list"], ["tools", "show", "nothing"]):
        assert "\x1b" not in read_terminal(args, {"NO_COLOR": "1"})


def test_long_work_shows_its_progress_on_a_terminal_only(project, groundwire):
    groundwire("call", "get_weather", '{"city": "Oslo"}')
    args = ["audit", "export", "--output", "chain.jsonl"]
    assert "100%" in read_terminal(args, {})
    assert groundwire(*args).stderr == "Exported 1 record.\n"

"""`groundwire chat`: once with a message, and at a terminal that the test owns."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT = 60
WEATHER = "What is the weather in Tokyo?"
NOTICE = "No key is configured, so the built-in model answers, with 2 tools. It understands nothing.\n"
ANSWER = 'Here is what I found: {"ok":true,"data":{"city":"Tokyo",'
SLOW = """
import asyncio
async def execute():
    open("began.txt", "w").close()
    await asyncio.Event().wait()
"""
KEYS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in [name for name in os.environ if name.startswith(KEYS)]:
        monkeypatch.delenv(name)


@pytest.fixture
def script():
    """What the built-in model says, in this order."""

    def script(*answers):
        Path("script.json").write_text(json.dumps({"answers": answers}))
        Path("groundwire.toml").write_text('[simulator]\nscript = "script.json"\n')

    return script


def call_of(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def test_the_answer_is_on_stdout_and_what_happened_on_stderr(project, run):
    result = run("chat", "-m", WEATHER)
    assert result.exit_code == 0
    assert result.stdout.startswith(ANSWER)
    assert result.stdout.count("\n") == 1
    notice, asked, got = result.stderr.splitlines(keepends=True)
    assert notice == NOTICE
    assert asked == '→ get_weather {"city":"Tokyo"}\n'
    assert got.startswith('← ok get_weather {"city":"Tokyo",')


def test_folders_are_read_as_they_are(project, run):
    Path("tool_registry.json").unlink()
    assert run("chat", "--tools", "tools/", "-m", WEATHER).stdout.startswith(ANSWER)
    assert run("chat", "-m", WEATHER).stdout == f"You said: {WEATHER}\n"


def test_a_tool_that_cannot_be_read_is_left_out_by_name(project, run):
    Path("tools/get_weather/schema.json").write_text("{")
    result = run("chat", "--tools", "tools/", "-m", WEATHER)
    assert "left out: get_weather: " in result.stderr
    assert "with 1 tool." in result.stderr


def test_a_message_may_come_on_stdin(project, run):
    assert run("chat", input="Good morning!\n").stdout == "You said: Good morning!\n"
    for empty in (run("chat", input=" \n"), run("chat", "-m", " ")):
        assert (empty.exit_code, empty.stdout, "There is nothing to say" in empty.stderr) == (2, "", True)


@pytest.mark.parametrize("flags", [(), ("--no-stream",)])
def test_json_is_one_event_per_line(project, run, flags):
    result = run("chat", "-m", WEATHER, "--json", *flags)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("run.started", "run.ended")
    assert events[-1]["outcome"] == "completed"
    assert ("text.delta" in names) is not bool(flags)
    assert result.stderr == NOTICE


def test_a_whole_answer_is_printed_where_none_is_streamed(project, run):
    assert run("chat", "-m", WEATHER, "--no-stream").stdout == run("chat", "-m", WEATHER).stdout


def test_a_session_is_gone_on_with(project, run, script):
    script("One.", "Two.", "Three.")
    said = [run("chat", "-m", "on", "--session", "s1").stdout for _ in range(3)]
    assert said == ["One.\n", "Two.\n", "Three.\n"]
    assert run("chat", "-m", "on").stdout == "One.\n"
    listed = run("sessions", "list", "--json").stdout
    assert '"sessionId":"s1"' in listed


@pytest.mark.parametrize("as_file", [True, False])
def test_instructions_are_words_or_a_file(project, run, as_file):
    Path("guide.txt").write_text("Speak as a pirate.")
    given = "guide.txt" if as_file else "Speak as a pirate."
    assert run("chat", "-m", "hi", "--instructions", given).exit_code == 0
    assert stored(run)["started"]["options"]["instructions"] == "Speak as a pirate."


def test_settings_are_named(project, run):
    changes = ("--set", "tool_denylist=get_weather, x", "--set", "fallback_retry_count=2", "--set", "tool_choice=none")
    assert run("chat", "-m", "hi", *changes).exit_code == 0
    assert stored(run)["started"]["options"]["settings"] == {
        "tool_denylist": ["get_weather", "x"],
        "fallback_retry_count": 2,
        "tool_choice": "none",
    }


def test_limits_are_named_like_settings(project, run):
    result = run("chat", "-m", "hi", "--set", "max_steps=3", "--set", "max_seconds=60", "--set", "tool_choice=none")
    assert result.exit_code == 0
    options = stored(run)["started"]["options"]
    assert (options["limits"], options["settings"]) == ({"max_steps": 3, "max_seconds": 60.0}, {"tool_choice": "none"})
    weather = run("chat", "-m", "What is the weather in Tokyo?", "--set", "max_steps=1")
    assert (weather.exit_code, weather.stderr.splitlines()[-1].partition(":")[0]) == (1, "step_limit")
    wrong = run("chat", "-m", "hi", "--set", "max_steps=0")
    assert (wrong.exit_code, "limits.max_steps" in wrong.stderr) == (1, True)


def test_a_run_may_answer_for_the_person_who_is_not_there(project, run, confirmed_tool, script):
    confirmed_tool()
    script(call_of("wipe_disk", text="all"), "Not done.")
    answered = run("chat", "-m", "wipe", "--approvals", "answer")
    assert (answered.exit_code, answered.stdout) == (0, "Not done.\n")
    assert not Path("ran.txt").exists()


def test_a_run_has_a_profile(project, run):
    Path("groundwire.toml").write_text('[profiles.quiet]\ndeny = ["get_weather"]\n')
    assert run("chat", "-m", "hi", "--profile", "quiet").exit_code == 0
    assert "get_weather" not in [offered["name"] for offered in stored(run)["planned"]["plan"]["tools"]]
    unknown = run("chat", "-m", "hi", "--profile", "quite")
    assert (unknown.exit_code, "there is no profile 'quite'" in unknown.stderr) == (1, True)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("sim",), "MODEL"),
        (("-m", "hi"), "--message"),
        (("--session", "s"), "--session"),
        (("--instructions", "Be brief."), "--instructions"),
        (("--set", "max_steps=3"), "--set"),
        (("--approvals", "answer"), "--approvals"),
        (("--profile", "quiet"), "--profile"),
        (("--file", "a.png"), "--file"),
    ],
)
def test_a_run_that_is_taken_up_goes_on_as_it_began(project, run, given, named):
    refused = run("chat", "--resume", "run_1", *given)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"{named} cannot be given with --resume" in refused.stderr


@pytest.mark.parametrize(
    ("change", "code", "said"), [("tool_use_mode", 2, "is not NAME=VALUE"), ("tool_mode=x", 1, "tool_use_mode")]
)
def test_a_wrong_setting_is_refused(project, run, change, code, said):
    result = run("chat", "-m", "hi", "--set", change)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_files_go_along_with_the_message(project, run):
    Path("a.png").write_bytes(b"\x89PNG")
    Path("b.pdf").write_bytes(b"%PDF")
    assert run("chat", "-m", "look", "--image", "a.png", "--file", "b.pdf").exit_code == 0
    [message] = stored(run)["started"]["items"]
    assert [(part["kind"], part.get("media_type")) for part in message["parts"]] == [
        ("text", None),
        ("media", "image/png"),
        ("media", "application/pdf"),
    ]
    gone = run("chat", "-m", "look", "--file", "gone.png")
    assert (gone.exit_code, "gone.png cannot be read" in gone.stderr) == (1, True)


def stored(run):
    """The entries of the newest run by their kind."""
    import sqlite3

    with contextlib.closing(sqlite3.connect("groundwire.db")) as store:
        bodies = store.execute("SELECT body FROM run_entries ORDER BY id").fetchall()
    entries = [json.loads(body) for (body,) in bodies]
    return {entry["kind"]: entry for entry in entries}


def test_the_default_model_is_the_configured_one(project, run, monkeypatch):
    Path("groundwire.toml").write_text('defaultModel = "sim/little"\n')
    assert run("chat", "-m", "hi").exit_code == 0
    assert stored(run)["planned"]["plan"]["model"] == "sim/little"
    Path("groundwire.toml").write_text("")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    unnamed = run("chat", "-m", "hi")
    assert (unnamed.exit_code, unnamed.stderr.splitlines()[0]) == (1, "error[config_error]: No model is named.")


def test_a_model_that_cannot_be_asked_is_a_failure_with_its_reason(project, run, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = run("chat", "gpt-5", "-m", "hi")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "openai/gpt-5 with 2 tools.",
        "provider_error: The model could not be reached. Nothing is lost; try again later.",
        "overloaded: openai: 127.0.0.1:9 refuses connections.",
    ]
    assert "built-in model answers" in run("chat", "sim", "-m", "hi").stderr


def test_other_outcomes_are_failures(project, run):
    result = run("chat", "-m", "hi", "--set", "tool_use_mode=enforced")
    assert (result.exit_code, result.stdout) == (1, "You said: hi\n")
    assert result.stderr.splitlines()[-1] == "no_tool_call"


def test_where_nobody_can_be_asked_the_run_waits(project, run, confirmed_tool, script):
    confirmed_tool()
    script(call_of("wipe_disk", text="all"), "Done.")
    waiting = run("chat", "-m", "wipe")
    assert (waiting.exit_code, waiting.stdout) == (3, "")
    question, how, then = waiting.stderr.splitlines()[-3:]
    assert question.startswith('Run wipe_disk with {"text":"all"}? Until ')
    approve, resume = how.split()[1:], then.split()[2:]
    assert approve[:2] == ["approvals", "approve"]
    assert not Path("ran.txt").exists()
    assert run(*approve).exit_code == 0
    done = run(*resume)
    assert (done.exit_code, done.stdout, Path("ran.txt").read_text()) == (0, "Done.\n", "x")
    again = run(*resume)
    assert (again.exit_code, again.stdout, Path("ran.txt").read_text()) == (0, "Done.\n", "x")


def test_what_tools_print_is_not_part_of_the_answer(project, groundwire, add_tool, script):
    add_tool("noisy", "def execute():\n    print('noise')\n    return 1\n")
    script(call_of("noisy"), "Quiet.")
    result = groundwire("chat", "-m", "go", stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stdout) == (0, "Quiet.\n")
    assert "noise\n" in result.stderr


def test_an_answer_cannot_steer_the_terminal(project, run, script):
    script("red \x1b[31m\nline")
    assert run("chat", "-m", "go").stdout == "red \\x1b[31m\nline\n"


class Terminal:
    """A process at a terminal of its own. What it shows is read until the awaited words are there."""

    def __init__(self, *args):
        self._side, child = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "groundwire", *args], stdin=child, stdout=child, stderr=child, start_new_session=True
        )
        os.close(child)
        self.shown = ""

    def expect(self, words):
        """Everything up to these words, without colours."""
        end = time.monotonic() + LIMIT
        while (found := re.search(words, self.shown)) is None:
            assert select.select([self._side], [], [], max(end - time.monotonic(), 0))[0], self.shown
            try:
                more = os.read(self._side, 4096)
            except OSError:
                more = b""
            assert more, self.shown
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-z]", "", more.decode().replace("\r\n", "\n"))
        before, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return before

    def type(self, keys):
        os.write(self._side, keys.encode())

    def ends(self):
        return self.process.wait(LIMIT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._side)


@pytest.fixture
def terminal():
    with contextlib.ExitStack() as stack:

        def terminal(*args):
            return stack.enter_context(contextlib.closing(Terminal(*args)))

        yield terminal


def test_a_conversation_goes_on_line_by_line(project, terminal, script):
    script("One.", "Two.")
    chat = terminal("chat")
    banner = chat.expect("> ")
    assert NOTICE in banner
    assert re.search(r"Session chat_\w+\. Ctrl-C cancels, Ctrl-D ends\.", banner)
    chat.type("first\r")
    assert "One.\n" in chat.expect("> ")
    chat.type("\r")
    chat.expect("> ")
    chat.type("second\r")
    assert "Two.\n" in chat.expect("> ")
    chat.type("\x04")
    assert chat.ends() == 0


def test_control_c_cancels_the_run_and_not_the_conversation(project, terminal, script, add_tool):
    add_tool("wait_long", SLOW)
    script(call_of("wait_long"), "Back again.")
    chat = terminal("chat", "--session", "s1")
    chat.expect("> ")
    chat.type("go\r")
    chat.expect("→ wait_long {}")
    chat.process.send_signal(signal.SIGINT)
    chat.expect(r"Cancelled\. To take it up again: groundwire chat --resume run_\w+")
    chat.expect("> ")
    chat.type("and now?\r")
    chat.expect("Back again.")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.ends() == 0


def test_a_cancelled_message_says_so(project, terminal, script, add_tool):
    add_tool("wait_long", SLOW)
    script(call_of("wait_long"), "Back again.")
    chat = terminal("chat", "-m", "go", "--json")
    chat.expect('"event":"call.started"')
    chat.process.send_signal(signal.SIGINT)
    chat.expect('"outcome":"cancelled"')
    chat.expect("Cancelled.")
    assert chat.ends() == 130


@pytest.mark.parametrize(
    ("keys", "ran", "said"),
    [("y", "x", "← ok wipe_disk"), ("n", None, "← CONFIRMATION_REQUIRED wipe_disk"), ("perhaps\ryes", "x", "← ok")],
)
def test_a_person_at_the_terminal_is_asked(project, terminal, script, confirmed_tool, keys, ran, said):
    confirmed_tool()
    script(call_of("wipe_disk", text="all"), "Done.")
    chat = terminal("chat", "-m", "wipe")
    asked = chat.expect(r"yes, no or edit\? ")
    assert 'Run wipe_disk with {"text":"all"}?' in asked
    chat.type(f"{keys}\r")
    chat.expect(said)
    chat.expect("Done.")
    assert chat.ends() == 0
    assert (Path("ran.txt").read_text() if Path("ran.txt").exists() else None) == ran


def test_a_person_may_change_the_arguments(project, terminal, script, confirmed_tool):
    confirmed_tool()
    script(call_of("wipe_disk", text="all"), "Done.")
    chat = terminal("chat")
    chat.expect("> ")
    chat.type("wipe\r")
    chat.expect(r"yes, no or edit\? ")
    chat.type("edit\r")
    chat.expect(r'arguments: {"text":"all"}')  # to be edited
    chat.type("\x15[]\r")
    chat.expect("Arguments are one JSON object.")
    chat.expect(r"yes, no or edit\? ")
    chat.type("e\r")
    chat.expect("arguments: ")
    chat.type('\x15{"text":"some"}\r')
    assert '"text":"some"' in chat.expect("← ok wipe_disk.*\n")
    chat.expect("Done.")


def test_who_gives_no_answer_is_told_how_to_give_it_later(project, terminal, script, confirmed_tool, run):
    confirmed_tool()
    script(call_of("wipe_disk", text="all"), "Done.")
    chat = terminal("chat", "-m", "wipe")
    chat.expect(r"yes, no or edit\? ")
    chat.type("\x04")
    approve = chat.expect(r"groundwire approvals approve (cnf_\w+)\n")
    chat.expect(r"Then: groundwire chat --resume run_\w+")
    assert chat.ends() == 3
    assert approve.split()[-1] in run("approvals", "list").stdout


def test_a_failing_run_does_not_end_the_conversation(project, terminal):
    chat = terminal("chat", "--session", "s" * 600)
    chat.expect("> ")
    chat.type("hi\r")
    chat.expect(r"error\[config_error\]")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.ends() == 0

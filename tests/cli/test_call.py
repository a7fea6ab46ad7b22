import json
import os
import subprocess
from pathlib import Path

import pytest

NOISE = """
import os, subprocess, sys, threading, time
print("noise of the import")
def execute():
    print("noise of print")
    os.write(1, b"noise of os.write\\n")
    subprocess.run([sys.executable, "-c", "print('noise of a child')"])
    sys.__stdout__.write("noise of the old stdout\\n")
    with open("/dev/stdout", "w") as stdout:
        stdout.write("noise of the device\\n")
    return {"done": True}
"""


def test_the_envelope_is_one_line_of_json(project, run):
    result = run("call", "get_weather", '{"city": "Tokyo"}', "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    envelope = json.loads(result.stdout)
    assert envelope["ok"] is True
    assert envelope["data"]["city"] == "Tokyo"
    assert envelope["meta"]["envelopeVersion"] == "1.0.0"


def test_data_is_printed_to_be_read(project, run):
    result = run("call", "get_weather", '{"city": "Tokyo"}')
    assert result.exit_code == 0
    assert json.loads(result.stdout)["city"] == "Tokyo"
    assert '\n  "city": "Tokyo"' in result.stdout


@pytest.mark.requirement("B-110", "B-111")
@pytest.mark.parametrize(
    ("name", "arguments", "kind", "detail"),
    [
        ("get_weather", "{}", "VALIDATION", "MISSING_ARGUMENT"),
        ("get_weather", "{nonsense", "VALIDATION", "INVALID_JSON"),
        ("get_weather", "[1]", "VALIDATION", "NOT_AN_OBJECT"),
        ("get_weather", '{"city": 1}', "VALIDATION", "TYPE_MISMATCH"),
        ("get_wether", "{}", "NOT_FOUND", "UNKNOWN_TOOL"),
    ],
)
def test_a_refused_call_fails_with_its_envelope(project, run, name, arguments, kind, detail):
    result = run("call", name, arguments, "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert (error["type"], error["detail"]) == (kind, detail)
    readable = run("call", name, arguments)
    assert readable.exit_code == 1
    assert readable.stdout.startswith(f"{kind} ({detail}): ")


def test_the_operator_is_told_the_nearest_name(project, run):
    assert "did you mean get_weather?" in run("call", "get_wether").stderr


def test_arguments_are_an_empty_object_unless_given(project, run, add_tool):
    add_tool("ping", "def execute(): return 'pong'\n")
    assert json.loads(run("call", "ping", "--json").stdout)["data"] == "pong"


def test_arguments_can_come_from_stdin(project, run):
    result = run("call", "get_weather", "-", "--json", input='\ufeff{"city": "東京"}\n')
    assert json.loads(result.stdout)["data"]["city"] == "東京"


def test_arguments_that_are_no_text_are_a_usage_error(project, run):
    assert run("call", "get_weather", "-", input=b'{"city": "\xff"}').exit_code == 2
    assert run("call", "get_weather", '{"city": "\udcff"}').exit_code == 2


@pytest.mark.parametrize("args", [["--mode", "fax"], ["get_weather", "{}", "surplus"], []])
def test_wrong_usage_has_an_exit_code_of_its_own(project, run, args):
    assert run("call", *args).exit_code == 2


def test_a_missing_registry_is_told_before_anything_happens(empty, run):
    result = run("call", "get_weather", '{"city": "Tokyo"}', "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "hint: groundwire build tools/" in result.stderr
    assert list(empty.iterdir()) == []


def test_the_same_key_replays_and_another_input_conflicts(project, run):
    def send(text):
        return run("call", "send_note", json.dumps({"text": text}), "--idempotency-key", "k", "--json")

    first, second, third = send("hi"), send("hi"), send("ho")
    assert json.loads(second.stdout)["meta"]["replayed"] is True
    assert json.loads(second.stdout)["data"] == json.loads(first.stdout)["data"]
    assert json.loads(third.stdout)["error"]["type"] == "CONFLICT"
    assert [first.exit_code, second.exit_code, third.exit_code] == [0, 0, 1]
    assert Path("notes.txt").read_text().count("\n") == 1
    again = run("call", "send_note", '{"text": "hi"}', "--idempotency-key", "k")
    assert "replayed: " in again.stdout


def test_a_call_id_belongs_to_one_call(project, run):
    def ask(city):
        args = ("call", "get_weather", json.dumps({"city": city}), "--session", "s", "--call-id", "c1", "--json")
        return json.loads(run(*args).stdout)

    assert ask("Oslo")["meta"]["callId"] == "c1"
    assert ask("Oslo")["meta"]["replayed"] is True
    assert ask("Rome")["error"]["detail"] == "DUPLICATE_CALL_ID"


def test_mode_and_session_reach_the_call(project, run, run_json, add_tool):
    add_tool("typed_only", "def execute(): return 1\n", modes=["text"])
    refused = run("call", "typed_only", "--mode", "voice", "--session", "s1", "--json")
    assert json.loads(refused.stdout)["error"]["type"] == "MODE_RESTRICTED"
    assert [(session["sessionId"], session["mode"]) for session in run_json("sessions", "list")] == [("s1", "voice")]


def test_a_tool_that_models_do_not_see_is_there_for_the_operator_only(project, run, add_tool):
    add_tool("inner", "def execute(): return 1\n", exposure="internal")
    assert run("call", "inner").exit_code == 0
    as_model = run("call", "inner", "--as-model", "--json")
    assert as_model.exit_code == 1
    assert json.loads(as_model.stdout)["error"]["type"] == "NOT_FOUND"


def test_the_context_says_who_asks(project, run, add_tool):
    handler = "def execute(context): return [context.request_id, context.actor, context.user, context.organisation, context.tenant]\n"
    add_tool("who", handler)
    given = ("--request-id", "r1", "--actor", "ann", "--user", "u1", "--organisation", "o1", "--tenant", "t1")
    assert json.loads(run("call", "who", "--json", *given).stdout)["data"] == ["r1", "ann", "u1", "o1", "t1"]


def test_an_unknown_profile_is_an_error(project, run):
    result = run("call", "get_weather", '{"city": "Oslo"}', "--profile", "nobody")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[config_error]:")


def test_a_profile_of_the_configuration_holds(project, run):
    Path("groundwire.toml").write_text('[profiles.quiet]\ndeny = ["send_*"]\n')
    result = run("call", "send_note", '{"text": "hi"}', "--profile", "quiet", "--json")
    assert json.loads(result.stdout)["error"]["type"] == "NOT_FOUND"
    assert not Path("notes.txt").exists()


@pytest.mark.requirement("B-112")
def test_a_crashing_handler_is_an_envelope_too(project, run, add_tool):
    add_tool("crash", "def execute(): raise RuntimeError('secret inner text')\n", category="action")
    result = run("call", "crash")
    assert result.exit_code == 1
    assert result.stdout.startswith("INTERNAL")
    assert "It may have had an effect" in result.stdout
    assert "secret inner text" not in result.stdout


def test_warnings_are_shown_with_the_data(project, run, add_tool):
    handler = (
        "from groundwire import ToolResult\ndef execute(): return ToolResult.success(1, warnings=('mind the gap',))\n"
    )
    add_tool("warn", handler)
    assert run("call", "warn").stdout.splitlines() == ["1", "warning: mind the gap"]


@pytest.mark.requirement("B-115", "B-200", "B-201")
def test_a_call_that_needs_a_person_says_how_to_approve(project, run, confirmed_tool):
    confirmed_tool()
    result = run("call", "wipe_disk", "--json")
    assert result.exit_code == 1
    envelope = json.loads(result.stdout)
    assert envelope["error"]["type"] == "CONFIRMATION_REQUIRED"
    assert f"groundwire approvals approve {envelope['meta']['confirmation']['id']}" in result.stderr
    assert not Path("ran.txt").exists()


@pytest.mark.parametrize("form", [["--json"], []])
def test_nothing_that_a_handler_prints_reaches_stdout(project, groundwire, add_tool, form):
    add_tool("noisy", NOISE)
    done = groundwire("call", "noisy", *form)
    assert done.returncode == 0
    assert "noise" not in done.stdout
    printed = json.loads(done.stdout)
    assert printed["data" if form else "done"]
    for source in ("the import", "print", "os.write", "a child", "the old stdout", "the device"):
        assert f"noise of {source}\n" in done.stderr


def test_a_handler_that_prints_after_its_time_does_not_reach_stdout(project, groundwire, add_tool):
    late = "import atexit\ndef execute():\n    atexit.register(print, 'late noise')\n    return 1\n"
    add_tool("late", late)
    done = groundwire("call", "late", "--json")
    assert json.loads(done.stdout)["data"] == 1
    assert "late noise" in done.stderr


def test_a_closed_stderr_does_not_send_noise_to_stdout(project, groundwire, add_tool):
    add_tool("noisy", NOISE.replace('    with open("/dev/stdout", "w") as stdout:\n', "    if False:\n"))
    done = groundwire(
        "call", "noisy", "--json", capture_output=False, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2)
    )
    assert json.loads(done.stdout)["ok"] is True
    assert "noise" not in done.stdout


def test_a_closed_stdout_is_no_place_for_the_database(project, groundwire):
    done = groundwire("call", "get_weather", '{"city": "Oslo"}', capture_output=False, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0
    assert groundwire("audit", "verify").returncode == 0


def test_json_is_utf_8_whatever_the_terminal_speaks(project, groundwire):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    args = ("call", "get_weather", '{"city": "東京"}')
    assert json.loads(groundwire(*args, "--json", env=environment).stdout)["data"]["city"] == "東京"
    readable = groundwire(*args, env=environment)
    assert readable.returncode == 0
    assert json.loads(readable.stdout)["city"] == "東京"


def test_a_full_disk_behind_stdout_is_an_error(project, groundwire):
    with Path("/dev/full").open("w") as full:
        done = groundwire(
            "call", "get_weather", '{"city": "Oslo"}', capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr == "error[os_error]: No space left on device\n"


def test_the_environment_and_dotenv_name_the_store(project, groundwire):
    Path(".env").write_text("GROUNDWIRE_STORE=sqlite:///from_dotenv.db\n")
    args = ("call", "get_weather", '{"city": "Oslo"}')
    assert groundwire(*args).returncode == 0
    assert Path("from_dotenv.db").exists()
    assert groundwire(*args, env=os.environ | {"GROUNDWIRE_STORE": "sqlite:///from_environment.db"}).returncode == 0
    assert Path("from_environment.db").exists()
    assert not Path("groundwire.db").exists()


def test_logs_go_to_stderr_and_only_when_they_matter(project, groundwire, add_tool):
    handler = "import logging\nlog = logging.getLogger('tool')\ndef execute():\n    log.info('a detail')\n    log.warning('a worry')\n"
    add_tool("log_it", handler)
    quiet, verbose = groundwire("call", "log_it"), groundwire("--verbose", "call", "log_it")
    assert quiet.stderr == "warning: a worry\n"
    assert "info: a detail\n" in verbose.stderr


STREAM = """
from groundwire import Progress
async def execute():
    yield Progress(value="1 of 2\\x1b[2J")
    yield Progress(value={"done": 2})
    yield Progress(value="x" * 201)
    yield Progress(value={1, 2})
    yield {"words": 3}
"""


def test_the_progress_of_a_tool_is_shown_beside_its_result(project, run, add_tool):
    add_tool("count", STREAM)
    result = run("call", "count")
    assert json.loads(result.stdout) == {"words": 3}
    assert result.stderr.splitlines() == [
        "progress: 1 of 2\\x1b[2J",
        'progress: {"done":2}',
        f"progress: {'x' * 199}…",
        "progress: [1,2]",
        'progress: {"words":3}',
    ]


def test_progress_is_not_shown_to_whoever_asks_for_json(project, run, add_tool):
    add_tool("count", STREAM)
    assert run("call", "count", "--json").stderr == ""


@pytest.mark.parametrize(
    ("category", "lines"),
    [
        ("utility", ["INTERNAL (HANDLER_RAISED): crash failed unexpectedly. It gave no result."]),
        ("retrieval", ["INTERNAL (HANDLER_RAISED): crash failed unexpectedly. It gave no result."]),
        (
            "action",
            [
                "INTERNAL (HANDLER_RAISED): crash failed unexpectedly. Whether it took effect is not known.",
                "It may have had an effect all the same.",
            ],
        ),
    ],
)
def test_only_an_action_that_crashed_is_said_to_have_had_an_effect_perhaps(project, run, add_tool, category, lines):
    add_tool("crash", "def execute():\n    raise ValueError\n", category=category, policy={"blocking": True})
    assert run("call", "crash").stdout.splitlines() == lines


def test_arguments_from_an_empty_standard_input_are_missed_by_name(run, project):
    done = run("call", "get_weather", "-", input="")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error[invalid_json]: There was nothing on standard input.\n")

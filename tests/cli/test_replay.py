"""`groundwire replay`: the same again, or what is different."""

import json
import sqlite3
from pathlib import Path

import pytest

from groundwire.testing import Answer, Ask

WEATHER = Answer(calls=(Ask("get_weather", {"city": "Oslo"}),))
NOTE = {"name": "send_note", "arguments": {"text": "hi"}}


@pytest.fixture
def script(project):
    """What the built-in model says from now on."""

    def write(*answers):
        Path("script.json").write_text(json.dumps({"answers": answers}))
        Path("groundwire.toml").write_text('[simulator]\nscript = "script.json"\n')

    return write


@pytest.fixture
def weather_run(project, record):
    return record("What is the weather in Oslo?", WEATHER, "It is fine.", session="s1").run_id


@pytest.mark.requirement("C-037")
def test_a_recorded_run_replays_exactly(weather_run, run):
    replayed = run("replay", weather_run)
    assert (replayed.exit_code, replayed.stderr) == (0, "")
    assert replayed.stdout == f"{weather_run} replays exactly: 2 steps, completed.\n"


def test_an_exact_replay_needs_neither_tools_nor_providers(weather_run, run, script):
    Path("tool_registry.json").unlink()
    Path("groundwire.toml").write_text('[providers.gone]\nbaseUrl = "https://gone.example"\nkeyEnv = "NOT_SET"\n')
    assert run("replay", weather_run).exit_code == 0
    assert run("replay", weather_run, "--model", "gone/x").exit_code == 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [("openai/gpt-5.5", "OPENAI_API_KEY"), ("gpt-5.5", "groundwire models"), ("nix:x", "groundwire models")],
)
@pytest.mark.parametrize("command", [["replay"], ["eval", "replay"]])
def test_the_built_in_model_does_not_answer_for_one_that_cannot_be_asked(weather_run, run, command, name, hint):
    replayed = run(*command, weather_run, "--model", name)
    assert (replayed.exit_code, replayed.stdout) == (1, "")
    assert name in replayed.stderr
    assert hint in replayed.stderr
    assert not Path("reports").exists()


def test_a_replay_as_json_has_both_sides(weather_run, run_json):
    report = run_json("replay", weather_run)
    assert (report["same"], report["exact"], report["differences"]) == (True, True, [])
    assert (report["outcome"], report["text"], report["steps"]) == ("completed", "It is fine.", 2)


def test_a_record_that_was_changed_fails_the_command(weather_run, run):
    with sqlite3.connect("groundwire.db") as store:
        store.execute(
            "UPDATE run_entries SET body = replace(body, 'It is fine.', 'It is bad..') WHERE id % 16777216 = 5"
        )
    store.close()
    replayed = run("replay", weather_run)
    assert replayed.exit_code == 1
    assert replayed.stdout.splitlines() == [
        f"{weather_run} comes out differently: 2 steps, completed. 1 difference:",
        "step 2",
        '  entry ended.text: "It is fine." → "It is bad.."',
    ]


def test_another_model_that_does_the_same_comes_out_the_same(weather_run, run, script):
    script({"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, "It is fine.")
    replayed = run("replay", weather_run, "--model", "sim/other")
    assert (replayed.exit_code, replayed.stdout.splitlines()) == (
        0,
        [
            f"{weather_run} comes out the same: 2 steps, completed.",
            "step 1",
            '  plan model: "sim/recorded" → "sim/other"',
        ],
    )


def test_differences_are_told_step_by_step(weather_run, run, script):
    script({"calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}, NOTE]}, "It is\nbad.")
    replayed = run("replay", weather_run, "--model", "sim/other")
    assert (replayed.exit_code, replayed.stdout.splitlines()) == (
        1,
        [
            f"{weather_run} comes out differently: 2 steps, completed. 6 differences:",
            "step 1",
            '  plan model: "sim/recorded" → "sim/other"',
            '  ~ calls get_weather {"city":"Oslo"} → {"city":"Rome"}',
            '  + calls send_note {"text":"hi"}',
            '  ! get_weather {"city":"Rome"} is not in the record, and was not run',
            '  ! send_note {"text":"hi"} is not in the record, and was not run',
            "step 2",
            "  says:",
            "    - It is fine.",
            "    + It is",
            "    + bad.",
        ],
    )


def test_other_instructions_and_tools_are_shown(weather_run, run, script, add_tool):
    script({"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, "It is fine.")
    Path("prompt.md").write_text("Be brief.")
    add_tool("extra", "def execute():\n    return 1\n", rebuild=False)
    replayed = run("replay", weather_run, "--instructions", "prompt.md", "--tools", "tools")
    assert replayed.exit_code == 0
    lines = replayed.stdout.splitlines()
    assert lines[1] == "step 1"
    assert lines[2:4] == ["  plan instructions:", "    + Be brief."]
    assert lines[-1] == "  plan: extra added"


def test_a_missing_call_is_carried_out_once_if_that_is_wanted(weather_run, run, script, run_json):
    script({"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}, NOTE]}, "It is fine.")
    assert run("replay", weather_run, "--model", "sim/other").exit_code == 1
    assert run_json("effects", "list") == []
    replayed = run("replay", weather_run, "--model", "sim/other", "--execute")
    assert '  ! send_note {"text":"hi"} is not in the record, and was carried out' in replayed.stdout.splitlines()
    assert [effect["tool"] for effect in run_json("effects", "list")] == ["send_note"]
    assert [call["tool"] for call in run_json("calls", "list")] == ["send_note", "get_weather"]
    assert [row["runId"] for row in run_json("runs", "list")] == [weather_run]


def test_executing_without_a_change_is_a_mistake(weather_run, run):
    assert run("replay", weather_run, "--execute").exit_code == 2


def test_instructions_that_are_no_text_are_refused(weather_run, run):
    Path("prompt.md").write_bytes(b"\xff\xfe")
    assert run("replay", weather_run, "--instructions", "prompt.md").exit_code == 2


def test_a_run_that_is_not_there_is_said_so(project, run):
    replayed = run("replay", "run_none")
    assert replayed.exit_code == 1
    assert "error[not_found]: Run 'run_none' does not exist." in replayed.stderr
    assert not Path("groundwire.db").exists()


def test_of_long_values_that_begin_alike_the_part_is_shown_where_they_differ(project, record, run, script):
    city = "Llanfair" * 40
    asks = Answer(calls=(Ask("get_weather", {"city": f"{city}1"}),))
    long_run = record("What is the weather?", asks, "It is fine.").run_id
    guide = Path("tools/send_note/guide.md")
    guide.write_text(f"{guide.read_text()}One line more.\n")
    script({"calls": [{"name": "get_weather", "arguments": {"city": f"{city}2"}}]}, "It is fine.")
    lines = run("replay", long_run, "--tools", "tools").stdout.splitlines()
    assert lines[1:4] == ["step 1", "  plan instructions:", "    + One line more."]
    assert '  ~ calls get_weather …fairLlanfairLlanfair1"} → …fairLlanfairLlanfair2"}' in lines

import json
from pathlib import Path

import pytest

from groundwire.cli.tools import FORMATS
from groundwire.registry.declarations import FORMAT_NAMES


def test_the_list_has_every_tool(project, run, run_json):
    listed = run_json("tools", "list")
    assert [(tool["toolId"], tool["category"]) for tool in listed] == [
        ("get_weather", "retrieval"),
        ("send_note", "action"),
    ]
    lines = run("tools", "list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "CATEGORY", "MODES", "CONFIRM", "SUMMARY"]
    assert lines[1].startswith("get_weather  retrieval  text,voice  no")


@pytest.mark.parametrize("command", [["list"], ["show", "get_weather"], ["lint"]])
def test_a_missing_registry_says_how_to_get_one(empty, run, command):
    result = run("tools", *command)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1] == "hint: groundwire build tools/"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}'])
def test_a_damaged_registry_is_an_artifact_error(project, run, content):
    Path("tool_registry.json").write_text(content)
    result = run("tools", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[artifact_error]:")


def test_another_registry_can_be_named(project, run_json):
    Path("tool_registry.json").rename("other.json")
    assert len(run_json("tools", "list", "--registry", "other.json")) == 2


def test_a_page_has_what_a_person_wants_to_know(project, run):
    page = run("tools", "show", "get_weather").stdout
    for words in ("Get the weather", "retrieval", "text, voice", '"minLength": 1', "## Examples", "handler.py"):
        assert words in page


@pytest.mark.parametrize(
    ("form", "parameters_at", "type_name"),
    [
        ("canonical", ["parameters"], "object"),
        ("openai", ["function", "parameters"], "object"),
        ("openai-chat", ["function", "parameters"], "object"),
        ("openai-responses", ["parameters"], "object"),
        ("openaiResponses", ["parameters"], "object"),
        ("geminiNative", ["parameters"], "OBJECT"),
        ("geminiJson", ["parametersJsonSchema"], "object"),
        ("anthropic", ["input_schema"], "object"),
        ("gemini", ["parameters"], "OBJECT"),
        ("gemini-json", ["parametersJsonSchema"], "object"),
        ("mcp", ["inputSchema"], "object"),
    ],
)
def test_each_provider_gets_its_form(project, run, form, parameters_at, type_name):
    result = run("tools", "show", "get_weather", "--format", form)
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    for key in parameters_at:
        value = value[key]
    assert value["type"] == type_name
    assert "city" in value["properties"]
    compact = run("tools", "show", "get_weather", "--format", form, "--json").stdout
    assert json.loads(compact) == json.loads(result.stdout)
    assert compact.count("\n") == 1


def test_all_of_a_tool_is_there_as_json(project, run_json):
    shown = run_json("tools", "show", "send_note")
    assert shown["toolId"] == "send_note"
    assert shown["documentation"].startswith("# send_note")
    assert shown["handlerPath"] == "tools/send_note/handler.py"


def test_an_unknown_tool_is_answered_with_the_nearest_names(project, run):
    result = run("tools", "show", "get_wether")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "error[not_found]: there is no tool 'get_wether'",
        "hint: did you mean get_weather?",
    ]


def test_a_tool_is_found_by_its_wire_name_too(project, run, add_tool):
    add_tool("notes.find", "def execute(): return []\n")
    assert run("tools", "show", "notes__find").exit_code == 0


def test_advice_does_not_fail(project, run, run_json, add_tool):
    add_tool("delete_All", "def execute(): return 1\n", category="action")
    result = run("tools", "lint")
    assert result.exit_code == 0
    assert "unconfirmed" in result.stdout
    assert {advice["code"] for advice in run_json("tools", "lint")} >= {"unconfirmed", "name_style"}


def test_a_tool_that_could_not_be_built_fails_the_lint(project, run, add_tool):
    add_tool("broken", "def execute(:")
    result = run("tools", "lint")
    assert result.exit_code == 1
    assert "error  broken  handler_syntax" in result.stdout
    as_json = run("tools", "lint", "--json")
    assert as_json.exit_code == 1
    assert {"error"} <= {advice["severity"] for advice in json.loads(as_json.stdout)}


def test_words_of_a_tool_cannot_steer_the_terminal(project, run, add_tool):
    add_tool("sly", "def execute(): return 1\n", rebuild=False)
    Path("tools/sly/guide.md").write_text("# sly\n\n\x1b[2Jgone\n")
    run("build")
    for args in (["tools", "list"], ["tools", "show", "sly"]):
        result = run(*args, color=True)
        assert "\x1b[2J" not in result.stdout
        assert r"\x1b[2Jgone" in result.stdout


def test_the_command_takes_every_form_that_the_registry_does():
    assert sorted(FORMATS) == sorted(FORMAT_NAMES)

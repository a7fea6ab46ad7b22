import json
from pathlib import Path

import pytest

from tests.schema_bombs import BOMB


@pytest.mark.requirement("B-062", "B-063")
def test_one_command_builds_all_tools(empty, run):
    run("init", ".")
    result = run("build")
    assert result.exit_code == 0
    artifact = json.loads(Path("tool_registry.json").read_bytes())
    assert [tool["toolId"] for tool in artifact["tools"]] == ["get_weather", "send_note"]
    assert json.loads(Path("tools.lock").read_bytes())["version"] == artifact["version"]
    for word in (artifact["version"], "get_weather", "send_note"):
        assert word in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("build",),
        ("chat", "--tools", "tools/", "-m", "Hi"),
        ("mcp", "--tools", "tools/"),
        ("jobs", "work", "--tools", "tools/"),
        ("eval", "init"),
    ],
    ids=" ".join,
)
def test_where_there_are_no_tools_every_command_says_how_to_get_some(empty, run, command):
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("error[registry_error]")
    assert "hint: `groundwire init .`" in result.stderr
    assert list(empty.iterdir()) == []


def test_the_files_can_go_elsewhere(project, run):
    assert run("build", "tools/", "--out", "dist").exit_code == 0
    assert Path("dist/tool_registry.json").exists()
    assert run("call", "get_weather", '{"city": "Oslo"}', "--registry", "dist/tool_registry.json").exit_code == 0


@pytest.mark.requirement("B-132")
def test_a_bad_tool_is_quarantined_and_the_rest_is_built(project, run, add_tool):
    add_tool("broken", "def execute(:", rebuild=False)
    result = run("build")
    assert result.exit_code == 0
    assert "broken  handler_syntax" in result.stdout
    assert "get_weather" in result.stdout
    assert "quarantined  broken" in run("tools", "list").stdout


def test_strict_fails_on_a_quarantined_tool(project, run, add_tool):
    assert run("build", "--strict").exit_code == 0
    add_tool("broken", "def execute(:", rebuild=False)
    assert run("build", "--strict").exit_code == 1
    assert Path("tool_registry.json").exists()


def test_nothing_to_build_is_a_failure(empty, run):
    Path("tools").mkdir()
    result = run("build")
    assert result.exit_code == 1
    assert "Nothing was built from tools/" in result.stdout


def test_a_tools_folder_that_is_not_there_is_an_error(empty, run):
    result = run("build")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[registry_error]:")


def test_the_report_has_all_as_json(project, run_json, add_tool):
    add_tool("broken", "def execute(:", rebuild=False)
    report = run_json("build")
    assert report["built"] == ["get_weather", "send_note"]
    assert [(problem["tool"], problem["reason"]) for problem in report["quarantined"]] == [("broken", "handler_syntax")]
    assert report.keys() == {"version", "built", "quarantined", "warnings", "changed"}


def test_check_is_content_with_what_was_just_built(project, run, run_json):
    assert run("build", "--check").exit_code == 0
    assert run_json("build", "--check") == {"ok": True, "drift": []}


def test_check_names_what_drifted_and_writes_nothing(project, run):
    before = Path("tools.lock").read_bytes()
    with Path("tools/send_note/guide.md").open("a") as guide:
        guide.write("\nMore.\n")
    result = run("build", "--check")
    assert result.exit_code == 1
    assert "changed  send_note" in result.stdout
    assert "get_weather" not in result.stdout
    assert Path("tools.lock").read_bytes() == before

    as_json = run("build", "--check", "--json")
    assert as_json.exit_code == 1
    assert {drift["tool"] for drift in json.loads(as_json.stdout)["drift"]} == {"send_note"}


def test_check_fails_on_a_quarantined_tool(project, run, add_tool):
    add_tool("broken", "def execute(:", rebuild=False)
    result = run("build", "--check")
    assert result.exit_code == 1
    assert "quarantined  broken" in result.stdout


def test_check_wants_a_lock(project, run):
    Path("tools.lock").unlink()
    result = run("build", "--check")
    assert result.exit_code == 1
    assert "missing_lock" in result.stdout


def test_warnings_are_shown(project, run, add_tool):
    add_tool("über tool!".replace(" ", "_"), "def execute(): return 1\n", rebuild=False)
    assert "1 warning" in run("build").stdout or "warnings" in run("build").stdout


def test_building_says_what_nothing_acts_on_yet(project, run, add_tool):
    policy = {"bargeIn": "finish"}
    add_tool("slow", "def execute():\n    return 1\n", rebuild=False, policy=policy)
    result = run("build", "tools/")
    assert result.exit_code == 0
    assert "slow  barge_in_ignored" in result.stdout


@pytest.mark.parametrize("part", ["parameters", "result"])
def test_a_tool_with_a_schema_bomb_is_quarantined_with_the_measure_that_it_exceeds(project, run, add_tool, part):
    add_tool("bomb", "def execute(**_): ...", rebuild=False, **{part: BOMB})
    result = run("build")
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if line.strip().startswith("bomb"))
    assert line.split()[1] == "schema_too_complex"
    for word in ("SCHEMA_TOO_COMPLEX", "evaluations is", "the limit is 500"):
        assert word in line
    assert "get_weather" in result.stdout
    assert run("build", "--check").exit_code == 1
    assert run("tools", "list").exit_code == 0


def test_the_limits_of_schemas_are_settings(project, run, add_tool):
    wide = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * 600}}}
    add_tool("wide", "def execute(a=None): ...", rebuild=False, parameters=wide)
    assert "wide  schema_too_complex" in run("build").stdout
    Path("groundwire.toml").write_text("[schemas]\nmaxEvaluations = 1000\n")
    assert "schema_too_complex" not in run("build").stdout
    assert run("call", "wide", '{"a": "x"}').exit_code == 0
    Path("groundwire.toml").unlink()
    refused = run("call", "wide", '{"a": "x"}', "--json")
    assert json.loads(refused.stdout)["error"]["detail"] == "SCHEMA_TOO_COMPLEX"

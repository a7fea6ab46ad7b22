"""Without the extra `jobs`, what needs it says so in one sentence, and everything else works."""

import json

import pytest

from groundwire.extras import install_command

ENGINE = ("dbos", "sqlalchemy", "psycopg")
SCAN = "def execute(page):\n    return {'text': f'page {page}'}\n"
NOW = "def execute():\n    return {'ok': True}\n"
PAGE = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}


@pytest.fixture(autouse=True)
def without_the_engine(hide_packages):
    hide_packages(*ENGINE)


@pytest.fixture
def background_tool(project, add_tool):
    add_tool("scan", SCAN, category="retrieval", parameters=PAGE, policy={"background": True})


def assert_names_the_extra(done):
    assert done.returncode == 1
    assert done.stdout == ""
    *notes, first, hint = done.stderr.splitlines()
    assert not any(note.startswith(("error", "Traceback")) for note in notes)
    assert first.startswith("error[config_error]: ")
    assert "the extra 'jobs'" in first
    assert hint == f"hint: {install_command('jobs')}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs", "list"),
        ("jobs", "show", "job_1"),
        ("jobs", "retry", "job_1"),
        ("jobs", "cancel", "job_1"),
        ("jobs", "work", "--until-idle"),
        ("app", "supplier", "serve", "--port", "0"),
        ("serve", "--port", "0"),
    ],
    ids=" ".join,
)
def test_commands_that_work_on_jobs_name_it(empty, groundwire, arguments):
    assert_names_the_extra(groundwire(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [("call", "scan", '{"page": 7}'), ("chat", "--message", "hi"), ("mcp",)],
    ids=" ".join,
)
def test_a_background_tool_is_refused_before_anything_runs(background_tool, groundwire, arguments):
    assert_names_the_extra(groundwire(*arguments))


def test_tools_are_built_listed_and_called_and_records_read(project, groundwire, add_tool):
    add_tool("now", NOW)
    called = groundwire("call", "now", "{}", "--json")
    assert (called.returncode, called.stderr) == (0, "")
    assert json.loads(called.stdout)["data"] == {"ok": True}
    for command in (("build", "tools"), ("tools", "list"), ("audit", "verify"), ("effects", "list"), ("runs", "list")):
        done = groundwire(*command)
        assert done.returncode == 0, done.stderr


def test_records_are_read_beside_a_background_tool(project, add_tool, groundwire):
    add_tool("now", NOW)
    assert groundwire("call", "now", "{}").returncode == 0
    add_tool("scan", SCAN, category="retrieval", parameters=PAGE, policy={"background": True})
    for command in (("build", "tools"), ("tools", "list"), ("audit", "verify"), ("approvals", "list")):
        done = groundwire(*command)
        assert done.returncode == 0, done.stderr

"""What to run when an optional part is missing, however the package was installed."""

import json
import subprocess
import sys

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.extras import build_requirement, check_extra, install_command, needs_extra


@pytest.fixture
def folder(tmp_path):
    """A source folder, with a name that a shell and a URL have to quote."""
    source = tmp_path / "our tools"
    source.mkdir()
    (source / "pyproject.toml").touch()
    return source


def from_folder(folder, **info):
    return json.dumps({"url": folder.as_uri(), "dir_info": info})


def test_from_an_index_it_is_the_plain_name():
    assert build_requirement("jobs", None) == "'groundwire[jobs]'"


def test_from_a_folder_it_is_that_folder(folder):
    assert build_requirement("jobs", from_folder(folder)) == f"'{folder}[jobs]'"


def test_an_editable_installation_stays_one(folder):
    assert build_requirement("jobs", from_folder(folder, editable=True)) == f"-e '{folder}[jobs]'"


def test_from_a_folder_that_is_gone_it_is_the_plain_name(folder):
    (folder / "pyproject.toml").unlink()
    assert build_requirement("jobs", from_folder(folder)) == "'groundwire[jobs]'"


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (
            {"url": "file:///wheels/groundwire-1.0-py3-none-any.whl", "archive_info": {}},
            "'groundwire[jobs] @ file:///wheels/groundwire-1.0-py3-none-any.whl'",
        ),
        (
            {"url": "https://git.example/groundwire.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}},
            "'groundwire[jobs] @ git+https://git.example/groundwire.git@v1'",
        ),
        (
            {"url": "https://git.example/groundwire.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "'groundwire[jobs] @ git+https://git.example/groundwire.git'",
        ),
        (
            {"url": "https://ann:secret@files.example/groundwire.whl", "archive_info": {}},
            "'groundwire[jobs] @ https://files.example/groundwire.whl'",
        ),
    ],
    ids=["wheel", "revision", "default branch", "password"],
)
def test_from_elsewhere_it_is_the_address_without_credentials(origin, expected):
    assert build_requirement("jobs", json.dumps(origin)) == expected


@pytest.mark.parametrize("damaged", ["", "{", "[]", "{}", "null"])
def test_a_file_that_cannot_be_read_gives_the_plain_name(damaged):
    assert build_requirement("jobs", damaged) == "'groundwire[jobs]'"


def test_the_command_names_this_installation(repository):
    assert install_command("jobs").removeprefix("pip install ").removeprefix("-e ") == f"'{repository}[jobs]'"


def test_a_missing_module_is_a_config_error_with_the_command():
    with pytest.raises(ConfigError) as caught, needs_extra("jobs", "This test"):
        import there_is_no_such_module  # noqa: F401
    assert (caught.value.code, caught.value.hint) == ("config_error", install_command("jobs"))
    assert "'jobs'" in caught.value.message
    assert "there_is_no_such_module" in caught.value.message
    with pytest.raises(ConfigError):
        check_extra("jobs", "This test", "there_is_no_such_module")


def test_a_module_that_is_installed_is_no_error():
    check_extra("jobs", "This test", "json")
    with needs_extra("jobs", "This test"):
        import json  # noqa: F401


def test_a_mistake_of_our_own_is_not_taken_for_a_missing_package():
    with pytest.raises(ImportError), needs_extra("jobs", "This test"):
        import groundwire.there_is_no_such_module  # noqa: F401


def test_the_package_imports_nothing_of_its_extras():
    brought = (
        "asyncpg",
        "dbos",
        "granian",
        "httptools",
        "mcp",
        "opentelemetry",
        "psycopg",
        "sqlalchemy",
        "starlette",
        "yaml",
    )
    program = f"import sys, groundwire; print([name for name in {brought} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


PYTHON_CALLER = """
import asyncio, sys
sys.modules["dbos"] = None
from groundwire import ConfigError, Registry, Runtime, tool
from groundwire.jobs import open_jobs

@tool(background=True)
def scan(page: int) -> dict:
    "Scan a page."

@tool
def now() -> dict:
    "Tell the time."
    return {"time": 1}

async def main():
    try:
        Runtime(Registry([now, scan]))
    except ConfigError as error:
        print(error.message)
    async with Runtime(Registry([now])) as runtime:
        print((await runtime.call("now", {})).data)
        try:
            await runtime.jobs.submit("greet", {})
        except ConfigError as error:
            print(error.hint)
        try:
            await runtime.work()
        except ConfigError as error:
            print(error.hint)
    jobs = open_jobs(f"sqlite:///{sys.argv[1]}/store.db")
    try:
        await jobs.start({})
    except ConfigError as error:
        print(error.hint)
    await jobs.close()

asyncio.run(main())
"""


def test_in_python_a_background_tool_is_refused_when_the_runtime_is_made_and_jobs_when_they_are_used(tmp_path):
    command = [sys.executable, "-c", PYTHON_CALLER, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    hint = install_command("jobs")
    refused = "The background tool scan needs the extra 'jobs': dbos is not installed."
    assert run.stdout.splitlines() == [refused, "{'time': 1}", hint, hint, hint]
    assert run.stderr == ""

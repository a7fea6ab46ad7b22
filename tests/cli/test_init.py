from pathlib import Path

import pytest


@pytest.mark.requirement("B-095")
def test_a_new_project_has_tools_settings_and_a_how_to(empty, run):
    result = run("init", "my project")
    assert result.exit_code == 0
    assert "cd 'my project'" in result.stdout
    assert "groundwire build tools/" in result.stdout
    files = {path.relative_to("my project").as_posix() for path in Path("my project").rglob("*.*")}
    assert files >= {
        "groundwire.toml",
        "tools/README.md",
        "tools/get_weather/handler.py",
        "tools/send_note/schema.json",
    }


def test_a_project_here_needs_no_change_of_folder(empty, run):
    result = run("init", ".")
    assert result.exit_code == 0
    assert "cd " not in result.stdout


def test_files_that_exist_are_never_touched(empty, run):
    Path("groundwire.toml").write_text("mine")
    result = run("init", ".")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[registry_error]:")
    assert Path("groundwire.toml").read_text() == "mine"


def test_a_folder_must_be_named(run):
    assert run("init").exit_code == 2


@pytest.mark.parametrize("folder", [".", "./"])
def test_the_working_folder_is_called_this_folder(empty, run, folder):
    lines = run("init", folder).stdout.splitlines()
    assert lines[0].endswith(" files into this folder.")
    assert not any("cd " in line for line in lines)

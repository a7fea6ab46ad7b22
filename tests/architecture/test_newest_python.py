"""Which Python the tests run on beside the default one."""

import os
import sys
from pathlib import Path

import pytest

from scripts.newest_python import find_candidates, find_newest, read_version

RUNNING = (3, 11, 7)
VENV = 'mkdir -p "$3/bin"; touch "$3/bin/pip"; chmod +x "$3/bin/pip"'


@pytest.fixture
def machine(tmp_path):
    """A machine with these Pythons, each a script that answers as one would."""

    def install(path, version, *, makes_environment=True):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        environment = VENV if makes_environment else "exit 1"
        starts = f"echo {version.replace('.', ' ')}" if version else "exit 127"
        file.write_text(f'#!/bin/sh\nif [ "$1" = -m ]; then {environment}; else {starts}; fi\n')
        file.chmod(0o755)
        return file

    return install


def newest(tmp_path, *folders):
    """Look for it as if only these folders were on the path."""
    path = os.pathsep.join(str(tmp_path / folder) for folder in folders)
    return find_newest({"PATH": path}, tmp_path / "home", RUNNING)


def test_the_newest_of_the_path_is_taken(machine, tmp_path):
    machine("bin/python3", "98.11.7")
    machine("bin/python3.9", "98.9.1")
    expected = machine("bin/python3.12", "98.12.1")
    assert newest(tmp_path, "bin") == expected


def test_a_shim_that_does_not_start_is_passed_over_for_what_its_manager_has(machine, tmp_path):
    machine("manager/shims/python3.13", "")
    expected = machine("manager/versions/98.13.0/bin/python3", "98.13.0")
    assert newest(tmp_path, "manager/shims") == expected


@pytest.mark.parametrize(
    "folder",
    [".pyenv/versions", ".asdf/installs/python", ".local/share/mise/installs/python", ".local/share/uv/python"],
)
def test_versions_of_a_manager_count_though_they_are_not_on_the_path(machine, tmp_path, folder):
    machine("bin/python3.12", "98.12.1")
    expected = machine(f"home/{folder}/one/bin/python3", "98.13.0")
    assert newest(tmp_path, "bin") == expected


def test_a_python_that_makes_no_environment_does_not_count(machine, tmp_path):
    machine("bin/python3.13", "98.13.0", makes_environment=False)
    expected = machine("bin/python3.12", "98.12.1")
    assert newest(tmp_path, "bin") == expected


def test_another_patch_of_the_running_version_is_not_newer(machine, tmp_path):
    machine("bin/python3", "98.0.9")
    found = find_newest({"PATH": str(tmp_path / "bin")}, tmp_path, (98, 0, 1))
    assert found is None
    machine("bin/python3.1", "98.1.0")
    assert find_newest({"PATH": str(tmp_path / "bin")}, tmp_path, (98, 0, 1)) == tmp_path / "bin" / "python3.1"


def test_a_machine_without_another_python_has_no_newest(tmp_path):
    assert find_newest({"PATH": ""}, tmp_path, RUNNING) is None


def test_a_real_python_tells_its_version():
    expected = sys.version_info[:3] if sys.version_info.releaselevel == "final" else ()
    assert read_version(Path(sys.executable)) == expected
    assert read_version(Path("/nowhere/python3")) == ()


def test_other_programs_are_not_candidates(machine, tmp_path):
    for name in ("python2", "python", "python3-config", "python3.12-config", "xpython3"):
        machine(f"bin/{name}", "98.0.0")
    assert list(find_candidates({"PATH": str(tmp_path / "bin")}, tmp_path)) == []

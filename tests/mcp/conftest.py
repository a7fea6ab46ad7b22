import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters

import groundwire as package
from groundwire.registry.build import build
from groundwire.registry.sample import write_sample
from tests.mcp.stage import LIMIT

OURS = ("GROUNDWIRE_", "OTEL_", "DATABASE_URL", "NO_COLOR")
SOURCES = str(Path(package.__file__).resolve().parent.parent)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No setting of the machine reaches a test."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", SOURCES, prepend=os.pathsep)


@pytest.fixture(scope="session")
def built_sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp_sample") / "project"
    write_sample(folder)
    build(folder / "tools", folder)
    return folder


@pytest.fixture
def project(built_sample, tmp_path, monkeypatch):
    """A built sample project, and the working folder."""
    folder = tmp_path / "project"
    shutil.copytree(built_sample, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def command(project):
    """`groundwire mcp` as a client starts it."""

    def command(*args):
        environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
        arguments = ["-m", "groundwire", "mcp", *args]
        return StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=str(project))

    return command


@pytest.fixture
def groundwire():
    """The command as a process of its own, in the working folder."""

    def groundwire(*args, **options):
        known = {"capture_output": True, "text": True, "timeout": LIMIT * 2}
        return subprocess.run([sys.executable, "-m", "groundwire", *map(str, args)], check=False, **known | options)

    return groundwire

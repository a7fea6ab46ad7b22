"""A built sample project, and two ways to use the command in it: in this process, and as users do."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import groundwire as package
from groundwire import Agent, Registry
from groundwire.cli import main
from groundwire.registry.build import build
from groundwire.registry.sample import write_sample
from groundwire.testing import FakeClock, ScriptedModel, ScriptedProvider

OURS = ("GROUNDWIRE_", "OTEL_", "DATABASE_URL", "NO_COLOR", "SOURCE_DATE_EPOCH")
SOURCES = str(Path(package.__file__).resolve().parent.parent)
TIME_LIMIT = 60


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No setting of the machine reaches a test."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", SOURCES, prepend=os.pathsep)  # for processes that start in another folder


@pytest.fixture(scope="session")
def built_sample(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "project"
    write_sample(folder)
    build(folder / "tools", folder)
    return folder


@pytest.fixture
def project(built_sample, tmp_path, monkeypatch) -> Path:
    """A copy of the sample, and the working folder."""
    folder = tmp_path / "project"
    shutil.copytree(built_sample, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run():
    """The command in this process."""

    def run(*args, **options):
        result = CliRunner().invoke(main, [str(arg) for arg in args], prog_name="groundwire", **options)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture
def run_json(run):
    """What a successful command prints with --json."""

    def run_json(*args, **options):
        result = run(*args, "--json", **options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run_json


@pytest.fixture
def groundwire():
    """The command as a process of its own, in the working folder."""

    def groundwire(*args, **options):
        return subprocess.run(
            [sys.executable, "-m", "groundwire", *map(str, args)],
            check=False,
            **{"capture_output": True, "text": True, "timeout": TIME_LIMIT, "encoding": "utf-8"} | options,
        )

    return groundwire


@pytest.fixture
def hide_packages(tmp_path, monkeypatch):
    """Make processes that are started from here run as if these packages were not installed."""

    def hide_packages(*packages):
        folder = tmp_path / "hidden packages"
        folder.mkdir()
        hidden = f"import sys; sys.modules.update(dict.fromkeys({packages!r}))"  # None: neither found nor imported
        folder.joinpath("sitecustomize.py").write_text(hidden)
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    return hide_packages


@pytest.fixture
def add_tool():
    """Write a tool folder into the working folder's tools and build again."""

    def add_tool(name, handler, *, rebuild=True, **schema):
        folder = Path("tools", name)
        folder.mkdir(parents=True)
        parameters = {"type": "object", "properties": {}}
        written = {"toolId": name, "category": "utility", "parameters": parameters, **schema}
        folder.joinpath("schema.json").write_text(json.dumps(written))
        folder.joinpath("guide.md").write_text(f"# {name}\n\nA tool of a test.\n")
        folder.joinpath("handler.py").write_text(handler)
        if rebuild:
            build("tools", ".")

    return add_tool


@pytest.fixture
def confirmed_tool(add_tool):
    """An action that waits for a person, and counts how often it ran."""
    handler = """
def execute(text=""):
    with open("ran.txt", "a") as file:
        file.write("x")
    return {"text": text}
"""
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    return lambda: add_tool("wipe_disk", handler, category="action", requiresConfirmation=True, parameters=parameters)


@pytest.fixture
def record():
    """Let an agent with the project's tools run against a script, and keep the run in the project's store."""

    def record(prompt, *answers, store="sqlite:///groundwire.db", **options):
        async def run():
            models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
            registry = Registry.load("tool_registry.json")
            async with Agent("sim/recorded", tools=registry, models=models, store=store) as agent:
                return await agent.run(prompt, **options)

        return asyncio.run(run())

    return record

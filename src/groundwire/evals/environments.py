"""Where a scenario takes place: the built-in workspace, stubs, a folder of tools, or a function of one's own."""

import contextlib
import copy
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.evals.files import load_function
from groundwire.evals.scenarios import Environment, FunctionCheck, Scenario
from groundwire.evals.stubs import StubEnvironment
from groundwire.evals.workspace import ALLOWED, MemoryWorkspace, workspace_tools
from groundwire.registry import Registry

BUILT_IN = ("workspace", "stubs")


class OpenEnvironment(Struct):
    registry: Registry
    state: Callable[[], JsonValue]
    default_tools: tuple[str, ...] | None = None


def open_environment(scenario: Scenario) -> OpenEnvironment:
    """A new one for every trial."""
    kind = scenario.environment
    if kind == "workspace":
        workspace = MemoryWorkspace(copy.deepcopy(scenario.setup))
        return OpenEnvironment(workspace_tools(workspace), workspace.read, ALLOWED)
    if kind == "stubs":
        return _made(StubEnvironment(scenario.setup))
    if not isinstance(kind, str):
        return _made(kind(scenario.setup))
    if ":" in kind and not Path(kind).exists():
        return _made(load_function(kind)(scenario.setup))
    folder = Path(kind)
    if not folder.is_dir():
        raise ConfigError(
            f"The environment {kind!r} of {scenario.id} is not there.",
            hint="workspace, stubs, a folder of tools, or module:name",
        )
    return OpenEnvironment(Registry.build(folder), lambda: None)


def fingerprint(scenario: Scenario, sources: Iterable[Path] = ()) -> str:
    """Of the files that a trial depends on beside what the scenario says: tools in a folder, functions of one's own, and
    the `sources` of its suite."""
    digest = hashlib.sha256()
    own = (file for folder in sources for file in _within(folder))
    for file in (*own, *_files_behind(scenario)):
        digest.update(f"{file}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files_behind(scenario: Scenario) -> Iterator[Path]:
    kind = scenario.environment
    for folder in (kind, scenario.setup.get("tools") if kind == "stubs" else None):
        if isinstance(folder, str) and Path(folder).is_dir():
            yield from _within(Path(folder))
    named = (kind, *(check.function for check in scenario.checks if isinstance(check, FunctionCheck)))
    for function in named:
        with contextlib.suppress(TypeError):  # what is no function, or was not written in Python
            source = inspect.getsourcefile(function)
            if source is not None and Path(source).is_file():
                yield Path(source)


def _within(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if "__pycache__" not in file.parts and file.is_file())


def _made(environment: Environment) -> OpenEnvironment:
    return OpenEnvironment(environment.registry, environment.state)

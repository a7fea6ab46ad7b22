"""Where a scenario takes place: the built-in workspace, stubs, a folder of tools, or a function of one's own."""

import copy
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.evals.files import load_function
from groundwire.evals.scenarios import Environment, Scenario
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


def _made(environment: Environment) -> OpenEnvironment:
    return OpenEnvironment(environment.registry, environment.state)

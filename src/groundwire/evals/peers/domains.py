"""A domain in the style of τ²-bench: a database, tools that act on it, and the policy that the model has to follow.

The tools are the methods of one class, in `tools.py` beside the database or in the installed package `tau2`. They run in
our dispatcher, each trial on a database of its own. What the tasks are is not known here.
"""

import copy
import importlib
import inspect
import re
import sys
import tomllib
import traceback
import typing
from collections.abc import Callable, Coroutine, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from groundwire.contracts.canonical import JsonObject, JsonValue, digest, dump_json
from groundwire.contracts.errors import ConfigError, ErrorType, GroundwireError, InvalidJson, ToolError
from groundwire.evals.peers.reading import read_text, read_value
from groundwire.evals.stubs import StubTool
from groundwire.registry import Registry, Tool

POLICIES = ("policy.md", "main_policy.md")
PACKAGE = "tau2.domains"
_MARK, _CHANGES = "__tool__", "__mutates_state__"


class Domain:
    def __init__(self, folder: Path) -> None:
        self.name = folder.resolve().name
        self.folder = folder
        self.policy = _policy(folder)
        self._database = _database(folder)
        self._kind = _toolkit(_module(folder, self.name))
        self._names = _tool_names(self._kind)
        first = self.open()
        self.declared = tuple(self._declare(first.method(name)) for name in self._names)
        self.untouched = first.dump()
        """The database as its tools have it, before anything was done to it."""
        self._digest = digest([self.untouched, self.policy, [repr(tool) for tool in self.declared]])

    def __repr__(self) -> str:
        """The same for the same domain: results are kept by it."""
        return f"Domain({self.name}, {self._digest})"

    def open(self, more: JsonObject | None = None) -> "OpenDomain":
        """The tools on a database of their own; `more` is put into it first."""
        data: JsonObject = msgspec.json.decode(self._database)
        _merge(data, more or {})
        try:
            read = getattr(typing.get_type_hints(self._kind).get("db"), "model_validate", None)
            return OpenDomain(self._kind(data if read is None else read(data)))
        except Exception as error:
            raise ConfigError(f"{self.folder}: its tools do not take its database: {error}") from error

    def changes_state(self, tool: str) -> bool:
        return bool(getattr(getattr(self._kind, tool, None), _CHANGES, True))

    def registry(self, opened: "OpenDomain") -> Registry:
        return Registry(
            Tool(
                tool.name,
                description=tool.description,
                parameters=tool.parameters,
                handler=opened.handler(tool.name),
            )
            for tool in self.declared
        )

    def _declare(self, method: Callable[..., Any]) -> StubTool:
        try:
            spec = Tool.from_function(method, None, {"result": False}).spec
        except GroundwireError as error:
            raise ConfigError(f"{self.folder}: {error}") from None
        return StubTool(name=spec.tool_id, description=spec.description, parameters=spec.parameters)


class OpenDomain:
    """The tools and their database, for one trial."""

    def __init__(self, toolkit: Any) -> None:
        self._toolkit = toolkit

    def method(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self._toolkit, name)
        return found

    def call(self, name: str, arguments: JsonObject) -> JsonValue:
        return _plain(self.method(name)(**arguments))

    def handler(self, name: str) -> Callable[..., Coroutine[Any, Any, JsonValue]]:
        async def handle(**arguments: Any) -> JsonValue:
            try:
                return self.call(name, arguments)
            except Exception as error:  # noqa: BLE001 - these tools refuse by raising whatever they like
                raise ToolError(ErrorType.PERMANENT, str(error) or type(error).__name__) from None

        return handle

    def dump(self) -> JsonValue:
        return _plain(self._toolkit.db)


def changes_between(before: JsonValue, after: JsonValue, path: str = "") -> Iterator[JsonObject]:
    """What became different, by JSON Pointer. Lists are compared as wholes."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            inner = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                yield {"path": inner, "removed": True}
            elif name not in before:
                yield {"path": inner, "value": after[name]}
            else:
                yield from changes_between(before[name], after[name], inner)
    else:
        yield {"path": path, "value": after}


def _plain(value: Any) -> JsonValue:
    """As JSON, whatever models and dates a tool works with."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "model_dump"):
        dumped: JsonValue = value.model_dump(mode="json")
        return dumped
    return str(value)


def _merge(data: JsonObject, more: JsonObject) -> None:
    for name, value in more.items():
        inner = data.get(name)
        if isinstance(inner, dict) and isinstance(value, dict):
            _merge(inner, value)
        else:
            data[name] = copy.deepcopy(value)


def _policy(folder: Path) -> str:
    found = next((folder / name for name in POLICIES if (folder / name).is_file()), None)
    if found is None:
        raise ConfigError(
            f"{folder} has no {POLICIES[0]}.", hint="a domain is tasks.json, db.json, policy.md, tools.py"
        )
    return read_text(found)


def _database(folder: Path) -> bytes:
    """As JSON: reading it again is the fastest way to copy it."""
    if (file := folder / "db.toml").is_file() and not (folder / "db.json").is_file():
        text = read_text(file)
        try:
            return dump_json(_plain(tomllib.loads(text)))
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            line = found[1] if found else text.count("\n") + 1  # else it is at the end
            raise ConfigError(f"{file}:{line}: it is not TOML: {error}.") from None
        except (InvalidJson, RecursionError) as error:
            raise ConfigError(f"{file}:1: JSON could not say this: {error}.") from None
    database = read_value(folder / "db.json")
    if not isinstance(database.value, dict):
        raise database.wrong("a database is an object.")
    return dump_json(database.value)


def _module(folder: Path, name: str) -> ModuleType:
    file = folder / "tools.py"
    try:
        if not file.is_file():
            return importlib.import_module(f"{PACKAGE}.{name}.tools")
        loader = SourceFileLoader(f"groundwire_tau_{name}", str(file))
        module = ModuleType(loader.name)
        module.__file__ = str(file)
        sys.modules[module.__name__] = module  # where its annotations are looked up
        loader.exec_module(module)
    except ImportError as error:
        hint = f"put tools.py there, or install the package that has {PACKAGE}.{name}"
        raise ConfigError(f"The tools of {folder} cannot be imported: {error}", hint=hint) from None
    except SyntaxError as error:
        raise ConfigError(f"{file}:{error.lineno or 1}: it is no Python: {error.msg}.") from None
    except (Exception, SystemExit) as error:
        steps = [step for step in traceback.extract_tb(error.__traceback__) if Path(step.filename) == file]
        line = steps[-1].lineno if steps else 1
        raise ConfigError(f"{file}:{line}: it does not run: {type(error).__name__}: {error}") from error
    return module


def _toolkit(module: ModuleType) -> type[Any]:
    """The one class that has tools. One that others are made from is none itself."""
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    found = [kind for kind in own if _marked(kind)] or [kind for kind in own if _takes_database(kind)]
    found = [kind for kind in found if not any(kind in other.__mro__[1:] for other in found)]
    if len(found) != 1:
        many = ", ".join(kind.__name__ for kind in found) or "none"
        raise ConfigError(
            f"{module.__file__}:1: it has to have one class of tools, and has {many}.",
            hint="a class whose __init__ takes db, and whose methods are the tools",
        )
    return found[0]


def _tool_names(kind: type[Any]) -> tuple[str, ...]:
    """Methods that are marked as tools, as τ²-bench marks them; all that are public, where none is."""
    return _marked(kind) or tuple(name for name in _methods(kind) if not name.startswith("assert_"))


def _marked(kind: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, method in _methods(kind).items() if hasattr(method, _MARK))


def _methods(kind: type[Any]) -> dict[str, Callable[..., Any]]:
    return {name: method for name, method in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


def _takes_database(kind: type[Any]) -> bool:
    return inspect.isfunction(kind.__init__) and "db" in inspect.signature(kind.__init__).parameters

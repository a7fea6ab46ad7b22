"""The registry: an immutable set of tools with one version, whatever each tool was made from.

Knows tools, not who calls them. A session pins a registry by its version; a registry itself never changes.
"""

import importlib
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import msgspec

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ArtifactError, RegistryError
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.requests import FunctionTool
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.contracts.tools import Exposure, ToolSpec, function_tool
from groundwire.registry.artifact import (
    REBUILD,
    Artifact,
    EntrySource,
    QuarantinedTool,
    decode_artifact,
    encode_artifact,
    version_of,
)
from groundwire.registry.author import Tool
from groundwire.registry.declarations import Format, declare, format_named
from groundwire.registry.handlers import Handler

ARTIFACT_FILE = "tool_registry.json"


class Registry:
    """Tools by name. `quarantined` are those that a build had to leave out, each with its reason."""

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        base_path: str | os.PathLike[str] = ".",
        schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
    ) -> None:
        self.base_path = Path(base_path)
        self.schema_limits = schema_limits
        """Of tools that are read from folders and artifacts."""
        self.quarantined: tuple[QuarantinedTool, ...] = ()
        self._by_name: dict[str, Tool] = {}
        self._body: bytes | None = None
        for tool in tools:
            self._add(tool)

    @classmethod
    def build(
        cls, tools_dir: str | os.PathLike[str], *, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
    ) -> "Registry":
        """Read tool folders without writing anything. A bad one is quarantined, the rest is there."""
        from groundwire.registry.folder import read_tools

        found = read_tools(Path(tools_dir), schema_limits=schema_limits)
        registry = cls(found.tools, base_path=Path(tools_dir).parent, schema_limits=schema_limits)
        registry.quarantined = tuple(problem.quarantined() for problem in found.problems)
        return registry

    @classmethod
    def load(
        cls, path: str | os.PathLike[str] = ARTIFACT_FILE, *, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
    ) -> "Registry":
        """Read an artifact that `groundwire build` wrote."""
        try:
            body = Path(path).read_bytes()
        except OSError as error:
            raise ArtifactError(
                f"The artifact {path} cannot be read: {error.strerror}", reason="missing", hint=REBUILD
            ) from None
        return cls._from_body(body, Path(path).parent, schema_limits, outside=True)

    @classmethod
    def from_artifact(
        cls,
        body: bytes,
        base_path: str | os.PathLike[str] = ".",
        *,
        schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
    ) -> "Registry":
        """Read an artifact from anywhere; its handlers must be below `base_path`."""
        return cls._from_body(body, Path(base_path), schema_limits, outside=False)

    def older(self, body: bytes) -> "Registry":
        """Read another version of this registry: handlers are looked for in the same place, functions in this one."""
        return self._from_body(body, self.base_path, self.schema_limits, outside=True, live=self)

    @classmethod
    def _from_body(
        cls, body: bytes, base_path: Path, limits: SchemaLimits, *, outside: bool, live: "Registry | None" = None
    ) -> "Registry":
        artifact = decode_artifact(body, outside=outside)
        try:
            tools = _tools_of(artifact, base_path, limits, live)
            registry = cls(tools, base_path=base_path, schema_limits=limits)
        except RegistryError as error:
            raise ArtifactError(f"The artifact is wrong: {error.message}", reason=error.reason, hint=REBUILD) from None
        registry.quarantined = tuple(artifact.quarantined)
        registry.version = artifact.version
        registry._body = body
        return registry

    @cached_property
    def version(self) -> str:
        """`1.0.` and eight hex digits of the content of all tools."""
        return version_of(self)

    def find(self, name: str) -> Tool | None:
        """Find a tool by its id or its wire name."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._ordered)

    def __len__(self) -> int:
        return len(self._ordered)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __repr__(self) -> str:
        return f"Registry({self.version}, {len(self)} tools)"

    def declarations(self, form: str, *, names: Iterable[str] | None = None) -> list[JsonObject]:
        """Declare tools in a provider's form: those named, in that order, or all that are meant for models.

        Forms have the artifact's names (`openai`, `openaiResponses`, `anthropic`, `geminiNative`, `geminiJson`, `mcp`) or
        those of the dialects (`openai-chat`, `openai-responses`, `gemini`, `gemini-json`).
        """
        wanted = format_named(form)
        return [self._declare(tool, wanted) for tool in self._offered(names)]

    def function_tools(self, names: Iterable[str] | None = None) -> tuple[FunctionTool, ...]:
        """The tools for a `ModelRequest`: those named, in that order, or all that are meant for models."""
        return tuple(function_tool(tool.spec) for tool in self._offered(names))

    def artifact(self, *, built_at: datetime | None = None) -> bytes:
        """The bytes of tool_registry.json: those that were read, or new ones."""
        if self._body is not None and built_at is None:
            return self._body
        return encode_artifact(
            self,
            version=self.version,
            built_at=timestamp(built_at or datetime.now(UTC)),
            base_path=self.base_path,
            quarantined=self.quarantined,
        )

    def with_tools(self, tools: Iterable[Tool]) -> "Registry":
        """Make a registry of these tools and more."""
        more = Registry(base_path=self.base_path, schema_limits=self.schema_limits)
        more.quarantined = self.quarantined
        more._by_name = dict(self._by_name)
        for tool in tools:
            more._add(tool)
        return more

    @cached_property
    def _ordered(self) -> list[Tool]:
        return sorted((tool for name, tool in self._by_name.items() if name == tool.tool_id), key=attrgetter("tool_id"))

    @cached_property
    def _declared(self) -> dict[tuple[str, str], JsonObject]:
        return {}

    def _add(self, tool: Tool) -> None:
        if not isinstance(tool, Tool):
            raise RegistryError(
                f"{tool!r} is not a tool.",
                reason="not_a_tool",
                hint="Decorate the function with @tool, or give a Tool.",
            )
        for name in (tool.tool_id, tool.wire_name):
            if (other := self._by_name.get(name)) is not None:
                raise _collision(tool, other)
        self._by_name[tool.tool_id] = self._by_name[tool.wire_name] = tool

    def _offered(self, names: Iterable[str] | None) -> list[Tool]:
        if names is None:
            return [tool for tool in self if tool.spec.exposure is Exposure.MODEL]
        return [self._get(name) for name in names]

    def _get(self, name: str) -> Tool:
        tool = self._by_name.get(name)
        if tool is None:
            raise RegistryError(f"There is no tool {name!r}.", reason="unknown_tool")
        return tool

    def _declare(self, tool: Tool, form: Format) -> JsonObject:
        key = (tool.tool_id, form)
        if key not in self._declared:
            built = tool.source.declaration(form) if isinstance(tool.source, EntrySource) else None
            self._declared[key] = built if built is not None else declare(tool.spec, form).value
        return self._declared[key]


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _collision(tool: Tool, other: Tool) -> RegistryError:
    if tool.tool_id == other.tool_id:
        return RegistryError(f"Two tools have the id {tool.tool_id!r}.", reason="duplicate_tool_id")
    return RegistryError(
        f"The tools {other.tool_id!r} and {tool.tool_id!r} have the same wire name {tool.wire_name!r}.",
        reason="wire_name_collision",
    )


def _tools_of(artifact: Artifact, base_path: Path, limits: SchemaLimits, live: Registry | None) -> Iterator[Tool]:
    def resolve(spec: ToolSpec) -> Handler:
        return _resolve_function(spec, live)

    known = {tool.spec.handler_path for tool in live} if live is not None else set()
    for entry in artifact.tools:
        # What comes out of a store must not be able to bring in code from anywhere.
        is_foreign = live is not None and entry.handler_path.startswith("../") and entry.handler_path not in known
        kept = msgspec.structs.replace(entry, handler_path="") if is_foreign else entry
        source = EntrySource(kept, base_path, resolve)
        yield Tool.from_source(kept.tool_id, kept.wire_name, source, limits)


def _resolve_function(spec: ToolSpec, live: Registry | None) -> Handler:
    """Find the function of a tool that was written in Python: in the running registry, else in its module.

    Only a `Tool` of the same id and the same arguments counts; an artifact cannot name any other function.
    """
    if not spec.handler_path:
        raise RegistryError(f"The tool {spec.tool_id} has no handler.", reason="no_handler")
    tool = live.find(spec.tool_id) if live is not None else _import_tool(spec)
    if tool is None:
        raise RegistryError(
            f"The function {spec.handler_path} of {spec.tool_id} is not there any more.", reason="handler_gone"
        )
    if tool.spec.parameters != spec.parameters:
        raise RegistryError(
            f"The function {spec.handler_path} of {spec.tool_id} takes other arguments now.", reason="handler_changed"
        )
    return tool.handler()


def _import_tool(spec: ToolSpec) -> Tool | None:
    try:
        module = importlib.import_module(spec.handler_path.partition(":")[0])
    except BaseException as error:  # a module can raise anything; the caller reports that the tool is missing
        if is_from_signal(error):
            raise
        return None
    found = (value for value in vars(module).values() if isinstance(value, Tool) and value.tool_id == spec.tool_id)
    return next(found, None)

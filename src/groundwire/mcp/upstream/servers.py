"""The servers of a configuration, and their tools as tools of a registry.

Each tool is offered as it was pinned, under its server's name, and obeys every policy like any other. What a server
says is data: its instructions reach nobody, and its hints decide no more than whether a tool counts as an action.
"""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from groundwire.codecs.mcp import decode_result
from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.errors import ErrorType, RegistryError, ToolError
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.contracts.texts import storable
from groundwire.contracts.tools import Category
from groundwire.mcp.upstream.connection import Connection, Lost, Refused, Unreachable
from groundwire.mcp.upstream.pins import LOCK_FILE, Pin, read_lock, write_lock
from groundwire.registry import Registry, Tool
from groundwire.registry.artifact import QuarantinedTool
from groundwire.registry.servers import McpServerSettings
from groundwire.runtime.context import Context
from groundwire.runtime.policies.access import matches_name

log = logging.getLogger("groundwire")

QUARANTINED = "QUARANTINED"
"""The detail of a refusal: the tool is not any more what was pinned."""


class McpServers:
    """Connected while it is open. `tools` are those that may be used, `quarantined` the others, each with its reason."""

    def __init__(
        self,
        servers: Mapping[str, McpServerSettings],
        *,
        lock: str | os.PathLike[str] = LOCK_FILE,
        environ: Mapping[str, str] | None = None,
        schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
    ) -> None:
        self.tools: tuple[Tool, ...] = ()
        self.quarantined: tuple[QuarantinedTool, ...] = ()
        self._settings = dict(servers)
        self._schema_limits = schema_limits
        self._path = Path(lock)
        environ = os.environ if environ is None else environ
        self._connections = {name: Connection(name, server, environ) for name, server in servers.items()}

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def is_connected(self) -> dict[str, bool]:
        """Of each server, whether there is a connection now. One that was lost is made again when a tool is called."""
        return {name: connection.is_connected for name, connection in self._connections.items()}

    def check(self) -> None:
        """ConfigError where what was pinned cannot be read or trusted."""
        read_lock(self._path)

    async def open(self) -> None:
        """Ask every server for its tools. One that cannot be reached keeps those that are pinned, for when it can."""
        lock = read_lock(self._path)
        found = await self._ask()
        pinned = {**{name: pins for name, pins in found.items() if pins is not None}, **lock.servers}
        if new := [name for name in found if found[name] is not None and name not in lock.servers]:
            self._write(pinned)
            log.warning("pinned the tools of %s in %s", ", ".join(sorted(new)), self._path)
        tools: list[Tool] = []
        problems: list[QuarantinedTool] = []
        for name in self._settings:
            self._enter(name, pinned.get(name, {}), found[name], tools, problems)
        self.tools, self.quarantined = tuple(tools), tuple(problems)

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))

    async def pin(self, names: Iterable[str] | None = None) -> dict[str, Mapping[str, Pin]]:
        """Agree to what these servers, or all, say now. Gives what was pinned; who cannot be reached stays as it was."""
        found = await self._ask(self._settings if names is None else names)
        fresh = {name: pins for name, pins in found.items() if pins is not None}
        kept = {name: pins for name, pins in read_lock(self._path).servers.items() if name in self._settings}
        self._write({**kept, **fresh})
        return fresh

    def extend(self, registry: Registry) -> Registry:
        """A registry of its tools and these. Names that it has already are not taken from it."""
        taken = [tool for tool in self.tools if tool.tool_id in registry or tool.wire_name in registry]
        extended = registry.with_tools(tool for tool in self.tools if tool not in taken)
        clashes = (_quarantine(tool.tool_id, "duplicate_tool_id", "Another tool has its name.") for tool in taken)
        extended.quarantined = (*extended.quarantined, *self.quarantined, *clashes)
        return extended

    async def _ask(self, names: Iterable[str] | None = None) -> dict[str, Mapping[str, Pin] | None]:
        wanted = list(self._settings if names is None else names)

        async def ask(name: str) -> Mapping[str, Pin] | None:
            try:
                return await self._connections[name].tools()
            except Unreachable as error:
                log.warning("the MCP server %s cannot be reached: %s", name, error)
                return None

        return dict(zip(wanted, await asyncio.gather(*map(ask, wanted)), strict=True))

    def _write(self, servers: Mapping[str, Mapping[str, Pin]]) -> None:
        write_lock(self._path, servers)

    def _enter(
        self,
        server: str,
        pinned: Mapping[str, Pin],
        found: Mapping[str, Pin] | None,
        tools: list[Tool],
        problems: list[QuarantinedTool],
    ) -> None:
        """Sort one server's tools into those that may be used and those that may not."""
        for name, known in pinned.items():
            tool_id = f"{server}.{name}"
            if not self._is_wanted(server, name):
                continue
            if found is not None and name not in found:
                problems.append(_quarantine(tool_id, "tool_gone", "The server does not have it any more."))
            elif found is not None and found[name].hash != known.hash:
                message = (
                    f"The server declares it otherwise than it was pinned. `groundwire tools pin {server}` agrees."
                )
                problems.append(_quarantine(tool_id, "schema_changed", message))
            else:
                try:
                    tools.append(self._make(server, tool_id, known))
                except RegistryError as error:
                    problems.append(_quarantine(tool_id, error.reason, error.message))
        for name in found or {}:
            if name not in pinned and self._is_wanted(server, name):
                message = f"It is new since the server was pinned. `groundwire tools pin {server}` agrees."
                problems.append(_quarantine(f"{server}.{name}", "not_pinned", message))

    def _is_wanted(self, server: str, name: str) -> bool:
        settings = self._settings[server]
        if any(matches_name(name, name, pattern) for pattern in settings.deny):
            return False
        return settings.allow is None or any(matches_name(name, name, pattern) for pattern in settings.allow)

    def _make(self, server: str, tool_id: str, known: Pin) -> Tool:
        declared: Any = known.declaration
        settings, annotations = self._settings[server], declared.get("annotations")
        reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
        remote = RemoteTool(
            self._connections[server], tool_id, known, is_action=not reads, keep_media=settings.keep_media
        )
        return Tool(
            tool_id,
            handler=remote.handler(),
            description=_text(declared.get("description") or declared.get("title")),
            parameters=declared.get("inputSchema", {"type": "object"}),
            result=declared.get("outputSchema"),
            category=Category.RETRIEVAL if reads else Category.ACTION,
            hard_ms=settings.hard_ms,
            schema_limits=self._schema_limits,
        )


class RemoteTool:
    """Carries one tool's calls to its server, and says what became of them."""

    def __init__(self, connection: Connection, tool_id: str, known: Pin, *, is_action: bool, keep_media: bool) -> None:
        self._connection = connection
        self._tool_id = tool_id
        self._known = known
        self._name = str(known.declaration["name"])
        self._is_action = is_action
        self._keep_media = keep_media

    def handler(self) -> Any:
        """A handler for the registry; with a context, unless the tool has an argument of that name itself."""
        schema = self._known.declaration.get("inputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None

        async def call(context: Context, **arguments: Any) -> Any:
            async def tell(progress: float, total: float | None, message: str | None) -> None:
                context.progress({"progress": progress, "total": total, "message": message})

            return await self._call(arguments, tell)

        async def call_plainly(**arguments: Any) -> Any:
            return await self._call(arguments)

        return call_plainly if isinstance(properties, dict) and "context" in properties else call

    async def _call(self, arguments: JsonObject, on_progress: Any = None) -> Any:
        try:
            await self._check()
            value = await self._connection.call(self._name, arguments, on_progress)
        except Unreachable as error:
            raise ToolError(ErrorType.TRANSIENT, f"The server of {self._tool_id} cannot be reached: {error}") from None
        except Refused as error:
            raise ToolError(ErrorType.PERMANENT, f"The server refused the call: {error}") from None
        except Lost as error:
            message = f"The server of {self._tool_id} gave no result: {error}"
            raise ToolError(
                ErrorType.TRANSIENT, message, retryable=not self._is_action, partial_side_effects=self._is_action
            ) from None
        data, failed = decode_result(value, keep_media=self._keep_media)
        if failed:  # the server answers for it that the call failed
            raise ToolError(ErrorType.PERMANENT, _text(data) or "The tool failed and did not say why.")
        return data

    async def _check(self) -> None:
        """Whether the server still declares what was pinned. It may have changed with a new connection, or while open."""
        fresh = (await self._connection.tools()).get(self._name)
        if fresh is None or fresh.hash != self._known.hash:
            message = f"{self._tool_id} is not what it was when it was pinned, and is not used until a person agrees."
            raise ToolError(ErrorType.PERMANENT, message, detail=QUARANTINED)


def _quarantine(tool: str, reason: str, message: str) -> QuarantinedTool:
    return QuarantinedTool(tool=storable(tool), reason=reason, message=storable(message))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return storable(value if isinstance(value, str) else dump_json(value).decode())

"""A connection to one server, made when it is needed, and made again when it is lost.

The seam to the SDK's client. Knows messages and what may be said about their failures; what the tools are for, and
whether they may be called, is decided above.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from groundwire import __version__
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.mcp.upstream.addresses import GuardedTransport
from groundwire.mcp.upstream.pins import Pin, pin_all
from groundwire.mcp.upstream.tidying import raw_tools, tidy
from groundwire.registry.servers import McpServerSettings

log = logging.getLogger("groundwire")

CONNECT_SECONDS = 20.0
READ_SECONDS = 300.0
MAX_PAGES = 100

_UNSERVED = frozenset({types.INVALID_PARAMS, types.METHOD_NOT_FOUND, types.INVALID_REQUEST, types.PARSE_ERROR})
"""Errors of a request that no tool has seen."""


class Unreachable(Exception):
    """The server cannot be reached; nothing was sent."""


class Refused(Exception):
    """The server did not take the request; no tool has run."""


class Lost(Exception):
    """The request was sent, and there is no answer that says what became of it."""


class Connection:
    """Safe to use by many calls at once, on the loop on which it was first used."""

    def __init__(self, name: str, settings: McpServerSettings, environ: Mapping[str, str]) -> None:
        self.name = name
        self._settings = settings
        self._environ = environ
        self._lock = asyncio.Lock()
        self._live: _Live | None = None

    @property
    def is_connected(self) -> bool:
        return self._live is not None and not self._live.is_over

    async def tools(self) -> Mapping[str, Pin]:
        """What the server declares, asked for once a connection and again when it says that something changed."""
        live = await self._connected()
        if live.declared is None:
            live.declared = pin_all(await self._list(live))
        return live.declared

    async def call(self, tool: str, arguments: JsonObject, on_progress: ProgressFnT | None = None) -> JsonObject:
        live = await self._connected()
        try:
            return await self._send(live, tool, arguments, on_progress)
        except Refused:
            if not live.forgotten:
                raise
        # The server has forgotten us, as after a restart, and so has not looked at the call.
        await self._drop(live)
        return await self._send(await self._connected(), tool, arguments, on_progress)

    async def close(self) -> None:
        if self._live is not None:
            await self._drop(self._live)

    async def _connected(self) -> "_Live":
        async with self._lock:
            if self._live is not None and not self._live.is_over:
                return self._live
            if self._live is not None:
                log.warning("the connection to the MCP server %s was lost; connecting again", self.name)
                await self._live.stop()
            self._live = _Live(self._client)
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._live.start()
            except BaseException as error:
                failed, self._live = self._live, None
                await failed.stop()
                if isinstance(error, Exception):
                    raise Unreachable(_reason(error)) from None
                raise
            return self._live

    async def _drop(self, live: "_Live") -> None:
        async with self._lock:
            if self._live is live:
                self._live = None
        await live.stop()

    async def _list(self, live: "_Live") -> list[JsonObject]:
        """All pages. The declarations are taken from the wire: the SDK's own would lack what it does not know."""
        async with live.listing:
            live.listed.clear()
            cursor: str | None = None
            for _ in range(MAX_PAGES):
                try:
                    page = await live.client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                except (MCPError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
                    raise Unreachable(_reason(error)) from None
                cursor = page.next_cursor
                if not cursor:
                    break
            return list(live.listed)

    async def _send(
        self, live: "_Live", tool: str, arguments: JsonObject, on_progress: ProgressFnT | None
    ) -> JsonObject:
        try:
            result = await live.client.session.call_tool(
                tool, arguments, progress_callback=on_progress, allow_input_required=True
            )
        except MCPError as error:
            if error.error.code in _UNSERVED:
                live.forgotten = error.error.message == "Session terminated"
                raise Refused(error.error.message) from None
            raise Lost(error.error.message) from None
        except (ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError) as error:
            raise Lost(_reason(error)) from None
        if isinstance(result, types.InputRequiredResult):
            raise Refused("it asks for input from a person, which it cannot have here")
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    @asynccontextmanager
    async def _client(self, live: "_Live") -> AsyncIterator[Client]:
        async def hear(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                live.declared = None

        info = types.Implementation(name="groundwire", version=__version__)
        async with AsyncExitStack() as stack:
            transport = _watched(await self._transport(stack), live)
            yield await stack.enter_async_context(Client(transport, client_info=info, message_handler=hear, cache=None))

    async def _transport(self, stack: AsyncExitStack) -> Any:
        settings = self._settings
        if settings.command:
            missing = [name for name in settings.env if name not in self._environ]
            if missing:
                raise ConfigError(f"the variable {missing[0]} is not set")
            parameters = StdioServerParameters(
                command=settings.command,
                args=list(settings.args),
                env={name: self._environ[name] for name in settings.env},
                cwd=settings.cwd or None,
                encoding_error_handler="replace",
            )
            return stdio_client(parameters, errlog=sys.stderr)
        headers = dict(settings.headers)
        if settings.key_env:
            if not self._environ.get(settings.key_env):
                raise ConfigError(f"the variable {settings.key_env} is not set")
            headers["Authorization"] = f"Bearer {self._environ[settings.key_env]}"
        client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS),
            transport=None if settings.allow_private else GuardedTransport(),
            trust_env=False,
        )
        return streamable_http_client(settings.url, http_client=await stack.enter_async_context(client))


class _Live:
    """One connection while it lasts. A task of its own keeps it, as only who opened it may close it."""

    def __init__(self, open_client: "Callable[[_Live], Any]") -> None:
        self._open_client = open_client
        self._stopped = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self.client: Client
        self.is_over = False
        self.forgotten = False
        self.declared: Mapping[str, Pin] | None = None
        self.listed: list[JsonObject] = []
        self.listing = asyncio.Lock()

    async def start(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(ready))
        await ready

    async def stop(self) -> None:
        self._stopped.set()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(self._keeper, return_exceptions=True)

    async def _keep(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._open_client(self) as self.client:
                ready.set_result(None)
                await self._stopped.wait()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the connection is told, or the log is
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else ConnectionError("it was given up"))
            elif not isinstance(error, asyncio.CancelledError):
                log.warning("a connection to an MCP server ended: %s", _reason(error))
        finally:
            self.is_over = True


@asynccontextmanager
async def _watched(transport: Any, live: _Live) -> AsyncIterator[Any]:
    """A transport whose messages are tidied, whose listings are noted, and whose end is noticed."""
    async with transport as (read, write):
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception]()

        async def relay() -> None:
            async with send:
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    async for item in read:
                        await send.send(_note(item, live))
            live.is_over = True

        async with anyio.create_task_group() as group:
            group.start_soon(relay)
            yield receive, write
            group.cancel_scope.cancel()


def _note(item: Any, live: _Live) -> Any:
    message = item.message if isinstance(item, SessionMessage) else None
    if isinstance(message, types.JSONRPCResponse):
        live.listed.extend(raw_tools(message.result))
        message.result = tidy(message.result)
    return item


def _reason(error: BaseException) -> str:
    """What went wrong, in a line. Task groups wrap the one thing that matters."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {CONNECT_SECONDS:g} seconds"
    if isinstance(error, ValidationError):
        return "its answer is not what the protocol says"
    if isinstance(error, MCPError):
        return error.error.message
    return str(error).split("\n", 1)[0][:300] or type(error).__name__

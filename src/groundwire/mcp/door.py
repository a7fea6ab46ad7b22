"""A runtime's tools as a server of the Model Context Protocol offers them: which there are, and what a call of one gives.

Every guarantee is the runtime's; this only asks it, as a model would. Knows neither messages nor transports: `protocol`
translates those, `stdio` and `http` carry them.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Hashable, Iterator
from operator import attrgetter
from typing import Any, TypeAlias

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.events import ApprovalRequested, CallProgress, Event
from groundwire.contracts.results import ConfirmationNotice, ToolResult
from groundwire.registry import Tool
from groundwire.registry.declarations import declare
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.spill import READ_TOOL, reading_tool
from groundwire.runtime.surface import Surface
from groundwire.runtime.turns import Turn, TurnOptions

PAGE_TOOLS = 200
ORIGIN = "mcp"

Report: TypeAlias = Callable[[Any], Awaitable[None]]
"""Is told what a tool says while it runs."""
_DONE = object()


class ToolRequest(Struct, frozen=True, kw_only=True):
    """One call, as a client asks for it. `known_as` is the name under which the client may cancel it.

    `outlives`: it goes on when whoever asked has gone, as a connection that broke is no wish to stop.
    """

    name: str
    arguments: JsonObject
    options: TurnOptions
    idempotency_key: str | None = None
    known_as: Hashable = None
    outlives: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """What a person has to agree to before a call can be made."""

    confirmation_id: str
    text: str


class Answered(Struct, frozen=True, kw_only=True):
    """What a call gave, and the question that it waits for, if it does."""

    result: ToolResult
    question: Question | None = None


class _Running:
    """A call on its way, in a task of its own: whoever gives up on it must not cut off its record."""

    def __init__(self) -> None:
        self.task: asyncio.Task[ToolResult] | None = None
        self.turn: Turn | None = None
        self.questions: dict[str, str] = {}
        self.progress: asyncio.Queue[Any] = asyncio.Queue()

    def hear(self, event: Event) -> None:
        if isinstance(event, CallProgress):
            self.progress.put_nowait(event.value)
        elif isinstance(event, ApprovalRequested):
            self.questions[event.confirmation_id] = event.question

    def cancel(self) -> None:
        """The call settles as CANCELLED, with its record; before it has begun there is nothing to settle."""
        has_begun = self.turn is not None and any(map(self.turn.cancel, tuple(self.turn.open)))
        if not has_begun and self.task is not None:
            self.task.cancel()

    def question_of(self, result: ToolResult) -> Question | None:
        notice = result.meta.confirmation
        if not isinstance(notice, ConfirmationNotice) or notice.id not in self.questions:
            return None
        return Question(confirmation_id=notice.id, text=self.questions[notice.id])


class Door:
    """Lists and calls the tools of one runtime. Each call is a turn of its own, as the protocol knows no turns."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._tasks: set[asyncio.Task[ToolResult]] = set()
        self._known: dict[Hashable, _Running] = {}

    async def list_tools(self, options: TurnOptions, cursor: str | None = None) -> tuple[list[JsonObject], str | None]:
        """A page of the tools that this caller may use, in the protocol's form, and the cursor of the next one."""
        after = _read_cursor(cursor) if cursor is not None else ""
        surface = await self.runtime.surface(**options)
        tools = sorted(self._offered(surface), key=attrgetter("tool_id"))
        page = [tool for tool in tools if tool.tool_id > after]
        following = _write_cursor(page[PAGE_TOOLS - 1].tool_id) if len(page) > PAGE_TOOLS else None
        return [_declare(surface, tool) for tool in page[:PAGE_TOOLS]], following

    async def call(self, wanted: ToolRequest, report: Report | None = None) -> Answered:
        """Carry out one call. Progress is told as it comes, and all of it before the result."""
        running = _Running()
        running.task = task = asyncio.create_task(self._carry(wanted, running))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: running.progress.put_nowait(_DONE))
        if wanted.known_as is not None:
            self._known[wanted.known_as] = running
        try:
            while (value := await running.progress.get()) is not _DONE:
                if report is not None:
                    await report(value)
            result = await task
        except asyncio.CancelledError:
            if not wanted.outlives:
                running.cancel()
            raise
        finally:
            if self._known.get(wanted.known_as) is running:
                del self._known[wanted.known_as]
        return Answered(result=result, question=running.question_of(result))

    def cancel(self, known_as: Hashable) -> bool:
        """Stop a call in flight. False when this process has none of that name."""
        running = self._known.get(known_as)
        if running is not None:
            running.cancel()
        return running is not None

    async def decide(self, question: Question, options: TurnOptions, *, agreed: bool, by: str, note: str = "") -> None:
        """A person's word, as the client has passed it on."""
        decide = self.runtime.approve if agreed else self.runtime.deny
        await decide(question.confirmation_id, by=by, note=note, tenant=options.get("tenant", "default"))

    async def close(self) -> None:
        """Wait for calls whose clients have gone: they are being recorded."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, wanted: ToolRequest, running: _Running) -> ToolResult:
        options: TurnOptions = {**wanted.options, "on_event": running.hear}
        async with self.runtime.turn(**options) as turn:
            running.turn = turn
            if wanted.name == READ_TOOL:
                turn.offer_extra(READ_TOOL, self._reading_tool)
            return await self.runtime.call(
                wanted.name,
                wanted.arguments,
                turn=turn,
                idempotency_key=wanted.idempotency_key,
                caller="model",
                origin=ORIGIN,
            )

    def _offered(self, surface: Surface) -> Iterator[Tool]:
        """What the surface offers; with the way to read large outputs, if any of these tools can leave one."""
        spills = False
        for tool in surface.offered():
            spills = spills or tool.spec.policy.spill
            yield tool
        if spills and READ_TOOL not in surface.registry:
            reading = self._reading_tool()
            if surface.enter(reading).allowed:
                yield reading

    def _reading_tool(self) -> Tool:
        return reading_tool(self.runtime.store)


def _declare(surface: Surface, tool: Tool) -> JsonObject:
    if tool.tool_id not in surface.registry:
        return declare(tool.spec, "mcp").value
    declared = surface.registry.declarations("mcp", names=[tool.tool_id])[0]
    if tool.spec.policy.spill:  # what takes the place of a large output does not fit the output's schema
        return {name: value for name, value in declared.items() if name != "outputSchema"}
    return declared


def _write_cursor(tool_id: str) -> str:
    return base64.urlsafe_b64encode(tool_id.encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ConfigError(f"{cursor[:40]!r} is no cursor of this listing") from None

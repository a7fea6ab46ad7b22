"""One call on its way through the pipeline: what is known about it so far. Lives as long as the call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, TypeAlias

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.runtime.clock import to_iso

if TYPE_CHECKING:
    from groundwire.contracts.calls import ToolCall
    from groundwire.contracts.records import Charge, Confirmation, Effect
    from groundwire.contracts.results import Evidence, ToolResult
    from groundwire.runtime.surface import Entry
    from groundwire.runtime.turns import Turn

Caller: TypeAlias = Literal["model", "api", "tool"]

_NOTHING: JsonObject = {}


class CallWaits(Exception):
    """A model's call stays open until a person has decided; `result` is what it would be told now, and is none."""

    def __init__(self, result: ToolResult, confirmation_id: str) -> None:
        super().__init__(confirmation_id)
        self.result = result
        self.confirmation_id = confirmation_id


class Attempt:
    """Filled step by step; each step reads what the earlier ones wrote.

    Most calls need few of these fields, so they start as defaults of the class and cost nothing until they are set.
    """

    given_key: str | None = None
    parent: Attempt | None = None
    entry: Entry | None = None
    arguments: JsonObject = _NOTHING
    compared: JsonObject = _NOTHING
    digest: str = ""
    has_whole_floats: bool = False
    key: str = ""
    is_fresh: bool = False
    effect: Effect | None = None
    lease_until: float = 0.0  # of its effect: until when that is known to be this attempt's
    loop: asyncio.AbstractEventLoop | None = None
    confirmation: Confirmation | None = None
    evidence: tuple[Evidence, ...] = ()
    charges: tuple[Charge, ...] = ()
    charged: tuple[str, ...] = ()
    late_charges: tuple[Charge, ...] = ()
    warnings: tuple[str, ...] = ()
    operator: str = ""
    variant: str = ""
    spilled: str = ""
    job_id: str = ""  # of the job that carries out the second half of a background tool's call
    step: str = ""
    started: float = 0.0
    started_at: float = 0.0
    began: bool = False
    committed: bool = False
    is_unresolved: bool = False  # holds the key of an earlier attempt of which nobody knows yet how it ended
    cancel_requested: bool = False
    cut_off: bool = False
    is_closed: bool = False
    is_edited: bool = False  # its arguments are those of a person, and not the model's
    is_waiting: bool = False  # for a person's agreement, with the call left open
    counted: bool = False
    task: asyncio.Task[object] | None = None
    ended: asyncio.Future[None] | None = None
    children: frozenset[asyncio.Task[object]] = frozenset()

    def __init__(self, turn: Turn, call: ToolCall, caller: Caller, *, given_id: bool) -> None:
        self.turn = turn
        self.call = call
        self.name = self.tool_id = call.name
        self.raw = call.raw
        self.call_id = call.call_id
        self.caller = caller
        self.given_id = given_id

    def resolve(self, entry: Entry | None) -> None:
        """Find out which tool is meant, or take that back."""
        self.entry = entry
        self.tool_id = entry.spec.tool_id if entry is not None else self.name

    def withdraw_commit(self) -> bool:
        """End the handler's right to commit; whether its effect may have happened.

        Unless it declares its commit and had not made it, nobody knows. The handler may be in a thread: it announces
        its commit before it looks whether it was cut off, so one of the two always sees the other.
        """
        self.cut_off = True
        entry = self.entry
        if entry is None or not entry.is_action or not self.began:
            return False
        return self.committed or not entry.spec.policy.commits

    def supplied(self, name: str) -> JsonValue:
        """The value that the executor gives for an argument of this name, or None when it has none."""
        if name in self.turn.supplied:
            return self.turn.supplied[name]
        match name:
            case "request_id":
                return self.turn.run_id or self.call_id
            case "actor":
                return self.turn.actor
            case "timestamp":
                return to_iso(self.started_at)
            case "idempotency_key":
                return self.given_key or self.key or None
            case _:
                return None

    def warn(self, text: str) -> None:
        self.warnings = (*self.warnings, text)

    def refund(self, *, keep_repeat: bool = False) -> None:
        """Give back what the call had taken from the turn, because it was not run."""
        for name in self.charged:
            self.turn.used[name] -= 1
        self.charged = ()
        if self.counted and not keep_repeat:
            self.turn.repeats[self.tool_id, self.digest] -= 1
            self.counted = False

    async def wait(self, seconds: float | None = None) -> None:
        """Until this call has ended, or so long. Only on its own loop."""
        if self.ended is None:
            self.ended = asyncio.get_running_loop().create_future()
        await asyncio.wait((self.ended,), timeout=seconds)

    def finish(self) -> None:
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(None)

    async def cancel_children(self) -> None:
        """Cancel the calls that a handler made from its thread, and wait until they are settled."""
        self.cut_off = True
        for task in self.children:
            task.cancel()
        if self.children:
            await asyncio.wait(self.children)

    def is_being_cancelled(self) -> bool:
        """Whether a CancelledError is meant for this call: its task is cancelled, or a call that it serves is cut off."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return True
        parent = self.parent
        while parent is not None and not parent.cut_off:
            parent = parent.parent
        return parent is not None

    def is_inside(self, tool_id: str) -> bool:
        """Whether this call, or one that it serves, is already a call of that tool."""
        attempt: Attempt | None = self
        while attempt is not None:
            if attempt.tool_id == tool_id:
                return True
            attempt = attempt.parent
        return False

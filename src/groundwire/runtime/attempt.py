"""One call on its way through the pipeline: what is known about it so far. Lives as long as the call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, TypeAlias

from groundwire.contracts.canonical import JsonObject

if TYPE_CHECKING:
    from groundwire.contracts.records import Charge, Confirmation, Effect
    from groundwire.contracts.results import Evidence
    from groundwire.runtime.surface import Entry
    from groundwire.runtime.turns import Turn

Caller: TypeAlias = Literal["model", "api", "tool"]


class Attempt:
    """Filled step by step; each step reads what the earlier ones wrote."""

    __slots__ = (
        "arguments",
        "began",
        "call_id",
        "caller",
        "cancel_requested",
        "charged",
        "charges",
        "committed",
        "compared",
        "confirmation",
        "counted",
        "digest",
        "effect",
        "ended",
        "entry",
        "evidence",
        "given_id",
        "given_key",
        "is_closed",
        "is_fresh",
        "key",
        "late_charges",
        "name",
        "operator",
        "origin",
        "parent",
        "raw",
        "started",
        "started_at",
        "step",
        "task",
        "turn",
        "variant",
        "warnings",
    )

    def __init__(
        self,
        turn: Turn,
        *,
        name: str,
        raw: str,
        call_id: str,
        caller: Caller,
        given_id: bool,
        given_key: str | None = None,
        origin: str = "api",
        parent: Attempt | None = None,
    ) -> None:
        self.turn = turn
        self.name = name
        self.raw = raw
        self.call_id: str = call_id
        self.caller = caller
        self.given_id = given_id
        self.given_key: str | None = given_key
        self.origin = origin
        self.parent = parent
        self.entry: Entry | None = None
        self.arguments: JsonObject = {}
        self.compared: JsonObject = {}
        self.digest = ""
        self.key: str = ""
        self.is_fresh = False
        self.effect: Effect | None = None
        self.confirmation: Confirmation | None = None
        self.evidence: tuple[Evidence, ...] = ()
        self.charges: tuple[Charge, ...] = ()
        self.charged: tuple[str, ...] = ()
        self.late_charges: list[Charge] = []
        self.warnings: list[str] = []
        self.operator = ""
        self.variant = ""
        self.step = ""
        self.started = 0.0
        self.started_at: float = 0.0
        self.began = False
        self.committed = False
        self.cancel_requested = False
        self.is_closed = False
        self.counted = False
        self.task: asyncio.Task[object] | None = None
        self.ended: asyncio.Future[None] | None = None

    @property
    def tool_id(self) -> str:
        return self.entry.spec.tool_id if self.entry is not None else self.name

    def count(self) -> None:
        """The call may be made, so it counts towards the turn's repetitions."""
        if self.caller == "model":
            identity = (self.tool_id, self.digest)
            self.turn.repeats[identity] = self.turn.repeats.get(identity, 0) + 1
            self.counted = True

    def refund(self, *, keep_repeat: bool = False) -> None:
        """Give back what the call had taken from the turn, because it was not run."""
        for name in self.charged:
            self.turn.used[name] -= 1
        self.charged = ()
        if self.counted and not keep_repeat:
            self.turn.repeats[self.tool_id, self.digest] -= 1
            self.counted = False

    async def wait(self) -> None:
        """Until this call has ended."""
        if self.ended is None:
            self.ended = asyncio.get_running_loop().create_future()
        await asyncio.wait((self.ended,))

    def finish(self) -> None:
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(None)

    def is_inside(self, tool_id: str) -> bool:
        """Whether this call, or one that it serves, is already a call of that tool."""
        attempt: Attempt | None = self
        while attempt is not None:
            if attempt.tool_id == tool_id:
                return True
            attempt = attempt.parent
        return False

"""What a handler is told about its call, and what it may ask of the runtime. It cannot change the session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.errors import ErrorDetail, ErrorType, ToolError
from groundwire.contracts.events import CallProgress
from groundwire.contracts.records import Charge

if TYPE_CHECKING:
    from groundwire.contracts.messages import Message
    from groundwire.contracts.results import ToolResult
    from groundwire.runtime.attempt import Attempt


MAX_CHARGE = 1e15


class Services(Protocol):
    """What the dispatcher does for a handler that is running."""

    resources: Mapping[str, Any]

    async def call_from(self, parent: Attempt, name: str, raw: str) -> ToolResult: ...

    def holds_lease(self, attempt: Attempt) -> bool: ...


class Context:
    """Passed to handlers that have a parameter named `context`."""

    __slots__ = ("_attempt", "_loop", "_services", "_thread")

    def __init__(self, attempt: Attempt, services: Services) -> None:
        self._attempt = attempt
        self._services = services
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    @property
    def call_id(self) -> str:
        return self._attempt.call_id

    @property
    def session_id(self) -> str:
        return self._attempt.turn.session_id

    @property
    def conversation_id(self) -> str:
        """The session, or the run where there is no session."""
        return self._attempt.turn.conversation_id

    @property
    def tenant(self) -> str:
        return self._attempt.turn.tenant

    @property
    def mode(self) -> str:
        return self._attempt.turn.mode

    @property
    def caller(self) -> str:
        return self._attempt.caller

    @property
    def actor(self) -> str:
        return self._attempt.turn.actor

    @property
    def user(self) -> str:
        return self._attempt.turn.user

    @property
    def organisation(self) -> str:
        return self._attempt.turn.organisation

    @property
    def request_id(self) -> str:
        return str(self._attempt.supplied("request_id"))

    @property
    def idempotency_key(self) -> str:
        """The effect's key: pass it on to whatever can deduplicate by it. Empty for calls without one."""
        return self._attempt.given_key or self._attempt.key

    @property
    def state(self) -> Mapping[str, JsonValue]:
        """The session's state, read-only. To change it, return an intent."""
        return self._attempt.turn.state

    @property
    def history(self) -> tuple[Message, ...]:
        return tuple(self._attempt.turn.history)

    @property
    def resources(self) -> Mapping[str, Any]:
        """What the application gave the runtime for its tools, by name."""
        return self._services.resources

    async def commit(self) -> None:
        """The point of no return: after it the effect counts as done, whatever happens to the call.

        Raises when the call has ended in the meantime; the handler must not act then.
        """
        self.commit_now()

    def commit_now(self) -> None:
        """The same for a handler that runs in a thread."""
        attempt = self._attempt
        attempt.committed = True
        if attempt.cut_off or attempt.is_closed or not self._services.holds_lease(attempt):
            raise _ended()

    def progress(self, value: JsonValue) -> None:
        """Tell whoever follows the call how far it is. Safe from a handler's thread."""
        attempt = self._attempt
        event = CallProgress(call_id=attempt.call_id, name=attempt.name, value=value)
        if attempt.turn.on_event is None:
            return
        if threading.get_ident() == self._thread:
            attempt.turn.emit(event)
        else:
            self._loop.call_soon_threadsafe(attempt.turn.emit, event)

    def charge(self, budget: str, amount: float) -> None:
        """Count something that this call used, such as money, on the budget of that name."""
        counted = float(amount)
        if not 0 <= counted < MAX_CHARGE:
            raise ValueError("a charge is a finite amount that is not negative")
        charge = Charge(name=str(budget), scope="", amount=counted)
        self._attempt.late_charges = (*self._attempt.late_charges, charge)

    async def call(self, name: str, arguments: JsonObject | None = None) -> ToolResult:
        """Call another tool as part of this one: same budget, same turn, recorded as its child."""
        if self._attempt.is_closed:  # a task that outlived its call has no part in it any more
            raise _ended()
        return await self._services.call_from(self._attempt, name, dump_json(arguments or {}).decode())

    def call_sync(self, name: str, arguments: JsonObject | None = None) -> ToolResult:
        """The same for a handler that runs in a thread."""
        if _running_loop() is self._loop:
            raise RuntimeError("call_sync is for handlers that run in a thread; here, await context.call(…)")
        return asyncio.run_coroutine_threadsafe(self._call_as_child(name, arguments), self._loop).result()

    async def _call_as_child(self, name: str, arguments: JsonObject | None) -> ToolResult:
        """The thread cannot be stopped with its call, but what it calls can: not begun any more, or cancelled."""
        attempt, task = self._attempt, asyncio.current_task()
        if attempt.cut_off or attempt.is_closed or task is None:
            raise _ended()
        attempt.children |= {task}
        try:
            return await self.call(name, arguments)
        finally:
            attempt.children -= {task}


def _ended() -> ToolError:
    return ToolError(ErrorType.CONFLICT, "The call has ended.", retryable=True, detail=ErrorDetail.LEASE_LOST)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

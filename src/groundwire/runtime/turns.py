"""A turn: from a user's message to the final answer. Budgets and loop rules count over it.

Its state lives with it and can be rebuilt from the stored calls; the session's state is in the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.events import Event
from groundwire.contracts.intents import Intent
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.messages import Message
from groundwire.runtime.context_window import CONTEXT_WINDOW, context_warning
from groundwire.runtime.forms import Form
from groundwire.runtime.idempotency import joined
from groundwire.runtime.policies.loops import is_empty

if TYPE_CHECKING:
    from groundwire.contracts.records import CallRecord, Session
    from groundwire.contracts.results import ToolResult
    from groundwire.contracts.runs import Appending
    from groundwire.contracts.trust import Asked
    from groundwire.registry import Tool
    from groundwire.runtime.policies.access import Mask
    from groundwire.runtime.policies.limits import Overrides
    from groundwire.runtime.surface import Entry, Surface

log = logging.getLogger("groundwire")

EventSink = Callable[[Event], None]


class OpenCall(Protocol):
    """A call in flight, as far as its turn is concerned."""

    turn: Turn
    cancel_requested: bool
    is_closed: bool
    task: asyncio.Task[object] | None

    async def wait(self) -> None: ...


class Conversation:
    """What turns of one session share that are open at the same time: calls in flight, and the ids of those that ended."""

    __slots__ = ("__weakref__", "closed", "open")

    def __init__(self) -> None:
        self.open: dict[str, OpenCall] = {}
        self.closed: set[str] = set()


class TurnOptions(TypedDict, total=False):
    """Who asks, on whose behalf, and under which rules. All optional."""

    session: str | None
    mode: str
    profile: str
    tenant: str
    request_id: str
    actor: str
    key_id: str
    user: str
    organisation: str
    supplied: Mapping[str, JsonValue]
    history: Sequence[Message]
    on_event: EventSink | None
    run_id: str
    mask: Mask
    limits: Overrides
    asked: Asked


def _no_entries() -> None:
    """Outside a run there are none."""


class Turn:
    """The counts and facts of one turn. What begins alike in all turns, and is not changed in place, stands in the class."""

    pending_message: JsonObject | None = None
    refusals = 0
    calls = 0
    is_ended = False
    peak_tokens = 0
    is_new = False
    """Whether it began its conversation: then no call was closed in it that this turn does not know."""
    asks_people = True
    """Whether a call may ask for a person's agreement, and pass on it; else one that needs it is refused."""
    pauses = False
    """Whether a model's call that needs a person's agreement stays open instead of being refused."""
    is_paused = False
    """Whether it will be taken up again, and so has not ended for its session."""
    loop: asyncio.AbstractEventLoop | None = None
    """Where its run is, if it has one."""

    def __init__(
        self,
        surface: Surface,
        session: Session | None,
        *,
        number: int,
        options: TurnOptions,
        conversation: Conversation | None = None,
    ) -> None:
        self.surface = surface
        self.conversation = conversation or Conversation()
        self.session = session
        self.session_id = session.session_id if session is not None else ""
        self.number = number
        self.mode = surface.mode
        self.tenant = options.get("tenant", "default")
        self.run_id = options.get("run_id", "")
        self.conversation_id = self.session_id or self.run_id
        """What calls, budgets and large outputs belong to: the session, or the run where there is none."""
        self.request_id = options.get("request_id", "")
        self.actor = options.get("actor", "system")
        self.key_id = options.get("key_id", "")
        """The API key on whose behalf the turn runs; empty where a server was not involved."""
        self.user = options.get("user", "")
        self.organisation = options.get("organisation", "")
        self.history: Sequence[Message] = options.get("history") or ()
        self.supplied: dict[str, JsonValue] = dict(options.get("supplied") or {})
        if self.request_id:
            self.supplied.setdefault("request_id", self.request_id)
        elif "request_id" in self.supplied:
            self.request_id = str(self.supplied["request_id"])
        if "actor" in options:
            self.supplied.setdefault("actor", self.actor)
        self.on_event = options.get("on_event")
        self.state: Mapping[str, JsonValue] = {}
        self.show_state()
        self.used: dict[str, float] = {}
        self.repeats: dict[tuple[str, str], int] = {}
        self.last_outputs: dict[tuple[str, str], int] = {}
        self.empty_results: dict[str, int] = {}
        self.looped: set[str] = set()
        self.masked: set[str] = set()
        self.open = self.conversation.open
        self.closed = self.conversation.closed
        self.intents: list[tuple[str, str, Intent]] = []
        self.extra: dict[str, Entry] = {}
        self.awaited: dict[str, str] = {}
        """Open calls of this turn, and the approvals that they wait for."""
        self._forms: dict[tuple[str, str], Form] = {}
        self.take_entries: Callable[[], Appending | None] = _no_entries
        """What its run has yet to write, for the next reservation to take along."""

    @property
    def approval_binding(self) -> str:
        """Which calls an approval is valid for, besides tool and arguments.

        Always calls of one API key, or calls without one: otherwise a key could use the approval of another key's equal
        call for its own. Among these, calls of the session, else of the user. A request of a key that names neither is
        bound to the key alone, so that it passes when it is sent again. A run that pauses resumes exactly the call that
        waits, so its approval is bound to the run.
        """
        if self.session_id:
            return joined("session", self.key_id, self.session_id)
        if self.user:
            return joined("user", self.key_id, self.user)
        if self.key_id and not self.pauses:
            return joined("key", self.key_id)
        return joined("run", self.key_id, self.run_id) if self.run_id else ""

    @property
    def must_answer(self) -> bool:
        """Whether the model has to answer without tools now."""
        return self.refusals >= self.surface.max_refusals

    def find(self, name: str) -> Entry | None:
        return self.surface.found.get(name) or self.surface.find(name) or self.extra.get(name)

    def form(self, tool_id: str, caller: str) -> Form:
        """For the records of that caller's calls of that tool."""
        form = self._forms.get((tool_id, caller))
        if form is None:
            form = self._forms[tool_id, caller] = Form(
                tool_id=tool_id,
                caller=caller,
                tenant=self.tenant,
                session_id=self.session_id,
                conversation_id=self.conversation_id,
                turn=self.number,
                run_id=self.run_id,
                request_id=self.request_id,
                actor=self.actor,
                registry_version=self.surface.registry.version,
            )
        return form

    def show_state(self) -> None:
        """Let tools see the session's state as it is now; they can look, not touch."""
        state = self.session.state if self.session is not None else {}
        self.state = MappingProxyType(deepcopy(state) if state else state)

    def offer_extra(self, name: str, make: Callable[[], Tool]) -> None:
        """Add a tool for the rest of this turn, under the same masks and limits as any other."""
        if name not in self.extra:
            self.extra[name] = self.surface.enter(make())

    def offered(self, *, keep_other_modes: bool = False) -> Iterator[Tool]:
        """The tools to declare to a model now: without those masked after a loop, with those that this turn added."""
        for tool in self.surface.offered(keep_other_modes=keep_other_modes):
            if tool.tool_id not in self.masked:
                yield tool
        for entry in self.extra.values():
            if entry.allowed and entry.in_mode:
                yield entry.tool

    def emit(self, event: Event) -> None:
        if self.on_event is not None:
            try:
                self.on_event(event)
            except BaseException as error:  # the application's code: its failure must not change the call
                if is_from_signal(error):
                    raise
                log.exception("A listener of session %s failed at event %s.", self.session_id, event.event)

    def may_have_closed(self, call_id: str) -> bool:
        """Whether a call of that id may have its result already, here or in the store."""
        return not self.is_new or call_id in self.closed

    def calls_of(self, tool_id: str, digest: str) -> int:
        return self.repeats.get((tool_id, digest), 0)

    def note_loop(self, tool_id: str) -> None:
        """The first refusal for repetition is a warning; after the second the tool is gone for this turn."""
        if tool_id in self.looped:
            self.masked.add(tool_id)
        self.looped.add(tool_id)

    def note_context(self, tokens: int, window: int = CONTEXT_WINDOW) -> None:
        """Remember how full the model's context is, and warn before it overflows."""
        self.peak_tokens = max(self.peak_tokens, tokens)
        warning = context_warning(tokens, window)
        if warning is not None:
            log.warning("session %s: %s", self.session_id, warning)

    def cancel(self, call_id: str) -> bool:
        """Stop a call in flight; it settles as CANCELLED. False when there is none of that id, or it is settled already."""
        attempt = self.open.get(call_id)
        if attempt is None or attempt.turn is not self or attempt.task is None or attempt.is_closed:
            return False
        attempt.cancel_requested = True
        attempt.task.cancel()
        return True

    def loop_record(self) -> JsonObject:
        """What a session remembers of this turn's loops."""
        repeats: list[Any] = [
            {"tool": tool, "digest": digest, "calls": calls}
            for (tool, digest), calls in self.repeats.items()
            if calls > 1
        ]
        return {"turn": self.number, "calls": self.calls, "repeats": repeats, "empty": dict(self.empty_results)}

    def rebuild(self, records: Sequence[CallRecord], decode: Callable[[bytes], ToolResult]) -> None:
        """Count again what a turn that was cut off had already done, from its stored calls in their order.

        For whoever resumes it: an application's own loop after a crash, or after an approval that took a restart.
        What handlers said they spent (`context.charge`) is not in the records and is not counted again.
        """
        for record in records:
            result = decode(record.result)
            self.calls += 1
            self.closed.add(record.call_id)
            if record.executed or result.meta.replayed or result.ok:
                self.refusals = 0
                self._recount(record, result)
            elif record.caller == "model" and result.error is not None and result.error.type is not ErrorType.CANCELLED:
                self.refusals += 1
                if result.error.detail == ErrorDetail.REPEATED_CALL:
                    self.note_loop(record.tool)

    def _recount(self, record: CallRecord, result: ToolResult) -> None:
        entry = self.find(record.tool)
        identity = (record.tool, record.input_digest)
        if record.caller == "model":
            self.repeats[identity] = self.repeats.get(identity, 0) + 1
        if entry is None or not (record.executed or entry.is_background):
            return
        amounts = {"calls": 1.0, "tokens": float(record.tokens), "ms": record.duration_ms, "money": 0.0}
        for budget in entry.turn_budgets:
            self.used[budget.name] = self.used.get(budget.name, 0.0) + amounts[budget.unit]
        if record.caller == "model" and result.ok:
            self.last_outputs[identity] = hash(dump_json(result.data))
            if not entry.is_action and is_empty(result.data, entry.spec.policy.empty_field):
                self.empty_results[record.tool] = self.empty_results.get(record.tool, 0) + 1

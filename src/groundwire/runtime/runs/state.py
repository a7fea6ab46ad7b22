"""A run in progress: its conversation, its counts, and the entries that are still to be written.

Everything in here follows from the stored entries and calls, so that another process can build the same again.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from groundwire.contracts.events import Event
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import CallItem, Item, Message, ResultItem
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply, Usage, WireWarning
from groundwire.contracts.requests import SendOptions
from groundwire.contracts.runs import (
    Added,
    Answered,
    Appending,
    Ended,
    Failed,
    Outcome,
    Paused,
    Plan,
    Planned,
    Resulted,
    Run,
    RunBody,
    RunEntry,
    Started,
    decode_entry,
    encode_entry,
)
from groundwire.runtime.runs.options import RunOptions, read_options
from groundwire.runtime.runs.plans import Fingerprints, to_send_options
from groundwire.runtime.runs.prompts import was_said


class RunState:
    """Changed only by `record`, whether something happens now or is read from the store.

    What begins alike in all runs, and is not changed in place, stands in the class.
    """

    is_new = False
    """Whether its id was made for it, so that nothing else is stored under that."""
    news: Sequence[Event] = ()
    """What happened before it began, and whoever follows it has not heard of."""
    output_type: Any = None
    """What an answer has to become, where that is more than JSON. Code is not stored: whoever goes on brings it."""
    given = 0
    """So many items at the beginning were there before the run."""
    mark = ""
    """What the ids of its own calls have in them."""
    registry_version = ""
    plan: Plan | None = None
    plan_digest = ""
    plan_key: object = None
    send_options = SendOptions()
    """How requests of this plan are sent."""
    steps = 0
    failures = 0
    repairs = 0
    calls = 0
    cost: float | None = None
    context_tokens = 0
    """Read and written in the last request whose tokens were counted: the next one holds at least these."""
    is_uncounted = False
    """Whether some answer came without its number of tokens."""
    is_unpriced = False
    reply: Reply | None = None
    text = ""
    open_calls: tuple[CallItem, ...] = ()
    any_ok = False
    without_tools = False
    failure: Failure | None = None
    outcome: Outcome | None = None
    task: asyncio.Task[Any] | None = None
    """The task that executes its loop."""
    is_cancelled = False
    """Whether it is cancelled on request, and not because the caller that executes it was cancelled."""
    is_job = False
    """Whether a job executes it. A worker that stops then leaves it to another one, and does not end it."""
    spent = 0.0
    """Seconds of earlier parts of the run, as far as they are known."""

    def __init__(self, run: Run, options: RunOptions, clock: Clock, earlier: Sequence[Item] = ()) -> None:
        self.run = run
        """Its head as it was written last, with the entries counted that stood before those."""
        self.options = options
        self._clock = clock
        self.items: list[Item] = []
        self.said: list[Message] = []
        """What was really said so far: evidence may be found in it."""
        self.call_ids: set[str] = set()
        """Of all calls in the conversation."""
        self.fingerprints = Fingerprints()
        self.warnings: list[WireWarning] = []
        self.usage = Usage()
        self.waiting: dict[str, str] = {}
        self.last_ok: dict[str, bool] = {}
        """By tool, whether its last call succeeded."""
        self.began = clock.monotonic()
        self._unwritten: list[RunEntry] = []
        self._count = run.entries
        if earlier:
            self._extend(earlier)

    @classmethod
    def load(cls, run: Run, entries: Sequence[RunEntry], clock: Clock, earlier: Sequence[Item] = ()) -> "RunState":
        """The state after these entries, in a session in which `earlier` was said."""
        bodies = [decode_entry(entry.body) for entry in entries]
        first = bodies[0] if bodies else None
        options = read_options(first.options) if isinstance(first, Started) else RunOptions(model=run.model)
        state = cls(run, options, clock, earlier)
        for body in bodies:
            state._apply(body)
        last = bodies[-1] if bodies else None
        known = last.seconds if isinstance(last, Ended) else sum(_seconds(body) for body in bodies)
        state.spent = known
        state.outcome = None
        return state

    def record(self, body: RunBody, encoded: bytes = b"") -> None:
        """It happened: now it counts, and will be written with the next entries. `encoded` is its JSON where that is known."""
        encoded = encoded or encode_entry(body)  # what cannot be written has not happened
        self._apply(body)
        self._count += 1
        self._unwritten.append(RunEntry(seq=self._count, body=encoded, created_at=self._clock.now()))

    def take_unwritten(self) -> Appending | None:
        """What is not stored yet, for whoever stores it now."""
        if not self._unwritten:
            return None
        entries, self._unwritten = self._unwritten, []
        self.run = msgspec.structs.replace(
            self.run,
            outcome="" if self.outcome is None else self.outcome.value,
            text=self.text,
            entries=self._count - len(entries),
            updated_at=self._clock.now(),
        )
        waiting = tuple(self.waiting.values()) if self.outcome is Outcome.AWAITING_APPROVAL else ()
        return Appending(run=self.run, entries=tuple(entries), waiting=waiting)

    @property
    def seconds(self) -> float:
        return self.spent + self._clock.monotonic() - self.began

    @property
    def new_items(self) -> tuple[Item, ...]:
        return tuple(self.items[self.given :])

    def _apply(self, body: RunBody) -> None:
        match body:
            case Answered():
                self._answer(body)
            case Resulted():
                self._extend(body.items)
                self.open_calls, self.waiting = (), {}
                for item in body.items:
                    if type(item) is ResultItem:
                        self.last_ok[item.name] = not item.failed
                        self.any_ok |= not item.failed
            case Started():
                self.given = len(self.items) + body.inherited
                self.registry_version = body.registry_version
                self._extend(body.items)
                self.warnings += body.warnings
                self.context_tokens = body.context_tokens
            case Planned():
                self.plan, self.plan_digest = body.plan, body.digest
                self.send_options = to_send_options(body.plan)
            case Added():
                self._extend(body.items)
                self.without_tools = body.without_tools
                self.repairs += body.is_repair
            case Failed():
                self.failures += 1
                self.failure = body.failure
            case Paused():
                self.waiting = body.waiting
            case Ended():
                self.outcome, self.text, self.failure = body.outcome, body.text, body.failure

    def _answer(self, body: Answered) -> None:
        self.steps = body.step
        self.failure = None
        self.reply = body.reply
        if body.reply.warnings:
            self.warnings += [warning for warning in body.reply.warnings if warning not in self.warnings]
        used = body.reply.usage
        if used is not None:
            self.usage = add_usage(self.usage, used)
            self.context_tokens = used.input + used.output
        else:
            self.is_uncounted = True
        if body.cost is not None:
            self.cost = (self.cost or 0.0) + body.cost
        else:
            self.is_unpriced = True
        if body.kept:
            self.without_tools = False
            self.open_calls = self._extend(body.reply.items)
            self.calls += len(self.open_calls)

    def _extend(self, items: Sequence[Item]) -> tuple[CallItem, ...]:
        """Let the conversation go on with these; the calls among them."""
        calls: list[CallItem] = []
        for item in items:
            if type(item) is CallItem:
                calls.append(item)
                self.call_ids.add(item.call.call_id)
            elif type(item) is Message and was_said(item):
                self.said.append(item)
        self.fingerprints.add(items)
        self.items += items
        return tuple(calls)


def _seconds(body: RunBody) -> float:
    return body.duration_ms / 1000 if isinstance(body, Answered) else body.seconds if isinstance(body, Ended) else 0.0


def add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        total=one.total + (other.total or other.input + other.output),
        cached=one.cached if other.cached is None else (one.cached or 0) + other.cached,
        cache_write=one.cache_write if other.cache_write is None else (one.cache_write or 0) + other.cache_write,
        reasoning=one.reasoning if other.reasoning is None else (one.reasoning or 0) + other.reasoning,
    )

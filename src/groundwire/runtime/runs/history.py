"""Runs in the store: begun, read back, and joined to the conversation of a session."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from groundwire.contracts.errors import NotFound, StoreError
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock, RunStore
from groundwire.contracts.runs import (
    Added,
    Answered,
    EarlierRun,
    Ended,
    Outcome,
    Resulted,
    Run,
    RunEntry,
    SaidBody,
    Started,
    decode_said,
)
from groundwire.runtime.finishing import see_through
from groundwire.runtime.runs.judging import notice_for
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.state import RunState


class Conversation(Struct, frozen=True, kw_only=True):
    """What was said in a session, and how a run that goes on with it names that."""

    items: tuple[Item, ...] = ()
    after: EarlierRun | None = None
    changed: tuple[EarlierRun, ...] = ()
    tokens: int = 0
    """As its model last counted."""


NO_CONVERSATION = Conversation()
_NOTHING = Started()


async def begin_run(
    runs: RunStore, clock: Clock, run: Run, options: RunOptions, started: Started, earlier: Sequence[Item] = ()
) -> RunState:
    """A new run, stored before anything is asked. `earlier` is what was said in the runs that it comes after."""
    state = RunState(run, options, clock, earlier)
    state.record(started)
    if (first := state.take_unwritten()) is not None:
        try:
            await runs.create_run(first.run, first.entries)
        except asyncio.CancelledError:
            await see_through(record_cancelled(runs, state))
            raise
    return state


async def record_cancelled(runs: RunStore, state: RunState) -> bool:
    """Store that a run was cancelled while its loop was not running. False if it is not stored or another has it."""
    ended = Ended(
        outcome=Outcome.CANCELLED,
        text=notice_for(Outcome.CANCELLED) if state.options.notices else "",
        steps=state.steps,
        calls=state.calls,
        usage=state.usage,
        cost=state.cost,
        seconds=round(state.spent, 3),
    )
    state.record(ended)
    due = state.take_unwritten()
    return due is not None and await runs.append_run(due.run, due.entries)


def no_such_run(run_id: str) -> NotFound:
    """The error for a run that the tenant does not have."""
    return NotFound(f"Run {run_id!r} does not exist.", hint="groundwire runs list")


async def load_run(
    runs: RunStore, clock: Clock, tenant: str, run_id: str, *, earlier: Sequence[Item] | None = None
) -> RunState:
    """A run as it stands; `earlier` where it is known already."""
    run = await runs.load_run(tenant, run_id)
    if run is None:
        raise no_such_run(run_id)
    entries = await runs.run_entries(tenant, run_id)
    if earlier is None:
        first = decode_said(entries[0].body) if entries else None
        earlier = await said_before(runs, run, first) if isinstance(first, Started) else ()
    return RunState.load(run, entries, clock, earlier)


async def conversation_of(runs: RunStore, tenant: str, session_id: str) -> Conversation:
    """What was said in a session so far, run by run."""
    said = _Said(await runs.session_entries(tenant, session_id))
    last = said.last_that_went_on()
    if last is None:
        return NO_CONVERSATION
    there = {run_id: len(bodies) for run_id, bodies in said.bodies.items()}
    known = said.known_to(Started(after=EarlierRun(run_id=last, entries=there[last])))
    changed = [
        EarlierRun(run_id=run_id, entries=there.get(run_id, 0))
        for run_id in {**there, **known}
        if there.get(run_id, 0) != known.get(run_id)
    ]
    return Conversation(
        items=said.items(there),
        after=EarlierRun(run_id=last, entries=there[last]),
        changed=tuple(changed),
        tokens=said.tokens(),
    )


async def said_before(runs: RunStore, run: Run, started: Started) -> tuple[Item, ...]:
    """What had been said in its session when a run began.

    A model that is not told of a part of the conversation would answer another one, so nothing may be missing.
    """
    if started.after is None:
        return ()
    said = _Said(await runs.session_entries(run.tenant, run.session_id))
    known = said.known_to(started)
    for run_id, entries in known.items():
        if len(said.bodies.get(run_id, ())) < entries:
            raise StoreError(
                f"run {run_id!r}, which this conversation goes on from, is not in the store any more",
                hint="A store in memory lets old runs go; SQLite and PostgreSQL keep them.",
            )
    return said.items(known)


class _Said:
    """The runs of a session, read. Each names the run that it came after, and so all before it."""

    def __init__(self, stored: Mapping[str, Sequence[RunEntry]]) -> None:
        self.bodies = {run_id: [decode_said(entry.body) for entry in entries] for run_id, entries in stored.items()}

    def last_that_went_on(self) -> str | None:
        """The last run that knows of others; runs with a history of their own know of none."""
        knowing = (run_id for run_id in reversed(self.bodies) if self._start(run_id).after is not None)
        return next(knowing, next(reversed(self.bodies), None))

    def known_to(self, started: Started) -> dict[str, int]:
        """How far each run had come, when one began that started like this. Whoever is later knows better."""
        known: dict[str, int] = {}
        for _ in range(len(self.bodies) + 1):  # a chain that is longer than that goes round in a circle
            for one in started.changed:
                known.setdefault(one.run_id, one.entries)
            if started.after is None:
                break
            known.setdefault(started.after.run_id, started.after.entries)
            started = self._start(started.after.run_id)
        return known

    def items(self, known: Mapping[str, int]) -> tuple[Item, ...]:
        """What these runs added to the session until they had so many entries."""
        items: list[Item] = []
        for run_id, bodies in self.bodies.items():
            for body in bodies[: known.get(run_id, 0)]:
                items += _added_by(body)
        return tuple(items)

    def tokens(self) -> int:
        for bodies in reversed(self.bodies.values()):
            for body in reversed(bodies):
                if isinstance(body, Answered) and body.reply.usage is not None:
                    return body.reply.usage.input + body.reply.usage.output
        return 0

    def _start(self, run_id: str) -> Started:
        """What a run began with, and nothing if it is gone: whoever came after the loss has named what there is."""
        bodies = self.bodies.get(run_id)
        return bodies[0] if bodies and isinstance(bodies[0], Started) else _NOTHING


def _added_by(body: SaidBody) -> tuple[Item, ...]:
    match body:
        case Started():
            return body.items[body.inherited :]
        case Answered():
            return body.reply.items if body.kept else ()
        case Added() | Resulted():
            return body.items
        case _:
            return ()

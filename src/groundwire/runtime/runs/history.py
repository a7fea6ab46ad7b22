"""Runs in the store: begun, read back, and joined to the conversation of a session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from msgspec import Struct

from groundwire.contracts.errors import NotFound, StoreError
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock, RunStore
from groundwire.contracts.runs import EarlierRun, Ended, Outcome, Run, Started, decode_entry
from groundwire.runtime.runs.judging import notice_for
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.turns import Turn

_PAGE = 200


class Conversation(Struct, frozen=True, kw_only=True):
    """What was said in a session, and in which runs."""

    items: tuple[Item, ...] = ()
    runs: tuple[EarlierRun, ...] = ()


NO_CONVERSATION = Conversation()


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
            await asyncio.shield(_end_unbegun(runs, state))
            raise
    return state


@asynccontextmanager
async def first_turn(
    runs: RunStore, state: RunState, opening: AbstractAsyncContextManager[Turn]
) -> AsyncIterator[Turn]:
    """The turn of a new run. Before it is open there is no loop that could end the run; one resumed stays as it was."""
    async with AsyncExitStack() as stack:
        try:
            turn = await stack.enter_async_context(opening)
        except asyncio.CancelledError:
            await asyncio.shield(_end_unbegun(runs, state))
            raise
        yield turn


async def _end_unbegun(runs: RunStore, state: RunState) -> None:
    """Write that a new run was cancelled before anything was asked. Where it is not even stored, there is nothing to end."""
    text = notice_for(Outcome.CANCELLED) if state.options.notices else ""
    state.record(Ended(outcome=Outcome.CANCELLED, text=text))
    if (due := state.take_unwritten()) is not None:
        await runs.append_run(due.run, due.entries)


async def load_run(
    runs: RunStore, clock: Clock, tenant: str, run_id: str, *, earlier: Sequence[Item] | None = None
) -> RunState:
    """A run as it stands; `earlier` where it is known already."""
    run = await runs.load_run(tenant, run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id!r}", hint="groundwire runs list")
    entries = await runs.run_entries(tenant, run_id)
    if earlier is None:
        first = decode_entry(entries[0].body) if entries else None
        earlier = await said_in(runs, clock, tenant, first.after) if isinstance(first, Started) else ()
    return RunState.load(run, entries, clock, earlier)


async def conversation_of(runs: RunStore, clock: Clock, tenant: str, session_id: str) -> Conversation:
    """What was said in a session so far, run by run."""
    found: list[Run] = []
    before = ""
    while True:
        page = await runs.list_runs(tenant, session_id=session_id, before=before, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            break
        before = page[-1].run_id
    after = tuple(EarlierRun(run_id=run.run_id, entries=run.entries) for run in reversed(found))
    return Conversation(items=await said_in(runs, clock, tenant, after), runs=after)


async def said_in(runs: RunStore, clock: Clock, tenant: str, earlier: Sequence[EarlierRun]) -> tuple[Item, ...]:
    """The items that these runs added to their session, each as far as it had come then.

    A model that is not told of a part of the conversation would answer another one, so nothing may be missing.
    """
    items: list[Item] = []
    for one in earlier:
        entries = await runs.run_entries(tenant, one.run_id)
        if len(entries) < one.entries:
            raise StoreError(
                f"run {one.run_id!r}, which this conversation goes on from, is not in the store any more",
                hint="A store in memory lets old runs go; SQLite and PostgreSQL keep them.",
            )
        run = Run(tenant=tenant, run_id=one.run_id)
        items += RunState.load(run, entries[: one.entries], clock).new_items
    return tuple(items)

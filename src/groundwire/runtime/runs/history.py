"""Runs in the store: begun, read back, and joined to the conversation of a session."""

from collections.abc import Sequence

from groundwire.contracts.errors import NotFound
from groundwire.contracts.messages import Item
from groundwire.contracts.ports import Clock, RunStore
from groundwire.contracts.runs import Run, Started
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.state import RunState

_PAGE = 200


async def begin_run(
    runs: RunStore,
    clock: Clock,
    options: RunOptions,
    items: Sequence[Item],
    *,
    run_id: str,
    turn: int,
    inherited: int,
    registry_version: str,
) -> RunState:
    """A new run, stored before anything is asked. `items` begin with `inherited` ones of the earlier conversation."""
    now = clock.now()
    run = Run(
        tenant=options.tenant,
        run_id=run_id,
        session_id=options.session or "",
        turn=turn,
        model=options.model,
        created_at=now,
        updated_at=now,
    )
    state = RunState(run, options, clock)
    state.record(
        Started(items=tuple(items), inherited=inherited, options=options.as_json(), registry_version=registry_version)
    )
    if (first := state.take_unwritten()) is not None:
        await runs.create_run(first.run, first.entries)
    return state


async def load_run(runs: RunStore, clock: Clock, tenant: str, run_id: str) -> RunState:
    run = await runs.load_run(tenant, run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id!r}", hint="groundwire runs list")
    return RunState.load(run, await runs.run_entries(tenant, run_id), clock)


async def conversation_of(runs: RunStore, clock: Clock, tenant: str, session_id: str) -> list[Item]:
    """What was said in a session so far, run by run, without what each run inherited."""
    found: list[Run] = []
    before = ""
    while True:
        page = await runs.list_runs(tenant, session_id=session_id, before=before, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            break
        before = page[-1].run_id
    items: list[Item] = []
    for run in reversed(found):
        state = RunState.load(run, await runs.run_entries(tenant, run.run_id), clock)
        items += state.new_items
    return items

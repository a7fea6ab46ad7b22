"""The record of a run, read back whole: its entries, its calls, and what it said and asked for step by step.

It only reads. Nothing here decides what a record is worth, and nothing here can change one.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import StoreError
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import Item, ResultItem
from groundwire.contracts.ports import Store
from groundwire.contracts.records import CallRecord
from groundwire.contracts.runs import (
    Answered,
    Ended,
    Failed,
    Paused,
    Plan,
    Planned,
    Resulted,
    Run,
    RunBody,
    RunEntry,
    Started,
    decode_entry,
)
from groundwire.runtime.runs.history import no_such_run, said_before
from groundwire.runtime.runs.options import RunOptions, read_options
from groundwire.runtime.stored_calls import calls_of_run


class Asked(Struct, frozen=True, kw_only=True):
    """A call that a reply asked for, with what the model was told of it, or the approval that it waits for."""

    call: ToolCall
    shown: ResultItem | None = None
    approval: str = ""


class Step(Struct, frozen=True, kw_only=True):
    """One request to the model. Either it answered, or `failure` says why not."""

    number: int
    plan: Plan | None
    text: str = ""
    asked: tuple[Asked, ...] = ()
    failure: Failure | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """`calls` are the stored calls of the run, those that its tools made too, in the order in which they ended.

    `places` are the number and the time of each entry. `earlier` is what was said in the session before it.
    """

    run: Run
    entries: tuple[RunBody, ...]
    places: tuple[tuple[int, float], ...] = ()
    calls: tuple[CallRecord, ...] = ()
    earlier: tuple[Item, ...] = ()

    @property
    def started(self) -> Started:
        first = self.entries[0] if self.entries else None
        if not isinstance(first, Started):
            raise StoreError(f"the record of run {self.run.run_id!r} has lost its beginning")
        return first

    @property
    def options(self) -> RunOptions:
        return read_options(self.started.options)

    @property
    def ended(self) -> Ended | None:
        """How it ended; None while it goes on, or if its process died."""
        last = self.entries[-1] if self.entries else None
        return last if isinstance(last, Ended) else None

    def steps(self) -> tuple[Step, ...]:
        return tuple(_steps(self.entries))


async def read_trace(store: Store, tenant: str, run_id: str) -> Trace:
    """A run with its entries and its calls; NotFound if there is none of that id."""
    run = await store.load_run(tenant, run_id)
    if run is None:
        raise no_such_run(run_id)
    calls = await calls_of_run(store, tenant, run.session_id or run_id, run_id)
    trace = trace_of(run, await store.run_entries(tenant, run_id), calls)
    return msgspec.structs.replace(trace, earlier=await said_before(store, run, trace.started))


def trace_of(run: Run, entries: Sequence[RunEntry], calls: Sequence[CallRecord] = ()) -> Trace:
    return Trace(
        run=run,
        entries=tuple(decode_entry(entry.body) for entry in entries),
        places=tuple((entry.seq, entry.created_at) for entry in entries),
        calls=tuple(calls),
    )


def _steps(entries: Sequence[RunBody]) -> Iterator[Step]:
    plan: Plan | None = None
    for place, body in enumerate(entries):
        if isinstance(body, Planned):
            plan = body.plan
        elif isinstance(body, Failed):
            yield Step(number=body.step, plan=plan, failure=body.failure)
        elif isinstance(body, Answered):
            asked = tuple(_asked(body, entries, place + 1)) if body.kept else ()
            yield Step(number=body.step, plan=plan, text=body.reply.text, asked=asked)


def _asked(answered: Answered, entries: Sequence[RunBody], following: int) -> Iterator[Asked]:
    """The calls of a reply with their results, which may have come only after a pause."""
    shown: list[ResultItem] = []
    waiting: dict[str, str] = {}
    for place in range(following, len(entries)):
        body = entries[place]
        if isinstance(body, Answered):
            break
        if isinstance(body, Paused):
            waiting = body.waiting
        elif isinstance(body, Resulted):
            shown = [item for item in body.items if isinstance(item, ResultItem)]
            break
    for place, item in enumerate(answered.reply.calls):
        result = shown[place] if place < len(shown) else None
        approval = "" if result is not None else waiting.get(item.call.call_id, "")
        yield Asked(call=item.call, shown=result, approval=approval)

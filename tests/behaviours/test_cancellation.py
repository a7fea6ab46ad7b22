"""A call in flight is stopped: by its turn, or with the whole task. Each is settled, and the key says the truth."""

import asyncio
import threading

import pytest

from groundwire import Context, ErrorType, tool
from groundwire.store import MemoryStore
from groundwire.testing import assert_failed, assert_ok


def waiting(category="action", *, commit=False, commits=False, **options):
    """A tool that has begun, and perhaps committed, when `started` is set; later runs return at once."""
    runs, started = [], asyncio.Event()

    @tool(category=category, commits=commits, **options)
    async def act(context: Context) -> int:
        """Act."""
        runs.append(1)
        if len(runs) > 1:
            return len(runs)
        if commit:
            await context.commit()
        started.set()
        await asyncio.Event().wait()
        return 0

    return act, runs, started


async def start(runtime, turn, started, **options):
    task = asyncio.ensure_future(runtime.call("act", turn=turn, call_id="c1", **options))
    await started.wait()
    return task


CASES = [
    pytest.param({"category": "retrieval"}, False, id="retrieval"),
    pytest.param({"category": "utility"}, False, id="utility"),
    pytest.param({}, True, id="action"),
    pytest.param({"commits": True}, False, id="action before its commit"),
    pytest.param({"commits": True, "commit": True}, True, id="action after its commit"),
    pytest.param({"commit": True}, True, id="action that commits without declaring it"),
]


@pytest.mark.parametrize(("options", "unknown"), CASES)
async def test_a_call_cancelled_by_its_turn_ends_with_an_envelope(make, options, unknown):
    act, runs, started = waiting(**options)
    runtime = make(act)
    async with runtime.turn(session="s") as turn:
        task = await start(runtime, turn, started)
        assert turn.cancel("c1") is True
        result = await task
        error = assert_failed(result, ErrorType.CANCELLED)
        assert (error.retryable, error.partial_side_effects) == (not unknown, unknown)
        again = await runtime.call("act", turn=turn)
        if unknown:
            assert_failed(again, ErrorType.OUTCOME_UNKNOWN)
        else:
            assert assert_ok(again) == 2
    assert len(runs) == (1 if unknown else 2)


@pytest.mark.parametrize(("options", "unknown"), CASES)
async def test_a_cancelled_task_settles_its_call_and_stays_cancelled(make, calls_of, audit_of, options, unknown):
    act, _, started = waiting(**options)
    runtime = make(act)
    async with runtime.turn(session="s") as turn:
        task = await start(runtime, turn, started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await runtime.call("act", turn=turn)
        assert again.ok is not unknown
    row = (await calls_of(runtime))[0]
    assert (row.call_id, row.error_type, row.executed) == ("c1", "CANCELLED", True)
    entry = (await audit_of(runtime))[0]
    assert (entry.call_id, entry.success, entry.decision) == ("c1", False, "executed")


async def test_cancelling_what_has_ended_or_never_was_does_nothing(make):
    act, _, started = waiting()
    runtime = make(act)
    async with runtime.turn() as turn:
        task = await start(runtime, turn, started)
        assert turn.cancel("another") is False
        assert turn.cancel("c1") is True
        await task
        assert turn.cancel("c1") is False


async def test_the_calls_beside_it_go_on(make):
    gate = asyncio.Event()

    @tool(category="retrieval")
    async def look(n: int) -> int:
        """Look."""
        await gate.wait()
        return n

    runtime = make(look)
    async with runtime.turn() as turn:
        tasks = [asyncio.ensure_future(runtime.call("look", {"n": n}, turn=turn, call_id=f"c{n}")) for n in range(3)]
        await asyncio.sleep(0)
        turn.cancel("c1")
        cancelled = await tasks[1]
        gate.set()
        first, third = await tasks[0], await tasks[2]
    assert_failed(cancelled, ErrorType.CANCELLED)
    assert (assert_ok(first), assert_ok(third)) == (0, 2)


async def test_the_task_of_a_cancelled_call_can_go_on(make):
    act, _, started = waiting("retrieval")
    runtime = make(act)

    async def two_calls(turn):
        first = await runtime.call("act", turn=turn, call_id="c1")
        await asyncio.sleep(0)
        second = await runtime.call("act", turn=turn)
        return first, second, asyncio.current_task().cancelling()

    async with runtime.turn() as turn:
        task = asyncio.ensure_future(two_calls(turn))
        await started.wait()
        turn.cancel("c1")
        first, second, cancelling = await task
    assert_failed(first, ErrorType.CANCELLED)
    assert_ok(second)
    assert cancelling == 0


async def test_a_call_cancelled_while_it_waits_for_another_gets_its_envelope_too(make):
    act, runs, started = waiting()
    runtime = make(act)
    async with runtime.turn(session="s") as turn:
        first = await start(runtime, turn, started)
        second = asyncio.ensure_future(runtime.call("act", turn=turn, call_id="c2"))
        await asyncio.sleep(0)
        assert turn.cancel("c2") is True
        error = assert_failed(await second, ErrorType.CANCELLED)
        assert error.partial_side_effects is False
        turn.cancel("c1")
        assert_failed(await first, ErrorType.CANCELLED)
    assert len(runs) == 1


async def test_a_handler_in_a_thread_is_left_to_itself_and_the_call_is_settled(make):
    began, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool(category="action")
    def act() -> None:
        """Act."""
        loop.call_soon_threadsafe(began.set)
        gate.wait(timeout=10)

    runtime = make(act)
    async with runtime.turn() as turn:
        task = await start(runtime, turn, began)
        turn.cancel("c1")
        assert assert_failed(await task, ErrorType.CANCELLED).partial_side_effects is True
    gate.set()


async def test_a_commit_from_a_thread_is_a_commit(make):
    began, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool(category="action", commits=True)
    def act(context: Context) -> None:
        """Act."""
        context.commit_now()
        loop.call_soon_threadsafe(began.set)
        gate.wait(timeout=10)

    runtime = make(act)
    async with runtime.turn() as turn:
        task = await start(runtime, turn, began)
        turn.cancel("c1")
        assert assert_failed(await task, ErrorType.CANCELLED).partial_side_effects is True
    gate.set()


async def test_a_handler_may_finish_in_peace_if_it_shields_itself(make):
    done = []

    @tool(category="action")
    async def act() -> str:
        """Act."""
        try:
            await asyncio.Event().wait()
        finally:
            done.append("cleaned up")

    runtime = make(act)
    async with runtime.turn() as turn:
        task = asyncio.ensure_future(runtime.call("act", turn=turn, call_id="c1"))
        await asyncio.sleep(0)
        turn.cancel("c1")
        assert_failed(await task, ErrorType.CANCELLED)
    assert done == ["cleaned up"]


class SlowStore(MemoryStore):
    """A store in which settling takes until the test says so, and is done even if nobody waits for it any more."""

    def __init__(self):
        super().__init__()
        self.settling, self.gate = asyncio.Event(), asyncio.Event()

    async def close(self, closing):
        async def write():
            await self.gate.wait()
            return await MemoryStore.close(self, closing)

        self.settling.set()
        self.writing = asyncio.ensure_future(write())
        return await asyncio.shield(self.writing)


@pytest.mark.parametrize("by", ["turn", "task"])
async def test_a_call_cancelled_while_it_is_settled_is_settled_all_the_same(make, calls_of, by):
    @tool(category="action")
    async def act() -> str:
        """Act."""
        return "done"

    store = SlowStore()
    runtime = make(act, store=store)
    async with runtime.turn(session="s") as turn:
        task = asyncio.ensure_future(runtime.call("act", turn=turn, call_id="c1"))
        await store.settling.wait()
        if by == "turn":
            assert turn.cancel("c1") is False
        else:
            task.cancel()
        await asyncio.sleep(0)
        store.gate.set()
        await asyncio.wait([task, store.writing])
        assert task.cancelled() is (by == "task")
        again = await runtime.call("act", turn=turn)
        assert (again.data, again.meta.replayed) == ("done", True)
    rows = await calls_of(runtime)
    assert [(row.call_id == "c1", row.ok) for row in rows] == [(True, True), (False, True)]


async def test_time_that_is_up_does_not_swallow_a_cancellation_of_the_task(make):
    ending = asyncio.Event()

    @tool(category="retrieval", hard_ms=10)
    async def act() -> None:
        """Act."""
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await asyncio.Event().wait()

    runtime = make(act)
    task = asyncio.ensure_future(runtime.call("act"))
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

"""The same calls for programs that have no event loop of their own, and for threads."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from groundwire import Context, ErrorType, Registry, Runtime, tool
from groundwire.testing import assert_failed, assert_ok, runtime_for


@tool(category="action")
def book(place: str) -> str:
    """Book."""
    return f"booked {place}"


def test_a_call_needs_no_event_loop():
    runtime = runtime_for(book)
    assert assert_ok(runtime.call_sync("book", {"place": "x"}, session="s")) == "booked x"
    assert_failed(runtime.call_sync("nothing"), ErrorType.NOT_FOUND)
    replayed = [runtime.call_sync("book", {"place": "x"}, idempotency_key="k").meta.replayed for _ in range(2)]
    assert replayed == [False, True]


def test_everything_else_can_be_run_the_same_way():
    runtime = Runtime(Registry([book]))
    runtime.call_sync("book", {"place": "x"}, session="s")
    assert runtime.run_sync(runtime.metrics())["calls"] == {"book": {"ok": 1}}
    assert runtime.run_sync(runtime.end_session("s")) is True
    assert runtime.run_sync(runtime.verify_audit()).ok
    runtime.run_sync(runtime.close())


async def test_it_works_beside_a_running_loop():
    runtime = runtime_for(book)
    assert assert_ok(await runtime.call("book", {"place": "x"}, idempotency_key="k")) == "booked x"
    again = await asyncio.to_thread(runtime.call_sync, "book", {"place": "x"}, idempotency_key="k")
    assert again.meta.replayed


def test_many_threads_share_one_runtime():
    runs = []

    @tool(category="action")
    def act(n: int) -> int:
        """Act."""
        runs.append(n)
        return n

    runtime = runtime_for(act)
    with ThreadPoolExecutor(8) as pool:
        results = list(
            pool.map(lambda n: runtime.call_sync("act", {"n": n % 10}, idempotency_key=f"k{n % 10}"), range(80))
        )
    assert [assert_ok(result) for result in results] == [n % 10 for n in range(80)]
    assert sorted(runs) == list(range(10))


async def test_a_key_in_flight_on_another_loop_is_waited_for():
    started, waiting, gate, runs = asyncio.Event(), asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    @tool(category="action")
    def act() -> int:
        """Act."""
        runs.append(1)
        loop.call_soon_threadsafe(started.set)
        gate.wait(timeout=10)
        return 1

    def tell(step, attempt):
        if step == "reserve" and runs:
            loop.call_soon_threadsafe(waiting.set)

    runtime = runtime_for(act, on_step=tell)
    here = asyncio.ensure_future(runtime.call("act", idempotency_key="k"))
    await started.wait()
    elsewhere = asyncio.ensure_future(asyncio.to_thread(runtime.call_sync, "act", idempotency_key="k"))
    await waiting.wait()
    gate.set()
    first, second = await asyncio.wait_for(asyncio.gather(here, elsewhere), timeout=5)
    assert (first.meta.replayed, second.meta.replayed) == (False, True)
    assert runs == [1]


def test_a_tool_may_call_another_from_its_thread():
    @tool(category="action")
    def outer(context: Context) -> str:
        """Call another."""
        return context.call_sync("book", {"place": "y"}).data

    assert assert_ok(runtime_for(outer, book).call_sync("outer")) == "booked y"

"""Opening, closing, and mistakes of the caller, which are raised and not answered."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

from groundwire import Registry, Runtime, tool
from groundwire.contracts.errors import StoreError, StoreUnavailable
from groundwire.store.sqlite import SqliteStore
from groundwire.testing import assert_ok


@tool(category="action")
def book(place: str = "x") -> str:
    """Book."""
    return place


async def test_a_runtime_opens_itself_and_may_be_closed_and_used_again(make):
    runtime = make(book)
    assert_ok(await runtime.call("book", idempotency_key="k"))
    await runtime.close()
    await runtime.close()
    assert (await runtime.call("book", idempotency_key="k")).meta.replayed


async def test_leaving_the_block_makes_everything_durable():
    async with Runtime(Registry([book])) as runtime:
        assert_ok(await runtime.call("book"))
    assert len(await runtime.store.list_calls("default")) == 1


async def test_closing_ends_the_threads_of_handlers_that_block():
    threads = []

    @tool(blocking=True)
    def wait() -> None:
        """Wait."""
        threads.append(threading.current_thread())

    async with Runtime(Registry([wait])) as runtime:
        assert_ok(await runtime.call("wait"))
    await asyncio.to_thread(threads[0].join, 10)
    assert not threads[0].is_alive()


async def test_closing_lets_go_of_a_store_of_which_only_the_tables_were_used(tmp_path):
    runtime = Runtime(Registry([book]), f"sqlite:///{tmp_path}/x.db")
    assert await runtime.database.fetch("SELECT 1 AS one") == [{"one": 1}]
    await runtime.close()


async def fail_to_close(path):
    """A runtime that owes its store a call, and could not write it when it was closed."""
    runtime = Runtime(Registry([book]), SqliteStore(path, busy_seconds=0.01))
    await runtime.open()

    async def call(other):
        async with runtime.turn(session="s") as turn:
            await runtime.call("book", turn=turn)
            await runtime.call("nothing", turn=turn)
            other.execute("BEGIN IMMEDIATE")

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        with pytest.raises(StoreUnavailable):
            await call(other)
        with pytest.raises(StoreUnavailable):
            await runtime.close()
    return runtime


async def test_a_close_that_cannot_write_lets_go_of_the_store_all_the_same(tmp_path):
    await fail_to_close(tmp_path / "x.db")


async def test_a_close_that_could_not_write_may_be_tried_again(tmp_path):
    await (await fail_to_close(tmp_path / "x.db")).close()
    async with Runtime(Registry([book]), f"sqlite:///{tmp_path}/x.db") as runtime:
        assert [row.tool for row in await runtime.store.list_calls("default")] == ["nothing", "book"]
        assert (await runtime.verify_audit()).ok


async def test_a_block_that_cannot_be_entered_leaves_no_store_open(tmp_path):
    path = tmp_path / "x.db"
    async with Runtime(Registry([book]), f"sqlite:///{path}"):
        pass
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE effects")
    with pytest.raises(StoreError, match="effects"):
        async with Runtime(Registry([book]), f"sqlite:///{path}"):
            pytest.fail("it was entered")


async def test_the_first_calls_may_come_at_once(make):
    runtime = make(book)
    results = await asyncio.gather(*(runtime.call("book", {"place": str(n)}, session="s") for n in range(10)))
    assert [result.data for result in results] == [str(n) for n in range(10)]
    assert (await runtime.store.load_session("default", "s")).turns == 10


@pytest.mark.parametrize("options", [{"sesion": "s"}, {"idempotencykey": "k"}, {"Mode": "voice"}])
async def test_a_misspelt_option_is_a_mistake_and_not_left_out(make, calls_of, options):
    runtime = make(book)
    with pytest.raises(TypeError, match=next(iter(options))):
        await runtime.call("book", **options)
    with pytest.raises(TypeError, match=next(iter(options))):
        async with runtime.turn(**options):
            pass
    assert await calls_of(runtime) == []


async def test_options_of_a_turn_cannot_be_given_to_a_call_inside_it(make):
    runtime = make(book)
    async with runtime.turn(session="s") as turn:
        with pytest.raises(TypeError, match="mode"):
            await runtime.call("book", turn=turn, mode="voice")


async def test_the_tools_of_a_runtime_are_those_of_its_registry(make):
    runtime = make(book)
    assert [found.tool_id for found in runtime.registry] == ["book"]

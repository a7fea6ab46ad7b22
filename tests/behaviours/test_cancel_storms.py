"""Cancelled at any moment, on a store that really waits: nothing runs twice, and nothing that ran goes unrecorded."""

import asyncio
import sqlite3

import pytest

from groundwire import Agent, Outcome, Registry, Runtime, ToolError, tool
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider


@pytest.fixture(params=["process", "power"])
def url(request, tmp_path):
    return f"sqlite:///{tmp_path}/storm.db?durability={request.param}"


async def cancel_after(steps, coroutine):
    """Let a task go that many rounds of the loop, then cancel it."""
    task = asyncio.ensure_future(coroutine)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


async def test_a_cancelled_take_over_leaves_the_outcome_unknown(url):
    runs = []

    def cannot_tell(context):
        raise ToolError("TRANSIENT", "The other side does not answer.")

    @tool(category="action", reconcile=cannot_tell)
    async def act(key: str) -> None:
        """Act, and fail in the middle."""
        runs.append(key)
        raise ConnectionError

    async with Runtime(Registry([act]), url) as runtime:
        await runtime.call("act", {"key": "k"}, idempotency_key="k")
        for steps in range(120):
            await cancel_after(steps % 40, runtime.call("act", {"key": "k"}, idempotency_key="k"))
        assert runs == ["k"]
        assert (await runtime.call("act", {"key": "k"}, idempotency_key="k")).error.type == "OUTCOME_UNKNOWN"


async def test_what_ran_is_recorded_although_its_caller_was_cancelled(url):
    ran = []

    @tool(category="action")
    async def act(number: int) -> int:
        """Act."""
        await asyncio.sleep(0)
        ran.append(number)
        return number

    async with Runtime(Registry([act]), url) as runtime:
        for number in range(150):
            calls = (runtime.call("act", {"number": number * 10 + i}, session="s") for i in range(3))
            await asyncio.gather(*(cancel_after((number + i) % 30, call) for i, call in enumerate(calls)))
        await runtime.store.flush()
        recorded = {row.raw for row in await page(runtime, 10_000) if row.executed}
        assert {f'{{"number":{number}}}' for number in ran} <= recorded
        assert len(ran) == len(set(ran))
        assert (await runtime.verify_audit()).ok


async def page(runtime, size):
    return await runtime.store.list_calls("default", limit=size)


@pytest.mark.parametrize("actor", ["\udcff", "nul \x00"])
async def test_odd_text_around_a_call_does_not_keep_it_from_settling(url, actor):
    @tool(category="action")
    async def act() -> int:
        """Act."""
        return 1

    async with Runtime(Registry([act]), url) as runtime:
        assert (await runtime.call("act", {}, actor=actor, idempotency_key="k")).ok
        assert (await runtime.call("act", {}, actor=actor, idempotency_key="k")).meta.replayed


async def test_a_tool_that_calls_nonsense_costs_no_other_call_its_record(url):
    @tool
    async def look(number: int) -> int:
        """Look."""
        return number

    @tool
    async def odd(context) -> str:
        """Call a tool that cannot exist."""
        return (await context.call("\ud800", {})).error.type

    async with Runtime(Registry([look, odd]), url) as runtime:
        async with runtime.turn(session="s") as turn:
            for number in range(10):
                await runtime.call("look", {"number": number}, turn=turn)
            assert (await runtime.call("odd", {}, turn=turn)).data == "NOT_FOUND"
        assert len(await page(runtime, 100)) == 12
        assert (await runtime.verify_audit()).records == 12


@pytest.mark.parametrize(
    "forgery",
    [
        (
            "INSERT INTO audit SELECT -5, previous_hash, hash, 'aud_forged', tenant, request_id, tool_name, input_hash,"
            " output_hash, success, duration_ms, created_at, error, kind, session_id, call_id, parent_call_id, run_id, caller,"
            " actor, decision, reason, evidence, intents, approver, effect_key, variant, registry_version FROM audit LIMIT 1"
        ),
        "UPDATE audit_head SET seq = 1",
        "DELETE FROM audit_head",
    ],
    ids=["row before the first", "head moved back", "head gone"],
)
async def test_forged_ends_of_the_chain_are_found(tmp_path, forgery):
    @tool
    async def look() -> int:
        """Look."""
        return 1

    url = f"sqlite:///{tmp_path}/forged.db"
    async with Runtime(Registry([look]), url) as runtime:
        for _ in range(3):
            await runtime.call("look")
        assert (await runtime.verify_audit()).ok
    with sqlite3.connect(tmp_path / "forged.db") as connection:
        connection.execute(forgery)
    connection.close()
    async with Runtime(Registry([look]), url) as runtime:
        assert not (await runtime.verify_audit()).ok


async def test_a_run_that_is_cancelled_says_so_and_has_its_end_on_record(url):
    @tool(category="action")
    async def act(number: int) -> int:
        """Act."""
        return number

    @tool
    async def look(number: int) -> int:
        """Look."""
        return number

    both = Answer(calls=(Ask("act", {"number": 1}), Ask("look", {"number": 1})))
    model = ScriptedModel(otherwise=lambda request: both if len(request.items) < 6 else Answer("Done."))
    models = ScriptedProvider(model, clock=FakeClock())
    async with Agent("sim/any", tools=[act, look], models=models, store=url) as agent:
        load = [asyncio.create_task(keep_calling(agent.runtime, number)) for number in range(5)]
        seen = set()
        for steps in range(150):
            run_id, session = f"run_{steps}", f"ses_{steps}" if steps % 2 else None
            task = asyncio.create_task(agent.run("Go.", run_id=run_id, session=session))
            for _ in range(steps):
                await asyncio.sleep(0)
            is_done = task.done()
            task.cancel()
            await asyncio.wait([task])
            assert is_done or task.cancelled()
            run = await agent.runtime.store.load_run("default", run_id)
            seen.add(None if run is None else run.outcome)
        for task in load:
            task.cancel()
        await asyncio.wait(load)
    assert {None, Outcome.CANCELLED} <= seen <= {None, Outcome.CANCELLED, Outcome.COMPLETED}


async def keep_calling(runtime, number):
    count = 0
    while True:
        count += 1
        await runtime.call("act", {"number": number * 100_000 + count})

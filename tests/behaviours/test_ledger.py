"""An effect happens at most once: keys, scopes, replays, conflicts, and what becomes of a key when its call ends."""

import asyncio

import pytest

from groundwire import ErrorType, Settings, Tool, ToolError, ToolResult, tool
from groundwire.runtime.ledger import LedgerTimes
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, assert_failed, assert_ok


def acting(category="action", outcome=None, **options):
    """An action that counts how often it really happened."""
    runs = []

    def act(**given):
        runs.append(given)
        if isinstance(outcome, Exception):
            raise outcome
        return {"run": len(runs)} if outcome is None else outcome

    schema = {"type": "object", "properties": {"to": {}, "text": {}}}
    made = Tool(name="act", description="Act.", parameters=schema, handler=act, category=category, **options)
    return made, runs


async def in_run(runtime, run_id="r1", session="s", arguments=None, **options):
    async with runtime.turn(session=session, run_id=run_id) as turn:
        return await runtime.call("act", arguments or {"to": "a"}, turn=turn, caller="model", **options)


@pytest.mark.quirk(84)
@pytest.mark.requirement("D-045", "OQ-40", "D-001")
async def test_a_settled_key_returns_the_stored_result(make, audit_of, calls_of):
    act, runs = acting()
    runtime = make(act)
    first = await runtime.call("act", {"to": "a"}, idempotency_key="k")
    second = await runtime.call("act", {"to": "a"}, idempotency_key="k")
    assert (first.data, first.meta.replayed) == ({"run": 1}, False)
    assert (second.data, second.meta.replayed) == ({"run": 1}, True)
    assert second.meta.call_id != first.meta.call_id
    assert len(runs) == 1
    assert [entry.decision for entry in await audit_of(runtime)] == ["executed", "replayed"]
    assert [row.executed for row in await calls_of(runtime)] == [True, False]


@pytest.mark.requirement("OQ-40")
async def test_a_key_with_other_input_is_a_conflict(make):
    act, runs = acting()
    runtime = make(act)
    assert_ok(await runtime.call("act", {"to": "a"}, idempotency_key="k"))
    other = await runtime.call("act", {"to": "b"}, idempotency_key="k")
    error = assert_failed(other, ErrorType.CONFLICT, detail="KEY_REUSED")
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert len(runs) == 1


async def test_a_key_belongs_to_its_tool_and_tenant(make):
    act, runs = acting()
    other = Tool(name="other", description="Act.", handler=lambda: runs.append("other"), category="action")
    runtime = make(act, other)
    for options in ({}, {"tenant": "acme"}):
        assert not (await runtime.call("act", {}, idempotency_key="k", **options)).meta.replayed
    assert not (await runtime.call("other", {}, idempotency_key="k")).meta.replayed
    assert len(runs) == 3


@pytest.mark.parametrize("category", ["retrieval", "utility"])
async def test_a_callers_key_makes_any_category_replay(make, category):
    act, runs = acting(category)
    runtime = make(act)
    results = [await runtime.call("act", {}, idempotency_key="k") for _ in range(2)]
    assert [result.meta.replayed for result in results] == [False, True]
    assert len(runs) == 1


@pytest.mark.requirement("B-086", "B-089", "B-092")
@pytest.mark.parametrize(("category", "expected"), [("action", 1), ("retrieval", 2), ("utility", 2)])
async def test_within_a_run_only_actions_are_kept_from_happening_twice(make, category, expected):
    act, runs = acting(category, {"found": 1})
    runtime = make(act)
    async with runtime.turn() as turn:
        results = [await runtime.call("act", {"to": "a"}, turn=turn) for _ in range(2)]
    assert [assert_ok(result) for result in results] == [{"found": 1}] * 2
    assert len(runs) == expected


async def test_outside_a_run_and_without_a_key_each_call_is_a_new_effect(make):
    act, runs = acting()
    runtime = make(act)
    for _ in range(3):
        assert not (await runtime.call("act", {"to": "a"}, session="s")).meta.replayed
    assert len(runs) == 3


@pytest.mark.parametrize(
    ("scope", "changes", "same"),
    [
        ("run", {}, True),
        ("run", {"call_id": "c2"}, True),
        ("run", {"run_id": "r2"}, False),
        ("run", {"arguments": {"to": "b"}}, False),
        ("conversation", {"run_id": "r2"}, True),
        ("conversation", {"run_id": "r2", "session": "s2"}, False),
        ("call", {}, False),
        (["to"], {"run_id": "r2", "session": "s2"}, True),
        (["to"], {"arguments": {"to": "b"}}, False),
        (["to", "text"], {"arguments": {"to": "a", "text": "x"}}, False),
    ],
)
async def test_a_scope_says_which_calls_are_one_effect(make, scope, changes, same):
    act, runs = acting(scope=scope)
    runtime = make(act)
    assert_ok(await in_run(runtime))
    result = await in_run(runtime, **changes)
    assert_ok(result)
    assert result.meta.replayed is same
    assert len(runs) == (1 if same else 2)


async def test_a_scope_of_arguments_compares_the_rest_of_the_input(make):
    act, runs = acting(scope=["to"])
    runtime = make(act)
    assert_ok(await in_run(runtime, arguments={"to": "a", "text": "x"}))
    other = await in_run(runtime, run_id="r2", arguments={"to": "a", "text": "y"})
    assert_failed(other, ErrorType.CONFLICT, detail="KEY_REUSED")
    assert len(runs) == 1


@pytest.mark.requirement("OQ-40", "B-197")
async def test_a_clean_failure_frees_the_key(make):
    act, runs = acting(outcome=ToolError(ErrorType.TRANSIENT, "later"))
    runtime = make(act)
    for _ in range(2):
        error = assert_failed(await runtime.call("act", {}, idempotency_key="k"), ErrorType.TRANSIENT)
        assert (error.retryable, error.partial_side_effects) == (True, False)
    assert len(runs) == 2
    assert await runtime.effects() == []
    assert_failed(await runtime.call("act", {"to": "other input"}, idempotency_key="k"), ErrorType.TRANSIENT)


async def test_a_failed_envelope_without_side_effects_frees_the_key_too(make):
    act, runs = acting(outcome=ToolResult.failure(ErrorType.CONFLICT, "taken", detail="WINDOW_CLOSED"))
    runtime = make(act)
    for _ in range(2):
        failed = await runtime.call("act", {}, idempotency_key="k")
        assert_failed(failed, ErrorType.CONFLICT, detail="WINDOW_CLOSED")
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("outcome", "type_"),
    [
        (ValueError("boom"), ErrorType.INTERNAL),
        (ToolError(ErrorType.PERMANENT, "half done", partial_side_effects=True), ErrorType.PERMANENT),
        (ToolResult.failure(ErrorType.PERMANENT, "half done", partial_side_effects=True), ErrorType.PERMANENT),
        (ToolResult(ok=False), ErrorType.INTERNAL),
    ],
    ids=["raised", "tool error", "envelope", "failed without an error"],
)
async def test_after_a_failure_with_side_effects_nobody_knows_and_it_is_not_run_again(make, outcome, type_):
    act, runs = acting(outcome=outcome)
    runtime = make(act)
    first = await runtime.call("act", {}, idempotency_key="k")
    assert assert_failed(first, type_).partial_side_effects is True
    for _ in range(2):
        error = assert_failed(await runtime.call("act", {}, idempotency_key="k"), ErrorType.OUTCOME_UNKNOWN)
        assert (error.retryable, error.partial_side_effects) == (False, False)
    assert len(runs) == 1
    (effect,) = await runtime.effects()
    assert effect.status == "unknown"


@pytest.mark.parametrize("category", ["retrieval", "utility"])
async def test_what_only_reads_may_run_again_after_any_failure(make, category):
    act, runs = acting(category, ValueError("boom"))
    runtime = make(act)
    for _ in range(2):
        assert_failed(await runtime.call("act", {}, idempotency_key="k"), ErrorType.INTERNAL)
    assert len(runs) == 2


async def test_a_repeatable_action_may_run_again_after_any_failure(make):
    act, runs = acting(outcome=ValueError("boom"), repeatable=True)
    runtime = make(act)
    for _ in range(3):
        assert_failed(await runtime.call("act", {}, idempotency_key="k"), ErrorType.INTERNAL)
    assert len(runs) == 3


async def test_a_result_that_the_guard_replaced_is_final(make):
    act, runs = acting(outcome={1, 2})
    runtime = make(act)
    for replayed in (False, True):
        result = await runtime.call("act", {}, idempotency_key="k")
        error = assert_failed(result, ErrorType.INTERNAL, detail="NOT_JSON")
        assert error.partial_side_effects is True
        assert result.meta.replayed is replayed
    assert len(runs) == 1


def gated():
    runs, started, gate = [], asyncio.Event(), asyncio.Event()

    @tool(category="action")
    async def act(to: str = "a") -> int:
        """Act."""
        runs.append(to)
        started.set()
        await gate.wait()
        return len(runs)

    return act, runs, started, gate


@pytest.mark.requirement("OQ-40")
async def test_a_key_in_flight_is_waited_for_and_gives_the_same_result(make):
    act, runs, started, gate = gated()
    runtime = make(act)
    calls = [asyncio.ensure_future(runtime.call("act", {}, idempotency_key="k")) for _ in range(4)]
    await started.wait()
    gate.set()
    results = await asyncio.gather(*calls)
    assert [result.data for result in results] == [1] * 4
    assert sorted(result.meta.replayed for result in results) == [False, True, True, True]
    assert len(runs) == 1


async def test_other_input_under_a_key_in_flight_is_refused_at_once(make):
    act, _, started, gate = gated()
    runtime = make(act)
    running = asyncio.ensure_future(runtime.call("act", {}, idempotency_key="k"))
    await started.wait()
    other = await runtime.call("act", {"to": "b"}, idempotency_key="k")
    assert_failed(other, ErrorType.CONFLICT, detail="KEY_REUSED")
    gate.set()
    assert_ok(await running)


@pytest.mark.requirement("X-31", "OQ-40")
async def test_who_waited_too_long_may_try_again_later(make):
    act, runs, started, gate = gated()
    runtime = make(act, settings=Settings(ledger=LedgerTimes(wait_seconds=0.01)))
    running = asyncio.ensure_future(runtime.call("act", {}, idempotency_key="k"))
    await started.wait()
    error = assert_failed(await runtime.call("act", {}, idempotency_key="k"), ErrorType.CONFLICT, detail="IN_FLIGHT")
    assert (error.retryable, error.partial_side_effects) == (True, False)
    gate.set()
    assert_ok(await running)
    assert (await runtime.call("act", {}, idempotency_key="k")).meta.replayed
    assert len(runs) == 1


async def test_a_key_in_flight_elsewhere_is_waited_for_by_the_clock(make):
    act, runs, started, gate = gated()
    clock, store = FakeClock(), MemoryStore()
    here, elsewhere = make(act, clock=clock, store=store), make(act, clock=clock, store=store)
    running = asyncio.ensure_future(elsewhere.call("act", {}, idempotency_key="k"))
    await started.wait()
    waiting = asyncio.ensure_future(here.call("act", {}, idempotency_key="k"))
    await clock.until_asleep()
    gate.set()
    assert_ok(await running)
    clock.advance(1)
    result = await waiting
    assert (result.data, result.meta.replayed) == (1, True)
    assert len(runs) == 1


async def test_a_wait_for_elsewhere_ends_after_thirty_seconds(make):
    act, runs, started, gate = gated()
    clock, store = FakeClock(), MemoryStore()
    long_lease = Settings(ledger=LedgerTimes(lease_seconds=60))
    here = make(act, clock=clock, store=store)
    elsewhere = make(act, clock=clock, store=store, settings=long_lease)
    running = asyncio.ensure_future(elsewhere.call("act", {}, idempotency_key="k"))
    await started.wait()
    waiting = asyncio.ensure_future(here.call("act", {}, idempotency_key="k"))
    await clock.until_asleep()
    clock.advance(29.9)
    await clock.until_asleep()
    assert not waiting.done()
    clock.advance(0.2)
    assert_failed(await waiting, ErrorType.CONFLICT, detail="IN_FLIGHT")
    gate.set()
    assert_ok(await running)
    assert len(runs) == 1


async def test_after_the_one_in_flight_failed_cleanly_the_next_one_runs(make):
    runs, started, gate = [], asyncio.Event(), asyncio.Event()

    @tool(category="action")
    async def act() -> int:
        """Act."""
        runs.append(1)
        if len(runs) == 1:
            started.set()
            await gate.wait()
            raise ToolError(ErrorType.TRANSIENT, "later")
        return len(runs)

    runtime = make(act)
    calls = [asyncio.ensure_future(runtime.call("act", {}, idempotency_key="k")) for _ in range(2)]
    await started.wait()
    gate.set()
    first, second = await asyncio.gather(*calls)
    assert_failed(first, ErrorType.TRANSIENT)
    assert assert_ok(second) == 2


async def test_runs_without_a_session_do_not_share_a_conversation(make):
    act, runs = acting(scope="conversation")
    runtime = make(act)
    for run_id in ("r1", "r1", "r2"):
        assert_ok(await in_run(runtime, run_id=run_id, session=None))
    assert len(runs) == 2

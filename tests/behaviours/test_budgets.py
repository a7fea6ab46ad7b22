"""How much a turn, a session, a request or a key may use; at the edge, on both sides."""

import asyncio

import pytest

from groundwire import (
    ASSISTANT_PROFILE,
    Budget,
    Context,
    ErrorType,
    Overrides,
    PolicyRule,
    Settings,
    Tool,
    ToolError,
    tool,
)
from groundwire.store import MemoryStore
from groundwire.testing import StaticFlags, assert_failed, assert_ok


def counted(name="look", category="retrieval", **options):
    runs = []

    def handler(**given):
        runs.append(given)
        return len(runs)

    schema = {"type": "object", "properties": {"post_id": {}}}
    return Tool(
        name=name, description="Counts.", parameters=schema, handler=handler, category=category, **options
    ), runs


async def call(runtime, turn, name="look", **arguments):
    return await runtime.call(name, arguments, turn=turn, caller="model")


@pytest.mark.requirement("B-041", "B-114", "B-039", "B-213")
async def test_the_third_retrieval_of_a_voice_turn_is_refused_before_it_runs(make):
    look, runs = counted()
    runtime = make(look)
    async with runtime.turn(mode="voice") as turn:
        results = [await call(runtime, turn, n=number) for number in range(3)]
        assert [result.ok for result in results] == [True, True, False]
        error = assert_failed(results[2], ErrorType.BUDGET_EXCEEDED)
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert len(runs) == 2


@pytest.mark.requirement("B-042", "B-114", "B-213")
async def test_the_fourth_call_of_a_voice_turn_is_refused_whatever_it_is(make):
    look, _ = counted()
    act, acted = counted("act", "action")
    runtime = make(look, act)
    async with runtime.turn(mode="voice") as turn:
        for name in ("look", "act", "look"):
            assert_ok(await call(runtime, turn, name, n=turn.calls))
        assert_failed(await call(runtime, turn, "act", n=9), ErrorType.BUDGET_EXCEEDED)
        assert_failed(await call(runtime, turn, "look", n=9), ErrorType.BUDGET_EXCEEDED)
    assert len(acted) == 1
    async with runtime.turn(mode="voice") as turn:
        assert_ok(await call(runtime, turn, "act", n=9))


async def test_a_voice_budget_holds_for_the_applications_own_calls_too(make):
    look, _ = counted()
    runtime = make(look)
    async with runtime.turn(mode="voice") as turn:
        results = [await runtime.call("look", {"n": number}, turn=turn) for number in range(3)]
    assert [result.ok for result in results] == [True, True, False]


@pytest.mark.requirement("X-33")
async def test_text_has_no_limit_of_its_own(make):
    look, runs = counted()
    runtime = make(look)
    async with runtime.turn(mode="text") as turn:
        for number in range(30):
            assert_ok(await call(runtime, turn, n=number))
    assert len(runs) == 30


@pytest.mark.requirement("B-054", "X-33")
async def test_the_assistants_profile_refuses_the_sixth_retrieval_and_the_eleventh_call(make):
    look, _ = counted()
    act, _ = counted("act", "action")
    runtime = make(look, act, settings=Settings(profiles={"assistant": ASSISTANT_PROFILE}))
    async with runtime.turn(profile="assistant") as turn:
        for number in range(5):
            assert_ok(await call(runtime, turn, n=number))
        assert_failed(await call(runtime, turn, n=9), ErrorType.BUDGET_EXCEEDED)
        for number in range(5):
            assert_ok(await call(runtime, turn, "act", n=number))
        assert_failed(await call(runtime, turn, "act", n=9), ErrorType.BUDGET_EXCEEDED)


async def test_refusals_and_replays_cost_nothing(make):
    book, booked = counted("book", "action", budget=[Budget(name="books", max=2)], gates=["ON"])
    flags = StaticFlags()
    runtime = make(book, flags=flags)
    async with runtime.turn() as turn:
        for number in range(3):
            assert_failed(await call(runtime, turn, "book", n=number), ErrorType.PERMANENT)
        flags.turn_on("ON")
        assert_ok(await call(runtime, turn, "book", n=1))
        assert (await call(runtime, turn, "book", n=1)).meta.replayed
        assert_ok(await call(runtime, turn, "book", n=2))
        assert_failed(await call(runtime, turn, "book", n=3), ErrorType.BUDGET_EXCEEDED)
        assert (await call(runtime, turn, "book", n=2)).meta.replayed
    assert len(booked) == 2


async def test_a_call_that_fails_has_been_used_up(make):
    @tool(category="retrieval", budget=[Budget(name="tries", max=1)])
    def fail() -> None:
        """Fail."""
        raise ToolError(ErrorType.TRANSIENT, "later")

    runtime = make(fail)
    async with runtime.turn() as turn:
        assert_failed(await runtime.call("fail", turn=turn), ErrorType.TRANSIENT)
        assert_failed(await runtime.call("fail", turn=turn), ErrorType.BUDGET_EXCEEDED)


async def test_tools_share_a_budget_of_one_name(make):
    maps, _ = counted("maps", budget=[Budget(name="discovery", max=3)])
    social, _ = counted("social", budget=[Budget(name="discovery", max=3)])
    runtime = make(maps, social)
    async with runtime.turn() as turn:
        for name in ("maps", "social", "maps"):
            assert_ok(await call(runtime, turn, name, n=turn.calls))
        for name in ("maps", "social"):
            assert_failed(await call(runtime, turn, name, n=9), ErrorType.BUDGET_EXCEEDED)


@pytest.mark.parametrize(
    ("by", "options"),
    [
        ("session", ({"session": "s1"}, {"session": "s2"})),
        ("request", ({"request_id": "r1"}, {"request_id": "r2"})),
    ],
)
async def test_a_stored_budget_outlives_the_turn_and_is_counted_apart(make, by, options):
    look, _ = counted(budget=[Budget(name="b", by=by, max=2)])
    runtime = make(look)
    mine, theirs = options
    for expected in (True, True, False):
        assert (await runtime.call("look", **mine)).ok is expected
    assert (await runtime.call("look", **theirs)).ok


async def test_a_budget_by_argument_counts_each_value_apart(make):
    look, runs = counted(budget=[Budget(name="b", by="post_id", max=1)])
    runtime = make(look)
    outcomes = [(await runtime.call("look", {"post_id": value})).ok for value in ("p1", "p1", "p2", 1, 1.0, "1")]
    assert outcomes == [True, False, True, True, False, True]
    assert len(runs) == 4


async def test_a_stored_budget_is_one_count_for_all_who_share_the_store(make):
    look, _ = counted(budget=[Budget(name="b", by="session", max=2)])
    store = MemoryStore()
    first, second = make(look, store=store), make(look, store=store)
    outcomes = [(await runtime.call("look", session="s")).ok for runtime in (first, second, first)]
    assert outcomes == [True, True, False]


async def test_a_stored_budget_is_not_charged_by_refusals(make):
    act, _ = counted("act", "action", confirm=True, budget=[Budget(name="b", by="session", max=1)])
    runtime = make(act)
    for _ in range(3):
        refused = await runtime.call("act", session="s")
        assert_failed(refused, ErrorType.CONFIRMATION_REQUIRED)
    await runtime.approve(refused.meta.confirmation.id, by="ada")
    assert_ok(await runtime.call("act", session="s"))
    assert_failed(await runtime.call("act", session="s"), ErrorType.BUDGET_EXCEEDED)


class SlowStore(MemoryStore):
    """Lets others run wherever a database would."""

    async def read_counters(self, tenant, names):
        await asyncio.sleep(0)
        return await super().read_counters(tenant, names)

    async def reserve(self, reservation):
        await asyncio.sleep(0)
        return await super().reserve(reservation)


@pytest.mark.parametrize("by", ["turn", "session"])
async def test_calls_at_the_same_time_cannot_overdraw(make, by):
    both = [Budget(name="b", by=by, max=2), Budget(name="other", by="session", max=100)]
    look, runs = counted(budget=both)
    runtime = make(look, store=SlowStore())
    async with runtime.turn(session="s") as turn:
        results = await asyncio.gather(*(call(runtime, turn, n=number) for number in range(6)))
    assert sum(result.ok for result in results) == 2
    assert len(runs) == 2


async def test_a_voice_turn_cannot_be_overdrawn_by_parallel_calls_of_a_tool_with_a_stored_budget(make):
    act, runs = counted("act", "action", budget=[Budget(name="b", by="session", max=100)])
    runtime = make(act, store=SlowStore())
    async with runtime.turn(session="s", mode="voice") as turn:
        results = await asyncio.gather(*(call(runtime, turn, "act", n=number) for number in range(5)))
    assert sum(result.ok for result in results) == 3
    assert len(runs) == 3


@pytest.mark.parametrize("by", ["turn", "session"])
async def test_tokens_are_counted_after_the_call_and_refuse_once_used_up(make, by):
    @tool(category="retrieval", budget=[Budget(name="tokens", by=by, max=100, unit="tokens")])
    def read(chars: int) -> str:
        """Read."""
        return "x" * chars

    runtime = make(read)
    async with runtime.turn(session="s") as turn:
        assert_ok(await runtime.call("read", {"chars": 394}, turn=turn))  # 396 characters of JSON: 99 tokens
    async with runtime.turn(session="s") as turn:
        if by == "turn":
            assert_ok(await runtime.call("read", {"chars": 394}, turn=turn))
        assert_ok(await runtime.call("read", {"chars": 1}, turn=turn))
        assert_failed(await runtime.call("read", {"chars": 1}, turn=turn), ErrorType.BUDGET_EXCEEDED)


@pytest.mark.parametrize("by", ["turn", "request"])
async def test_money_is_what_the_handler_says_it_spent(make, by):
    @tool(category="action", budget=[Budget(name="euros", by=by, max=1, unit="money")])
    async def pay(amount: float, context: Context) -> str:
        """Pay."""
        context.charge("euros", amount / 2)
        context.charge("euros", amount / 2)
        context.charge("something else", 99)
        return "paid"

    runtime = make(pay)
    async with runtime.turn(request_id="r") as turn:
        assert_ok(await call(runtime, turn, "pay", amount=0.5))
        assert_ok(await call(runtime, turn, "pay", amount=0.4))
        assert_ok(await call(runtime, turn, "pay", amount=5.0))
        assert_failed(await call(runtime, turn, "pay", amount=0.1), ErrorType.BUDGET_EXCEEDED)


@pytest.mark.parametrize("by", ["turn", "session"])
async def test_time_is_counted_in_milliseconds(make, clock, by):
    @tool(category="retrieval", budget=[Budget(name="time", by=by, max=1_000, unit="ms")])
    async def wait(ms: int) -> str:
        """Wait."""
        clock.advance(ms / 1_000)
        return "done"

    runtime = make(wait, clock=clock)
    async with runtime.turn(session="s") as turn:
        assert_ok(await call(runtime, turn, "wait", ms=999))
        assert_ok(await call(runtime, turn, "wait", ms=1))
        assert_failed(await call(runtime, turn, "wait", ms=2), ErrorType.BUDGET_EXCEEDED)


async def test_an_operators_rule_can_set_a_budget_for_tools_it_did_not_write(make):
    look, _ = counted()
    rule = PolicyRule(tools=("lo*",), limits=Overrides(budget=(Budget(name="few", max=1),)))
    runtime = make(look, settings=Settings(policies=(rule,)))
    async with runtime.turn() as turn:
        assert_ok(await call(runtime, turn, n=1))
        assert_failed(await call(runtime, turn, n=2), ErrorType.BUDGET_EXCEEDED)


async def test_a_call_that_loses_the_race_for_a_stored_budget_is_told_the_same_limit(make):
    act, runs = counted("act", "action", budget=[Budget(name="b", by="session", max=1)])
    runtime = make(act)
    results = await asyncio.gather(*(runtime.call("act", {"n": n}, session="s") for n in range(2)))
    assert len(runs) == 1
    (error,) = [result.error for result in results if not result.ok]
    assert error.message == (
        "act was not run: the limit of 1 tool call per session is reached. Answer with what you have."
    )

"""The same call again and again, tools that find nothing, refusals in a row: all within one turn, for models only."""

import asyncio

import pytest

from groundwire import ErrorType, Overrides, PolicyRule, Profile, Settings, ToolError, tool
from groundwire.testing import assert_failed, assert_ok


def searching(answers=None, **options):
    runs = []

    @tool(category="retrieval", **{"empty_field": "hits", **options})
    def search(query: str) -> dict:
        """Search."""
        runs.append(query)
        found = ["x"] if answers is None else answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return {"hits": found}

    return search, runs


@tool(category="retrieval")
def other(query: str) -> str:
    """Search elsewhere."""
    return query


async def ask(runtime, turn, query="q", name="search", **options):
    return await runtime.call(name, {"query": query}, turn=turn, **{"caller": "model", **options})


@pytest.mark.requirement("B-142", "B-143", "B-144", "B-145", "B-149", "B-150", "B-151", "B-044", "B-152")
@pytest.mark.parametrize("mode", ["text", "voice"])
async def test_the_second_equal_call_is_reminded_and_the_third_refused_before_it_runs(make, mode):
    search, runs = searching()
    runtime = make(search)
    async with runtime.turn(mode=mode, session="s") as turn:
        first, second = [await ask(runtime, turn) for _ in range(2)]
        assert first.warnings == ()
        assert len(second.warnings) == 1
        assert second.ok
        error = assert_failed(await ask(runtime, turn), ErrorType.LOOP_DETECTED, detail="REPEATED_CALL")
    assert error.retryable is False
    assert "search" in error.message
    assert "3" in error.message
    assert len(runs) == 2


async def test_after_another_refusal_the_tool_is_gone_for_the_turn(make):
    search, runs = searching()
    runtime = make(search, other)
    async with runtime.turn(session="s") as turn:
        for _ in range(4):
            last = await ask(runtime, turn)
        assert_failed(last, ErrorType.LOOP_DETECTED)
        assert_failed(await ask(runtime, turn, "something new"), ErrorType.NOT_FOUND)
        assert_ok(await ask(runtime, turn, name="other"))
    async with runtime.turn(session="s") as turn:
        assert_ok(await ask(runtime, turn))
    assert len(runs) == 3


async def test_other_arguments_are_another_call_and_their_spelling_does_not_matter(make):
    search, runs = searching()
    runtime = make(search)
    async with runtime.turn() as turn:
        for query in ("a", "b", "c", "d"):
            assert_ok(await ask(runtime, turn, query))
        for raw in ('{"query":"e"}', '{ "query" : "e" }', '{"query":"\\u0065"}'):
            last = await runtime.call("search", raw, turn=turn, caller="model")
        assert_failed(last, ErrorType.LOOP_DETECTED)
    assert len(runs) == 6


async def test_an_equal_call_with_another_result_is_not_reminded_but_counts(make):
    search, _ = searching([["a"], ["b"]])
    runtime = make(search)
    async with runtime.turn() as turn:
        assert [(await ask(runtime, turn)).warnings for _ in range(2)] == [(), ()]
        assert_failed(await ask(runtime, turn), ErrorType.LOOP_DETECTED)


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_the_repeat_limit_is_a_setting(make, limit):
    search, runs = searching()
    runtime = make(search, settings=Settings(policies=(PolicyRule(limits=Overrides(repeat_limit=limit)),)))
    async with runtime.turn() as turn:
        results = [await ask(runtime, turn) for _ in range(limit)]
    assert [result.ok for result in results] == [True] * (limit - 1) + [False]
    assert len(runs) == limit - 1


async def test_replays_count_as_calls(make):
    runs = []

    @tool(category="action")
    def book(place: str) -> int:
        """Book."""
        runs.append(place)
        return 1

    runtime = make(book)
    async with runtime.turn(session="s") as turn:
        results = [await runtime.call("book", {"place": "x"}, turn=turn, caller="model") for _ in range(3)]
    assert [(result.ok, result.meta.replayed) for result in results] == [(True, False), (True, True), (False, False)]
    assert_failed(results[2], ErrorType.LOOP_DETECTED)
    assert runs == ["x"]


async def test_refusals_do_not_count_as_calls(make):
    search, _ = searching()
    runtime = make(search)
    async with runtime.turn() as turn:
        for _ in range(3):
            assert_failed(await runtime.call("search", {"query": 1}, turn=turn, caller="model"), ErrorType.VALIDATION)
        assert [(await ask(runtime, turn)).ok for _ in range(2)] == [True, True]


async def test_failed_calls_count(make):
    search, _ = searching([ToolError(ErrorType.TRANSIENT, "later")] * 2)
    runtime = make(search)
    async with runtime.turn() as turn:
        for _ in range(2):
            assert_failed(await ask(runtime, turn), ErrorType.TRANSIENT)
        assert_failed(await ask(runtime, turn), ErrorType.LOOP_DETECTED)


@pytest.mark.parametrize("caller", ["api", "tool"])
async def test_the_rules_are_for_models_only(make, caller):
    search, _ = searching([[]] * 6)
    runtime = make(search)
    async with runtime.turn() as turn:
        results = [await ask(runtime, turn, caller=caller) for _ in range(6)]
    assert all(result.ok for result in results)
    assert all(result.warnings == () for result in results)


async def test_identical_calls_at_the_same_time_are_counted_too(make):
    started, gate = [], asyncio.Event()

    @tool(category="retrieval")
    async def search(query: str) -> str:
        """Search."""
        started.append(query)
        await gate.wait()
        return query

    runtime = make(search)
    async with runtime.turn() as turn:
        calls = [asyncio.ensure_future(ask(runtime, turn)) for _ in range(3)]
        refused = await calls[2]
        gate.set()
        results = await asyncio.gather(*calls)
    assert_failed(refused, ErrorType.LOOP_DETECTED)
    assert [result.ok for result in results] == [True, True, False]
    assert len(started) == 2


@pytest.mark.requirement("B-146", "B-147", "B-148", "B-044", "B-150")
async def test_the_second_empty_result_is_ok_with_a_warning_and_the_next_call_is_refused(make):
    search, runs = searching([[], [], ["found"]])
    runtime = make(search, other)
    async with runtime.turn() as turn:
        first, second = await ask(runtime, turn, "a"), await ask(runtime, turn, "b")
        assert (first.ok, first.warnings) == (True, ())
        assert second.ok
        assert ["search" in warning for warning in second.warnings] == [True]
        third = await ask(runtime, turn, "c")
        assert_failed(third, ErrorType.LOOP_DETECTED, detail="EMPTY_RESULTS")
        assert third.error.retryable is False
        assert_ok(await ask(runtime, turn, "c", name="other"))
    assert runs == ["a", "b"]


async def test_empty_results_need_not_follow_each_other(make):
    search, _ = searching([[], ["x"], []])
    runtime = make(search)
    async with runtime.turn() as turn:
        results = [await ask(runtime, turn, query) for query in "abcd"]
    assert [result.ok for result in results] == [True, True, True, False]


async def test_the_empty_limit_is_a_setting(make):
    search, _ = searching([[]] * 9)
    runtime = make(search, settings=Settings(policies=(PolicyRule(limits=Overrides(empty_limit=3)),)))
    async with runtime.turn() as turn:
        results = [await ask(runtime, turn, query) for query in "abcd"]
    assert [result.ok for result in results] == [True, True, True, False]
    assert [len(result.warnings) for result in results] == [0, 0, 1, 0]


async def test_failures_are_not_empty_results(make):
    search, _ = searching([ToolError(ErrorType.TRANSIENT, "later")] * 2 + [["x"]])
    runtime = make(search)
    async with runtime.turn() as turn:
        results = [await ask(runtime, turn, query) for query in "abc"]
    assert results[2].ok


async def test_an_action_that_returns_nothing_is_not_fruitless(make):
    @tool(category="action")
    def store(text: str) -> None:
        """Store."""

    runtime = make(store)
    async with runtime.turn() as turn:
        for text in "abcd":
            assert_ok(await runtime.call("store", {"text": text}, turn=turn, caller="model"))


@pytest.mark.requirement("B-142")
async def test_each_turn_counts_anew(make):
    search, runs = searching([[]] * 4)
    runtime = make(search)
    for _ in range(2):
        async with runtime.turn(session="s") as turn:
            assert [(await ask(runtime, turn)).ok for _ in range(2)] == [True, True]
    assert len(runs) == 4


async def test_five_refusals_in_a_row_end_the_use_of_tools_in_the_turn(make):
    search, runs = searching()
    runtime = make(search)
    async with runtime.turn() as turn:
        for number in range(5):
            assert turn.must_answer is False
            assert_failed(await ask(runtime, turn, name=f"no_{number}"), ErrorType.NOT_FOUND)
        assert turn.must_answer is True
        refused = await ask(runtime, turn)
        assert_failed(refused, ErrorType.BUDGET_EXCEEDED, detail="REFUSALS_IN_A_ROW")
    assert runs == []


async def test_a_call_that_runs_ends_the_row_of_refusals(make):
    search, _ = searching()
    runtime = make(search)
    async with runtime.turn() as turn:
        for number in range(4):
            await ask(runtime, turn, name=f"no_{number}")
        assert_ok(await ask(runtime, turn))
        await ask(runtime, turn, name="no_5")
        assert turn.must_answer is False
        assert_ok(await ask(runtime, turn, "b"))


async def test_how_many_refusals_are_enough_is_a_setting_of_the_profile(make):
    search, _ = searching()
    runtime = make(search, settings=Settings(profiles={"strict": Profile(max_refusals=1)}))
    async with runtime.turn(profile="strict") as turn:
        await ask(runtime, turn, name="no")
        assert_failed(await ask(runtime, turn), ErrorType.BUDGET_EXCEEDED)


async def test_an_applications_refused_calls_do_not_silence_the_model(make):
    search, _ = searching()
    runtime = make(search)
    async with runtime.turn() as turn:
        for number in range(6):
            await ask(runtime, turn, name=f"no_{number}", caller="api")
        assert_ok(await ask(runtime, turn))

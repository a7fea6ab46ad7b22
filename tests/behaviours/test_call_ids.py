"""Every call id gets exactly one result, however often it comes."""

import asyncio

import pytest

from groundwire import CallItem, ErrorType, Tool, ToolCall, ToolError, tool
from groundwire.contracts.errors import ConfigError
from groundwire.store import MemoryStore
from groundwire.testing import assert_failed, assert_ok

ONE = Tool("one", description="One.", handler=lambda: 1, category="retrieval")


def counting(category="retrieval", answer=None):
    runs = []

    @tool(category=category)
    def look(query: str) -> dict:
        """Look."""
        runs.append(query)
        if answer is not None:
            raise answer
        return {"run": len(runs)}

    return look, runs


async def call(runtime, query="a", call_id="c1", **options):
    return await runtime.call(
        "look", {"query": query}, call_id=call_id, **{"session": "s", "caller": "model", **options}
    )


@pytest.mark.parametrize("category", ["retrieval", "action"])
async def test_the_same_id_with_the_same_input_gives_the_stored_result(make, calls_of, audit_of, category):
    look, runs = counting(category)
    runtime = make(look)
    first, second = await call(runtime), await call(runtime)
    assert (first.data, first.meta.replayed) == ({"run": 1}, False)
    assert (second.data, second.meta.replayed) == ({"run": 1}, True)
    assert runs == ["a"]
    assert len(await calls_of(runtime)) == 1
    assert [entry.decision for entry in await audit_of(runtime)] == ["executed", "replayed"]


@pytest.mark.parametrize("name", ["look", "one"])
async def test_the_same_id_with_other_input_is_a_conflict(make, calls_of, name):
    look, runs = counting()
    runtime = make(look, ONE)
    assert_ok(await call(runtime))
    result = await runtime.call(name, {"query": "b" if name == "look" else "a"}, call_id="c1", session="s")
    error = assert_failed(result, ErrorType.CONFLICT, detail="DUPLICATE_CALL_ID")
    assert error.retryable is False
    assert runs == ["a"]
    (row,) = await calls_of(runtime)
    assert row.ok


@pytest.mark.parametrize("raw", ['{"query": "b"}', '{"query": ', "[1]"])
async def test_a_conflict_is_told_of_the_step_that_found_it_whatever_was_sent(make, raw):
    look, _ = counting()
    runtime, events = make(look), []
    async with runtime.turn(session="s", on_event=events.append) as turn:
        assert_ok(await runtime.call("look", {"query": "a"}, turn=turn, call_id="c1"))
        assert_failed(await runtime.call("look", raw, turn=turn, call_id="c1"), ErrorType.CONFLICT)
    assert [event.step for event in events if event.event == "call.denied"] == ["replay"]


async def test_the_first_result_stays_the_result_after_a_conflict(make):
    look, _ = counting()
    runtime = make(look)
    async with runtime.turn(session="s") as turn:
        first = await runtime.call("look", {"query": "a"}, turn=turn, call_id="c1")
        await runtime.call("look", {"query": "b"}, turn=turn, call_id="c1")
        again = await runtime.call("look", {"query": "a"}, turn=turn, call_id="c1")
    assert (again.data, again.meta.replayed) == (first.data, True)


@pytest.mark.parametrize(
    ("name", "arguments", "type_"),
    [
        ("look", "{", ErrorType.VALIDATION),
        ("look", "[]", ErrorType.VALIDATION),
        ("look", '{"query":1}', ErrorType.VALIDATION),
        ("look", "x" * 200_001, ErrorType.ARGUMENTS_TOO_LARGE),
    ],
)
async def test_a_refusal_is_a_result_too(make, calls_of, name, arguments, type_):
    look, _ = counting()
    runtime = make(look)
    results = [await runtime.call(name, arguments, call_id="c1", session="s", caller="model") for _ in range(2)]
    for result in results:
        assert_failed(result, type_)
    assert [result.meta.replayed for result in results] == [False, True]
    assert len(await calls_of(runtime)) == 1
    assert_failed(await call(runtime), ErrorType.CONFLICT, detail="DUPLICATE_CALL_ID")


async def test_a_failure_is_replayed_under_its_id_and_tried_again_under_another(make):
    look, runs = counting(answer=ToolError(ErrorType.TRANSIENT, "later"))
    runtime = make(look)
    assert [(await call(runtime)).meta.replayed for _ in range(2)] == [False, True]
    assert len(runs) == 1
    assert (await call(runtime, call_id="c2")).meta.replayed is False
    assert len(runs) == 2


async def test_a_call_id_in_flight_is_waited_for(make):
    runs, started, gate = [], asyncio.Event(), asyncio.Event()

    @tool(category="retrieval")
    async def look(query: str) -> int:
        """Look."""
        runs.append(query)
        started.set()
        await gate.wait()
        return len(runs)

    runtime = make(look)
    async with runtime.turn(session="s") as turn:

        async def ask(query):
            return await runtime.call("look", {"query": query}, call_id="c1", turn=turn, caller="model")

        calls = [asyncio.ensure_future(ask(query)) for query in ("a", "a", "b")]
        await started.wait()
        assert not any(found.done() for found in calls)
        gate.set()
        first, second, third = await asyncio.gather(*calls)
    assert (first.data, second.data) == (1, 1)
    assert second.meta.replayed
    assert_failed(third, ErrorType.CONFLICT, detail="DUPLICATE_CALL_ID")
    assert runs == ["a"]


async def test_ids_are_remembered_across_turns_and_restarts_but_belong_to_their_session(make):
    look, runs = counting()
    store = MemoryStore()
    assert_ok(await call(make(look, store=store)))
    assert (await call(make(look, store=store))).meta.replayed
    assert not (await call(make(look, store=store), session="another")).meta.replayed
    assert not (await call(make(look, store=store), tenant="acme")).meta.replayed
    assert len(runs) == 3


async def test_calls_without_an_id_get_one_each(make, calls_of):
    look, _ = counting()
    runtime = make(look)
    results = [await call(runtime, call_id=None) for _ in range(2)]
    assert results[0].meta.call_id != results[1].meta.call_id
    assert {row.call_id for row in await calls_of(runtime)} == {result.meta.call_id for result in results}


async def test_changing_a_result_changes_neither_its_replay_nor_its_record(make, calls_of, audit_of):
    look, _ = counting()
    runtime = make(look)
    async with runtime.turn(session="s") as turn:
        first = await runtime.call("look", {"query": "a"}, call_id="c1", turn=turn)
        first.data["run"] = "changed by the caller"
        second = await runtime.call("look", {"query": "a"}, call_id="c1", turn=turn)
        assert second.data == {"run": 1}
    (row,) = await calls_of(runtime)
    assert b"changed by the caller" not in row.result
    executed, replayed = await audit_of(runtime)
    assert executed.output_hash == replayed.output_hash


@pytest.mark.parametrize("call_id", ["", "x" * 5_000, "line\nbreak", "\x00", "\ud800"])
async def test_any_call_id_has_its_one_result(make, call_id):
    runtime = make(ONE)
    async with runtime.turn(session="s") as turn:
        first = await runtime.call("one", {}, turn=turn, call_id=call_id)
        again = await runtime.call("one", {}, turn=turn, call_id=call_id)
    assert first.ok
    assert again.meta.replayed


@pytest.mark.parametrize("caller", ["Model", "agent", None, ""])
async def test_a_caller_that_does_not_exist_is_refused(make, caller):
    with pytest.raises(ConfigError):
        await make(ONE).call("one", {}, caller=caller)


@pytest.mark.parametrize("name", ["secret", "no_such_tool"])
async def test_a_call_id_tells_a_model_nothing_about_tools_that_it_may_not_see(make, name):
    secret = Tool("secret", description="Hidden.", handler=lambda: "TOP", exposure="internal")
    runtime = make(secret)
    assert_ok(await runtime.call("secret", {}, session="s", call_id="c1"))
    result = await runtime.call(name, {}, session="s", call_id="c1", caller="model")
    assert_failed(result, ErrorType.NOT_FOUND, detail="UNKNOWN_TOOL")


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/calls.db"])
@pytest.mark.parametrize("category", ["retrieval", "action"])
async def test_the_same_id_in_two_open_turns_of_a_session_runs_once(make, tmp_path, url, category):
    started, going = asyncio.Event(), asyncio.Event()
    runs = []

    async def look():
        runs.append("run")
        started.set()
        await going.wait()
        return len(runs)

    runtime = make(Tool("look", description="L.", handler=look, category=category), store=url.format(tmp_path))
    async with runtime.turn(session="s") as one, runtime.turn(session="s") as two:
        first = asyncio.ensure_future(runtime.call("look", turn=one, call_id="c1"))
        second = asyncio.ensure_future(runtime.call("look", turn=two, call_id="c1"))
        await started.wait()
        assert not two.cancel("c1")  # it runs in the other turn
        going.set()
        results = await asyncio.gather(first, second)
    assert [result.data for result in results] == [1, 1]
    assert sorted(result.meta.replayed for result in results) == [False, True]
    assert runs == ["run"]


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/calls.db"])
async def test_an_id_that_ended_in_one_open_turn_replays_in_another(make, tmp_path, url):
    look, runs = counting()
    runtime = make(look, store=url.format(tmp_path))
    async with runtime.turn(session="s") as one, runtime.turn(session="s") as two:
        first = await runtime.call("look", {"query": "a"}, turn=one, call_id="c1")
        second = await runtime.call("look", {"query": "a"}, turn=two, call_id="c1")
    assert (first.meta.replayed, second.meta.replayed, runs) == (False, True, ["a"])


async def test_the_same_id_in_open_turns_of_two_sessions_are_two_calls(make):
    look, runs = counting()
    runtime = make(look)
    async with runtime.turn(session="s") as one, runtime.turn(session="t") as two:
        for turn in (one, two):
            assert_ok(await runtime.call("look", {"query": "a"}, turn=turn, call_id="c1"))
    assert runs == ["a", "a"]


CALL = ToolCall(call_id="c1", name="one", raw="{}")


@pytest.mark.parametrize(
    ("given", "kind"),
    [((CALL,), "ToolCall"), ((CallItem(call=CALL),), "CallItem"), (("one", CALL), "ToolCall"), ((None,), "NoneType")],
)
async def test_a_call_that_is_not_taken_apart_is_refused_with_how_it_is_made(make, given, kind):
    with pytest.raises(TypeError, match=rf"not by a {kind}; for a call of a model: call\(call\.name, call\.raw"):
        await make(ONE).call(*given)

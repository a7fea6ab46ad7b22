"""Tools that call tools: one budget, one audit trail, no circles, and cancellation for all of them."""

import asyncio
from concurrent.futures import CancelledError

import pytest

from groundwire import Context, ErrorType, Profile, Settings, Tool, ToolError, tool
from groundwire.testing import assert_failed, assert_ok


def calling(name, *inner, category="utility", **options):
    """A tool that calls others in turn and returns what became of them."""

    async def handler(context: Context):
        results = [await context.call(child, {}) for child in inner]
        return [result.data if result.ok else f"{result.error.type}/{result.error.detail}" for result in results]

    return Tool(name=name, description="Call others.", handler=handler, category=category, **options)


def counting(name="leaf", category="action", **options):
    runs = []

    def handler():
        runs.append(1)
        return len(runs)

    return Tool(name=name, description="Count.", handler=handler, category=category, **options), runs


@pytest.mark.requirement("B-219", "OQ-19")
async def test_a_tool_calls_another_and_the_record_shows_whose_child_it_was(make, audit_of, calls_of):
    leaf, _ = counting()
    runtime = make(calling("outer", "middle"), calling("middle", "leaf"), leaf)
    result = await runtime.call("outer", call_id="c1", session="s")
    assert assert_ok(result) == [[1]]
    by_tool = {entry.tool_name: entry for entry in await audit_of(runtime)}
    assert by_tool["outer"].parent_call_id == ""
    assert by_tool["middle"].parent_call_id == "c1"
    assert by_tool["leaf"].parent_call_id == by_tool["middle"].call_id
    assert [by_tool[name].caller for name in ("outer", "middle", "leaf")] == ["api", "tool", "tool"]
    rows = {row.tool: row for row in await calls_of(runtime)}
    assert rows["leaf"].parent_call_id == by_tool["middle"].call_id


async def test_children_see_their_parents_id_in_the_envelope(make):
    seen = []

    async def outer(context: Context):
        seen.append(await context.call("leaf"))

    leaf, _ = counting()
    runtime = make(Tool(name="outer", description="O.", handler=outer), leaf)
    await runtime.call("outer", call_id="c1")
    assert seen[0].meta.parent_call_id == "c1"


@pytest.mark.requirement("OQ-19")
async def test_a_childs_repeated_action_replays_within_its_parent(make):
    leaf, runs = counting()
    runtime = make(calling("outer", "leaf", "leaf", "leaf"), leaf)
    async with runtime.turn(mode="voice") as turn:
        result = await runtime.call("outer", turn=turn)
    assert assert_ok(result) == [1, 1, 1]
    assert len(runs) == 1


@pytest.mark.requirement("OQ-19")
async def test_a_fourth_call_of_a_voice_turn_is_refused_inside_a_tool_too(make):
    tools = [counting(f"leaf{number}", "retrieval" if number > 2 else "action")[0] for number in range(1, 5)]
    runtime = make(calling("outer", "leaf1", "leaf2", "leaf3"), *tools)
    result = await runtime.call("outer", mode="voice")
    assert assert_ok(result) == [1, 1, "BUDGET_EXCEEDED/None"]


async def test_a_tool_cannot_call_itself_however_long_the_way(make):
    runtime = make(calling("a", "b"), calling("b", "c"), calling("c", "a", "b", "c"))
    result = await runtime.call("a")
    assert assert_ok(result) == [[["LOOP_DETECTED/CYCLE"] * 3]]


async def test_siblings_may_call_the_same_tool(make):
    leaf, runs = counting(category="retrieval")
    runtime = make(calling("outer", "leaf", "leaf"), leaf)
    assert assert_ok(await runtime.call("outer")) == [1, 2]
    assert len(runs) == 2


async def test_chains_may_be_long(make):
    leaf, _ = counting("t30")
    runtime = make(*(calling(f"t{number}", f"t{number + 1}") for number in range(30)), leaf)
    data = assert_ok(await runtime.call("t0"))
    for _ in range(30):
        (data,) = data
    assert data == 1


async def test_internal_tools_can_be_called_by_tools_and_masked_ones_cannot(make):
    hidden, _ = counting("hidden", exposure="internal")
    runtime = make(
        calling("outer", "hidden"), hidden, settings=Settings(profiles={"narrow": Profile(deny=("hidden",))})
    )
    assert assert_ok(await runtime.call("outer", caller="model")) == [1]
    assert assert_ok(await runtime.call("outer", caller="model", profile="narrow")) == ["NOT_FOUND/UNKNOWN_TOOL"]


async def test_a_child_that_fails_is_a_value_and_the_parent_decides(make):
    def fail():
        raise ToolError(ErrorType.AUTH, "no", detail="EXPIRED")

    runtime = make(calling("outer", "fail", "missing"), Tool(name="fail", description="F.", handler=fail))
    assert assert_ok(await runtime.call("outer")) == ["AUTH/EXPIRED", "NOT_FOUND/UNKNOWN_TOOL"]


async def test_a_child_may_need_agreement(make):
    leaf, runs = counting(confirm=True)
    runtime = make(calling("outer", "leaf"), leaf)
    assert assert_ok(await runtime.call("outer", session="s")) == ["CONFIRMATION_REQUIRED/None"]
    (question,) = await runtime.approvals()
    await runtime.approve(question.confirmation_id, by="ada")
    assert assert_ok(await runtime.call("outer", session="s")) == [1]
    assert runs == [1]


@pytest.mark.requirement("OQ-19")
async def test_what_a_parent_had_done_is_replayed_when_it_runs_again_under_its_key(make):
    leaf, runs = counting()
    tries = []

    async def outer(context: Context):
        done = await context.call("leaf")
        tries.append(done.meta.replayed)
        if len(tries) == 1:
            raise ToolError(ErrorType.TRANSIENT, "later")
        return done.data

    runtime = make(Tool(name="outer", description="O.", handler=outer, category="action"), leaf)
    assert_failed(await runtime.call("outer", idempotency_key="k"), ErrorType.TRANSIENT)
    assert assert_ok(await runtime.call("outer", idempotency_key="k")) == 1
    assert tries == [False, True]
    assert len(runs) == 1


async def test_different_parents_do_not_share_their_childrens_effects(make):
    leaf, runs = counting()
    runtime = make(calling("outer", "leaf", category="action"), leaf)
    for key in ("k1", "k2"):
        assert_ok(await runtime.call("outer", idempotency_key=key))
    assert len(runs) == 2


def hanging(category="retrieval"):
    started = asyncio.Event()

    async def hang():
        started.set()
        await asyncio.Event().wait()

    return Tool(name="hang", description="H.", handler=hang, category=category), started


@pytest.mark.requirement("OQ-19")
@pytest.mark.parametrize("category", ["retrieval", "action"])
@pytest.mark.parametrize("how", ["turn", "task", "time"])
async def test_what_cuts_off_the_parent_cancels_the_child(make, calls_of, how, category):
    hang, started = hanging(category)
    runtime = make(calling("outer", "middle", hard_ms=20 if how == "time" else 10_000), calling("middle", "hang"), hang)
    async with runtime.turn(session="s") as turn:
        task = asyncio.ensure_future(runtime.call("outer", turn=turn, call_id="c1"))
        await started.wait()
        if how == "turn":
            turn.cancel("c1")
        elif how == "task":
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() is (how == "task")
    ends = {row.tool: row.error_type for row in await calls_of(runtime)}
    assert ends == {"hang": "CANCELLED", "middle": "CANCELLED", "outer": "TIMEOUT" if how == "time" else "CANCELLED"}
    assert [effect.status for effect in await runtime.effects()] == (["unknown"] if category == "action" else [])


@pytest.mark.requirement("OQ-19")
@pytest.mark.parametrize("category", ["retrieval", "action"])
@pytest.mark.parametrize("how", ["turn", "task", "time"])
async def test_what_cuts_off_a_parent_in_a_thread_cancels_the_child_and_refuses_the_next(make, calls_of, how, category):
    hang, started = hanging(category)
    leaf, runs = counting()
    refused = asyncio.get_running_loop().create_future()

    @tool(category="action", hard_ms=20 if how == "time" else 10_000)
    def outer(context: Context) -> None:
        """Call, and call again when that was cancelled."""
        with pytest.raises(CancelledError):
            context.call_sync("hang")
        with pytest.raises(ToolError) as caught:
            context.call_sync("leaf")
        refused.get_loop().call_soon_threadsafe(refused.set_result, caught.value.message)

    runtime = make(outer, hang, leaf)
    async with runtime.turn(session="s") as turn:
        task = asyncio.ensure_future(runtime.call("outer", turn=turn, call_id="c1"))
        await started.wait()
        if how == "turn":
            turn.cancel("c1")
        elif how == "task":
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() is (how == "task")
        assert await refused == "The call has ended."
    ends = {row.tool: row.error_type for row in await calls_of(runtime)}
    assert ends == {"hang": "CANCELLED", "outer": "TIMEOUT" if how == "time" else "CANCELLED"}
    assert runs == []


async def test_a_handler_in_a_thread_calls_other_tools_as_well(make):
    leaf, _ = counting()

    @tool(category="action")
    def outer(context: Context) -> int:
        """Call."""
        return context.call_sync("leaf").data

    assert assert_ok(await make(outer, leaf).call("outer")) == 1


async def test_a_childs_wishes_are_granted_too(make):
    from groundwire import Intent, ToolResult

    wish = Tool(
        name="wish", description="W.", handler=lambda: ToolResult.success(intents=(Intent(type="SUPPRESS_AUDIO"),))
    )
    runtime = make(calling("outer", "wish"), wish)
    await runtime.call("outer", session="s")
    assert (await runtime.store.load_session("default", "s")).state == {"suppress_audio": True}


async def test_what_a_child_uses_is_checked_like_any_other_call(make):
    @tool(category="retrieval")
    def strict(n: int) -> int:
        """Be strict."""
        return n

    runtime = make(calling("outer", "strict"), strict)
    assert assert_ok(await runtime.call("outer")) == ["VALIDATION/MISSING_ARGUMENT"]

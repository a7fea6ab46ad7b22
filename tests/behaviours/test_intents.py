"""Tools wish; only the orchestrator changes the session, after the batch, in order, and writes it down."""

import asyncio

import pytest

from groundwire import ErrorType, Intent, IntentType, Tool, ToolError, ToolResult
from groundwire.store import MemoryStore
from groundwire.testing import assert_ok


def wishing(*intents, name="wish", **options):
    return Tool(
        name=name, description="Wish.", handler=lambda: ToolResult.success("ok", intents=tuple(intents)), **options
    )


def pending(text):
    return Intent(type=IntentType.SET_PENDING_MESSAGE, payload={"text": text})


async def state_of(runtime, session="s"):
    return (await runtime.store.load_session("default", session)).state


@pytest.mark.requirement("B-005", "B-137", "B-040")
@pytest.mark.parametrize(
    ("intent", "state"),
    [
        (Intent(type=IntentType.END_VOICE_SESSION), {"end_voice_session": True}),
        (Intent(type=IntentType.SUPPRESS_AUDIO), {"suppress_audio": True}),
        (Intent(type=IntentType.SUPPRESS_TRANSCRIPT), {"suppress_transcript": True}),
    ],
)
async def test_a_wish_comes_true_after_the_batch_and_not_before(make, intent, state):
    runtime = make(wishing(intent))
    async with runtime.turn(session="s", mode="voice") as turn:
        result = await runtime.call("wish", turn=turn)
        assert result.intents == (intent,)
        assert dict(turn.state) == {}
        await runtime.apply_intents(turn)
        assert dict(turn.state) == state
    assert await state_of(runtime) == state


@pytest.mark.requirement("B-137")
async def test_the_end_of_the_turn_applies_what_is_left(make):
    runtime = make(wishing(Intent(type=IntentType.END_VOICE_SESSION)))
    async with runtime.turn(session="s") as turn:
        await runtime.call("wish", turn=turn)
    assert await state_of(runtime) == {"end_voice_session": True}


async def test_wishes_come_true_in_the_order_in_which_the_calls_ended(make):
    gates = {"slow": asyncio.Event(), "fast": asyncio.Event()}

    def waiting(name):
        async def handler():
            await gates[name].wait()
            return ToolResult.success(intents=(Intent(type="APPEND", payload={"item": name}),))

        return Tool(name=name, description="Wait.", handler=handler, category="retrieval")

    def append(state, payload):
        return {**state, "items": [*state.get("items", []), payload["item"]]}

    runtime = make(waiting("slow"), waiting("fast"), reducers={"APPEND": append})
    async with runtime.turn(session="s") as turn:
        slow, fast = [asyncio.ensure_future(runtime.call(name, turn=turn)) for name in ("slow", "fast")]
        gates["fast"].set()
        await fast
        gates["slow"].set()
        await slow
    assert await state_of(runtime) == {"items": ["fast", "slow"]}


async def test_a_failed_tool_has_no_wishes(make):
    failed = ToolResult.failure(ErrorType.AUTH, "no", intents=(Intent(type="SUPPRESS_AUDIO"),))
    runtime = make(Tool(name="t", description="T.", handler=lambda: failed))
    async with runtime.turn(session="s") as turn:
        result = await runtime.call("t", turn=turn)
    assert result.intents == ()
    assert await state_of(runtime) == {}


async def test_a_wish_is_granted_once_however_often_its_call_is_replayed(make, audit_of):
    runtime = make(wishing(pending("hello"), category="action"))
    async with runtime.turn(session="s") as turn:
        first, second = [await runtime.call("wish", turn=turn) for _ in range(2)]
    assert len(first.intents) == 1
    assert second.intents == ()
    assert len(await audit_of(runtime, kind="intent")) == 1


async def test_a_wish_that_nobody_can_grant_is_logged_and_left(make, caplog, audit_of):
    runtime = make(wishing(Intent(type="FLY"), Intent(type="SUPPRESS_AUDIO")))
    async with runtime.turn(session="s") as turn:
        assert_ok(await runtime.call("wish", turn=turn))
    assert await state_of(runtime) == {"suppress_audio": True}
    assert any("FLY" in record.getMessage() for record in caplog.records)
    assert [entry.reason for entry in await audit_of(runtime, kind="intent")] == ["SUPPRESS_AUDIO"]


@pytest.mark.requirement("B-125")
async def test_the_pending_message_waits_for_the_next_turn_and_the_last_one_wins(make):
    runtime = make(wishing(pending("first"), name="one"), wishing(pending("second"), name="two"))
    async with runtime.turn(session="s") as turn:
        await runtime.call("one", turn=turn)
        await runtime.call("two", turn=turn)
        assert turn.pending_message is None
    async with runtime.turn(session="s") as turn:
        assert turn.pending_message == {"text": "second"}
    async with runtime.turn(session="s") as turn:
        assert turn.pending_message is None


async def test_silence_lasts_for_one_turn_and_the_end_of_voice_stays(make):
    runtime = make(
        wishing(Intent(type="SUPPRESS_AUDIO"), Intent(type="SUPPRESS_TRANSCRIPT"), Intent(type="END_VOICE_SESSION"))
    )
    async with runtime.turn(session="s") as turn:
        await runtime.call("wish", turn=turn)
    async with runtime.turn(session="s") as turn:
        assert dict(turn.state) == {"end_voice_session": True}
    assert await state_of(runtime) == {"end_voice_session": True}


@pytest.mark.requirement("B-138")
async def test_wishes_stand_in_the_record_of_the_call_and_of_their_granting(make, audit_of):
    runtime = make(wishing(pending("hello")))
    async with runtime.turn(session="s") as turn:
        result = await runtime.call("wish", turn=turn)
    (call,) = await audit_of(runtime)
    assert call.intents == ("SET_PENDING_MESSAGE",)
    (granted,) = await audit_of(runtime, kind="intent")
    assert granted.call_id == result.meta.call_id
    records = await runtime.store.list_audit("default")
    assert [record.entry.kind for record in records] == ["intent", "call"]
    assert (granted.decision, granted.reason, granted.session_id) == ("applied", "SET_PENDING_MESSAGE", "s")


async def test_each_granted_wish_is_an_event_after_the_call_has_finished(make):
    events = []
    runtime = make(wishing(Intent(type="SUPPRESS_AUDIO")))
    await runtime.call("wish", session="s", on_event=events.append)
    assert [event.event for event in events] == ["call.started", "call.finished", "intent.applied", "turn.ended"]


async def test_applications_bring_reducers_of_their_own(make):
    runtime = make(
        wishing(Intent(type="MOVE", payload={"to": 3})), reducers={"MOVE": lambda state, payload: {**state, **payload}}
    )
    await runtime.call("wish", session="s")
    assert await state_of(runtime) == {"to": 3}


def failing(state, payload):
    raise KeyError("to")


async def test_a_wish_that_its_reducer_cannot_grant_spoils_neither_the_call_nor_the_other_wishes(
    make, audit_of, caplog
):
    runtime = make(wishing(Intent(type="MOVE"), Intent(type="SUPPRESS_AUDIO")), reducers={"MOVE": failing})
    result = await runtime.call("wish", session="s")
    assert_ok(result)
    assert await state_of(runtime) == {"suppress_audio": True}
    assert [entry.reason for entry in await audit_of(runtime, kind="intent")] == ["SUPPRESS_AUDIO"]
    assert any("MOVE" in record.getMessage() for record in caplog.records)


@pytest.mark.requirement("B-212")
async def test_two_turns_at_once_lose_none_of_their_changes(make):
    def append(state, payload):
        return {**state, "items": [*state.get("items", []), payload["item"]]}

    tools = [wishing(Intent(type="APPEND", payload={"item": number}), name=f"wish_{number}") for number in range(5)]
    store = MemoryStore()
    runtimes = [make(*tools, store=store, reducers={"APPEND": append}) for _ in range(2)]
    turns = [(runtimes[number % 2], f"wish_{number}") for number in range(5)]
    await asyncio.gather(*(runtime.call(name, session="s") for runtime, name in turns))
    assert sorted((await state_of(runtimes[0]))["items"]) == [0, 1, 2, 3, 4]
    assert (await store.load_session("default", "s")).turns == 5


async def test_a_wish_outside_a_session_changes_nothing_and_is_recorded(make, audit_of):
    runtime = make(wishing(Intent(type="SUPPRESS_AUDIO")))
    assert_ok(await runtime.call("wish"))
    assert len(await audit_of(runtime, kind="intent")) == 1


async def test_a_call_that_failed_after_others_does_not_undo_their_wishes(make):
    def fail():
        raise ToolError(ErrorType.AUTH, "no")

    runtime = make(wishing(pending("hello")), Tool(name="fail", description="F.", handler=fail))
    async with runtime.turn(session="s") as turn:
        await runtime.call("wish", turn=turn)
        await runtime.call("fail", turn=turn)
    assert await state_of(runtime) == {"pending_message": {"text": "hello"}}


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/wishes.db"])
async def test_a_pending_message_is_given_to_one_of_two_turns_that_are_open_at_once(make, tmp_path, url):
    runtime = make(wishing(pending("hello"), name="one"), store=url.format(tmp_path))
    await runtime.call("one", session="s")
    async with runtime.turn(session="s") as first, runtime.turn(session="s") as second:
        assert [turn.pending_message for turn in (first, second)] == [{"text": "hello"}, None]
        await runtime.end_session("s")  # somebody else changes the session meanwhile
    async with runtime.turn(session="s") as third:
        assert third.pending_message is None

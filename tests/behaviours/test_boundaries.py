"""Where one call, session or tool ends and another begins."""

import asyncio
import datetime as dt
import os
import threading

import pytest
from msgspec import UNSET

from groundwire import (
    Budget,
    ErrorType,
    Ground,
    Overrides,
    PolicyRule,
    Registry,
    Runtime,
    Settings,
    Tool,
    ToolResult,
    say,
    tool,
)
from groundwire.assembly import AuditSettings
from groundwire.contracts.intents import Intent
from groundwire.contracts.results import Meta
from groundwire.registry.build import build, check
from groundwire.registry.sample import write_sample
from groundwire.testing import assert_failed, assert_ok

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def acting(name="act", **options):
    runs = []

    async def act(n: int) -> int:
        runs.append(n)
        return len(runs)

    return Tool(name, description="Act.", parameters=NUMBER, handler=act, category="action", **options), runs


@pytest.mark.parametrize("scope", ["run", "call"])
async def test_sessions_and_call_ids_with_colons_are_not_confused(make, scope):
    act, runs = acting(scope=scope)
    runtime = make(act)
    for session, call_id in (("a:b", "c"), ("a", "b:c")):
        assert not (await runtime.call("act", {"n": 1}, session=session, call_id=call_id)).meta.replayed
    for session, run_id in (("s:1", "r"), ("s", "1:r"), ("t", "r")):
        async with runtime.turn(session=session, run_id=run_id) as turn:
            assert not (await runtime.call("act", {"n": 2}, turn=turn)).meta.replayed
    assert runs == [1, 1, 2, 2, 2]


async def test_a_wide_scope_holds_inside_other_tools_too(make):
    pay, runs = acting("pay", scope=("n",))

    @tool(category="action")
    async def outer(context) -> int:
        """Pay through another tool."""
        return (await context.call("pay", {"n": 7})).data

    runtime = make(pay, outer)
    async with runtime.turn(session="s") as turn:
        assert_ok(await runtime.call("outer", turn=turn))
        assert (await runtime.call("pay", {"n": 7}, turn=turn)).meta.replayed
    assert runs == [7]


async def test_two_tools_under_one_key_have_inner_effects_of_their_own(make):
    inner, runs = acting("inner")

    def calling(name):
        async def outer(context) -> int:
            return (await context.call("inner", {"n": 1})).data

        return Tool(name, description="Outer.", handler=outer, category="action")

    runtime = make(inner, calling("first"), calling("second"))
    assert_ok(await runtime.call("first", idempotency_key="k"))
    assert_ok(await runtime.call("second", idempotency_key="k"))
    assert runs == [1, 1]


async def test_callers_without_a_session_share_neither_call_ids_nor_approvals(make):
    act, runs = acting(confirm=True)
    look = Tool("look", description="Look.", parameters=NUMBER, handler=lambda n: n, category="retrieval")
    runtime = make(act, look)
    for number in (1, 2):
        async with runtime.turn() as turn:
            assert assert_ok(await runtime.call("look", {"n": number}, turn=turn, call_id="call_1")) == number
    asked = await runtime.call("act", {"n": 1}, user="ada")
    await runtime.approve(asked.meta.confirmation.id, by="ada")
    assert (await runtime.call("act", {"n": 1}, user="bob")).error.type == "CONFIRMATION_REQUIRED"
    assert_ok(await runtime.call("act", {"n": 1}, user="ada"))
    assert runs == [1]


async def test_an_ended_session_still_gives_a_closed_call_its_result(make):
    look = Tool("look", description="Look.", parameters=NUMBER, handler=lambda n: n, category="retrieval")
    runtime = make(look)
    await runtime.call("look", '{"n": 1}', session="s", call_id="c")
    await runtime.end_session("s")
    assert (await runtime.call("look", '{ "n":1 }', session="s", call_id="c")).meta.replayed


async def test_a_repeated_action_is_replayed_with_a_reminder(make):
    act, runs = acting()
    runtime = make(act)
    async with runtime.turn(session="s") as turn:
        await runtime.call("act", {"n": 1}, turn=turn, caller="model")
        again = await runtime.call("act", {"n": 1}, turn=turn, caller="model")
    assert (again.meta.replayed, len(again.warnings), runs) == (True, 1, [1])


@pytest.mark.requirement("B-042")
async def test_a_tool_cannot_lift_the_limits_of_voice(make):
    look = Tool(
        "look",
        description="Look.",
        parameters=NUMBER,
        handler=lambda n: n,
        budget=[Budget(name="calls", max=100)],
    )
    runtime = make(look)
    async with runtime.turn(session="s", mode="voice") as turn:
        results = [await runtime.call("look", {"n": n}, turn=turn) for n in range(4)]
    assert [result.ok for result in results] == [True, True, True, False]


@pytest.mark.parametrize("quote", ["", " ", "\t\n"])
async def test_blank_is_no_evidence(make, quote):
    log = tool(category="action", ground={"quote": Ground()})(lambda quote: 1)
    result = await make(log).call(log.tool_id, {"quote": quote}, history=[say("user", "a b \t\n", turn=1)])
    assert result.error.type == "UNGROUNDED"


async def test_a_huge_quote_is_refused_in_time(make):
    log = tool(category="action", ground={"quote": Ground()})(lambda quote: 1)
    history = [say("user", "ab " * 30_000, turn=1)]
    result = await make(log).call(log.tool_id, {"quote": "ab " * 25_000 + "!"}, history=history)
    assert result.error.type == "UNGROUNDED"


async def test_a_reconcile_hook_gets_what_the_handler_gets(make):
    seen = []

    def reconcile(day: dt.date):
        seen.append((day, threading.current_thread() is threading.main_thread()))
        return {"known": True}

    @tool(category="action", reconcile=reconcile)
    async def book(day: dt.date) -> dict:
        """Book."""
        raise ConnectionError

    runtime = make(book)
    await runtime.call("book", {"day": "2026-01-02"}, idempotency_key="k")
    assert assert_ok(await runtime.call("book", {"day": "2026-01-02"}, idempotency_key="k")) == {"known": True}
    assert seen == [(dt.date(2026, 1, 2), False)]


async def test_a_stream_that_never_waits_is_still_cut_off(make):
    @tool(hard_ms=50)
    async def forever():
        """Yield for ever."""
        while True:
            yield 1

    assert (await make(forever).call("forever")).error.type == "TIMEOUT"


async def test_waiting_for_oneself_is_an_error_and_no_deadlock(make):
    @tool
    async def inner() -> int:
        """Inner."""
        return 1

    @tool
    async def outer(context) -> int:
        """Call in the wrong way."""
        return context.call_sync("inner").data

    assert (await make(inner, outer).call("outer")).error.type == "INTERNAL"


@pytest.mark.parametrize("amount", [float("nan"), -1.0, float("inf"), "5 euros", None])
async def test_a_nonsense_charge_fails_the_handler_and_leaves_a_result(make, amount):
    @tool(category="action", budget=[Budget(name="cash", max=1, unit="money", by="session")])
    async def act(context) -> int:
        """Charge nonsense."""
        context.charge("cash", amount)
        return 1

    runtime = make(act)
    assert (await runtime.call("act", session="s")).error.type == "INTERNAL"


async def test_a_checkpoint_that_cannot_be_noted_does_not_fail_the_call(tmp_path):
    act, runs = acting()
    settings = Settings(audit=AuditSettings(checkpoint=str(tmp_path / "missing" / "audit.checkpoint")))
    async with Runtime(Registry([act]), "memory://", settings=settings) as runtime:
        assert_ok(await runtime.call("act", {"n": 1}))
    assert runs == [1]


def test_a_build_refuses_pipes_and_linked_folders_and_sees_edited_artifacts(tmp_path, monkeypatch):
    write_sample(tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    build("tools")
    assert check("tools") == []
    artifact = tmp_path / "demo" / "tool_registry.json"
    artifact.write_bytes(
        artifact.read_bytes().replace(b'"requiresConfirmation":false', b'"requiresConfirmation":true', 1)
    )
    assert [drift.kind for drift in check("tools")] == ["changed"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "demo" / "tools" / "get_weather" / "linked").symlink_to(tmp_path / "elsewhere")
    guide = tmp_path / "demo" / "tools" / "send_note" / "guide.md"
    guide.unlink()
    os.mkfifo(guide)
    assert {problem.reason for problem in build("tools").quarantined} == {"unreadable"}


def test_a_runtime_cannot_wait_for_itself_through_its_own_thread():
    runtimes = []

    @tool
    async def outer() -> int:
        """Wait for oneself."""
        return runtimes[0].call_sync("outer").data

    runtimes.append(Runtime(Registry([outer])))
    assert runtimes[0].call_sync("outer").error.type == "INTERNAL"


async def test_nothing_waits_for_ever_when_calls_are_made_at_once(make):
    act, runs = acting()
    runtime = make(act)
    await asyncio.gather(*(runtime.call("act", {"n": 1}, idempotency_key="k") for _ in range(50)))
    assert runs == [1]


def wordy(details, *, ok=True, data=None, intents=()):
    def answer():
        meta = Meta(details={"d": "x" * details})
        if ok:
            return ToolResult.success(data, meta=meta, intents=intents)
        return ToolResult.failure(ErrorType.PERMANENT, "It failed.", meta=meta)

    return Tool(name="answer", description="A.", handler=answer)


HUNDRED = Settings(policies=(PolicyRule(limits=Overrides(max_output_bytes=100)),))
FRAME = len(b'{"d":""}')


async def test_details_count_towards_the_size_of_a_result(make):
    data = "x" * 40
    room = 100 - len(data) - 2 - FRAME
    assert_ok(await make(wordy(room, data=data), settings=HUNDRED).call("answer"))
    result = await make(wordy(room + 1, data=data), settings=HUNDRED).call("answer")
    assert "101 bytes" in assert_failed(result, ErrorType.TOOL_OUTPUT_TOO_LARGE).message
    assert result.meta.details is UNSET


async def test_intents_count_towards_the_size_of_a_result(make):
    def intents(size):
        return (Intent(type="NOTE", payload={"d": "x" * size}),)

    room = 100 - len(b"null") - 2 * FRAME
    assert_ok(await make(wordy(0, intents=intents(room)), settings=HUNDRED).call("answer"))
    result = await make(wordy(0, intents=intents(room + 1)), settings=HUNDRED).call("answer")
    assert_failed(result, ErrorType.TOOL_OUTPUT_TOO_LARGE)
    assert result.intents == ()


async def test_a_failure_keeps_its_error_but_not_details_beyond_the_limit(make):
    kept = await make(wordy(100 - FRAME, ok=False), settings=HUNDRED).call("answer")
    assert kept.meta.details == {"d": "x" * (100 - FRAME)}
    cut = await make(wordy(101 - FRAME, ok=False), settings=HUNDRED).call("answer")
    assert assert_failed(cut, ErrorType.PERMANENT).message == "It failed."
    assert cut.meta.details is UNSET
    assert cut.warnings == ("What the tool added about its failure was too large to keep.",)

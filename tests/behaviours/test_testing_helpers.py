"""What `groundwire.testing` offers to users' own tests."""

import asyncio
import signal
import subprocess
import sys

import pytest

from groundwire import ErrorType, Tool, ToolResult, tool
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, FaultPlan, KillAt, StaticFlags, assert_failed, assert_ok, runtime_for


def test_a_fake_clock_stands_still_until_it_is_advanced():
    clock = FakeClock(start=100)
    assert (clock.now(), clock.monotonic()) == (100, 100)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 102.5)


async def test_sleepers_wake_when_their_time_has_come_and_not_before():
    clock, woken = FakeClock(), []

    async def sleep(seconds):
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.ensure_future(sleep(seconds)) for seconds in (3, 1, 2)]
    await clock.until_asleep(3)
    assert clock.sleepers == 3
    clock.advance(2)
    await asyncio.wait(tasks[1:])
    assert (sorted(woken), clock.sleepers) == ([1, 2], 1)
    clock.advance(0.999)
    await asyncio.sleep(0)
    assert not tasks[0].done()
    clock.advance(0.001)
    await tasks[0]


async def test_a_clock_tells_when_someone_fell_asleep_and_when_nobody_is():
    clock = FakeClock()
    awake, asleep = (asyncio.ensure_future(clock.until_asleep(count)) for count in (0, 1))
    await awake
    sleeper = asyncio.ensure_future(clock.sleep(5))
    await asleep
    nobody = asyncio.ensure_future(clock.until_asleep(0))
    await asyncio.sleep(0)
    assert not nobody.done()
    await asyncio.to_thread(clock.advance, 5)
    await nobody
    await sleeper


async def test_sleeping_for_nothing_only_lets_others_run():
    await FakeClock().sleep(0)


async def test_a_sleeper_that_is_cancelled_is_forgotten():
    clock = FakeClock()
    task = asyncio.ensure_future(clock.sleep(5))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert clock.sleepers == 0
    clock.advance(10)


def test_flags_are_off_unless_named_or_turned_on():
    flags = StaticFlags("A")
    assert (flags.is_on("A"), flags.is_on("B")) == (True, False)
    flags.turn_on("B")
    flags.turn_off("A")
    assert (flags.is_on("A"), flags.is_on("B")) == (False, True)


async def test_a_runtime_is_made_of_tools_and_plain_functions():
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    runtime = runtime_for(add, Tool(name="one", description="One.", handler=lambda: 1), store=MemoryStore())
    assert assert_ok(await runtime.call("add", {"a": 1, "b": 2})) == 3
    assert assert_ok(await runtime.call("one")) == 1


def test_assertions_give_what_they_looked_at():
    assert assert_ok(ToolResult.success({"a": 1})) == {"a": 1}
    failed = ToolResult.failure(ErrorType.AUTH, "expired", detail="TOKEN")
    assert assert_failed(failed, ErrorType.AUTH) is failed.error
    assert assert_failed(failed, ErrorType.AUTH, detail="TOKEN") is failed.error


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: assert_ok(ToolResult.failure(ErrorType.AUTH, "expired", detail="TOKEN")), "AUTH/TOKEN: expired"),
        (lambda: assert_ok(ToolResult(ok=False)), "without an error"),
        (lambda: assert_failed(ToolResult.success([1]), ErrorType.AUTH), r"succeeded, but AUTH .*\[1\]"),
        (
            lambda: assert_failed(ToolResult.failure(ErrorType.AUTH, "x"), ErrorType.CONFLICT),
            "not with CONFLICT: AUTH: x",
        ),
        (
            lambda: assert_failed(ToolResult.failure(ErrorType.AUTH, "x", detail="A"), ErrorType.AUTH, detail="B"),
            "not with AUTH/B: AUTH/A: x",
        ),
    ],
)
def test_an_assertion_that_fails_says_what_was_there(check, said):
    with pytest.raises(AssertionError, match=said):
        check()


async def test_a_fault_plan_keeps_the_steps_and_tells_every_fault():
    @tool(category="action")
    def act() -> int:
        """Act."""
        return 1

    seen = []
    plan = FaultPlan(lambda step, attempt: seen.append((attempt.name, step)))
    assert_ok(await runtime_for(act, on_step=plan).call("act", call_id="c1"))
    assert plan.reached == seen
    steps = [step for _, step in seen]
    assert steps[:2] == ["replay", "check"]
    assert steps[-5:] == ["invoke", "output", "settle", "intents", "done"]
    assert "reserve" in steps


def test_only_steps_that_exist_can_be_killed_at():
    with pytest.raises(ValueError, match="settle"):
        KillAt("nowhere")


CHILD = """
import sys
from groundwire import tool
from groundwire.testing import FaultPlan, KillAt, runtime_for

@tool(category="action")
def act() -> int:
    "Act."
    return 1

@tool(category="retrieval")
def look() -> int:
    "Look."
    return 1

runtime = runtime_for(act, look, on_step=FaultPlan(KillAt("settle", nth=2, tool="act")))
for name in ("look", "look", "act", "look", "act", "look"):
    print(name, flush=True)
    runtime.call_sync(name)
"""


def test_a_process_kills_itself_at_the_step_it_was_told():
    run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert run.stdout.split() == ["look", "look", "act", "look", "act"]

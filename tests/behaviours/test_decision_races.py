"""Of several people who decide at the same time one is heard, and the others learn who that was."""

import asyncio

import pytest

from groundwire import Registry, Runtime, ToolError, tool
from groundwire.contracts.errors import AlreadyDecided
from groundwire.testing import FakeClock
from tests.conformance.conftest import postgres_server, postgres_url, shared_url

__all__ = ["postgres_server", "postgres_url", "shared_url"]

ROUNDS = 10


@tool(category="action", confirm=True)
def pay(cents: int) -> str:
    """Pay."""
    return "paid"


@tool(category="action")
def fail(cents: int) -> str:
    """Fail half way."""
    raise ToolError("INTERNAL", "cut off", partial_side_effects=True)


@pytest.fixture
async def runtimes(shared_url):
    """Several on one store, each with a connection of its own."""
    opened = [Runtime(Registry([pay, fail]), shared_url) for _ in range(4)]
    for runtime in opened:
        await runtime.open()
    yield opened
    for runtime in opened:
        await runtime.close()


@pytest.fixture
async def alone():
    clock = FakeClock()
    async with Runtime(Registry([pay, fail]), "memory://", clock=clock) as runtime:
        yield runtime, clock


async def decide_together(decisions):
    """Who was heard, and who the others were told that it was."""
    outcomes = await asyncio.gather(*decisions.values(), return_exceptions=True)
    heard = [by for by, outcome in zip(decisions, outcomes, strict=True) if not isinstance(outcome, BaseException)]
    late = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(error, AlreadyDecided) for error in late), late
    return heard, [error.decided_by for error in late]


async def ask(runtime, cents):
    return (await runtime.call("pay", {"cents": cents}, session="s")).meta.confirmation.id


async def test_whoever_loses_a_race_for_an_approval_learns_who_won_it(runtimes):
    for number in range(ROUNDS):
        asked = await ask(runtimes[0], number)
        people = {f"person {place}": runtime for place, runtime in enumerate(runtimes)}
        decisions = {
            by: (runtime.deny if by.endswith("2") else runtime.approve)(asked, by=by) for by, runtime in people.items()
        }
        (winner,), told = await decide_together(decisions)
        assert told == [winner] * 3


async def test_whoever_loses_a_race_for_an_unknown_effect_learns_who_won_it(runtimes):
    for number in range(ROUNDS):
        await runtimes[0].call("fail", {"cents": number}, idempotency_key=str(number))
        (effect,) = await runtimes[0].effects(limit=1)
        decisions = {
            f"person {place}": runtime.reconcile(effect.effect_id, happened=True, by=f"person {place}")
            for place, runtime in enumerate(runtimes)
        }
        (winner,), told = await decide_together(decisions)
        assert told == [winner] * 3


async def test_whoever_comes_late_in_one_process_learns_who_was_before(alone):
    runtime, _ = alone
    asked = await ask(runtime, 1)
    await runtime.approve(asked, by="ann")
    for by in ("ben", "ann"):
        with pytest.raises(AlreadyDecided) as late:
            await runtime.deny(asked, by=by)
        assert late.value.decided_by == "ann"
    assert (await runtime.call("pay", {"cents": 1}, session="s")).ok
    with pytest.raises(AlreadyDecided) as spent:
        await runtime.deny(asked, by="ben")
    assert spent.value.decided_by == "ann"


async def test_nobody_has_decided_what_has_expired(alone):
    runtime, clock = alone
    asked = await ask(runtime, 1)
    clock.advance(301)
    with pytest.raises(AlreadyDecided) as late:
        await runtime.approve(asked, by="ann")
    assert late.value.decided_by == ""

"""A run that is cancelled, or whose listener leaves, is kept as cancelled, and can be taken up again."""

import asyncio
from contextlib import aclosing

import pytest

from groundwire import Outcome, tool
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults
from tests.behaviours.runs.stage import REMOTE, UPSTREAMS, events_of, staged


async def outcome_of(agent, run_id):
    return (await agent.runtime.store.load_run("default", run_id)).outcome


async def newest_run(agent):
    (run,) = await agent.runtime.store.list_runs("default")
    return run.run_id


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_run_that_is_cancelled_in_a_tool_goes_on_from_there(upstream):
    entered, tries = asyncio.Event(), []

    @tool(category="retrieval")
    async def look(word: str) -> str:
        """Look a word up; the first time for ever."""
        tries.append(word)
        if len(tries) == 1:
            entered.set()
            await asyncio.Event().wait()
        return "blue"

    async with staged(upstream, Answer(calls=(Ask("look", {"word": "sky"}),)), "Blue.", "Still here.") as stage:
        agent = stage.agent(tools=[look])
        running = asyncio.create_task(agent.run("What is sky?", session="s"))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        run_id = await newest_run(agent)
        assert await outcome_of(agent, run_id) == Outcome.CANCELLED
        resumed = await agent.resume(run_id)
        assert (resumed.outcome, resumed.text) == (Outcome.COMPLETED, "Blue.")
        assert (await agent.run("And now?", session="s")).text == "Still here."


@pytest.mark.parametrize("upstream", REMOTE)
async def test_a_run_that_is_cancelled_while_the_model_is_silent_goes_on_from_there(upstream):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT)})
    async with staged(upstream, "Blue.", faults=faults) as stage:
        agent = stage.agent()
        running = asyncio.create_task(agent.run("What is sky?"))
        while not stage.bodies:  # noqa: ASYNC110 - the simulator tells nobody when it was asked
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        resumed = await agent.resume(await newest_run(agent))
        assert (resumed.outcome, resumed.text) == (Outcome.COMPLETED, "Blue.")


@pytest.mark.parametrize("upstream", REMOTE)
@pytest.mark.parametrize("last", ["text.delta", "call.started", "call.finished"])
async def test_whoever_stops_listening_stops_the_run(upstream, last):
    booked = []

    @tool(category="action")
    def book(place: str) -> str:
        """Book a table."""
        booked.append(place)
        return place

    text = "One moment, please; I am going to book that table for you right now."
    asking = Answer(text, (Ask("book", {"place": "Nonna's"}),))
    async with staged(upstream, *[asking] * 3) as stage:
        agent = stage.agent(tools=[book])
        async with aclosing(agent.stream("A table, please.")) as events:
            async for event in events:
                if event.event == last:
                    break
        run_id = await newest_run(agent)
        assert await outcome_of(agent, run_id) == Outcome.CANCELLED
        stage.script.answer_with("Booked.")
        resumed = await agent.resume(run_id)
        assert (resumed.outcome, resumed.text) == (Outcome.COMPLETED, "Booked.")
        asked = [item.call.call_id for item in resumed.history if item.kind == "call"]
        assert [item.call_id for item in resumed.history if item.kind == "result"] == asked
        # A call that was begun is done or cancelled, as it happened to be; one that had ended stays done.
        assert len(booked) <= len(asked) <= 1
        assert booked == ["Nonna's"] or last != "call.finished"


@pytest.mark.parametrize("category", ["retrieval", "action"])
@pytest.mark.parametrize("beside", [(), (Ask("look", {"word": "sky"}),)])
async def test_a_tool_that_cancels_its_own_task_cancels_the_run_and_each_call_has_a_result(category, beside):
    @tool(category=category)
    async def give_up() -> str:
        """Give up."""
        asyncio.current_task().cancel()
        await asyncio.sleep(0)
        return "never"

    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        return "blue"

    async with staged("in-process", Answer(calls=(Ask("give_up", {}), *beside)), "Done.") as stage:
        agent = stage.agent(tools=[give_up, look])
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(agent.run("Go."))
        run_id = await newest_run(agent)
        assert await outcome_of(agent, run_id) == Outcome.CANCELLED
        resumed = await agent.resume(run_id)
        assert resumed.outcome == Outcome.COMPLETED
        called = [item.call.call_id for item in resumed.history if item.kind == "call"]
        assert [item.call_id for item in resumed.history if item.kind == "result"] == called
        assert (await agent.replay(run_id)).differences == ()


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("moment", range(12))
async def test_a_run_that_is_cancelled_at_any_moment_is_finished_later_and_acts_once(how, moment):
    booked = []

    @tool(category="action")
    async def book(place: str) -> str:
        """Book a table."""
        booked.append(place)
        await asyncio.sleep(0)
        return place

    async with staged("in-process", *[Answer(calls=(Ask("book", {"place": "Nonna"}),)), "Done."] * 2) as stage:
        agent = stage.agent(tools=[book])
        running = asyncio.create_task(events_of(agent, "Go.", how, run_id="r"))
        for _ in range(moment):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait((running,))
        result = await agent.run_once("r", "Go.")
        assert (result.outcome, booked) == (Outcome.COMPLETED, ["Nonna"])
        called = [item.call.call_id for item in result.history if item.kind == "call"]
        assert [item.call_id for item in result.history if item.kind == "result"] == called
        assert (await agent.replay("r")).differences == ()

"""The conversation of a session: read run by run, stored once."""

import pytest

from groundwire import Agent, Outcome, Runtime, tool
from groundwire.contracts.errors import StoreError
from groundwire.contracts.runs import Started, decode_entry
from groundwire.registry import Registry
from groundwire.store import MemoryStore
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider


@tool(category="action", confirm=True)
async def book(place: str) -> dict[str, str]:
    """Book a table."""
    return {"booked": place}


def agent_of(model):
    runtime = Runtime(Registry([book]), "memory://")
    return Agent("sim/any", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))


async def beginning(agent, run_id):
    entries = await agent.runtime.store.run_entries("default", run_id)
    return entries[0].body, decode_entry(entries[0].body)


async def test_what_was_said_earlier_is_sent_to_the_model_and_not_stored_again():
    agent = agent_of(ScriptedModel(otherwise=lambda request: Answer(text=f"{len(request.items)} items")))
    results = [await agent.run("A question of a certain length.", session="s") for _ in range(12)]
    assert [result.text for result in results] == [f"{2 * turn + 1} items" for turn in range(12)]
    assert [len(result.items) for result in results] == [2] * 12
    sizes = [len((await beginning(agent, result.run_id))[0]) for result in results]
    growth = (sizes[-1] - sizes[1]) / 10  # a reference to one more run, each time
    assert growth < 80


async def test_a_paused_run_goes_on_with_the_conversation_as_it_was():
    model = ScriptedModel(
        otherwise=lambda request: (
            Answer(calls=(Ask("book", {"place": "Nonna"}),))
            if request.items[-1].kind == "message" and "Book" in request.items[-1].text
            else Answer(text=f"{len(request.items)} items")
        )
    )
    agent = agent_of(model)
    await agent.run("Hello.", session="s")
    paused = await agent.run("Book it.", session="s")
    assert paused.outcome is Outcome.AWAITING_APPROVAL
    between = await agent.run("And by the way?", session="s")
    assert between.text == "5 items"  # two of the first run, question and call of the second, and its own
    await agent.runtime.approve(paused.approvals[0], by="ann")
    done = await agent.resume(paused.run_id)
    assert done.text == "5 items"  # two of the first run, then question, call and result: nothing of what came later
    _, started = await beginning(agent, between.run_id)
    assert isinstance(started, Started)
    assert [one.run_id for one in started.after][1] == paused.run_id
    assert (await agent.replay(between.run_id)).same


async def test_a_history_that_is_given_is_kept_with_the_run():
    agent = agent_of(ScriptedModel(otherwise=lambda request: Answer(text=f"{len(request.items)} items")))
    first = await agent.run("One.")
    second = await agent.run("Two.", history=first.history)
    assert second.text == "3 items"
    _, started = await beginning(agent, second.run_id)
    assert (started.inherited, len(started.items), started.after) == (2, 3, ())


async def test_a_run_whose_conversation_is_gone_from_the_store_is_not_resumed():
    model = ScriptedModel("Hello.", Answer(calls=(Ask("book", {"place": "Nonna"}),)), *["Well."] * 20)
    runtime = Runtime(Registry([book]), MemoryStore(max_rows=10))
    agent = Agent("sim/any", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))
    first = await agent.run("Hello.", session="s")
    paused = await agent.run("Book it.", session="s")
    for _ in range(20):
        await agent.run("Something else.")
    with pytest.raises(StoreError, match=first.run_id):
        await agent.resume(paused.run_id)
    with pytest.raises(StoreError, match=first.run_id):
        await agent.replay(paused.run_id)
